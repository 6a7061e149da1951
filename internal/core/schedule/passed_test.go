package schedule_test

import (
	"testing"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Who keeps out of the way of a booking in one pool is placed in another that has
// room, and so are all of its job class.
func TestWhoIsPassedOverInOnePoolIsPlacedInAnother(t *testing.T) {
	for _, limit := range []int64{0, 48 * hour} {
		st := state.NewState(Default())
		st.SetPools([]schedule.Pool{{Name: "default", Reserve: 4, GPU: schedule.Fill, CPU: schedule.Fill}, {Name: "west", GPU: schedule.Fill, CPU: schedule.Fill}})
		st.SetQueues([]schedule.Queue{{ID: "q", Priority: 100, Default: schedule.Unlimited()}})
		both := nodes(2, 8)
		both[1].Pool = "west"
		for _, n := range both {
			st.PutNode(n)
		}
		long := on(gpuJob("long", "q", 1, 1, 1), "n00000", 0, 6)
		long.EndsBy = 13 * hour
		st.PutJob(long)
		gang := gpuJob("gang", "q", 2, 8, 1)
		gang.Pools = []string{"default"}
		st.PutJob(gang)
		for i := range 3 {
			late := gpuJob("late"+string(rune('0'+i)), "q", int64(3+i), 1, 1)
			late.Preemptible, late.MaxRun = false, limit
			st.PutJob(late)
		}
		st.SetWork(st.Work())
		p := cycle.Run(st, hour)
		if len(p.Placements) != 3 {
			t.Fatalf("limit %d: %+v", limit, p)
		}
		for _, pl := range p.Placements {
			if pl.Tasks[0].Place.Node != "n00001" {
				t.Errorf("limit %d: %s is in the way of the gang: %+v", limit, pl.ID, pl)
			}
		}
	}
}
