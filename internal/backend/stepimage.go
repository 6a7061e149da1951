package backend

import (
	"context"

	"github.com/musterhq/muster/internal/core"
)

// StepImager is a backend whose batch scripts run steps in containers of their own
// (srun --container-image), which the script's own task makes.
type StepImager interface {
	// StepImage has an image on the machine of a running task, and keeps it there for
	// as long as that task is known. It takes as long as the pull does.
	StepImage(ctx context.Context, t core.Task, ref string, credentials []Credential) (StepImage, error)
}

// StepImage is an image as what makes a container of it needs it.
type StepImage struct {
	Layers     []string // directories, lowest first
	Env        []string // NAME=value
	Entrypoint []string
	Workdir    string
	Driver     []Mount // files of the machine that programs for the task's GPUs need
}
