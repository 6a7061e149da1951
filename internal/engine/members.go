package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
)

// open are the members of w's claim that have no place, those first that come
// first.
func (e *Engine) open(w *core.Workload, tasks map[int]*core.Task) []*member {
	c := e.Claims.Of[keyOf(w)]
	if c == nil {
		return nil
	}
	placed := map[string]bool{}
	for _, t := range tasks {
		// One whose pod could not be given its place, and so did not start, still waits.
		placed[t.Claim] = placed[t.Claim] || !t.State.Ended() || !t.StartedAt.IsZero() || !takenAway(t)
	}
	var out []*member
	for _, m := range c.members {
		if m.Barred == "" && m.Task == (core.TaskID{}) && !placed[m.Key] {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b *member) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key))
	})
	return out
}

// lacks says what keeps the open members of w from being placed that is not the
// scheduler's matter; false: nothing does.
func (e *Engine) lacks(w *core.Workload, tasks map[int]*core.Task) (schedule.Reason, bool) {
	c := e.Claims.Of[keyOf(w)]
	switch {
	case c == nil || len(c.members) == 0:
		return schedule.Reason{Token: schedule.Incomplete, Note: "none of its pods is there; " + w.Spec.Annotations[noteMaker] + " makes them"}, true
	case c.Barred != "":
		return schedule.Reason{Token: schedule.Barred, Note: c.Barred}, true
	}
	open := len(e.open(w, tasks))
	have := open
	for _, t := range tasks {
		have += core.Bit(t.State.Held() || t.State == core.TaskSucceeded)
	}
	barred := ""
	for _, m := range c.members {
		if m.Barred != "" && (barred == "" || m.Name < barred) {
			barred = m.Name + ": " + m.Barred
		}
	}
	switch {
	case have < c.Min && barred != "", open == 0 && barred != "":
		return schedule.Reason{Token: schedule.Barred, Note: barred}, true
	case have < c.Min:
		return schedule.Reason{Token: schedule.Incomplete, Tasks: int64(c.Min), Fitting: int64(have), Note: fmt.Sprintf("%d of at least %d are there", have, c.Min)}, true
	}
	return schedule.Reason{}, false
}

// wants reports whether the scheduler has something to place for w.
func (e *Engine) wants(w *core.Workload, tasks map[int]*core.Task) bool {
	if w.Kind != lifecycle.External {
		return waiting(w, tasks)
	}
	switch w.Phase {
	case lifecycle.Queued, lifecycle.Reserved:
		if !waiting(w, tasks) {
			return false
		}
	case lifecycle.Starting, lifecycle.Running:
	default:
		return false
	}
	_, lacks := e.lacks(w, tasks)
	return !lacks && len(e.open(w, tasks)) > 0
}

// shedsMembers reports whether n members of d can leave while the others go on.
func shedsMembers(d *draft, n int) bool {
	held := 0
	for _, t := range d.tasks {
		held += core.Bit(wanted(t))
	}
	return d.w.Spec.MinWorkers < 2 || held-n >= minimum(d.w, d.tasks)
}

// expelMembers has the members on a node leave. Of a gang that would be too few
// then all do. It must run inside change.
func (tx *tx) expelMembers(d *draft, id core.NodeID, v vacation) error {
	var there []*core.Task
	for _, t := range sortedTasks(d.tasks) {
		if t.Node == id && wanted(t) {
			there = append(there, t)
		}
	}
	if d.w.Spec.TerminateAfterPreemption || !shedsMembers(d, len(there)) {
		return tx.end(d, lifecycle.Input{On: lifecycle.Preempt, Target: decide.AfterPreemption(d.w.Kind, d.w.Spec), Cause: lifecycle.CauseDrain, Message: v.message}, v.actor)
	}
	for _, t := range there {
		tx.leave(d, t)
	}
	return tx.conclude(d)
}
