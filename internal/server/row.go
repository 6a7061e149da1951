package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/store"
)

// rowNodes is how many nodes a row names.
const rowNodes = 16

type rowsOutput struct{ Body api.RowList }

func (s *Server) rowRoute() {
	huma.Register(s.api, huma.Operation{
		OperationID: "list-rows", Method: http.MethodGet, Path: "/v1/projects/{project}/rows",
		Summary: "List workloads as rows, newest first: a tenth of what each has", Tags: []string{"workloads"},
	}, func(ctx context.Context, in *rowsInput) (*rowsOutput, error) {
		now, err := s.store.Counters(ctx) // before the page is read
		if err != nil {
			return nil, problem(s.log, err)
		}
		var page []*core.Workload
		var next string
		if in.Explained {
			page, err = s.explained(ctx)
		} else {
			page, next, err = s.page(ctx, &in.ListInput)
		}
		if err != nil {
			return nil, err
		}
		out := &rowsOutput{Body: api.RowList{Items: make([]api.Row, len(page)), Next: next, Revision: int64(now.Revision)}}
		for i, w := range page {
			p := parts{w: w}
			if p.tasks, err = s.rowTasks(ctx, w); err != nil {
				return nil, problem(s.log, err)
			}
			if leaves(w) {
				if p.transitions, err = s.store.Transitions(ctx, w.ID, 0, 0); err != nil {
					return nil, problem(s.log, err)
				}
			}
			out.Body.Items[i] = row(p)
		}
		return out, nil
	})
}

type rowsInput struct {
	ListInput
	// Explained is for a page that has the newest of very many.
	Explained bool `query:"explained" doc:"Instead of the newest: those of which an overview says why they wait"`
}

// explained are the workloads that the present overview explains.
func (s *Server) explained(ctx context.Context) ([]*core.Workload, error) {
	ids, err := s.waiting(ctx)
	if err != nil {
		return nil, problem(s.log, err)
	}
	out := make([]*core.Workload, 0, len(ids))
	for _, id := range ids {
		w, err := s.store.Workload(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, problem(s.log, err)
		}
		out = append(out, w)
	}
	return out, nil
}

// rowTasks are the tasks of a workload that has any which a row shows, of many
// those that have a place.
func (s *Server) rowTasks(ctx context.Context, w *core.Workload) ([]core.Task, error) {
	if !w.Phase.Held() {
		return nil, nil
	}
	return s.someTasks(ctx, w)
}

func row(p parts) api.Row {
	w := p.w
	said, why := words(p)
	out := api.Row{
		Words: said, WordReasons: why,
		ID: string(w.ID), Number: w.Seq, Name: w.Name, Project: string(w.Project), Kind: string(w.Kind), User: w.User, Labels: w.Spec.Labels,
		Priority: int(w.Spec.Priority), Preemptible: *w.Spec.Preemptible,
		Phase: string(w.Phase), Reason: string(w.Reason), Message: w.Message, Target: string(w.Target), Since: api.Time(w.PhaseAt),
		Attempt: w.Attempt, Tasks: taskCounts(w), GPUs: float64(w.AskedMilli()) / 1000, GPUsHeld: held(w), GPUType: w.Spec.Resources.GPU.Type,
		CreatedAt: api.Time(w.CreatedAt), StartedAt: at(w.StartedAt), EndedAt: at(w.EndedAt), AllowedActions: allowed(w), Revision: int64(w.Rev),
	}
	for i := range w.Attempts {
		a := &w.Attempts[i]
		switch {
		case a.RunningAt.IsZero():
		case a.EndedAt.IsZero():
			out.RunningAt = at(a.RunningAt)
		default:
			// As a page counts, whose clock has milliseconds: the sum is the same everywhere.
			out.Ran += a.EndedAt.Truncate(time.Millisecond).Sub(a.RunningAt.Truncate(time.Millisecond)).Seconds()
		}
	}
	if len(w.Attempts) > 0 {
		out.ExitCode = w.Attempts[len(w.Attempts)-1].ExitCode
	}
	for _, c := range w.Conditions {
		out.Conditions = append(out.Conditions, string(c.Type))
	}
	if w.Progress != nil {
		out.Step, out.Steps = w.Progress.Step, w.Progress.Total
	}
	out.Nodes, out.NodeCount = whereabouts(w, p.tasks)
	return out
}

// held is how many GPUs the tasks of w hold.
func held(w *core.Workload) float64 {
	if len(w.Attempts) == 0 {
		return 0
	}
	return float64(w.Attempts[len(w.Attempts)-1].GPUMilli) / 1000
}

// whereabouts are the nodes of the tasks that hold a place, those of the first
// tasks first.
func whereabouts(w *core.Workload, tasks []core.Task) ([]string, int) {
	var names []string
	seen := map[core.NodeID]bool{}
	for i := range tasks {
		t := &tasks[i]
		if t.ID.Attempt != w.Attempt || t.Node == "" || !t.State.Held() || seen[t.Node] {
			continue
		}
		seen[t.Node] = true
		if len(names) < rowNodes {
			names = append(names, string(t.Node))
		}
	}
	return names, len(seen)
}

// words are what each dialect says, and why where it says that, without codes
// and colours: those belong to the word and are the same for every workload.
func words(p parts) (said, why map[string]string) {
	if n := len(p.w.Attempts); len(p.tasks) == 0 && p.w.Phase == lifecycle.Failed && n > 0 && p.w.Attempts[n-1].ExitCode != nil {
		// The code of whoever failed first stands for tasks that were not read.
		p.tasks = []core.Task{{State: core.TaskFailed, ExitCode: p.w.Attempts[n-1].ExitCode}}
	}
	v := engine.View(p.w, p.tasks, p.transitions)
	said = make(map[string]string, len(lifecycle.Dialects()))
	for _, d := range lifecycle.Dialects() {
		w := lifecycle.Say(d, v)
		if said[string(d)] = w.Status; w.Reason != "" {
			if why == nil {
				why = map[string]string{}
			}
			why[string(d)] = w.Reason
		}
	}
	return said, why
}

// rowOfChange is a row as a change left it. Where the change carries only some of
// the tasks it does not say where they are.
func rowOfChange(c engine.Change) api.Row {
	p := parts{w: c.Workload, transitions: c.Transitions}
	for _, t := range slices.Concat(c.Former, c.Tasks) {
		p.tasks = append(p.tasks, *t)
	}
	out := row(p)
	if out.Partial = c.Partial && c.Workload.Phase.Held(); out.Partial {
		out.Nodes, out.NodeCount = nil, 0
	}
	return out
}
