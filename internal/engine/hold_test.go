package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/explanation"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/testing/memstore"
)

func hold(w *core.Workload) draft.Work {
	return submission.Hold(submission.HoldRequest{Ref: draft.Ref{ID: w.ID}, Actor: "user:ada", Message: "later"})
}

func release(w *core.Workload) draft.Work {
	return submission.Release(submission.HoldRequest{Ref: draft.Ref{ID: w.ID}, Actor: "user:bob"})
}

func stopProject(o *office, mode core.StopMode) {
	o.t.Helper()
	o.do(organisation.Organise([]organisation.Edit{{What: organisation.RecordProject, Name: "default", Project: func(p *core.Project) error {
		p.StopMode = mode
		return nil
	}}}, false))
}

func TestWhatIsHeldWaitsUntilItIsReleased(t *testing.T) {
	o := newOffice(t, memstore.New())
	first := o.made(`{"name":"first","command":["fake"],"resources":{"gpu":1}}`)
	second := o.made(`{"name":"second","command":["fake"],"resources":{"gpu":1}}`)
	o.is(second.ID, lifecycle.Queued)
	o.do(hold(second))
	w := o.is(second.ID, lifecycle.Inadmissible)
	if w.Reason != lifecycle.ReasonHeld || !strings.HasPrefix(w.Message, "held by ada since ") || !strings.HasSuffix(w.Message, ": later") {
		t.Errorf("reason %s, %q", w.Reason, w.Message)
	}
	if r := o.why(second.ID); r.Token != schedule.HeldBack || !strings.HasPrefix(r.String(), "is held by ada") {
		t.Errorf("it waits because of %s: %s", r.Token, r)
	}
	o.refused(draft.CodeConflict, hold(second))
	o.refused(draft.CodeIllegal, hold(first))
	o.refused(draft.CodeConflict, release(first))
	o.seen(opens, first.ID, 0, core.TaskRunning)
	o.seen(opens, first.ID, 0, core.TaskSucceeded) // there is room, and it is not for what is held
	o.begin()
	o.open() // also after a restart
	o.is(second.ID, lifecycle.Inadmissible)
	o.do(release(second))
	o.is(second.ID, lifecycle.Starting)
	o.refused(draft.CodeIllegal, hold(first)) // it has ended
}

func TestAHoldOutlastsWhatElseClosesAQueue(t *testing.T) {
	o := newOffice(t, memstore.New())
	w := o.made(`{"name":"a","command":["fake"],"hold":true,"notifications":[{"webhook":"http://h/x","on":["Queued"]}]}`)
	if got := o.is(w.ID, lifecycle.Inadmissible); got.Reason != lifecycle.ReasonHeld || got.Hold == nil || got.Hold.By != "user:u" {
		t.Errorf("%s, %+v", got.Reason, got.Hold)
	}
	stopProject(o, core.StopHold)
	p := ask(o, explanation.Explain([]core.WorkloadID{w.ID}))[w.ID]
	var tokens []schedule.Token
	for _, r := range p.Reasons {
		tokens = append(tokens, r.Token)
	}
	if !slices.Equal(tokens, []schedule.Token{schedule.HeldBack, schedule.QueueStopped}) {
		t.Errorf("it waits because of %v", tokens)
	}
	if got := o.is(w.ID, lifecycle.Inadmissible); got.Reason != lifecycle.ReasonQueueStopped {
		t.Errorf("the reason is %s", got.Reason)
	}
	stopProject(o, core.StopNone)
	if got := o.is(w.ID, lifecycle.Inadmissible); got.Reason != lifecycle.ReasonHeld {
		t.Errorf("the reason is %s", got.Reason)
	}
	stopProject(o, core.StopHold)
	o.do(release(w))
	if got := o.is(w.ID, lifecycle.Inadmissible); got.Reason != lifecycle.ReasonQueueStopped || got.Hold != nil {
		t.Errorf("%s, %+v", got.Reason, got.Hold)
	}
	o.sends() // it was never queued
	stopProject(o, core.StopNone)
	o.is(w.ID, lifecycle.Starting)
}

func TestWhatIsOnItsWayStopsBeforeItsQueue(t *testing.T) {
	o := newOffice(t, memstore.New())
	w := o.made(`{"name":"a","command":["fake"],"checks":[{"name":"ok","type":"approval"}]}`)
	o.is(w.ID, lifecycle.Reviewing)
	o.do(hold(w))
	if r := o.why(w.ID); r.Token != schedule.HeldBack {
		t.Errorf("it waits because of %s first", r.Token)
	}
	o.do(submission.Decide(submission.Decision{Ref: draft.Ref{ID: w.ID}, Approve: true, User: "ada", Actor: "user:ada"}))
	o.is(w.ID, lifecycle.Inadmissible)
	o.do(release(w))
	o.is(w.ID, lifecycle.Starting)

	again := o.made(`{"name":"b","command":["fake"],"retry":{"limit":1,"backoff":"10s"}}`)
	o.seen(opens, again.ID, 0, core.TaskRunning)
	o.seen(opens, again.ID, 0, core.TaskFailed)
	got := o.is(again.ID, lifecycle.Backoff)
	o.do(hold(again))
	o.at(got.WakeAt, release(w2(o))) // time passes
	o.is(again.ID, lifecycle.Inadmissible)
	o.at(got.WakeAt, release(again))
	o.is(again.ID, lifecycle.Starting)
}

// w2 is something that can be released.
func w2(o *office) *core.Workload {
	o.t.Helper()
	return o.made(`{"name":"other","command":["fake"],"hold":true}`)
}

// What runs is sent back to be held, and what has ended is to run again once it is
// released: neither begins in between, though there is room for it.
func TestWhatIsSentBackIsHeld(t *testing.T) {
	back := func(w *core.Workload) draft.Work {
		return submission.Hold(submission.HoldRequest{Ref: draft.Ref{ID: w.ID}, Actor: "user:ada", Requeue: true})
	}
	o := newOffice(t, memstore.New())
	runs := o.made(`{"name":"runs","command":["fake"],"resources":{"cpu":"100m"}}`)
	over := o.made(`{"name":"over","command":["fake"],"resources":{"cpu":"100m"}}`)
	last := o.made(`{"name":"last","command":["fake"],"resources":{"cpu":"100m"},"terminateAfterPreemption":true}`)
	for _, w := range []*core.Workload{runs, over, last} {
		o.seen(opens, w.ID, 0, core.TaskRunning)
	}
	o.seen(opens.Add(time.Second), over.ID, 0, core.TaskSucceeded)
	o.do(back(runs))
	o.is(runs.ID, lifecycle.Terminating)
	o.seen(opens.Add(2*time.Second), runs.ID, 0, core.TaskFailed)
	o.do(back(over))
	for _, w := range []*core.Workload{runs, over} {
		got := o.is(w.ID, lifecycle.Inadmissible)
		if got.Attempt != 1 || got.Hold == nil || got.Hold.By != "user:ada" || got.Reason != lifecycle.ReasonHeld {
			t.Errorf("%s is in attempt %d, held by %+v, for %s", w.Name, got.Attempt, got.Hold, got.Reason)
		}
		o.do(release(w))
		o.is(w.ID, lifecycle.Starting)
	}
	o.refused(draft.CodeConflict, back(last)) // it would not come back
	o.is(last.ID, lifecycle.Running)
}
