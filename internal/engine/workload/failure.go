package workload

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// FailureOf is how t failed, as far as that decides anything.
func FailureOf(t *core.Task) decide.Failure {
	return decide.Failure{Class: t.Class, Lost: t.State == core.TaskLost, ExitCode: t.ExitCode}
}

// Since is how long it is since then; zero: that has not been.
func Since(then, now time.Time) time.Duration {
	if then.IsZero() {
		return 0
	}
	return now.Sub(then)
}

// WhyRestarted is why an attended task is started again in place.
func WhyRestarted(t *core.Task) lifecycle.Reason {
	if Exited(t) {
		return lifecycle.ReasonExited
	}
	return lifecycle.Reason(t.Reason)
}

// Exited reports whether t has ended by itself without an error.
func Exited(t *core.Task) bool { return t.ExitCode != nil && *t.ExitCode == 0 }

// Blame is one sentence on which task failed and how.
func Blame(w *core.Workload, t *core.Task) string {
	who := "its task"
	if w.Spec.Size() > 1 {
		who = fmt.Sprintf("%s %d on %s", t.Role, t.ID.Index, t.Node)
	}
	switch {
	case t.State == core.TaskLost:
		return who + " was lost: " + t.Message
	case t.Message != "":
		return who + " failed: " + t.Message
	case t.Signal != 0:
		return fmt.Sprintf("%s was ended by signal %d", who, t.Signal)
	case t.ExitCode != nil:
		return fmt.Sprintf("%s exited with code %d", who, *t.ExitCode)
	default:
		return who + " failed"
	}
}

// Killed reports whether somebody ended t.
func Killed(t *core.Task) bool { return FailureOf(t).Class == lifecycle.FailureKilled }

// Systemic reports whether the system is to blame for the end of a task.
func Systemic(t *core.Task) bool { return FailureOf(t).Class.Systemic() }

// TakenAway reports whether the backend refused t or took it away, and not its node.
func TakenAway(t *core.Task) bool { return FailureOf(t).Class == lifecycle.FailureSystem }

// Refusals is how often in a row tasks were placed that then did not start for
// the backend's sake. Those that are placed together count once.
func Refusals(tasks *Tasks) int {
	last := LastStart(tasks)
	rounds := map[time.Time]bool{}
	for _, t := range tasks.All() {
		if TakenAway(t) && t.StartedAt.IsZero() && t.PlacedAt.After(last) {
			rounds[t.PlacedAt] = true
		}
	}
	return len(rounds)
}

// LastStart is when the one that started last did; zero: none has.
func LastStart(tasks *Tasks) time.Time {
	var last time.Time
	for _, t := range tasks.All() {
		if t.StartedAt.After(last) {
			last = t.StartedAt
		}
	}
	return last
}

// Refused is the last task that the backend refused or took away; nil: none.
func Refused(tasks *Tasks) *core.Task {
	var last *core.Task
	for _, t := range SortedTasks(tasks) {
		if t.State.Ended() && TakenAway(t) && (last == nil || !t.EndedAt.Before(last.EndedAt)) {
			last = t
		}
	}
	return last
}
