package consequence

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// The tasks of an array are independent. One that has to leave (for others, or
// since its node is drained or lost) waits again while its siblings go on, and
// is run again in the same attempt as soon as there is room. Each run is a task
// of its own to backends and to the books: a record, a log, one charged span. The
// last run of each index is what an attempt is at; those before are history.

// comeBack lets tasks of an array wait again that had to leave. An array of
// which nothing else is left to do or to wait for ends its attempt instead, and
// waits as a whole; over says so. It must run inside change.
func comeBack(tx *draft.Tx, d *draft.Draft) (over bool, err error) {
	var left []*core.Task // that have just left
	var lost *core.Task   // the first of those that nobody told to leave
	others := workload.Total(d.W) - d.Tasks.Sum(d.W).Count
	for _, t := range d.Tasks.Open() {
		switch {
		case t.Again:
			others--
		case !t.State.Ended() || d.W.TaskCanceled(t.ID.Index):
		default:
			others--
			if t.Repeat || t.State != core.TaskSucceeded && (t.Leaving || decide.Survives(d.W.Spec, d.W.SystemFailures, workload.FailureOf(t))) {
				left = append(left, t)
			}
		}
	}
	slices.SortFunc(left, func(a, b *core.Task) int { return cmp.Compare(a.ID.Index, b.ID.Index) })
	if i := slices.IndexFunc(left, func(t *core.Task) bool { return !t.Leaving && !t.Repeat }); i >= 0 {
		lost = left[i]
	}
	switch {
	case len(left) > 0 && others == 0 && lost != nil:
		return true, failed(tx, d, lost)
	case len(left) > 0 && others == 0 && asked(left):
		return true, End(tx, d, lifecycle.Input{On: lifecycle.Preempt, Target: lifecycle.Queued, Cause: lifecycle.CausePerson, Message: "what is left of it is to run again"}, draft.ActorControl)
	case len(left) > 0 && others == 0:
		message := fmt.Sprintf("%d of its tasks had to leave; they are all that is left", len(left)+workload.WaitAgain(d.Tasks))
		return true, End(tx, d, lifecycle.Input{On: lifecycle.Preempt, Target: decide.AfterPreemption(d.W.Kind, d.W.Spec), Cause: d.W.Cause, Message: message}, draft.ActorControl)
	}
	for _, t := range left {
		c := *t
		c.Again = true
		d.SetTask(c)
		tx.State.Dirty = true
	}
	if lost != nil {
		d.W.SystemFailures++ // one for all that were lost together
		inReach(tx, d)
	}
	Curtailed(tx, d)
	return false, nil
}

// asked reports whether somebody wants all of some tasks to run again.
func asked(left []*core.Task) bool {
	return !slices.ContainsFunc(left, func(t *core.Task) bool { return !t.Repeat })
}

// inReach clears Unreachable where what was on silent nodes is given up.
func inReach(tx *draft.Tx, d *draft.Draft) {
	c := workload.Condition(d.W, lifecycle.Unreachable)
	if c == nil || c.Cause != lifecycle.NodeSilent {
		return
	}
	for _, t := range d.Tasks.Open() {
		if n, ok := tx.State.Nodes[t.Node]; t.State.Held() && ok && !n.Ready {
			return
		}
	}
	d.Fact(lifecycle.Unreachable, false, tx.Now, "", "")
}

// Curtailed says of an array which of its tasks are missing.
func Curtailed(tx *draft.Tx, d *draft.Draft) {
	n := 0
	for _, t := range d.Tasks.Open() {
		n += core.Bit(t.Again || t.Leaving && t.State.Held())
	}
	d.Fact(lifecycle.Degraded, n > 0, tx.Now, lifecycle.TasksPreempted, fmt.Sprintf("%d of its %d tasks had to leave and run again when there is room", n, workload.Total(d.W)))
}

// RunAgain tells tasks of an array to leave, and to run again however they end, while
// others go on. Such as have ended already wait at once. It must run inside change.
func RunAgain(tx *draft.Tx, d *draft.Draft, tasks []*core.Task, message, actor string) error {
	if d.W.Phase == lifecycle.Running {
		message = fmt.Sprintf("%d of its tasks run again", len(tasks)) + More(message)
		if err := tx.Step(d, lifecycle.Input{On: lifecycle.Scale, Cause: lifecycle.CausePerson, Reason: lifecycle.ReasonScaled, Message: message}, actor); err != nil {
			return err
		}
	}
	for _, t := range tasks {
		c := *t
		if c.State.Ended() {
			c.Again = true
			d.SetTask(c)
			continue
		}
		c.Repeat = true
		sendAway(tx, d, &c)
	}
	tx.State.Dirty = true
	return Conclude(tx, d)
}

// Gives tells the tasks of an array that run on a node to leave, while others go
// on. It must run inside change.
func Gives(tx *draft.Tx, d *draft.Draft, on core.NodeID, why, actor string) error {
	var going []*core.Task
	for _, t := range workload.SortedTasks(d.Tasks) {
		if t.Node == on && t.State.Held() && !t.Leaving {
			going = append(going, t)
		}
	}
	if len(going) == 0 {
		return nil
	}
	if d.W.Phase == lifecycle.Running {
		message := fmt.Sprintf("%d of its tasks leave: %s", len(going), why)
		if err := tx.Step(d, lifecycle.Input{On: lifecycle.Scale, Cause: lifecycle.CauseDrain, Reason: lifecycle.ReasonScaled, Message: message}, actor); err != nil {
			return err
		}
	}
	for _, t := range going {
		sendAway(tx, d, t)
	}
	return Conclude(tx, d)
}
