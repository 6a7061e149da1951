package engine

import (
	"fmt"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// The tasks of an array are independent. One that has to leave (for others, or
// since its node is drained or lost) waits again while its siblings go on, and
// is run again in the same attempt as soon as there is room. Each run is a task
// of its own to backends and to the books: a record, a log, one charged span. The
// last run of each index is what an attempt is at; those before are history.

// latest are the tasks of an attempt by index, each by its last run, without
// those that are history.
func latest(tasks []core.Task, attempt int) map[int]*core.Task {
	m := make(map[int]*core.Task, len(tasks))
	for i := range tasks {
		t := &tasks[i]
		if last := m[t.ID.Index]; t.ID.Attempt == attempt && !t.Closed && (last == nil || last.ID.Run < t.ID.Run) {
			m[t.ID.Index] = t
		}
	}
	return m
}

// comeBack lets tasks of an array wait again that had to leave. An array of
// which nothing else is left to do or to wait for ends its attempt instead, and
// waits as a whole; over says so. It must run inside change.
func (tx *tx) comeBack(d *draft) (over bool, err error) {
	var left []*core.Task // that have just left
	var lost *core.Task   // the first of those that nobody told to leave
	others := total(d.w)
	for _, t := range sortedTasks(d.tasks) {
		switch {
		case !t.State.Ended() || t.Again || d.w.TaskCanceled(t.ID.Index):
			continue
		case t.State != core.TaskSucceeded && (t.Leaving || decide.Survives(d.w.Spec, d.w.SystemFailures, failureOf(t))):
			left = append(left, t)
			if !t.Leaving && lost == nil {
				lost = t
			}
		}
		others--
	}
	others -= again(d.tasks)
	switch {
	case len(left) > 0 && others == 0 && lost != nil:
		return true, tx.failed(d, lost)
	case len(left) > 0 && others == 0:
		message := fmt.Sprintf("%d of its tasks had to leave; they are all that is left", len(left)+again(d.tasks))
		return true, tx.end(d, lifecycle.Input{On: lifecycle.Preempt, Target: decide.AfterPreemption(d.w.Kind, d.w.Spec), Cause: d.w.Cause, Message: message}, actorControl)
	}
	for _, t := range left {
		c := *t
		c.Again = true
		d.setTask(c)
		tx.e.dirty = true
	}
	if lost != nil {
		d.w.SystemFailures++ // one for all that were lost together
		tx.inReach(d)
	}
	tx.curtailed(d)
	return false, nil
}

// inReach clears Unreachable where what was on silent nodes is given up.
func (tx *tx) inReach(d *draft) {
	c := d.holding(lifecycle.Unreachable)
	if c == nil || c.Cause != lifecycle.NodeSilent {
		return
	}
	for _, t := range d.tasks {
		if n, ok := tx.e.nodes[t.Node]; t.State.Held() && ok && !n.Ready {
			return
		}
	}
	d.fact(lifecycle.Unreachable, false, tx.now, "", "")
}

// again is how many tasks had to leave and wait to be run again.
func again(tasks map[int]*core.Task) int {
	n := 0
	for _, t := range tasks {
		n += core.Bit(t.Again)
	}
	return n
}

// curtailed says of an array which of its tasks are missing.
func (tx *tx) curtailed(d *draft) {
	n := 0
	for _, t := range d.tasks {
		n += core.Bit(t.Again || t.Leaving && t.State.Held())
	}
	d.fact(lifecycle.Degraded, n > 0, tx.now, lifecycle.TasksPreempted, fmt.Sprintf("%d of its %d tasks had to leave and run again when there is room", n, total(d.w)))
}

// succeed closes the books of the task of that index, where it had to leave,
// and returns the number of the run that follows.
func (d *draft) succeed(index int) int {
	t := d.tasks[index]
	if t == nil {
		return 0
	}
	d.w.GPUSeconds += chargedTask(t, t.ReleasedAt)
	if _, unwritten := d.changed[index]; unwritten {
		d.former = append(d.former, t)
	}
	return t.ID.Run + 1
}

// close makes history of tasks that have ended and whose places others have
// taken: they stay in the store, and nothing is kept of them that would grow with
// the life of a workload which has ever new tasks. It must run inside change.
func (d *draft) close(over func(*core.Task) bool) {
	for _, t := range sortedTasks(d.tasks) {
		if !t.State.Ended() || t.ReleasedAt.IsZero() || !over(t) {
			continue
		}
		c := *t
		c.Closed = true
		d.w.GPUSeconds += chargedTask(&c, c.ReleasedAt)
		d.former = append(d.former, &c)
		delete(d.tasks, c.ID.Index)
		delete(d.changed, c.ID.Index)
	}
}

// gives tells the tasks of an array that run on a node to leave, while others go
// on. It must run inside change.
func (tx *tx) gives(d *draft, on core.NodeID, why, actor string) error {
	var going []*core.Task
	for _, t := range sortedTasks(d.tasks) {
		if t.Node == on && t.State.Held() && !t.Leaving {
			going = append(going, t)
		}
	}
	if len(going) == 0 {
		return nil
	}
	if d.w.Phase == lifecycle.Running {
		message := fmt.Sprintf("%d of its tasks leave: %s", len(going), why)
		if err := tx.step(d, lifecycle.Input{On: lifecycle.Scale, Cause: lifecycle.CauseDrain, Reason: lifecycle.ReasonScaled, Message: message}, actor); err != nil {
			return err
		}
	}
	for _, t := range going {
		tx.dismissed(d, t)
	}
	return tx.conclude(d)
}

// stays reports whether some task that holds its place is elsewhere than on a
// node.
func stays(tasks map[int]*core.Task, on core.NodeID) bool {
	for _, t := range tasks {
		if t.Node != on && t.State.Held() && !t.Leaving {
			return true
		}
	}
	return false
}
