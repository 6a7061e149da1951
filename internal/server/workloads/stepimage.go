package workloads

import (
	"context"
	"fmt"
	"net/http"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/store"
)

type stepImageOutput struct{ Body api.StepImage }

// stepImage pulls for a step of the batch script that a task runs.
func stepImage(ctx context.Context, from store.Store, by *control.Control, w *core.Workload, attempt int, in api.StepImageRequest) (*stepImageOutput, error) {
	found, err := from.FindTasks(ctx, store.TaskQuery{Workload: w.ID, Attempt: attempt, From: in.Task, To: in.Task + 1, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 || found[0].State.Ended() {
		return nil, problem.New(http.StatusConflict, "illegal_phase", fmt.Sprintf("task %d of %s does not run", in.Task, w.Name), "only a running task has steps")
	}
	img, err := by.StepImage(ctx, w, found[0], in.Image)
	if err != nil {
		return nil, err
	}
	out := api.StepImage{Layers: img.Layers, Env: img.Env, Entrypoint: img.Entrypoint, Workdir: img.Workdir}
	for _, m := range img.Driver {
		out.Driver = append(out.Driver, api.StepMount{Source: m.Source, Target: m.Target})
	}
	return &stepImageOutput{out}, nil
}
