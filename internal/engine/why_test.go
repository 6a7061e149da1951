package engine_test

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/explanation"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// shift is an engine in virtual time, on nodes of four GPUs each.
type shift struct {
	*office
	now   time.Time
	nodes []core.Node
}

func newShift(t *testing.T, nodes int) *shift {
	s := &shift{office: &office{t: t, st: memstore.New()}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for i := range nodes {
		n := core.Node{ID: core.NodeID(fmt.Sprintf("g%d", i)), Backend: "p", Ready: true, CPU: 64_000, Memory: 64 << 30, Labels: map[string]string{"rack": fmt.Sprintf("r%d", i/2)}}
		for d := range 4 {
			n.Devices = append(n.Devices, core.Device{ID: fmt.Sprintf("%s-%d", n.ID, d), Index: d, Product: []string{"H100", "A100"}[i%2], Healthy: true})
		}
		s.nodes = append(s.nodes, n)
	}
	s.start()
	return s
}

// start is a start of the server.
func (s *shift) start() {
	s.t.Helper()
	s.open()
	s.do(engine.Inventory("p", s.nodes))
}

func (s *shift) do(work ...draft.Work) {
	s.t.Helper()
	for _, c := range work {
		if err := s.e.Do(context.Background(), s.now, []draft.Work{c})[0]; err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *shift) run(doc string) *core.Workload {
	s.t.Helper()
	return ask(s, s.submit(doc)).Workload
}

// report is what the backend says of the first task.
func (s *shift) report(w *core.Workload, state core.TaskState) {
	s.t.Helper()
	zero := 0
	o := backend.Observation{ID: core.TaskID{Workload: w.ID}, State: state, At: s.now}
	if state == core.TaskSucceeded {
		o.ExitCode = &zero
	}
	s.do(engine.Observe(engine.Observations{Backend: "p", Seen: []backend.Observation{o}}))
}

func (s *shift) why(w *core.Workload) *explanation.Why {
	s.t.Helper()
	return ask(s, explanation.StudyOf(draft.Ref{ID: w.ID})).Answer()
}

// TestEstimatesAreScored: with work whose lengths vary, the ranges learnt from
// its past are right about as often as they claim to be.
func TestEstimatesAreScored(t *testing.T) {
	s := newShift(t, 1)
	r := rand.New(rand.NewSource(3))
	const doc = `{"namePrefix":"train","command":["fake"],"resources":{"gpu":4,"cpu":1}}`
	length := func() time.Duration { return time.Duration(20+r.Intn(38)) * time.Minute } // nobody has the hour after which others may take its place
	asked := 0
	running := s.run(doc)
	for i := range 80 {
		s.report(running, core.TaskRunning)
		s.saves(s.now, running)
		next := s.run(doc)
		s.now = s.now.Add(time.Minute)
		y := s.why(next)
		if !y.Waits || y.Position != 1 || len(y.Reasons) != 1 || y.Reasons[0].Token != schedule.WaitingForCapacity {
			t.Fatalf("%+v", y)
		}
		switch {
		case i < 3: // only that nobody waits for ever
			if f := y.Forecast; y.Unknown != 1 || y.Learnt != 0 || len(y.Frees) != 0 || !f.Relieved || f.Early != 0 || f.Late < s.now.Add(10*time.Hour).UnixMilli() {
				t.Fatalf("after %d runs it is told %+v", i, f)
			}
		case i >= 3:
			asked++
			if f := y.Forecast; f.Early <= s.now.UnixMilli() || f.Late < f.Likely || y.Learnt != 1 || len(y.Frees) != 1 || y.Frees[0].ID != running.ID {
				t.Fatalf("%+v, %+v", f, y)
			}
		}
		s.now = s.now.Add(length())
		again := s.why(next) // whose answer does not count
		if got := y.Score.Of(); got != max(asked-1, 0) || again.Score.Of() != got {
			t.Fatalf("%d estimates are scored, want %d", got, asked-1)
		}
		s.report(running, core.TaskSucceeded)
		running = next
	}
	score := s.why(running).Score
	if score.Of() != asked {
		t.Errorf("%+v of %d", score, asked)
	}
	if rate := float64(score.Inside) / float64(asked); rate < .7 || rate > .98 {
		t.Errorf("%.0f %% were inside a range that claims 80 %%: %+v", 100*rate, score)
	}
}

// What ran before a start of the server is remembered after it, and who leaves
// its queue otherwise is not scored.
func TestExperienceOutlivesARestart(t *testing.T) {
	s := newShift(t, 1)
	const doc = `{"namePrefix":"train","command":["fake"],"resources":{"gpu":4,"cpu":1}}`
	for range 3 {
		w := s.run(doc)
		s.report(w, core.TaskRunning)
		s.now = s.now.Add(time.Hour)
		s.report(w, core.TaskSucceeded)
	}
	w := s.run(doc)
	s.report(w, core.TaskRunning)
	next := s.run(doc)
	first := s.why(next)
	s.start()
	if second := s.why(next); second.Forecast.Span != first.Forecast.Span || second.Learnt != 1 {
		t.Errorf("%+v, and after a restart %+v", first.Forecast, second.Forecast)
	}
	s.do(submission.Stop(submission.StopRequest{Ref: draft.Ref{ID: next.ID}, Actor: "user:u"}))
	if y := s.why(next); y.Score.Of() != 0 || y.Waits {
		t.Errorf("%+v", y)
	}
}

// Each change that is offered has been tried: submitted so, it starts.
func TestSuggestionsKeepTheirWord(t *testing.T) {
	s := newShift(t, 4)
	s.do(organisation.Organise([]organisation.Edit{
		guaranteed("vision", 8),
	}, false))
	for _, doc := range []string{
		`{"name":"a","command":["fake"],"resources":{"gpu":{"count":2,"type":"h100"},"cpu":1},"nodeSelector":{"rack":"r0"}}`,
		`{"name":"b","command":["fake"],"resources":{"gpu":{"count":3,"type":"a100"},"cpu":1},"nodeSelector":{"rack":"r1"},"priority":"low"}`,
	} {
		s.report(s.run(doc), core.TaskRunning)
	}
	const mine = `{"name":"mine","kind":"distributed","workers":%d,"command":["fake"],"resources":{"gpu":{"count":%d,"type":"h100"},"cpu":1}}`
	w := s.run(fmt.Sprintf(mine, 2, 4))
	y := s.why(w)
	if len(y.Reasons) == 0 || y.Reasons[0].Resource != "gpu" {
		t.Fatalf("%+v", y.Reasons)
	}
	var flags []string
	for _, o := range y.Suggestions {
		flags = append(flags, o.Flags)
		if !o.Now && len(o.Victims) == 0 {
			t.Errorf("%s: neither now nor at somebody's cost", o.Flags)
		}
	}
	if want := []string{"--workers 1", "--gpus 2"}; !slices.Equal(flags[:min(2, len(flags))], want) {
		t.Errorf("%v, want %v first", flags, want)
	}
	s.do(submission.Stop(submission.StopRequest{Ref: draft.Ref{ID: w.ID}, Actor: "user:u"}))
	for _, size := range [][2]int{{1, 4}, {2, 2}} {
		doc := strings.Replace(fmt.Sprintf(mine, size[0], size[1]), "mine", fmt.Sprintf("m%d", size[1]), 1)
		p := s.probe(doc)
		if p.Trial == nil || !p.Trial.Now || len(p.Trial.Tasks) != size[0] {
			t.Errorf("%s: %+v", doc, p.Trial)
		}
		got := s.run(doc)
		if now := s.why(got); now.Waits && now.Reasons[0].Token != schedule.Initializing || now.Workload.Phase != lifecycle.Starting {
			t.Errorf("%s is %s: %+v", doc, now.Workload.Phase, now.Reasons)
		}
		s.do(submission.Stop(submission.StopRequest{Ref: draft.Ref{ID: got.ID}, Actor: "user:u"}))
		for i := range size[0] {
			s.do(engine.Observe(engine.Observations{Backend: "p", Seen: []backend.Observation{{ID: core.TaskID{Workload: got.ID, Index: i}, State: core.TaskFailed, At: s.now}}}))
		}
	}
}

func (s *shift) probe(doc string) *explanation.Why {
	s.t.Helper()
	d, err := spec.Load([]byte(doc))
	if err != nil {
		s.t.Fatal(err)
	}
	return ask(s, explanation.StudyRun(submission.Submission{Doc: d, User: "u", Actor: "user:u"})).Answer()
}

func TestSuggestionsByProjectPreemptionAndPriority(t *testing.T) {
	s := newShift(t, 1)
	s.do(organisation.Organise([]organisation.Edit{
		guaranteed("vision", 2),
		{What: organisation.RecordProject, Name: "nlp", Project: nothing},
	}, false))
	w := s.run(`{"name":"fixed","project":"vision","preemptible":false,"command":["fake"],"resources":{"gpu":3,"cpu":1}}`)
	y := s.why(w)
	if len(y.Reasons) != 1 || y.Reasons[0].Token != schedule.NonPreemptibleOverQuota || y.Reasons[0].Quota != 2000 || y.Reasons[0].Requested != 3000 {
		t.Fatalf("%+v", y.Reasons)
	}
	var flags []string
	for _, o := range y.Suggestions {
		flags = append(flags, o.Flags)
	}
	if want := []string{"--set preemptible=true", "--project default", "--project nlp", "--gpus 1"}; !slices.Equal(flags, want) {
		t.Errorf("%v, want %v", flags, want)
	}
	holder := s.run(`{"name":"holder","project":"nlp","command":["fake"],"resources":{"gpu":4,"cpu":1}}`)
	s.report(holder, core.TaskRunning)
	p := s.probe(`{"name":"urgent","project":"nlp","priority":"high","command":["fake"],"resources":{"gpu":4,"cpu":1}}`)
	if p.Trial == nil || !p.Trial.Later || len(p.Victims) != 1 || p.Victims[0].Name != "holder" || p.Victims[0].Cause != schedule.Preempt {
		t.Errorf("%+v %+v", p.Trial, p.Victims)
	}
	if again := s.why(holder); again.Waits || again.Workload.Phase != lifecycle.Running {
		t.Errorf("a question changed %+v", again.Workload.State)
	}
}

func TestWhoWaitsForVictimsIsToldForHowLong(t *testing.T) {
	s := newShift(t, 1)
	holder := s.run(`{"name":"holder","command":["fake"],"gracePeriod":"5m","resources":{"gpu":4,"cpu":1}}`)
	s.report(holder, core.TaskRunning)
	s.now = s.now.Add(2 * time.Hour)
	w := s.run(`{"name":"urgent","priority":"high","command":["fake"],"resources":{"gpu":4,"cpu":1}}`)
	s.now = s.now.Add(time.Minute)
	y := s.why(w)
	if len(y.Reasons) != 1 || y.Reasons[0].Token != schedule.WaitingForPreemption || len(y.Suggestions) != 0 {
		t.Fatalf("%+v, offered %+v", y.Reasons, y.Suggestions)
	}
	if late := time.UnixMilli(y.Forecast.Late).Sub(s.now); late < 4*time.Minute || late > 5*time.Minute {
		t.Errorf("four minutes of its grace are left, and it is told %v at the latest", late)
	}
}

func TestEachPhaseHasItsReason(t *testing.T) {
	s := newShift(t, 1)
	s.do(organisation.CreateProject("vision"))
	s.do(organisation.SetProject(organisation.RecordProject, "vision", core.StopHold, "ana: power work"))
	shut := s.why(s.run(`{"name":"shut","project":"vision","command":["fake"]}`))
	if r := shut.Reasons; !shut.Waits || len(r) != 1 || r[0].Token != schedule.QueueStopped || r[0].Queue != "vision" || !strings.Contains(r[0].String(), "ana: power work") {
		t.Errorf("%+v", r)
	}
	careful := s.run(`{"name":"careful","command":["fake"],"checks":[{"name":"legal","type":"approval","users":["ann"]},{"name":"safety","type":"approval"}]}`)
	s.do(submission.Decide(submission.Decision{Ref: draft.Ref{ID: careful.ID}, Check: "safety", Approve: true, User: "bob", Actor: "user:bob"}))
	y := s.why(careful)
	if len(y.Reasons) != 1 || y.Reasons[0].Token != schedule.AdmissionChecks || !strings.Contains(y.Reasons[0].String(), "check legal waits for ann to approve it since 2026-01-01T00:00:00Z") {
		t.Errorf("%+v", y.Reasons)
	}
	if len(y.Checked) != 1 || y.Checked[0] != (schedule.Check{What: "check safety", Note: "approved by user:bob"}) {
		t.Errorf("%+v", y.Checked)
	}
	flaky := s.run(`{"name":"flaky","command":["fake"],"retry":{"limit":2,"backoff":"5m"}}`)
	s.report(flaky, core.TaskRunning)
	s.report(flaky, core.TaskFailed)
	y = s.why(flaky)
	if wait := time.UnixMilli(y.EarliestStart).Sub(s.now); len(y.Reasons) != 1 || y.Reasons[0].Token != schedule.RetryBackoff || wait < 5*time.Minute || wait > 6*time.Minute {
		t.Errorf("%s: %+v until %v", y.Workload.Phase, y.Reasons, wait)
	}
	pulls := s.run(`{"name":"pulls","command":["fake"]}`)
	s.do(engine.Observe(engine.Observations{Backend: "p", Seen: []backend.Observation{{ID: core.TaskID{Workload: pulls.ID}, State: core.TaskStarting, Waiting: "Init:0/2", At: s.now}}}))
	if y = s.why(pulls); len(y.Reasons) != 1 || y.Reasons[0].Token != schedule.Initializing || !strings.HasSuffix(y.Reasons[0].String(), "task 0 on g0, Init:0/2") {
		t.Errorf("%+v", y.Reasons)
	}
	s.report(pulls, core.TaskRunning)
	if y = s.why(pulls); y.Waits || len(y.Reasons) != 0 {
		t.Errorf("%+v", y)
	}
}
