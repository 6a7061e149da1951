package schedule_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// trapped is four GPUs of which "runs" holds one, and who waits; looks at them
// go through look.
func trapped(look func(st *state.State, a schedule.Action, id core.WorkloadID)) *state.State {
	var st *state.State
	cfg := Default()
	cfg.Trap = &schedule.Trap{Look: func(a schedule.Action, id core.WorkloadID) { look(st, a, id) }}
	st = state.NewState(cfg)
	st.Load(&schedule.Snapshot{Nodes: nodes(1, 4), Queues: []schedule.Queue{plainQueue("q", 1, quota.Unlimited)}, Jobs: []schedule.Job{
		run(gpuJob("runs", "q", 1, 1, 1), schedule.Place{Node: nodes(1, 4)[0].ID, Devices: shares(1), CPU: 1000}),
		gpuJob("bad", "q", 2, 1, 2), gpuJob("good", "q", 3, 1, 1),
	}})
	return st
}

// What is known of a fault: whose turn it was, and all that it takes to have it
// again from a file.
func TestAFaultCanBeRepeated(t *testing.T) {
	fail := func(_ *state.State, a schedule.Action, id core.WorkloadID) {
		if id == "bad" && a == schedule.Allocate {
			panic("it is bad")
		}
	}
	st := trapped(fail)
	f := st.Safely(func() { cycle.Run(st, 1000) })
	if f == nil || f.Job != "bad" || f.What != "it is bad" || !strings.Contains(f.Stack, "fault_test.go") || f.Record.Now != 1000 {
		t.Fatalf("%+v", f)
	}
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var kept schedule.Fault
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	plan, again := explain.Again(&kept)
	if want := cycle.Run(trapped(func(*state.State, schedule.Action, core.WorkloadID) {}), 1000); again != nil || !reflect.DeepEqual(plan, want) || len(plan.Placements) != 2 {
		t.Errorf("without the trap, which is in no file: %v %v, want %v", brief(plan), again, brief(want))
	}
	kept.Record.Config.Trap = &schedule.Trap{Look: func(a schedule.Action, id core.WorkloadID) { fail(nil, a, id) }}
	if _, again := explain.Again(&kept); again == nil || again.Job != "bad" || again.What != f.What {
		t.Errorf("%+v", again)
	}
}

// A look that does not end is a fault like any other.
func TestALookEnds(t *testing.T) {
	st := trapped(func(st *state.State, _ schedule.Action, id core.WorkloadID) {
		for id == "bad" { // as a loop in a search would
			st.Evict(st.Jobs["runs"].Holds[0])
			st.Undo(0)
		}
	})
	f := st.Safely(func() { cycle.Run(st, 1000) })
	if f == nil || f.Job != "bad" || !strings.Contains(f.What, "has not ended after") {
		t.Fatalf("%+v", f)
	}
}

// Who is set aside gets nothing, keeps what it has, whoever wants that, and is
// told why.
func TestWhoIsSetAsideIsLeftAlone(t *testing.T) {
	st := trapped(func(*state.State, schedule.Action, core.WorkloadID) {})
	bad := st.Jobs["bad"].Job
	bad.Aside, bad.AsideUntil = true, 61_000
	st.PutJob(bad)
	if p := cycle.Run(st, 1000); len(p.Placements) != 1 || p.Placements[0].ID != "good" {
		t.Errorf("it waits: %s", brief(p))
	}
	ex, ok := explain.Explain(st, 1000, "bad")
	if want := "the scheduler failed while it looked at this workload, and plans without it until 1970-01-01T00:01:01Z"; !ok || len(ex.Reasons) != 1 || ex.Reasons[0].Token != schedule.PlanningFailed || ex.Reasons[0].String() != want {
		t.Errorf("%+v", ex)
	}
	runs := st.Jobs["runs"].Job
	big := gpuJob("big", "q", 9, 1, 4)
	big.Priority = 100
	for _, aside := range []bool{false, true} {
		runs.Aside = aside
		st.PutJob(runs)
		st.PutJob(big)
		if p := cycle.Run(st, 1000); len(p.Evictions) == 1 == aside {
			t.Errorf("it runs, aside %v: %s", aside, brief(p))
		}
		st.SetQueues([]schedule.Queue{plainQueue("q", 2, quota.Unlimited)}) // which looks at all anew
	}
	if p := cycle.Run(st, 1000); len(p.Evictions) != 0 {
		t.Errorf("it runs, in queues that were set anew: %s", brief(p))
	}
}
