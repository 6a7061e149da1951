package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/explanation"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/submission"
)

func (s *shift) stop(w *core.Workload) {
	s.t.Helper()
	s.do(submission.Stop(submission.StopRequest{Ref: draft.Ref{ID: w.ID}, Actor: "user:u"}))
	code := 1
	s.do(engine.Observe(engine.Observations{Backend: "p", Seen: []backend.Observation{{ID: core.TaskID{Workload: w.ID}, State: core.TaskFailed, ExitCode: &code, At: s.now}}}))
}

// tasks lets the backend say of the first n tasks that they run.
func (s *shift) tasks(w *core.Workload, n int) {
	s.t.Helper()
	var seen []backend.Observation
	for i := range n {
		seen = append(seen, backend.Observation{ID: core.TaskID{Workload: w.ID, Index: i}, State: core.TaskRunning, At: s.now})
	}
	s.do(engine.Observe(engine.Observations{Backend: "p", Seen: seen}))
}

func flagsOf(y *explanation.Why) string {
	var out []string
	for _, o := range y.Suggestions {
		out = append(out, o.Flags)
	}
	return strings.Join(out, ", ")
}

func namesIn(all []explanation.RelatedWorkload) string {
	var out []string
	for _, n := range all {
		out = append(out, fmt.Sprintf("%s %d", n.Name, n.Milli))
	}
	return strings.Join(out, ", ")
}

// Whose tasks must be apart where they cannot be is refused, and told so.
func TestApartIsRefusedByItsName(t *testing.T) {
	t.Parallel()
	s := newShift(t, 1)
	msg := s.office.refused(draft.CodeUnschedulable, s.submit(`{"name":"g","kind":"distributed","workers":3,"command":["fake"],"apart":"kubernetes.io/hostname","resources":{"gpu":1,"cpu":1}}`))
	if !strings.Contains(msg, "apart") || !strings.Contains(msg, "at most 1") {
		t.Errorf("%q does not say that they must be apart", msg)
	}
	msg = s.office.refused(draft.CodeUnschedulable, s.submit(`{"name":"s","command":["fake"],"nodeSelector":{"rack":"r1"},"resources":{"gpu":1,"cpu":1}}`))
	if !strings.Contains(msg, "nodeSelector.rack") || !strings.Contains(msg, "rack=r1") {
		t.Errorf("%q does not name the selector", msg)
	}
	// What is allowed still is.
	s.run(`{"name":"one","kind":"distributed","workers":1,"command":["fake"],"apart":"kubernetes.io/hostname","resources":{"gpu":1,"cpu":1}}`)
}

// Parts of GPUs: what is held and free is told in parts, and the largest that
// starts at once is offered.
func TestPartsOfGPUsAreTold(t *testing.T) {
	t.Parallel()
	s := newShift(t, 1)
	for i := range 4 {
		s.report(s.run(fmt.Sprintf(`{"name":"f%d","command":["fake"],"resources":{"gpu":0.6,"cpu":1}}`, i)), core.TaskRunning)
	}
	y := s.why(s.run(`{"name":"half","command":["fake"],"resources":{"gpu":0.5,"cpu":1}}`))
	if len(y.Reasons) == 0 || y.Reasons[0].Token != schedule.Fragmented || y.Reasons[0].FreeParts != 1600 || y.Reasons[0].LargestPart != 400 {
		t.Fatalf("%+v", y.Reasons)
	}
	if got := flagsOf(y); !strings.HasPrefix(got, "--gpus 0.4") {
		t.Errorf("offered %s", got)
	}
	if got, want := namesIn(y.Holders), "f0 600, f1 600, f2 600, f3 600"; got != want {
		t.Errorf("held by %s, want %s", got, want)
	}
	p := s.probe(`{"name":"tried","command":["fake"],"resources":{"gpu":0.4,"cpu":1}}`)
	if p.Trial == nil || !p.Trial.Now {
		t.Errorf("what was offered does not start: %+v", p.Trial)
	}
}

// An array of which some run holds what these hold, and is told of the others.
func TestAnArrayOfWhichSomeRun(t *testing.T) {
	t.Parallel()
	s := newShift(t, 2)
	a := s.run(`{"name":"sweep","command":["fake"],"maxDuration":"1h","array":{"completions":12},"resources":{"gpu":1,"cpu":1}}`)
	s.tasks(a, 8)
	y := s.why(a)
	if !y.Waits || y.Running != 8 || len(y.Reasons) == 0 || y.Reasons[0].Token != schedule.WaitingForCapacity || y.Reasons[0].Needed != 1 {
		t.Fatalf("waits %v, running %d, %+v", y.Waits, y.Running, y.Reasons)
	}
	other := s.run(`{"name":"other","command":["fake"],"priority":"high","preemptible":true,"patience":"5m","resources":{"gpu":2,"cpu":1}}`)
	y = s.why(other)
	if got, want := namesIn(y.Holders), "sweep 8000"; got != want {
		t.Errorf("held by %s, want %s", got, want)
	}
	for _, n := range y.Frees {
		if n.Name == "sweep" && n.Milli > 8000 {
			t.Errorf("an array that holds 8 GPUs would free %d", n.Milli/1000)
		}
	}
	// It waits by its own wish before it displaces, and is told until when.
	if r := y.Reasons[0]; r.Patient != s.now.Add(5*time.Minute).UnixMilli() || !strings.Contains(r.Hint(), "2026-01-01T00:05:00Z") {
		t.Errorf("nothing of its patience: %+v: %s", r, r.Hint())
	}
	found := false
	for _, o := range y.Suggestions {
		found = found || o.Flags == "--patience 0s" && len(o.Victims) == 1 && o.Victims[0].Milli == 2000
	}
	if !found {
		t.Errorf("offered %+v", y.Suggestions)
	}
}

// Under a limit only those are to blame who count against it.
func TestHoldersCountAgainstTheLimit(t *testing.T) {
	t.Parallel()
	s := newShift(t, 2)
	s.do(organisation.Organise([]organisation.Edit{guaranteed("vision", 8), guaranteed("nlp", 8)}, false))
	two := 2.0
	s.do(organisation.Organise([]organisation.Edit{{What: organisation.RecordProject, Name: "vision", Project: func(p *core.Project) error { p.UserLimit.GPU = &two; return nil }}}, false))
	s.report(s.run(`{"name":"mine","project":"vision","command":["fake"],"resources":{"gpu":2,"cpu":1}}`), core.TaskRunning)
	s.report(s.run(`{"name":"theirs","project":"nlp","command":["fake"],"resources":{"gpu":4,"cpu":1}}`), core.TaskRunning)
	y := s.why(s.run(`{"name":"more","project":"vision","command":["fake"],"resources":{"gpu":1,"cpu":1}}`))
	if len(y.Reasons) == 0 || y.Reasons[0].Token != schedule.OverLimit || namesIn(y.Holders) != "mine 2000" {
		t.Errorf("%+v, held by %s", y.Reasons, namesIn(y.Holders))
	}
	y = s.why(s.run(`{"name":"large","project":"vision","command":["fake"],"resources":{"gpu":4,"cpu":1}}`))
	if hint := y.Reasons[0].Hint(); len(y.Holders) > 0 || !strings.HasPrefix(hint, "no wait helps") || strings.Contains(hint, "wait until") {
		t.Errorf("held by %s, advice %s", namesIn(y.Holders), hint)
	}
}

// Nobody approves a budget by hand, and one that is too small never has room.
func TestABudgetSaysWhatHelps(t *testing.T) {
	t.Parallel()
	s := newShift(t, 1)
	s.do(organisation.Organise([]organisation.Edit{{What: organisation.RecordProject, Name: "lab", Project: func(p *core.Project) error { p.Rules.Budget, p.Rules.Period = 3600, 720*time.Hour; return nil }}}, false))
	y := s.why(s.run(`{"name":"big","project":"lab","command":["fake"],"maxDuration":"2h","resources":{"gpu":1,"cpu":1}}`))
	if len(y.Reasons) != 1 || y.Reasons[0].Token != schedule.AdmissionChecks {
		t.Fatalf("%+v", y.Reasons)
	}
	if hint := y.Reasons[0].Hint(); !strings.Contains(hint, "more than the whole budget of lab") || !strings.Contains(hint, "--max-duration of at most 1h0m0s") || strings.Contains(hint, "approve") {
		t.Errorf("advice %q", hint)
	}
	y = s.why(s.run(`{"name":"small","project":"lab","command":["fake"],"maxDuration":"30m","resources":{"gpu":1,"cpu":1}}`))
	if hint := y.Reasons[0].Hint(); !strings.HasPrefix(hint, "wait until others end") {
		t.Errorf("advice %q", hint)
	}
}

// What somebody stopped says only that it would have run for longer.
func TestRunsStoppedByHandAreNoLengths(t *testing.T) {
	t.Parallel()
	s := newShift(t, 1)
	const doc = `{"namePrefix":"train","command":["fake"],"resources":{"gpu":4,"cpu":1}}`
	for range 4 {
		w := s.run(doc)
		s.report(w, core.TaskRunning)
		s.now = s.now.Add(time.Minute)
		s.stop(w)
		if got := s.why(w).Workload.Phase; got != lifecycle.Stopped {
			t.Fatalf("it is %s", got)
		}
	}
	s.report(s.run(doc), core.TaskRunning)
	next := s.run(doc)
	if y := s.why(next); y.Learnt != 0 || y.Unknown != 1 {
		t.Fatalf("learnt of runs that were stopped: %+v", y.Forecast)
	}
	s.stop(next)
}
