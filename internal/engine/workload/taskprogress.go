package workload

import (
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// Progress is how far one task of an array is.
type Progress struct {
	Started, Ended, Succeeded bool
	At                        time.Time // when it ended, or else started
}

// TaskProgress is how far the task of an index is in the present attempt of x, whose
// tasks are given by index. One that an attempt before has done is done.
func TaskProgress(x *core.Workload, tasks *Tasks, index int) Progress {
	p := Progress{At: x.EndedAt}
	if x.Phase == lifecycle.Completed && !x.TaskCanceled(index) {
		p.Started, p.Ended, p.Succeeded = true, true, true
	}
	t := tasks.At(index)
	switch {
	case x.TaskCanceled(index):
		p.Ended = true
	case t == nil:
		todo := x.Attempts[len(x.Attempts)-1].Todo
		if todo != nil && !slices.Contains(todo, index) {
			p.Started, p.Ended, p.Succeeded, p.At = true, true, true, x.StartedAt
		}
	case t.Repeat:
	default:
		p.Started = !t.StartedAt.IsZero()
		if p.Started {
			p.At = t.StartedAt
		}
		if !t.Again && t.State.Ended() {
			p.Ended, p.Succeeded, p.At = true, t.State == core.TaskSucceeded, t.EndedAt
		}
	}
	if x.Phase.End() {
		p.Ended = true // nothing more becomes of it
		if p.At.IsZero() {
			p.At = x.EndedAt
		}
	}
	return p
}

// Come reports whether a task is as far as an event of a dependency has it, or will
// never be unless it is run again.
func (p Progress) Come(event string) (come, never bool) {
	switch event {
	case spec.AfterStarted:
		return p.Started || p.Ended, false
	case spec.AfterEnded:
		return p.Ended, false
	case spec.AfterFailed:
		return p.Ended && !p.Succeeded, p.Succeeded
	default:
		return p.Succeeded, p.Ended && !p.Succeeded
	}
}

// IndexOf is the index of the task of an array that has that number; false: none has.
func IndexOf(x *spec.Document, number int) (int, bool) {
	if x.Array == nil {
		return 0, false
	}
	all := numbers(x)
	if all == nil {
		return number, number < x.Size()
	}
	i := slices.Index(all, number)
	return max(i, 0), i >= 0
}
