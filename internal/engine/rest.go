package engine

import (
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// What the backend takes away or refuses (a drained node, a quota of the cluster,
// a policy of others) is no failure of the work: it is placed again. But where
// nothing of the place has changed meanwhile the same would happen at once, so
// that there is a pause before, which grows.

// systemic reports whether the system is to blame for the end of a task.
func systemic(t *core.Task) bool { return failureOf(t).Class.Systemic() }

// takenAway reports whether the backend refused t or took it away, and not its node.
func takenAway(t *core.Task) bool { return failureOf(t).Class == lifecycle.FailureSystem }

// rest keeps d from being placed for a while because the backend would not have t,
// or not any more, for the nth time. After the loss of a node there is no need:
// the others are as good as ever.
func (tx *tx) rest(d *draft, t *core.Task, n int) {
	if !takenAway(t) {
		return
	}
	at := tx.now.Add(decide.SystemWait(d.w.ID, d.w.Spec.Retry, n, !t.StartedAt.IsZero())).Truncate(time.Microsecond)
	if at.After(d.w.AskAt) {
		d.w.AskAt = at
	}
}

// spared has no more tasks placed beside those that run where the backend has just
// refused one or taken one away. It must run inside change.
func (tx *tx) spared(d *draft, t *core.Task) {
	// Counting refusals looks at all tasks, of which an array may have very many:
	// only where there was one.
	if takenAway(t) && (grows(d.w) || d.w.Spec.Elastic()) {
		tx.rest(d, t, refusals(d.tasks))
	}
}

// refusals is how often in a row tasks were placed that then did not start for
// the backend's sake. Those that are placed together count once.
func refusals(tasks map[int]*core.Task) int {
	last := lastStart(tasks)
	rounds := map[time.Time]bool{}
	for _, t := range tasks {
		if takenAway(t) && t.StartedAt.IsZero() && t.PlacedAt.After(last) {
			rounds[t.PlacedAt] = true
		}
	}
	return len(rounds)
}

// lastStart is when the one that started last did; zero: none has.
func lastStart(tasks map[int]*core.Task) time.Time {
	var last time.Time
	for _, t := range tasks {
		if t.StartedAt.After(last) {
			last = t.StartedAt
		}
	}
	return last
}

// refused is the last task that the backend refused or took away; nil: none.
func refused(tasks map[int]*core.Task) *core.Task {
	var last *core.Task
	for _, t := range sortedTasks(tasks) {
		if t.State.Ended() && takenAway(t) && (last == nil || !t.EndedAt.Before(last.EndedAt)) {
			last = t
		}
	}
	return last
}
