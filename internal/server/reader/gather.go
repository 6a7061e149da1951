package reader

import (
	"context"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/server/wire"
)

// Gather reads what belongs to each workload, tasks and history where a status
// word needs them in any case; at most so many tasks of each attempt, negative:
// all.
func (s *Reader) Gather(ctx context.Context, ws []*core.Workload, v wire.View, most int) ([]wire.Parts, error) {
	out := make([]wire.Parts, len(ws))
	var waiting []core.WorkloadID
	for i, w := range ws {
		out[i].Workload = w
		var err error
		attempt, some := tasksFor(w, v)
		switch {
		case !some:
		case !v.Document():
			out[i].Tasks, err = s.someTasks(ctx, w)
		case Many(w, most):
			out[i].Tasks, out[i].Cut, err = s.gatherSome(ctx, w, attempt, most)
		default:
			out[i].Tasks, err = s.Store.Tasks(ctx, w.ID, attempt)
		}
		if err != nil {
			return nil, err
		}
		if v == wire.ViewFull || wire.Leaves(w) {
			if out[i].Transitions, err = s.Store.Transitions(ctx, w.ID, 0, 0); err != nil {
				return nil, err
			}
		}
		switch w.Phase {
		case lifecycle.Reviewing, lifecycle.Queued, lifecycle.Inadmissible, lifecycle.Backoff:
			waiting = append(waiting, w.ID)
		}
	}
	if len(waiting) == 0 || v == wire.ViewBare {
		return out, nil
	}
	why, err := s.Control.Explain(ctx, waiting)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if p, ok := why[out[i].Workload.ID]; ok && p.Phase == out[i].Workload.Phase {
			out[i].Pending = &p
		}
	}
	return out, nil
}

// tasksFor is of which attempt a view of w needs the tasks, -1 for all; false:
// of none, or there can be none as none has been placed.
func tasksFor(w *core.Workload, v wire.View) (attempt int, some bool) {
	last := &w.Attempts[len(w.Attempts)-1]
	switch {
	case v == wire.ViewFull:
		return -1, len(w.Attempts) > 1 || !last.StartedAt.IsZero()
	case v == wire.ViewTable:
		return w.Attempt, !last.StartedAt.IsZero()
	}
	return w.Attempt, w.Phase == lifecycle.Starting || w.Phase == lifecycle.Restarting
}

// RowTasks are the tasks of a workload that has any which a row shows, of many
// those that have a place.
func (s *Reader) RowTasks(ctx context.Context, w *core.Workload) ([]core.Task, error) {
	if !w.Phase.Held() {
		return nil, nil
	}
	return s.someTasks(ctx, w)
}
