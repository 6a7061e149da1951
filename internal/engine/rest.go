package engine

import (
	"cmp"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// What the backend takes away or refuses (a drained node, a quota of the cluster,
// a policy of others) is no failure of the work: it is placed again. But where
// nothing of the place has changed meanwhile the same would happen at once, so
// that there is a pause before, which grows.

// leftAlone is the first pause after a task that had run: whoever took it away is
// done with it. What was refused waits as after a failure, and where none is
// waited for as long as after failures without end.
const leftAlone = time.Second

// systemic reports whether the system is to blame for the end of a task.
func systemic(t *core.Task) bool {
	r := lifecycle.Reason(t.Reason)
	return r == lifecycle.ReasonNodeLost || r == lifecycle.ReasonSystem
}

// rest keeps d from being placed for a while because the backend would not have t,
// or not any more, for the nth time. After the loss of a node there is no need:
// the others are as good as ever.
func (tx *tx) rest(d *draft, t *core.Task, n int) {
	if t.Reason != string(lifecycle.ReasonSystem) {
		return
	}
	base := leftAlone
	if t.StartedAt.IsZero() {
		base = max(base, cmp.Or(d.w.Spec.Retry.Backoff.Std(), endlessBase))
	}
	at := tx.now.Add(spread(d.w.ID, max(n, 1), base, d.w.Spec.Retry.MaxBackoff.Std())).Truncate(time.Microsecond)
	if at.After(d.w.AskAt) {
		d.w.AskAt = at
	}
}

// spared has no more tasks placed beside those that run where the backend has just
// refused one or taken one away. It must run inside change.
func (tx *tx) spared(d *draft, t *core.Task) {
	// Counting refusals looks at all tasks, of which an array may have very many:
	// only where there was one.
	if t.Reason == string(lifecycle.ReasonSystem) && (grows(d.w) || d.w.Spec.Elastic()) {
		tx.rest(d, t, refusals(d.tasks))
	}
}

// refusals is how often in a row tasks were placed that then did not start for
// the backend's sake. Those that are placed together count once.
func refusals(tasks map[int]*core.Task) int {
	last := lastStart(tasks)
	rounds := map[time.Time]bool{}
	for _, t := range tasks {
		if t.Reason == string(lifecycle.ReasonSystem) && t.StartedAt.IsZero() && t.PlacedAt.After(last) {
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
		if t.State.Ended() && t.Reason == string(lifecycle.ReasonSystem) && (last == nil || !t.EndedAt.Before(last.EndedAt)) {
			last = t
		}
	}
	return last
}
