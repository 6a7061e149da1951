package engine

import (
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Prospect is what edits of projects and departments would change at once.
type Prospect struct {
	At            time.Time
	Edited        []Edited
	Before, After []Standing
	// Starts are those that would start with the edits, and not without them;
	// Waits those of whom the opposite holds.
	Starts, Waits []RelatedWorkload
	// Leaves are those that would have to make room with the edits, and not
	// without them; Stays those of whom the opposite holds.
	Leaves, Stays []RelatedWorkload
}

// ProspectStudy is the question with everything that its answer needs.
type ProspectStudy struct {
	out           Prospect
	Before, after *state.Copy
	names         map[core.WorkloadID]RelatedWorkload
	Failed        func(*schedule.Fault)
}

// ProspectOf asks what edits of projects and departments would change; the value
// is a *prospectStudy. The draft is afterwards as it was.
func ProspectOf(edits []Edit) Command {
	return func(tx *tx) (any, error) {
		tx.sync()
		tx.tellPast()
		now := tx.now.UnixMilli()
		s := &ProspectStudy{out: Prospect{At: tx.now, Before: tx.standings()}, names: map[core.WorkloadID]RelatedWorkload{}, Failed: tx.e.failed}
		s.Before = tx.e.sched.Copy(now, tx.e.work)
		was := tx.org.clone()
		edited, err := tx.edit(edits)
		if err == nil {
			s.out.Edited, s.out.After = edited, tx.standings()
			s.after = tx.copyWith(s.Before)
		}
		tx.org = was
		tx.survey()
		if err != nil {
			return nil, err
		}
		for i := range s.Before.Jobs {
			if w, _, ok := tx.view(s.Before.Jobs[i].ID); ok {
				s.names[w.ID] = RelatedWorkload{ID: w.ID, Name: w.Name, Project: w.Project, User: w.User, GPUs: w.Spec.TotalGPUs(), Milli: w.Spec.TotalMilli()}
			}
		}
		return s, nil
	}
}

// copyWith is a copy of the scheduler's state with the queues of the draft; what
// they have used of late stays.
func (tx *tx) copyWith(of *state.Copy) *state.Copy {
	past := map[core.ProjectID]map[string]schedule.Quota{}
	for i := range of.Queues {
		past[of.Queues[i].ID] = of.Queues[i].Shares
	}
	c := *of
	c.Queues = tx.queues()
	for i := range c.Queues {
		q := &c.Queues[i]
		for _, p := range c.Pools {
			own, said := q.Shares[p.Name]
			if !said {
				own = q.Default
			}
			own.Usage = past[q.ID][p.Name].Usage
			q.Shares[p.Name] = own
		}
	}
	return &c
}

// Answer works the question out beside the engine.
func (s *ProspectStudy) Answer() *Prospect {
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
