package schedule_test

import (
	"testing"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Of several whose move would make the same room the youngest moves, as it is the
// first to be displaced otherwise.
func TestTheYoungestOfEqualOnesMoves(t *testing.T) {
	for _, strategy := range []schedule.Strategy{schedule.BinPack, schedule.Fill} {
		for _, swap := range []bool{false, true} {
			st := state.NewState(schedule.Config{MaxMoves: -1})
			st.SetPools([]schedule.Pool{{Name: "default", GPU: strategy, CPU: strategy}})
			st.SetQueues([]schedule.Queue{{ID: "q", Priority: 100, Default: schedule.Unlimited()}})
			for _, n := range nodes(3, 2) {
				st.PutNode(n)
			}
			first, second := on(gpuJob("older", "q", 1, 1, 1), "n00000", 0, 1), on(gpuJob("younger", "q", 2, 1, 1), "n00001", 0, 1)
			if swap {
				first.ID, second.ID, first.Order, second.Order = "younger", "older", 2, 1
			}
			st.PutJob(first)
			st.PutJob(second)
			fixed := on(gpuJob("fixed", "q", 3, 1, 1), "n00002", 0, 1)
			fixed.Preemptible = false
			st.PutJob(fixed)
			st.PutJob(gpuJob("wants", "q", 4, 1, 2))
			if strategy == schedule.Fill {
				st.SetWork(st.Work())
			}
			p := cycle.Run(st, hour)
			if len(p.Evictions) != 1 || p.Evictions[0].ID != "younger" || !p.Evictions[0].Moves {
				t.Errorf("%q, swapped %v: %+v", strategy, swap, p.Evictions)
			}
		}
	}
}
