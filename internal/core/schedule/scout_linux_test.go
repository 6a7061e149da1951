package schedule_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// TestTheLeastImportantLeaveOfMany has one of higher priority ask for a whole node
// of a queue's that has many more victims than are told to go: those leave who
// would if all before them in line had been told to, and fewer are moved for it.
func TestTheLeastImportantLeaveOfMany(t *testing.T) {
	t.Parallel()
	s := &schedule.Snapshot{Now: 1_000_000, Nodes: nodes(60, 8), Pools: []schedule.Pool{{Name: "default", GPU: schedule.Fill, CPU: schedule.Fill}}}
	for _, q := range []string{"mine", "theirs"} {
		s.Queues = append(s.Queues, plainQueue(q, 0, 240_000))
	}
	order := int64(0)
	for i := range s.Nodes {
		for g := range 8 {
			order++
			queue, priority := "mine", 40+5*int(order%3)
			if i != 50 && g >= 4 { // but for one node half of each is another's
				queue = "theirs"
			}
			if i == 50 { // where those are who are the most important but one
				priority = 55
			}
			j := gpuJob(fmt.Sprintf("r%05d", order), queue, order, 1, 1)
			j.Priority, j.Started = priority, 1000
			s.Jobs = append(s.Jobs, run(j, schedule.Place{Node: s.Nodes[i].ID, CPU: 1000, Memory: 1 << 30, Devices: []core.Share{{Device: s.Nodes[i].Devices[g].ID, Index: g, Milli: 1000}}}))
		}
	}
	wide := gpuJob("wide", "mine", 9999, 1, 8)
	wide.Priority = 60
	s.Jobs = append(s.Jobs, wide)
	var leave [2][]core.WorkloadID
	var moved [2]int
	for i := range leave {
		st := state.Load(s, Default())
		st.Forgetful = i == 1
		plan := cycle.Run(st, s.Now)
		if len(plan.Promises) == 0 || !slices.ContainsFunc(plan.Promises, func(p schedule.Placement) bool { return p.ID == "wide" }) {
			t.Fatalf("wide is promised nothing: %+v", plan.Promises)
		}
		for _, e := range plan.Evictions {
			if e.Moves {
				moved[i]++
			} else {
				leave[i] = append(leave[i], e.ID)
			}
		}
	}
	if len(leave[0]) != 8 || !slices.Equal(leave[0], leave[1]) {
		t.Errorf("%v leave, want %v, the least important", leave[0], leave[1])
	}
	if moved[0] < 8 || moved[0] > moved[1] {
		t.Errorf("%d are moved, want at least the 8 who are on the node, and at most %d, as where all were told to go", moved[0], moved[1])
	}
}

// TestWhoFindsNoVictimsIsNotLookedAt has jobs end and come in a full cluster: of
// the many kinds that wait those only are looked at for displacement in their own
// queue who may find somebody.
func TestWhoFindsNoVictimsIsNotLookedAt(t *testing.T) {
	t.Parallel()
	c := newBusy(100, 4)
	c.settle()
	looks := 0
	c.st.Cfg.Trap = &schedule.Trap{Look: func(a schedule.Action, _ core.WorkloadID) {
		if a == schedule.Preempt {
			looks++
		}
	}}
	const cycles = 50
	for range cycles {
		c.step()
		c.apply(cycle.Run(c.st, c.now))
	}
	if kinds := c.st.Classes(); kinds < 500 || looks > cycles*kinds/50 {
		t.Errorf("%d looks in %d cycles at %d kinds of jobs, want at most a look at one of fifty in each", looks, cycles, kinds)
	}
}
