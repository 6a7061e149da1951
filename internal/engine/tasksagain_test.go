package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/testing/memstore"
)

func some(w *core.Workload, do func(submission.TasksRequest) draft.Command[*core.Workload], tasks ...int) draft.Work {
	return do(submission.TasksRequest{Ref: draft.Ref{ID: w.ID}, Tasks: tasks, Actor: "user:ada"})
}

// run says that a certain run of a task of the first attempt has come to a state.
func (o *office) run(w *core.Workload, index, run int, state core.TaskState) {
	o.t.Helper()
	code := map[core.TaskState]int{core.TaskFailed: 3}[state]
	b := backend.Observation{ID: core.TaskID{Workload: w.ID, Index: index, Run: run}, State: state, At: opens}
	if state.Ended() {
		b.ExitCode = &code
	}
	o.do(engine.Observe(engine.Observations{Backend: "p", Seen: []backend.Observation{b}}))
}

// runsOf are the states of all runs of a task of the present attempt.
func (o *office) runsOf(w *core.Workload, index int) (out []core.TaskState) {
	o.t.Helper()
	tasks, err := o.st.Tasks(o.t.Context(), w.ID, o.is(w.ID, o.phase(w)).Attempt)
	if err != nil {
		o.t.Fatal(err)
	}
	for _, t := range tasks {
		if t.ID.Index == index {
			out = append(out, t.State)
		}
	}
	return out
}

// TestTasksOfAnArrayRunAgain: a task that is sent back runs again, however it ends,
// while its siblings go on; one that has ended does so, too.
func TestTasksOfAnArrayRunAgain(t *testing.T) {
	for _, end := range []core.TaskState{core.TaskSucceeded, core.TaskFailed} {
		t.Run(string(end), func(t *testing.T) {
			o := newOffice(t, memstore.New())
			w := o.made(sweep)
			o.task(w, 0, 0, core.TaskRunning)
			o.task(w, 0, 1, core.TaskRunning)
			o.refused(draft.CodeIllegal, some(w, submission.PreemptTasks, 2)) // it waits
			o.refused(draft.CodeInvalid, some(w, submission.PreemptTasks, 4))
			o.refused(draft.CodeInvalid, some(w, submission.PreemptTasks))
			o.refused(draft.CodeIllegal, some(w, submission.RestartTasks, 0)) // it runs
			o.do(some(w, submission.PreemptTasks, 0))
			o.refused(draft.CodeIllegal, some(w, submission.PreemptTasks, 0)) // twice
			o.task(w, 0, 0, end)
			got := o.runsOf(w, 0)
			if !slices.Equal(got, []core.TaskState{end, core.TaskStarting}) {
				t.Fatalf("its runs are %v", got)
			}
			o.run(w, 0, 1, core.TaskRunning)
			o.run(w, 0, 1, core.TaskSucceeded)
			o.do(some(w, submission.RestartTasks, 0)) // it has succeeded by now
			for _, i := range []int{1, 2, 3} {
				o.task(w, 0, i, core.TaskRunning)
				o.task(w, 0, i, core.TaskSucceeded)
			}
			o.is(w.ID, lifecycle.Running)
			o.run(w, 0, 2, core.TaskRunning)
			o.run(w, 0, 2, core.TaskSucceeded)
			if got := o.is(w.ID, lifecycle.Completed); got.Counts.Succeeded != 4 || got.Attempt != 0 || got.Failures != 0 {
				t.Errorf("%+v, attempt %d, %d failures", got.Counts, got.Attempt, got.Failures)
			}
		})
	}
}

// TestTheLastOfAnArrayRunsAgain: what is left of it waits as a whole.
func TestTheLastOfAnArrayRunsAgain(t *testing.T) {
	o := newOffice(t, memstore.New())
	w := o.made(`{"name":"sweep","command":["fake"],"array":{"completions":2},"terminateAfterPreemption":true}`)
	o.task(w, 0, 0, core.TaskRunning)
	o.task(w, 0, 0, core.TaskSucceeded)
	o.task(w, 0, 1, core.TaskRunning)
	o.do(some(w, submission.PreemptTasks, 1))
	o.task(w, 0, 1, core.TaskSucceeded)
	got := o.is(w.ID, lifecycle.Starting)
	if got.Attempt != 1 || !slices.Equal(got.Attempts[1].Todo, []int{1}) {
		t.Errorf("attempt %d has to do %v", got.Attempt, got.Attempts[len(got.Attempts)-1].Todo)
	}
	o.task(w, 1, 1, core.TaskRunning)
	o.task(w, 1, 1, core.TaskSucceeded)
	o.is(w.ID, lifecycle.Completed)
}

// TestTasksOfAnEndedArrayRunAgain: those that are named and no others, unless others
// have failed, too.
func TestTasksOfAnEndedArrayRunAgain(t *testing.T) {
	o := newOffice(t, memstore.New())
	w := o.made(`{"name":"sweep","command":["fake"],"array":{"completions":4}}`)
	for i, end := range []core.TaskState{core.TaskSucceeded, core.TaskFailed, core.TaskFailed} {
		o.task(w, 0, i, core.TaskRunning)
		o.task(w, 0, i, end)
	}
	o.do(stopTasks(w, 3))
	o.task(w, 0, 3, core.TaskFailed) // as it was told to end
	o.is(w.ID, lifecycle.Failed)
	o.refused(draft.CodeConflict, some(w, submission.RestartTasks, 1)) // 2 has failed, too
	o.do(some(w, submission.RestartTasks, 0, 1, 2))
	got := o.is(w.ID, lifecycle.Starting)
	if !slices.Equal(got.Attempts[1].Todo, []int{0, 1, 2}) || !slices.Equal(got.Canceled, []int{3}) {
		t.Errorf("it has to do %v, canceled %v", got.Attempts[1].Todo, got.Canceled)
	}
	for i := range 3 {
		o.task(w, 1, i, core.TaskRunning)
		o.task(w, 1, i, core.TaskSucceeded)
	}
	o.is(w.ID, lifecycle.Completed)
	o.do(some(w, submission.RestartTasks, 3)) // which was stopped
	got = o.is(w.ID, lifecycle.Starting)
	if !slices.Equal(got.Attempts[2].Todo, []int{3}) || len(got.Canceled) != 0 {
		t.Errorf("it has to do %v, canceled %v", got.Attempts[2].Todo, got.Canceled)
	}
}

// TestTasksOfAnArrayAreHeld: they wait, the others go on, and it is said.
func TestTasksOfAnArrayAreHeld(t *testing.T) {
	o := newOffice(t, memstore.New())
	w := o.made(sweep)
	o.refused(draft.CodeIllegal, some(w, submission.HoldTasks, 1)) // it starts
	o.do(some(w, submission.HoldTasks, 2))
	o.do(some(w, submission.HoldTasks, 3))
	o.refused(draft.CodeConflict, some(w, submission.ReleaseTasks, 1))
	for i := range 2 {
		o.task(w, 0, i, core.TaskRunning)
		o.task(w, 0, i, core.TaskSucceeded)
	}
	got := o.is(w.ID, lifecycle.Running)
	if states := o.states(w); len(states) != 2 || !slices.Equal(got.HeldTasks, []core.IndexRange{{From: 2, To: 3}}) {
		t.Errorf("%v; held %v", states, got.HeldTasks)
	}
	if r := o.why(w.ID); r.Token != schedule.HeldBack || !strings.HasPrefix(r.String(), "is held as far as its tasks 2-3 go") {
		t.Errorf("it says %s: %s", r.Token, r)
	}
	o.do(some(w, submission.ReleaseTasks, 3))
	if states := o.states(w); len(states) != 3 || states[3] != core.TaskStarting {
		t.Errorf("%v", states)
	}
	o.do(release(w)) // all that are
	if states := o.states(w); len(states) != 4 {
		t.Errorf("%v", states)
	}
	for i := range 2 {
		o.task(w, 0, 2+i, core.TaskRunning)
		o.task(w, 0, 2+i, core.TaskSucceeded)
	}
	o.is(w.ID, lifecycle.Completed)
}

// TestWhoSubmittedIsKnownWhenItRunsAgain: tasks of a restarted workload run as the same
// user of the machine.
func TestWhoSubmittedIsKnownWhenItRunsAgain(t *testing.T) {
	o := newOffice(t, memstore.New())
	d, err := spec.Load([]byte(`{"name":"one","command":["fake"]}`))
	if err != nil {
		t.Fatal(err)
	}
	mine := core.OSUser{UID: 1000, Name: "ana"}
	w := ask(o, submission.Submit(submission.Submission{Doc: d, User: "ana", As: &mine, Actor: "user:ana"})).Workload
	o.task(w, 0, 0, core.TaskRunning)
	o.task(w, 0, 0, core.TaskSucceeded)
	o.do(submission.Restart(draft.Ref{ID: w.ID}, "user:ada"))
	if got := o.is(w.ID, lifecycle.Starting); got.As == nil || *got.As != mine {
		t.Errorf("it runs again as %v", got.As)
	}
}
