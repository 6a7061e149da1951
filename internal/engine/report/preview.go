package report

import (
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
	"github.com/musterhq/muster/internal/core/schedule/state"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/explanation"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/planner"
)

// Preview is what edits of projects and departments would change at once.
type Preview struct {
	At            time.Time
	Edited        []organisation.Edited
	Before, After []Standing
	// Starts are those that would start with the edits, and not without them;
	// Waits those of whom the opposite holds.
	Starts, Waits []explanation.RelatedWorkload
	// Leaves are those that would have to make room with the edits, and not
	// without them; Stays those of whom the opposite holds.
	Leaves, Stays []explanation.RelatedWorkload
}

// PreviewStudy is the question with everything that its answer needs.
type PreviewStudy struct {
	out           Preview
	Before, after *state.Copy
	names         map[core.WorkloadID]explanation.RelatedWorkload
	Failed        func(*schedule.Fault)
}

// PreviewOf asks what edits of projects and departments would change. The draft is
// afterwards as it was.
func PreviewOf(edits []organisation.Edit) draft.Command[*PreviewStudy] {
	return func(tx *draft.Tx) (*PreviewStudy, error) {
		planner.Sync(tx)
		planner.PassUsage(tx)
		now := tx.Now.UnixMilli()
		s := &PreviewStudy{out: Preview{At: tx.Now, Before: standings(tx)}, names: map[core.WorkloadID]explanation.RelatedWorkload{}, Failed: tx.State.Failed}
		s.Before = tx.State.Sched.Copy(now, tx.State.Work)
		was := tx.Org.Clone()
		edited, err := organisation.Apply(tx, edits)
		if err == nil {
			s.out.Edited, s.out.After = edited, standings(tx)
			s.after = copyWith(tx, s.Before)
		}
		tx.Org = was
		tx.Survey()
		if err != nil {
			return nil, err
		}
		for i := range s.Before.Jobs {
			if w, _, ok := tx.View(s.Before.Jobs[i].ID); ok {
				s.names[w.ID] = explanation.RelatedWorkload{ID: w.ID, Name: w.Name, Project: w.Project, User: w.User, GPUs: w.Spec.TotalGPUs(), Milli: w.Spec.TotalMilli()}
			}
		}
		return s, nil
	}
}

// copyWith is a copy of the scheduler's state with the queues of the draft; what
// they have used of late stays.
func copyWith(tx *draft.Tx, of *state.Copy) *state.Copy {
	past := map[core.ProjectID]map[string]schedule.Quota{}
	for i := range of.Queues {
		past[of.Queues[i].ID] = of.Queues[i].Shares
	}
	c := *of
	c.Queues = planner.Queues(tx)
	for i := range c.Queues {
		q := &c.Queues[i]
		for _, p := range c.Pools {
			own, given := q.Shares[p.Name]
			if !given {
				own = q.Default
			}
			own.Usage = past[q.ID][p.Name].Usage
			q.Shares[p.Name] = own
		}
	}
	return &c
}

// Answer works the question out beside the engine.
func (s *PreviewStudy) Answer() *Preview {
	out := &s.out
	for _, x := range []struct {
		rows []Standing
		copy *state.Copy
	}{{out.Before, s.Before}, {out.After, s.after}} {
		st := x.copy.State()
		for i := range x.rows {
			x.rows[i].Fair = fair(st, x.rows[i].Pool, x.rows[i].Project.ID)
		}
	}
	without, with := forecast.OutcomeOf(s.Before), forecast.OutcomeOf(s.after)
	starts := func(o forecast.Outcome, id core.WorkloadID) bool { return slices.Contains(o.Starts, id) }
	leaves := func(o forecast.Outcome, id core.WorkloadID) bool {
		return slices.ContainsFunc(o.Leaves, func(e schedule.Eviction) bool { return e.ID == id })
	}
	for _, id := range with.Starts {
		if !starts(without, id) {
			out.Starts = append(out.Starts, s.names[id])
		}
	}
	for _, id := range without.Starts {
		if !starts(with, id) {
			out.Waits = append(out.Waits, s.names[id])
		}
	}
	for _, e := range with.Leaves {
		if n := s.names[e.ID]; !leaves(without, e.ID) {
			n.Cause = e.Cause
			out.Leaves = append(out.Leaves, n)
		}
	}
	for _, e := range without.Leaves {
		if !leaves(with, e.ID) {
			out.Stays = append(out.Stays, s.names[e.ID])
		}
	}
	return out
}
