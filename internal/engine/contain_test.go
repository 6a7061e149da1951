package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/explanation"
	"github.com/musterhq/muster/internal/engine/submission"
)

// faulty is a hall whose scheduler fails over the workload that it looks at
// first once the fault is armed.
type faulty struct {
	*hall
	armed  bool
	over   core.WorkloadID
	all    bool // it fails over all
	asks   bool // it fails over it only when asked
	asking bool
	faults []*schedule.Fault
}

func newFaulty(t *testing.T) *faulty {
	f := &faulty{}
	how := schedule.Trapped(&schedule.Trap{Look: func(_ schedule.Action, id core.WorkloadID) {
		if f.armed && f.over == "" {
			f.over = id
		}
		if f.all || f.armed && f.over == id && f.asks == f.asking {
			panic("out of order")
		}
	}})
	f.hall = newHall(t, 2, how)
	f.failed = func(x *schedule.Fault) { f.faults = append(f.faults, x) }
	f.restart("p", "q")
	return f
}

// why is the token for which a workload waits; empty: it does not.
func (f *faulty) why(name string) schedule.Token {
	f.t.Helper()
	p, ok := ask(f, explanation.Explain([]core.WorkloadID{f.ids[name]}))[f.ids[name]]
	if !ok {
		return ""
	}
	return p.Reasons[0].Token
}

// A fault of the scheduler over one workload is that one's matter: the others
// run, a restart lives, and once the fault is mended it runs as well.
func TestAFaultOfTheSchedulerIsContained(t *testing.T) {
	f := newFaulty(t)
	f.run("before", `"resources":{"gpu":1}`)
	f.armed = true
	f.run("bad", `"resources":{"gpu":1}`)
	f.phases("after the fault", map[string]lifecycle.Phase{"before": lifecycle.Starting, "bad": lifecycle.Queued})
	if f.over != f.ids["bad"] || len(f.faults) != 1 || f.faults[0].Job != f.over || f.faults[0].What != "out of order" {
		t.Fatalf("%+v", f.faults)
	}
	if got := f.why("bad"); got != schedule.PlanningFailed {
		t.Errorf("bad waits because of %q", got)
	}
	text, err := json.Marshal(f.faults[0])
	if err != nil {
		t.Fatal(err)
	}
	var kept schedule.Fault
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	if plan, again := explain.Again(&kept); again != nil || !slices.ContainsFunc(plan.Placements, func(p schedule.Placement) bool { return p.ID == f.over }) {
		t.Errorf("what was kept gives %+v, %+v", plan, again)
	}

	f.run("after", `"resources":{"gpu":1}`)
	f.report("before", core.TaskRunning)
	f.report("before", core.TaskSucceeded)
	f.run("third", `"resources":{"gpu":2}`)
	f.phases("others go on", map[string]lifecycle.Phase{"before": lifecycle.Completed, "after": lifecycle.Starting, "third": lifecycle.Starting, "bad": lifecycle.Queued})
	if len(f.faults) != 1 {
		t.Errorf("it was looked at %d times", len(f.faults))
	}

	f.restart("p", "q")
	f.phases("after a restart", map[string]lifecycle.Phase{"after": lifecycle.Starting, "bad": lifecycle.Queued})
	if len(f.faults) != 2 || f.why("bad") != schedule.PlanningFailed {
		t.Errorf("%d faults after a restart; bad waits because of %q", len(f.faults), f.why("bad"))
	}

	for i, wait := range []time.Duration{10 * time.Minute, 20 * time.Minute} { // it is tried again, ever more rarely
		f.now = f.now.Add(wait - time.Second)
		f.do()
		if len(f.faults) != 2+i {
			t.Errorf("tried again before %v", wait)
		}
		if at := f.e.NextWake(); at.After(f.now.Add(time.Second)) {
			t.Errorf("it would be tried again at %v", at)
		}
		f.now = f.now.Add(time.Second)
		if f.armed = i == 0; f.armed {
			f.e.Do(context.Background(), f.now, nil) // whose check would plan with it once more
			if len(f.faults) != 3 {
				t.Errorf("not tried again after %v", wait)
			}
		}
	}
	f.do()
	f.phases("once it is mended", map[string]lifecycle.Phase{"bad": lifecycle.Starting})
	if got := f.why("bad"); got == schedule.PlanningFailed {
		t.Errorf("bad waits because of %q", got)
	}
}

// A workload that runs and over which the scheduler fails keeps what it has: it
// is given to nobody else.
func TestWhatRunsIsKeptThroughAFault(t *testing.T) {
	f := newFaulty(t)
	f.run("fills", `"preemptible":false,"resources":{"gpu":2}`)
	f.run("grows", `"kind":"distributed","workers":3,"minWorkers":1,"resources":{"gpu":1}`)
	f.report("grows", core.TaskRunning)
	if n := len(f.tasks("grows")); n != 2 {
		t.Fatalf("%d tasks", n)
	}
	f.armed = true
	f.run("other", `"resources":{"gpu":1}`)
	if f.over != f.ids["grows"] || len(f.faults) == 0 {
		t.Fatalf("it failed over %q, %d times", f.over, len(f.faults))
	}
	f.run("keen", `"priority":"very-high","resources":{"gpu":1}`)
	f.phases("after the fault", map[string]lifecycle.Phase{"grows": lifecycle.Running, "other": lifecycle.Queued, "keen": lifecycle.Queued})
}

// Where the scheduler fails over everyone, nothing starts and nothing ends, and
// the server answers.
func TestAFaultOverEveryone(t *testing.T) {
	f := newFaulty(t)
	f.run("runs", `"resources":{"gpu":1}`)
	f.report("runs", core.TaskRunning)
	f.all = true
	for _, name := range []string{"a", "b", "c"} {
		f.run(name, `"resources":{"gpu":1}`)
	}
	f.phases("after the faults", map[string]lifecycle.Phase{"runs": lifecycle.Running, "a": lifecycle.Queued, "b": lifecycle.Queued, "c": lifecycle.Queued})
	if len(f.faults) != 3 || f.why("c") != schedule.PlanningFailed {
		t.Errorf("%d faults; c waits because of %q", len(f.faults), f.why("c"))
	}
	f.do(submission.Stop(submission.StopRequest{Ref: draft.Ref{ID: f.ids["a"]}, Actor: "user:u"}))
	f.phases("it can be stopped", map[string]lifecycle.Phase{"a": lifecycle.Canceled})
}

// A question over which the scheduler fails has an answer, and harms nobody.
func TestAFaultInAnAnswerIsContained(t *testing.T) {
	f := newFaulty(t)
	f.asks = true
	f.run("first", `"resources":{"gpu":2}`)
	f.run("second", `"resources":{"gpu":2}`)
	f.run("waits", `"resources":{"gpu":1}`)
	f.armed, f.asking = true, true
	y := ask(f, explanation.StudyOf(draft.Ref{ID: f.ids["waits"]})).Answer()
	f.asking = false
	if !y.Waits || len(y.Reasons) != 1 || y.Reasons[0].Token != schedule.PlanningFailed || len(f.faults) != 1 || f.faults[0].Job != f.ids["waits"] {
		t.Errorf("%+v, %d faults", y.Reasons, len(f.faults))
	}
	if got := f.why("waits"); got != schedule.WaitingForCapacity {
		t.Errorf("afterwards it waits because of %q", got)
	}
}

// Where the scheduler fails at the starts that lists tell, they tell none.
func TestAFaultInAForecastIsContained(t *testing.T) {
	f := newFaulty(t)
	f.asks = true
	for _, name := range []string{"first", "second"} {
		f.run(name, `"maxDuration":"1h","resources":{"gpu":2}`)
		f.report(name, core.TaskRunning)
	}
	f.run("waits", `"resources":{"gpu":1}`)
	s := ask(f, explanation.Forecast())
	f.armed, f.asking = true, true
	s.Foresee()
	f.asking = false
	if len(f.faults) != 1 {
		t.Errorf("%d faults", len(f.faults))
	}
	f.phases("afterwards", map[string]lifecycle.Phase{"first": lifecycle.Running, "waits": lifecycle.Queued})
}
