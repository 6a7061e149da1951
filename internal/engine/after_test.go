package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/explanation"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/testing/memstore"
)

func (o *office) made(doc string) *core.Workload {
	o.t.Helper()
	return ask(o, o.submit(doc)).Workload
}

// is checks a workload's phase, and returns it.
func (o *office) is(id core.WorkloadID, want lifecycle.Phase) *core.Workload {
	o.t.Helper()
	w, err := o.st.Workload(o.t.Context(), id)
	if err != nil {
		o.t.Fatal(err)
	}
	if w.Phase != want {
		o.t.Errorf("%s is %s (%s), want %s", w.Name, w.Phase, w.Message, want)
	}
	return w
}

func (o *office) why(id core.WorkloadID) schedule.Reason {
	o.t.Helper()
	p, ok := ask(o, explanation.Explain([]core.WorkloadID{id}))[id]
	if !ok || len(p.Reasons) == 0 {
		o.t.Fatalf("nobody knows why %s waits", id)
	}
	return p.Reasons[0]
}

func TestAWorkloadWaitsForOthers(t *testing.T) {
	for _, c := range []struct {
		when string
		ends core.TaskState // of the first
		goes bool           // the second, once the first runs, and ends
		then bool
	}{
		{"succeeded", core.TaskSucceeded, false, true},
		{"succeeded", core.TaskFailed, false, false},
		{"failed", core.TaskFailed, false, true},
		{"failed", core.TaskSucceeded, false, false},
		{"ended", core.TaskFailed, false, true},
		{"ended", core.TaskSucceeded, false, true},
		{"started", core.TaskSucceeded, true, true},
	} {
		t.Run(c.when+" "+string(c.ends), func(t *testing.T) {
			o := newOffice(t, memstore.New())
			first := o.made(`{"name":"first","command":["fake"]}`)
			second := o.made(`{"name":"second","command":["fake"],"after":[{"workload":"first","when":"` + c.when + `"}]}`)
			third := o.made(`{"name":"third","command":["fake"],"after":["second"]}`)
			o.is(second.ID, lifecycle.Reviewing)
			if r := o.why(second.ID); r.Token != schedule.Dependency || !strings.Contains(r.String(), "waits for first to ") {
				t.Errorf("it waits because of %s: %s", r.Token, r)
			}
			next := func(goes bool) {
				t.Helper()
				want := lifecycle.Reviewing
				if goes {
					want = lifecycle.Starting
				}
				o.is(second.ID, want)
			}
			o.seen(opens, first.ID, 0, core.TaskRunning)
			next(c.goes)
			o.begin() // what it waits for is known after a restart
			o.open()
			o.seen(opens.Add(time.Second), first.ID, 0, c.ends)
			next(c.then)
			if !c.then {
				if r := o.why(second.ID); !strings.Contains(r.String(), "goes on if that is restarted") {
					t.Errorf("it waits because of %s", r)
				}
				o.is(third.ID, lifecycle.Reviewing)
				return
			}
			o.seen(opens.Add(2*time.Second), second.ID, 0, core.TaskRunning)
			o.seen(opens.Add(3*time.Second), second.ID, 0, core.TaskSucceeded)
			o.is(third.ID, lifecycle.Starting)
		})
	}
}

func TestWhatWaitsForAFailureGoesOnAfterARestart(t *testing.T) {
	o := newOffice(t, memstore.New())
	first := o.made(`{"name":"first","command":["fake"],"retry":{"limit":0}}`)
	second := o.made(`{"name":"second","command":["fake"],"after":["first"]}`)
	o.seen(opens, first.ID, 0, core.TaskFailed)
	o.is(first.ID, lifecycle.Failed)
	o.is(second.ID, lifecycle.Reviewing)
	o.do(submission.Restart(draft.Ref{ID: first.ID}, "user:u"))
	o.seen(opens.Add(time.Second), first.ID, 1, core.TaskSucceeded)
	o.is(second.ID, lifecycle.Starting)
}

func TestWhatIsWaitedForMayBeDeleted(t *testing.T) {
	o := newOffice(t, memstore.New())
	first := o.made(`{"name":"first","command":["fake"]}`)
	well := o.made(`{"name":"well","command":["fake"],"after":["first"]}`)
	any := o.made(`{"name":"any","command":["fake"],"after":[{"workload":"` + string(first.ID) + `","when":"ended"}]}`)
	chain := o.made(`{"name":"chain","command":["fake"],"after":[{"workload":"well","when":"failed"}]}`)
	o.do(submission.Delete(draft.Ref{ID: first.ID}, "user:u"))
	o.seen(opens, first.ID, 0, core.TaskFailed)
	o.at(opens, submission.Removed(first.ID, nil))
	if w := o.is(well.ID, lifecycle.Failed); w.Reason != lifecycle.ReasonReviewRejected || !strings.Contains(w.Message, "first was deleted") {
		t.Errorf("%s: %s", w.Reason, w.Message)
	}
	o.is(any.ID, lifecycle.Starting)
	o.is(chain.ID, lifecycle.Starting)
}

func TestWhatIsNotThereIsNotWaitedFor(t *testing.T) {
	o := newOffice(t, memstore.New())
	if got := o.refused(draft.CodeInvalid, o.submit(`{"command":["fake"],"after":["nobody"]}`)); !strings.Contains(got, `after[0].workload`) || !strings.Contains(got, `"nobody"`) {
		t.Error(got)
	}
	done := o.made(`{"name":"done","command":["fake"]}`)
	o.seen(opens, done.ID, 0, core.TaskSucceeded)
	o.is(done.ID, lifecycle.Completed)
	for _, ref := range []string{"done", string(done.ID), fmt.Sprint(done.Seq)} {
		o.is(o.made(`{"command":["fake"],"after":["`+ref+`"],"resources":{"cpu":"100m"}}`).ID, lifecycle.Starting)
	}
}

// What waited for something once is run again when that is long gone.
func TestWhatWasWaitedForMayBeGoneWhenItIsRunAgain(t *testing.T) {
	o := newOffice(t, memstore.New())
	first := o.made(`{"name":"first","command":["fake"]}`)
	second := o.made(`{"name":"second","command":["fake"],"after":["first"]}`)
	o.seen(opens, first.ID, 0, core.TaskSucceeded)
	o.seen(opens, second.ID, 0, core.TaskSucceeded)
	o.is(second.ID, lifecycle.Completed)
	o.do(submission.Delete(draft.Ref{ID: first.ID}, "user:u"))
	o.do(submission.Removed(first.ID, nil))
	o.do(submission.Restart(draft.Ref{ID: second.ID}, "user:u"))
	o.is(second.ID, lifecycle.Starting)
	o.seen(opens.Add(time.Second), second.ID, 1, core.TaskSucceeded)
	revise := func(after string) draft.Work {
		doc, err := spec.Load([]byte(`{"command":["fake"],"after":["` + after + `"]}`))
		if err != nil {
			t.Fatal(err)
		}
		return submission.Revise(submission.Revision{Ref: draft.Ref{ID: second.ID}, Doc: doc, Actor: "user:u"})
	}
	for after, want := range map[string]string{"second": "cannot wait for itself", string(second.ID): "cannot wait for itself", "nobody": `no workload "nobody"`} {
		if got := o.refused(draft.CodeInvalid, revise(after)); !strings.Contains(got, want) {
			t.Errorf("after %s: %s", after, got)
		}
	}
	o.do(revise("first"))
	o.is(second.ID, lifecycle.Starting)
}

// broken is a store in which a workload cannot be read.
type broken struct {
	store.Store
	id   core.WorkloadID // empty: all can
	name string
}

var errBroken = errors.New("disk error")

func (b *broken) Workload(ctx context.Context, id core.WorkloadID) (*core.Workload, error) {
	if b.id == id {
		return nil, errBroken
	}
	return b.Store.Workload(ctx, id)
}

func (b *broken) ByName(ctx context.Context, p core.ProjectID, name string) (*core.Workload, error) {
	if b.id != "" && b.name == name {
		return nil, errBroken
	}
	return b.Store.ByName(ctx, p, name)
}

// That a workload cannot be read does not mean that it was deleted.
func TestWhatCannotBeReadIsWaitedFor(t *testing.T) {
	st := &broken{Store: memstore.New()}
	o := newOffice(t, st)
	first := o.made(`{"name":"first","command":["fake"]}`)
	second := o.made(`{"name":"second","command":["fake"],"after":["first"]}`)
	o.seen(opens, first.ID, 0, core.TaskSucceeded)
	o.seen(opens, second.ID, 0, core.TaskSucceeded)
	for i, name := range []string{"first", ""} { // by its name, and by its id only
		now := opens.Add(time.Duration(i) * time.Hour)
		if st.id, st.name = first.ID, name; name != "" {
			o.refused(draft.CodeUnavailable, o.submit(`{"command":["fake"],"after":["first"]}`))
		}
		o.at(now, submission.Restart(draft.Ref{ID: second.ID}, "user:u"))
		if w := o.is(second.ID, lifecycle.Reviewing); !strings.Contains(o.why(w.ID).String(), "first cannot be read at present") {
			t.Errorf("%q: %s", name, o.why(w.ID))
		}
		o.at(now.Add(time.Minute), report.Cluster())
		o.is(second.ID, lifecycle.Reviewing)
		st.id = ""
		o.at(now.Add(2*time.Minute), report.Cluster())
		w := o.is(second.ID, lifecycle.Starting)
		o.seen(now.Add(3*time.Minute), w.ID, w.Attempt, core.TaskSucceeded)
	}
}

func TestAWorkloadWaitsForItsTime(t *testing.T) {
	o := newOffice(t, memstore.New())
	at := opens.Add(time.Hour)
	w := o.made(`{"command":["fake"],"notBefore":"` + at.Format(time.RFC3339) + `"}`)
	o.is(w.ID, lifecycle.Reviewing)
	if r := o.why(w.ID); r.Token != schedule.BeginTime || r.Until != at.UnixMilli() {
		t.Errorf("%+v", r)
	}
	o.at(at.Add(-time.Second), report.Cluster())
	o.is(w.ID, lifecycle.Reviewing)
	o.at(at, report.Cluster())
	o.is(w.ID, lifecycle.Starting)
	o.is(o.made(`{"command":["fake"],"notBefore":"2001-01-01T00:00:00Z"}`).ID, lifecycle.Starting)
}

func TestAWorkloadWaitsForAWhileAfterAnother(t *testing.T) {
	for _, c := range []struct {
		when  string
		from  time.Duration // when that has come
		until time.Duration
	}{
		{"started", time.Second, 5*time.Minute + time.Second},
		{"ended", time.Hour, time.Hour + 5*time.Minute},
		{"failed", time.Hour, time.Hour + 5*time.Minute},
	} {
		t.Run(c.when, func(t *testing.T) {
			o := newOffice(t, memstore.New())
			first := o.made(`{"name":"first","command":["fake"],"retry":{"limit":0}}`)
			second := o.made(`{"name":"second","command":["fake"],"resources":{"cpu":"100m"},"after":[{"workload":"first","when":"` + c.when + `","delay":"5m"}]}`)
			if r := o.why(second.ID); r.Token != schedule.Dependency || !strings.Contains(r.String(), ", and 5m longer") {
				t.Errorf("it waits because of %s", r)
			}
			o.seen(opens.Add(time.Second), first.ID, 0, core.TaskRunning)
			if c.when != "started" {
				o.is(second.ID, lifecycle.Reviewing)
				o.seen(opens.Add(time.Hour), first.ID, 0, core.TaskFailed)
			}
			at := opens.Add(c.until)
			if r := o.why(second.ID); !strings.Contains(r.String(), "it has "+c.when+" at "+opens.Add(c.from).Format(time.RFC3339)+", and this goes on at "+at.Format(time.RFC3339)) {
				t.Errorf("it waits because of %s", r)
			}
			o.begin() // the time is known after a restart
			o.open()
			o.at(at.Add(-time.Second), report.Cluster())
			o.is(second.ID, lifecycle.Reviewing)
			o.at(at, report.Cluster())
			o.is(second.ID, lifecycle.Starting)
		})
	}
}

// A delay that has begun is kept where what it counts from is deleted.
func TestADelayOutlivesWhatItIsAfter(t *testing.T) {
	o := newOffice(t, memstore.New())
	first := o.made(`{"name":"first","command":["fake"]}`)
	second := o.made(`{"name":"second","command":["fake"],"after":[{"workload":"first","when":"ended","delay":"5m"}]}`)
	o.seen(opens, first.ID, 0, core.TaskSucceeded)
	o.do(submission.Delete(draft.Ref{ID: first.ID}, "user:u"))
	o.do(submission.Removed(first.ID, nil))
	o.is(second.ID, lifecycle.Reviewing)
	o.at(opens.Add(5*time.Minute), report.Cluster())
	o.is(second.ID, lifecycle.Starting)
}

// What is deleted while it runs has ended then, and the delay counts from there.
func TestADelayCountsFromADeletion(t *testing.T) {
	o := newOffice(t, memstore.New())
	first := o.made(`{"name":"first","command":["fake"]}`)
	o.task(first, 0, 0, core.TaskRunning)
	o.do(submission.Delete(draft.Ref{ID: first.ID}, "user:u"))
	second := o.made(`{"name":"second","command":["fake"],"after":[{"workload":"` + string(first.ID) + `","when":"ended","delay":"5m"}]}`)
	o.task(first, 0, 0, core.TaskFailed)
	o.do(submission.Removed(first.ID, nil))
	o.is(second.ID, lifecycle.Reviewing)
	o.at(opens.Add(5*time.Minute), report.Cluster())
	o.is(second.ID, lifecycle.Starting)
}

// An instant between two microseconds is not one at which timers come.
func TestATimeOfFineGrainIsWaitedFor(t *testing.T) {
	o := newOffice(t, memstore.New())
	w := o.made(`{"command":["fake"],"notBefore":"` + opens.Add(time.Hour+1500).Format(time.RFC3339Nano) + `"}`)
	o.at(opens.Add(time.Hour+1200), report.Cluster())
	o.is(w.ID, lifecycle.Reviewing)
	o.at(opens.Add(time.Hour+2000), report.Cluster())
	o.is(w.ID, lifecycle.Starting)
}

// Each task of an array goes on as soon as the one with its number has succeeded.
func TestTasksWaitForTheirFellows(t *testing.T) {
	o := newOffice(t, memstore.New())
	first := o.made(`{"name":"first","command":["fake"],"resources":{"cpu":"100m"},"retry":{"limit":0},"array":{"completions":4},"slurm":{"indexes":"1-3,9"}}`)
	second := o.made(`{"name":"second","command":["fake"],"resources":{"cpu":"100m"},"array":{"completions":4},"slurm":{"indexes":"9,2,1,5"},"after":[{"workload":"first","perTask":true}]}`)
	runs := func(want ...int) {
		t.Helper()
		got := o.states(second)
		for i := range 4 {
			if _, placed := got[i]; placed != slices.Contains(want, i) {
				t.Errorf("placed are %v, want %v", got, want)
				return
			}
		}
	}
	o.is(second.ID, lifecycle.Reviewing)
	if r := o.why(second.ID); r.Token != schedule.Dependency || !strings.Contains(r.String(), "waits for tasks of first to succeed, one for each of its own: 0-3 wait") {
		t.Errorf("it waits because of %s", r)
	}
	for i := range 4 {
		o.task(first, 0, i, core.TaskRunning)
	}
	o.task(first, 0, 1, core.TaskSucceeded) // number 2
	o.is(second.ID, lifecycle.Starting)
	runs(1)
	o.task(second, 0, 1, core.TaskRunning)
	o.task(second, 0, 1, core.TaskSucceeded)
	o.is(second.ID, lifecycle.Running)
	if r := o.why(second.ID); r.Token != schedule.Dependency || !strings.Contains(r.String(), ": 0,2-3 wait; it is Running since ") {
		t.Errorf("it waits because of %s", r)
	}
	o.begin() // what is left is known after a restart
	o.open()
	runs(1)
	o.task(first, 0, 0, core.TaskSucceeded) // number 1
	runs(1, 2)
	o.task(first, 0, 2, core.TaskSucceeded) // number 3, which the second has not
	runs(1, 2)
	o.task(second, 0, 2, core.TaskRunning)
	o.task(second, 0, 2, core.TaskSucceeded)
	o.task(first, 0, 3, core.TaskFailed) // number 9
	o.is(first.ID, lifecycle.Failed)
	runs(1, 2)
	if r := o.why(second.ID); !strings.Contains(r.String(), ": 0,3 wait; first is Failed: they go on if that is restarted and theirs succeed") {
		t.Errorf("it waits because of %s", r)
	}
	o.begin()
	o.open()
	o.do(submission.Restart(draft.Ref{ID: first.ID}, "user:u"))
	again := o.is(first.ID, lifecycle.Starting)
	o.task(first, again.Attempt, 3, core.TaskRunning)
	o.task(first, again.Attempt, 3, core.TaskSucceeded)
	if o.phase(first) != lifecycle.Completed {
		for i := range 3 { // all of it is run again
			o.task(first, again.Attempt, i, core.TaskRunning)
			o.task(first, again.Attempt, i, core.TaskSucceeded)
		}
	}
	o.is(first.ID, lifecycle.Completed)
	runs(0, 1, 2, 3) // one has no fellow, and waited for all
	o.task(second, 0, 0, core.TaskRunning)
	o.task(second, 0, 0, core.TaskSucceeded)
	o.task(second, 0, 3, core.TaskRunning)
	o.task(second, 0, 3, core.TaskSucceeded)
	o.is(second.ID, lifecycle.Completed)
}

func TestFellowsThatHaveSucceededAreNotWaitedFor(t *testing.T) {
	o := newOffice(t, memstore.New())
	first := o.made(`{"name":"first","command":["fake"],"resources":{"cpu":"100m"},"retry":{"limit":0},"array":{"completions":3}}`)
	for i := range 3 {
		o.task(first, 0, i, core.TaskRunning)
	}
	o.task(first, 0, 0, core.TaskSucceeded)
	o.do(stopTasks(first, 1))
	o.task(first, 0, 1, core.TaskFailed)
	o.task(first, 0, 2, core.TaskFailed)
	o.is(first.ID, lifecycle.Failed) // and is not in memory any more
	second := o.made(`{"name":"second","command":["fake"],"resources":{"cpu":"100m"},"array":{"completions":3},"after":[{"workload":"first","perTask":true}]}`)
	o.is(second.ID, lifecycle.Starting)
	if got := o.states(second); len(got) != 1 || got[0] != core.TaskStarting {
		t.Errorf("%v", got)
	}
	o.do(submission.Stop(submission.StopRequest{Ref: draft.Ref{ID: second.ID}, Actor: "user:u"}))
	one := o.made(`{"name":"one","command":["fake"],"resources":{"cpu":"100m"}}`)
	third := o.made(`{"name":"third","command":["fake"],"resources":{"cpu":"100m"},"array":{"completions":2},"after":[{"workload":"one","perTask":true}]}`)
	o.is(third.ID, lifecycle.Reviewing)
	o.seen(opens, one.ID, 0, core.TaskSucceeded)
	if got := o.states(third); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

func TestTasksWhoseFellowsAreDeletedAreStopped(t *testing.T) {
	o := newOffice(t, memstore.New())
	first := o.made(`{"name":"first","command":["fake"],"resources":{"cpu":"100m"},"array":{"completions":2}}`)
	second := o.made(`{"name":"second","command":["fake"],"resources":{"cpu":"100m"},"array":{"completions":2},"after":[{"workload":"first","perTask":true}]}`)
	o.task(first, 0, 0, core.TaskRunning)
	o.task(first, 0, 0, core.TaskSucceeded)
	o.task(second, 0, 0, core.TaskRunning)
	o.task(second, 0, 0, core.TaskSucceeded)
	o.do(submission.Delete(draft.Ref{ID: first.ID}, "user:u"))
	o.task(first, 0, 1, core.TaskFailed)
	o.do(submission.Removed(first.ID, nil))
	if r := o.why(second.ID); !strings.Contains(r.String(), ": 1 wait; first was deleted: these tasks can only be stopped") {
		t.Errorf("it waits because of %s", r)
	}
	o.do(stopTasks(second, 1))
	o.is(second.ID, lifecycle.Completed)
}

// TestSingleTasksOfAnArrayAreWaitedFor: some tasks of an array are as far as a
// workload waits for, long before the array is, and by the numbers that they have there.
func TestSingleTasksOfAnArrayAreWaitedFor(t *testing.T) {
	for _, c := range []struct {
		after  string
		states []core.TaskState // of the tasks 0, 1 and 2, in turn
		goes   int              // after how many of them; 0: not at all
	}{
		{`{"workload":"first","tasks":"20"}`, []core.TaskState{core.TaskSucceeded, core.TaskSucceeded}, 2},
		{`{"workload":"first","tasks":"20"}`, []core.TaskState{core.TaskSucceeded, core.TaskFailed}, 0},
		{`{"workload":"first","tasks":"10,30"}`, []core.TaskState{core.TaskSucceeded, core.TaskSucceeded, core.TaskSucceeded}, 3},
		{`{"workload":"first","tasks":"10","when":"failed"}`, []core.TaskState{core.TaskFailed}, 1},
		{`{"workload":"first","tasks":"10","when":"failed"}`, []core.TaskState{core.TaskSucceeded, core.TaskFailed}, 0},
		{`{"workload":"first","tasks":"20","when":"ended"}`, []core.TaskState{core.TaskSucceeded, core.TaskFailed}, 2},
	} {
		t.Run(fmt.Sprint(c.after, c.states), func(t *testing.T) {
			o := newOffice(t, memstore.New())
			first := o.made(`{"name":"first","command":["fake"],"resources":{"cpu":"100m"},"array":{"completions":3},"slurm":{"indexes":"10,20,30"},"retry":{"limit":0}}`)
			second := o.made(`{"name":"second","command":["fake"],"resources":{"cpu":"100m"},"after":[` + c.after + `]}`)
			o.is(second.ID, lifecycle.Reviewing)
			for i := range 3 {
				o.task(first, 0, i, core.TaskRunning)
			}
			o.is(second.ID, lifecycle.Reviewing)
			for i, state := range c.states {
				o.task(first, 0, i, state)
				want := lifecycle.Reviewing
				if c.goes > 0 && i+1 >= c.goes {
					want = lifecycle.Starting
				}
				o.is(second.ID, want)
			}
		})
	}
	o := newOffice(t, memstore.New())
	o.made(`{"name":"first","command":["fake"],"array":{"completions":3}}`)
	if err := o.try(o.submit(`{"name":"second","command":["fake"],"after":[{"workload":"first","tasks":"3"}]}`)); err == nil || !strings.Contains(err.Error(), "first has no task 3") {
		t.Errorf("what waits for a task that there is not: %v", err)
	}
}

// TestTheFirstOfSeveralIsEnough has a workload wait for whichever comes first.
func TestTheFirstOfSeveralIsEnough(t *testing.T) {
	o := newOffice(t, memstore.New())
	first, second := o.made(`{"name":"first","command":["fake"],"retry":{"limit":0}}`), o.made(`{"name":"second","command":["fake"]}`)
	either := `"after":[{"workload":"first","any":true},{"workload":"second","any":true}]`
	third := o.made(`{"name":"third","command":["fake"],` + either + `}`)
	gone := o.made(`{"name":"gone","command":["fake"],` + either + `}`)
	for _, w := range []core.WorkloadID{first.ID, second.ID} {
		o.seen(opens, w, 0, core.TaskRunning)
	}
	o.seen(opens.Add(time.Second), first.ID, 0, core.TaskFailed)
	o.is(third.ID, lifecycle.Reviewing) // it may still be tried again, or the other come
	o.seen(opens.Add(2*time.Second), second.ID, 0, core.TaskSucceeded)
	w := o.is(third.ID, lifecycle.Starting)
	if c := w.Checks[0]; c.Verdict != core.CheckApproved || c.Message != "second came first" {
		t.Errorf("of the other it is known that %+v", c)
	}
	o.is(gone.ID, lifecycle.Starting)
}
