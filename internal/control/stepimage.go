package control

import (
	"context"
	"fmt"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/launch"
)

// StepImage has an image on the machine of a running task, for a container that the
// task itself makes. It pulls with what the workload's user has for registries.
func (c *Control) StepImage(ctx context.Context, w *core.Workload, t core.Task, ref string) (backend.StepImage, error) {
	refuse := func(message, hint string) (backend.StepImage, error) {
		return backend.StepImage{}, &draft.Error{Code: draft.CodeInvalid, Field: "image", Message: message, Hint: hint}
	}
	a := c.backends[t.Backend]
	if a == nil {
		return refuse(fmt.Sprintf("backend %s is no more", t.Backend), "its tasks should end")
	}
	b, ok := a.backend.(backend.StepImager)
	if !ok {
		return refuse(fmt.Sprintf("backend %s runs no steps in containers of their own", t.Backend), "give the whole script the image: #SBATCH --container-image")
	}
	var credentials []backend.Credential
	if c.keyring != nil {
		secrets, err := c.store.Secrets(ctx)
		if err != nil {
			return backend.StepImage{}, err
		}
		projects, err := c.store.Projects(ctx)
		if err != nil {
			return backend.StepImage{}, err
		}
		if credentials, err = launch.PullCredentials(w, org.TreeOf(projects).SecretOwners(w.User, w.Project), secrets, c.keyring); err != nil {
			return refuse(err.Error(), "muster secret create makes it again")
		}
	}
	img, err := b.StepImage(ctx, t, ref, credentials)
	if err != nil {
		return refuse(fmt.Sprintf("image %s: %v", ref, err), "look at its name, and at the secrets of type docker: muster secret list")
	}
	return img, nil
}
