package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/explanation"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/testing/memstore"
)

func stopTasks(w *core.Workload, tasks ...int) draft.Work {
	return submission.StopTasks(submission.StopTasksRequest{Ref: draft.Ref{ID: w.ID}, Tasks: tasks, Actor: "user:ada"})
}

// task says that one task of an attempt has come to a state.
func (o *office) task(w *core.Workload, attempt, index int, state core.TaskState) {
	o.t.Helper()
	code := map[core.TaskState]int{core.TaskFailed: 3}[state]
	b := backend.Observation{ID: core.TaskID{Workload: w.ID, Attempt: attempt, Index: index}, State: state, At: opens}
	if state.Ended() {
		b.ExitCode = &code
	}
	o.do(engine.Observe(engine.Observations{Backend: "p", Seen: []backend.Observation{b}}))
}

// states are those of the placed tasks of the present attempt.
func (o *office) states(w *core.Workload) map[int]core.TaskState {
	o.t.Helper()
	now := o.is(w.ID, o.phase(w))
	tasks, err := o.st.Tasks(o.t.Context(), w.ID, now.Attempt)
	if err != nil {
		o.t.Fatal(err)
	}
	out := map[int]core.TaskState{}
	for _, t := range tasks {
		out[t.ID.Index] = t.State
	}
	return out
}

func (o *office) phase(w *core.Workload) lifecycle.Phase {
	o.t.Helper()
	now, err := o.st.Workload(o.t.Context(), w.ID)
	if err != nil {
		o.t.Fatal(err)
	}
	return now.Phase
}

const sweep = `{"name":"sweep","command":["fake"],"array":{"completions":4,"parallelism":2},"retry":{"limit":1,"backoff":"10s"}}`

func TestTasksOfAnArrayAreStoppedByThemselves(t *testing.T) {
	o := newOffice(t, memstore.New())
	w := o.made(sweep)
	o.task(w, 0, 0, core.TaskRunning)
	o.task(w, 0, 1, core.TaskRunning)
	o.do(stopTasks(w, 0, 2)) // one runs, one waits
	if got := o.states(w); len(got) != 2 || got[0] != core.TaskStopping || got[1] != core.TaskRunning {
		t.Errorf("%v", got)
	}
	o.refused(draft.CodeConflict, stopTasks(w, 2))
	o.refused(draft.CodeInvalid, stopTasks(w, 4))
	o.refused(draft.CodeInvalid, stopTasks(w))
	o.task(w, 0, 0, core.TaskFailed) // as it was told to end
	if got := o.states(w); got[3] != core.TaskStarting || len(got) != 3 {
		t.Errorf("what is left does not go on: %v", got)
	}
	o.begin()
	o.open()
	o.task(w, 0, 1, core.TaskSucceeded)
	o.refused(draft.CodeConflict, stopTasks(w, 1))
	o.task(w, 0, 3, core.TaskRunning)
	o.task(w, 0, 3, core.TaskSucceeded)
	got := o.is(w.ID, lifecycle.Completed)
	if !slices.Equal(got.Canceled, []int{0, 2}) || got.Counts.Succeeded != 2 || got.Counts.Failed != 0 || got.Failures != 0 {
		t.Errorf("canceled %v, %+v, %d failures", got.Canceled, got.Counts, got.Failures)
	}
	o.refused(draft.CodeIllegal, stopTasks(w, 3))
	o.do(submission.Restart(draft.Ref{ID: w.ID}, "user:ada")) // all of it
	if got := o.is(w.ID, lifecycle.Starting); len(got.Canceled) != 0 || got.Attempts[1].Todo != nil {
		t.Errorf("canceled %v, to do %v", got.Canceled, got.Attempts[1].Todo)
	}
}

func TestAnArrayOfWhichNothingIsLeftEnds(t *testing.T) {
	t.Run("all of it", func(t *testing.T) {
		o := newOffice(t, memstore.New())
		w := o.made(sweep)
		o.do(stopTasks(w, 0, 1, 2))
		o.do(stopTasks(w, 3))
		o.task(w, 0, 0, core.TaskFailed)
		o.task(w, 0, 1, core.TaskFailed)
		o.is(w.ID, lifecycle.Stopped)
	})
	t.Run("before it began", func(t *testing.T) {
		o := newOffice(t, memstore.New())
		w := o.made(`{"name":"sweep","command":["fake"],"array":{"completions":2},"hold":true}`)
		o.do(stopTasks(w, 1))
		o.do(release(w))
		if got := o.states(w); len(got) != 1 || got[0] != core.TaskStarting {
			t.Errorf("%v", got)
		}
		v := o.made(`{"name":"other","command":["fake"],"array":{"completions":2},"hold":true}`)
		o.do(stopTasks(v, 1, 0))
		o.is(v.ID, lifecycle.Canceled)
	})
	t.Run("but what succeeded", func(t *testing.T) {
		o := newOffice(t, memstore.New())
		w := o.made(sweep)
		o.task(w, 0, 0, core.TaskRunning)
		o.task(w, 0, 0, core.TaskSucceeded)
		o.task(w, 0, 1, core.TaskRunning)
		o.do(stopTasks(w, 3, 2, 1))
		for i, s := range o.states(w) {
			if s.Held() {
				o.task(w, 0, i, core.TaskFailed)
			}
		}
		o.is(w.ID, lifecycle.Completed)
	})
	t.Run("but what failed", func(t *testing.T) {
		o := newOffice(t, memstore.New())
		w := o.made(sweep)
		o.task(w, 0, 0, core.TaskRunning)
		o.task(w, 0, 0, core.TaskFailed)
		o.task(w, 0, 1, core.TaskRunning)
		o.task(w, 0, 1, core.TaskSucceeded)
		o.task(w, 0, 2, core.TaskRunning)
		o.task(w, 0, 2, core.TaskSucceeded)
		o.do(stopTasks(w, 3))
		for i, s := range o.states(w) {
			if s.Held() {
				o.task(w, 0, i, core.TaskFailed)
			}
		}
		got := o.is(w.ID, lifecycle.Backoff)
		o.at(got.WakeAt.Add(time.Second), explanation.Explain(nil))
		if next := o.states(w); len(next) != 1 || next[0] != core.TaskStarting {
			t.Errorf("the next attempt does %v", next)
		}
		o.do(stopTasks(w, 0)) // all others have succeeded
		o.task(w, 1, 0, core.TaskFailed)
		o.is(w.ID, lifecycle.Completed)
	})
}

func TestOnlyArraysHaveTasksThatEndAlone(t *testing.T) {
	o := newOffice(t, memstore.New())
	o.refused(draft.CodeInvalid, stopTasks(o.made(`{"name":"one","command":["fake"]}`), 0))
}
