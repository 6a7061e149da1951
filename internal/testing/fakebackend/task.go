package fakebackend

import (
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// task is one task that the backend holds. Its future follows from its script
// and from what was asked of it; its present, from that and the clock.
type task struct {
	a     backend.Assignment
	s     script
	begun time.Time
	asked time.Time // first polite signal; zero: none
	force time.Time // when it is ended by force; zero: never
	wrote bool      // its output is in the log
	state backend.Observation
}

// lead is how long it takes until it begins to start, and whether its image
// cannot be had then.
func (t *task) lead() (long time.Duration, fails bool) {
	all, fails := t.s.steps(t.a.PullRetries)
	for _, s := range all {
		long += s.long
	}
	return long, fails
}

// waiting is the word that it waits with, and until when.
func (t *task) waiting(now time.Time) (word string, until time.Time) {
	all, _ := t.s.steps(t.a.PullRetries)
	until = t.begun
	for _, s := range all {
		if until = until.Add(s.long); until.After(now) {
			return s.word, until
		}
	}
	return t.s.waiting, time.Time{}
}

// ready is when it runs, and whether it ever does.
func (t *task) ready() (time.Time, bool) {
	lead, fails := t.lead()
	if t.s.start == forever || t.s.fail != "" || fails {
		return time.Time{}, false
	}
	return t.begun.Add(lead + t.s.start), true
}

// end is when it ends by itself or because it was asked to, and how.
func (t *task) end() (at time.Time, how backend.Observation, ends bool) {
	first := func(x time.Time, signal, code int, reason lifecycle.Reason, message string) {
		if ends && !x.Before(at) {
			return
		}
		if signal != 0 {
			code = 128 + signal
		}
		how = backend.Observation{ID: t.a.ID, State: core.TaskFailed, ExitCode: &code, Signal: signal, Reason: string(reason), Message: message, At: x}
		at, ends = x, true
	}
	ready, runs := t.ready()
	lead, fails := t.lead()
	switch {
	case fails:
		first(t.begun.Add(lead), 0, 0, lifecycle.ReasonFailedImagePull, "the image "+t.a.Image+" could not be pulled")
		how.ExitCode = nil
	case t.s.fail != "" && t.s.start != forever:
		first(t.begun.Add(lead+t.s.start), 0, 0, lifecycle.Reason(t.s.fail), t.s.message)
		how.ExitCode = nil
	case runs && t.s.run != forever:
		reason := lifecycle.ReasonError
		if t.s.signal == 9 {
			reason = lifecycle.ReasonKilled // nobody of ours sent it
		}
		first(ready.Add(t.s.run), t.s.signal, t.s.exit, reason, t.s.message)
		if t.s.signal == 0 && t.s.exit == 0 {
			how.State, how.Reason = core.TaskSucceeded, ""
		}
	}
	if t.asked.IsZero() {
		return at, how, ends
	}
	switch starting := !runs || t.asked.Before(ready); {
	case starting: // there is no process yet that could be deaf or slow
		first(t.asked, 15, 0, lifecycle.ReasonError, "")
	case !t.s.deaf:
		first(t.asked.Add(t.s.stop), 15, 0, lifecycle.ReasonError, "")
	}
	first(t.force, 9, 0, lifecycle.ReasonError, "")
	return at, how, ends
}

// advance brings the task's state up to now; began says that it has begun to run
// since, and so has written its output.
func (t *task) advance(now time.Time) (began bool) {
	if t.state.State.Ended() {
		return false
	}
	ready, runs := t.ready()
	at, how, ends := t.end()
	ends = ends && !at.After(now)
	if runs && !ready.After(now) && !(ends && at.Before(ready)) {
		began = !t.wrote
		t.wrote = true
		t.state = backend.Observation{ID: t.a.ID, State: core.TaskRunning, At: ready}
	}
	if t.state.State == core.TaskStarting {
		t.state.Waiting, _ = t.waiting(now)
	}
	if ends {
		t.state = how
	}
	return began
}

// next is the first instant after now at which its state changes by itself.
func (t *task) next(now time.Time) (time.Time, bool) {
	if t.state.State.Ended() {
		return time.Time{}, false
	}
	at, _, ends := t.end()
	if _, until := t.waiting(now); t.state.State == core.TaskStarting && !until.IsZero() && !(ends && at.Before(until)) {
		return until, true
	}
	if ready, runs := t.ready(); runs && ready.After(now) && !(ends && at.Before(ready)) {
		return ready, true
	}
	return at, ends
}
