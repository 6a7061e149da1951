package workloads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/convert/slurm"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/reported"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/store"
)

func (s *routes) selfRoutes() {
	tags := []string{"self"}
	huma.Register(s.api, huma.Operation{
		OperationID: "self", Method: http.MethodGet, Path: access.SelfPath, Summary: "The workload of the task that asks", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*workloadOutput, error) {
		c, w, err := s.itself(ctx)
		switch {
		case err != nil:
		case w.Phase == lifecycle.Deleted:
			err = store.ErrNotFound
		case c.Attempt != w.Attempt || w.Phase.End():
			err = problem.New(http.StatusForbidden, "forbidden", fmt.Sprintf("attempt %d of %s is over, and with it what its token opens", c.Attempt, w.Name), "its tasks should end")
		}
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return s.answer(ctx, w, http.StatusOK)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "report", Method: http.MethodPost, Path: access.SelfPath + "/report", Summary: "Say how far the workload of the task that asks has come", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct{ Body api.Report }) (*struct{}, error) {
		r := in.Body
		return s.report(ctx, submission.SelfReport{Progress: &core.Progress{Step: r.Step, Total: r.Total, Metrics: r.Metrics, Message: r.Message, Task: r.Task}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "report-checkpoint", Method: http.MethodPost, Path: access.SelfPath + "/checkpoint", Summary: "Say from where the workload of the task that asks can go on", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct{ Body api.NewCheckpoint }) (*struct{}, error) {
		return s.report(ctx, submission.SelfReport{Checkpoint: &core.Checkpoint{Path: in.Body.Path, Step: in.Body.Step}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "change-own-metadata", Method: http.MethodPatch, Path: access.SelfPath + "/metadata", Summary: "Merge into the metadata of the workload of the task that asks; null takes a key away", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct {
		Body map[string]json.RawMessage `contentType:"application/merge-patch+json"`
	}) (*struct{}, error) {
		return s.report(ctx, submission.SelfReport{Metadata: in.Body})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "begin-step", Method: http.MethodPost, Path: access.SelfPath + "/steps", Summary: "Say that srun starts a step in the batch script of the task that asks", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct{ Body api.NewJobStep }) (*struct{}, error) {
		n := in.Body
		return s.step(ctx, n.Task, submission.StepReport{Step: core.JobStep{ID: n.ID, Name: n.Name, Tasks: n.Tasks, CPUs: n.CPUs, On: n.On}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "end-step", Method: http.MethodPatch, Path: access.SelfPath + "/steps", Summary: "Say how a step of the batch script of the task that asks has ended", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct{ Body api.JobStepEnd }) (*struct{}, error) {
		return s.step(ctx, in.Body.Task, submission.StepReport{Ended: true, Step: core.JobStep{ID: in.Body.ID, ExitCode: in.Body.ExitCode}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "pull-step-image", Method: http.MethodPost, Path: access.SelfPath + "/steps/image", Summary: "Have an image on the machine of the task that asks, for a container of a step", Tags: tags,
	}, func(ctx context.Context, in *struct{ Body api.StepImageRequest }) (*stepImageOutput, error) {
		c, w, err := s.itself(ctx)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out, err := stepImage(ctx, s.Store, s.Control, w, c.Attempt, in.Body)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return out, nil
	})
	huma.Register(s.api, request.Matched(huma.Operation{
		OperationID: "change-metadata", Method: http.MethodPatch, Path: "/v1/projects/{project}/workloads/{name}/metadata", Tags: []string{"workloads"},
		Summary: "Merge into the metadata of a workload; null takes a key away",
	}), func(ctx context.Context, in *struct {
		request.Named
		Body map[string]json.RawMessage `contentType:"application/merge-patch+json"`
	}) (*workloadOutput, error) {
		return s.act(ctx, &in.Named, func(r draft.Ref) draft.Command[*core.Workload] {
			return submission.Note(submission.SelfReport{Ref: r, Attempt: -1, Metadata: in.Body})
		})
	})
	huma.Register(s.api, request.Matched(huma.Operation{
		OperationID: "change-workload", Method: http.MethodPatch, Path: "/v1/projects/{project}/workloads/{name}", Tags: []string{"workloads"},
		Summary: "Change priority and limits of a workload that has not ended: a JSON merge patch of its document, with " + strings.Join(amendable, ", ") + "; before its first start also with " + strings.Join(waitingFields, ", "),
	}), func(ctx context.Context, in *struct {
		request.Named
		Body map[string]any `contentType:"application/merge-patch+json"`
	}) (*workloadOutput, error) {
		return s.change(ctx, &in.Named, in.Body)
	})
}

// change merges a patch into the document of a workload.
func (s *routes) change(ctx context.Context, in *request.Named, patch map[string]any) (*workloadOutput, error) {
	live, err := mayChange(patch)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	change := func(d *spec.Document) (*spec.Document, error) { return amended(d, patch) }
	return s.act(ctx, in, func(r draft.Ref) draft.Command[*core.Workload] {
		if live {
			return submission.Amend(submission.Amendment{Ref: r, Change: change})
		}
		return submission.Rewrite(submission.Rewriting{Ref: r, Change: change, Actor: access.Actor(ctx)})
	})
}

// itself is the workload of the task that asks.
func (s *routes) itself(ctx context.Context) (*access.TaskCaller, *core.Workload, error) {
	c, ok := access.CallerOf(ctx)
	if !ok {
		return nil, nil, problem.New(http.StatusForbidden, "forbidden", access.SelfPath+" is for tasks, which have a token of their own", "name the workload: /v1/projects/PROJECT/workloads/NAME")
	}
	w, err := s.Store.Workload(ctx, c.ID)
	return c, w, err
}

func (s *routes) report(ctx context.Context, t submission.SelfReport) (*struct{}, error) {
	c, _, err := s.itself(ctx)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	t.Ref, t.Attempt = draft.Ref{ID: c.ID}, c.Attempt
	err = s.Control.Apply(ctx, submission.Note(t))
	if s.drawn(&t, err) {
		return nil, nil
	}
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	return nil, nil
}

// step keeps what srun says of a step.
func (s *routes) step(ctx context.Context, task int, r submission.StepReport) (*struct{}, error) {
	c, _, err := s.itself(ctx)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	r.Task = core.TaskID{Workload: c.ID, Attempt: c.Attempt, Index: task}
	if err := s.Control.Apply(ctx, submission.NoteStep(r)); err != nil {
		return nil, problem.Of(s.Log, err)
	}
	return nil, nil
}

// drawn puts the numbers of a report into curves once it is durable, and reports
// whether that was done. The progress of a workload is the last that one of its tasks
// said, and has to wait for its turn; each task has curves of its own, so that of a
// sweep whose tasks speak all at once nothing is missed.
func (s *routes) drawn(t *submission.SelfReport, err error) bool {
	var e *draft.Error
	if t.Progress == nil || err != nil && !(errors.As(err, &e) && e.Code == draft.CodeTooOften) {
		return false
	}
	p, gap := t.Progress, time.Duration(0)
	if err != nil {
		gap = submission.ProgressEvery
	}
	return s.reported.Add(string(t.Ref.ID), reported.Report{Attempt: t.Attempt, Task: p.Task, Step: p.Step, Metrics: p.Metrics, At: s.Clock()}, gap)
}

// amendable are the fields of a document that may change while it lives.
var amendable = spec.LiveFields()

// waitingFields may change besides while a workload waits for its first start: where
// and when it may start, and what it asks for. What its tasks run stays.
var waitingFields = []string{"after", "exclusive", "licenses", "nodeAffinity", "nodeAffinityAny", "notBefore", "pools", "reservation", "resources", "slurm", "workers"}

// waitingParts are the parts of slurm of which that holds: not whose files are written,
// nor what it is called in an array.
var waitingParts = []string{"account", "cpusPerTask", "name", "partition", "tasks", "tasksPerNode", "variables"}

// mayChange says what of a merge patch does not change, and whether it changes only
// what does while a workload lives.
func mayChange(patch map[string]any) (live bool, err error) {
	if len(patch) == 0 {
		return false, problem.BadRequest("body", "says nothing to change", "name one of "+strings.Join(amendable, ", "))
	}
	live = true
	for name, value := range patch {
		if slices.Contains(amendable, name) || onlyLive(name, value) {
			continue
		}
		parts, _ := value.(map[string]any)
		for part := range parts {
			if name == "slurm" && !slices.Contains(waitingParts, part) {
				return false, problem.BadRequest(name+"."+part, "does not change once it is submitted", "what does: "+strings.Join(waitingParts, ", "))
			}
			if name == "slurm" && part == "variables" {
				if err := onlyOptions(parts[part]); err != nil {
					return false, err
				}
			}
		}
		if !slices.Contains(waitingFields, name) || name == "slurm" && parts == nil {
			return false, problem.BadRequest(name, "does not change once it is submitted", "what does while it lives: "+strings.Join(amendable, ", ")+", and parallelism of array; before its first start also "+strings.Join(waitingFields, ", ")+"; for the rest submit a new one")
		}
		live = false
	}
	return live, nil
}

// onlyOptions refuses variables by which who may change a job would decide what it runs,
// as whoever it belongs to.
func onlyOptions(variables any) error {
	all, is := variables.(map[string]any)
	if !is {
		return problem.BadRequest("slurm.variables", "is no map", "write variables by name, such as SLURM_MEM_PER_CPU")
	}
	for name := range all {
		if !slurm.SaysAnOption(name) {
			return problem.BadRequest("slurm.variables."+name, "does not change once it is submitted", "only variables that say options of the job do, such as SLURM_MEM_PER_CPU")
		}
	}
	return nil
}

// onlyLive reports whether of a field nothing changes but parts that may.
func onlyLive(name string, value any) bool {
	parts, is := value.(map[string]any)
	for part := range parts {
		if !spec.LivePart(name, part) {
			return false
		}
	}
	return is && len(parts) > 0
}

// amended is a document after a merge patch of what may change.
func amended(d *spec.Document, patch map[string]any) (*spec.Document, error) {
	m, err := request.RecordOf(d)
	if err != nil {
		return nil, err
	}
	delete(m, "namePrefix") // its name has been made
	text, err := json.Marshal(request.Merge(m, patch))
	if err != nil {
		return nil, err
	}
	return spec.Load(text)
}
