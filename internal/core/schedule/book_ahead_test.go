package schedule_test

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// aside is a pool of n nodes of 4 GPUs that books starts, one queue, and a work
// of single GPUs.
func aside(strategy schedule.Strategy, n int) *state.State {
	st := state.NewState(Default())
	st.SetPools([]schedule.Pool{{Name: "default", Reserve: 4, GPU: strategy, CPU: strategy}})
	for _, x := range nodes(n, 4) {
		st.PutNode(x)
	}
	st.SetQueues([]schedule.Queue{{ID: "q", Priority: 100, Default: schedule.Unlimited()}})
	return st
}

// on is j holding n GPUs of a node, from the given one on.
func on(j schedule.Job, node core.NodeID, from, n int) schedule.Job {
	need := schedule.Need{Devices: 1, Milli: 1000, CPU: 1000, Memory: 1 << 30}
	for d := range n {
		j.Held = append(j.Held, schedule.Held{Task: d, Need: need, Place: schedule.Place{Node: node, Devices: shares(from + d), CPU: 1000, Memory: 1 << 30}})
	}
	j.Shape = schedule.Flat(schedule.Group{Name: "tasks", Min: 1})
	j.Started = 1
	return j
}

// more is j wanting that many tasks of a GPU beside what it holds.
func more(j schedule.Job, count int) schedule.Job {
	need := schedule.Need{Devices: 1, Milli: 1000, CPU: 1000, Memory: 1 << 30}
	j.Shape = schedule.Flat(schedule.Group{Name: "tasks", Min: 1, Runs: []schedule.Run{{Need: need, Count: count}}})
	return j
}

// An elastic gang with a known end grows by two, then another gang that does not
// fit is given a time: who has grown has not left.
func TestABookingLeavesInPlaceWhatGrewInTheSameCycle(t *testing.T) {
	st := aside(schedule.BinPack, 1)
	e := more(on(gpuJob("e", "q", 1, 1, 1), "n00000", 0, 1), 2)
	e.Priority, e.EndsBy = 75, 30*hour
	st.PutJob(e)
	g := gpuJob("g", "q", 2, 2, 1)
	st.PutJob(g)
	p := cycle.Run(st, 10*hour)
	if len(p.Placements) != 1 || p.Placements[0].ID != "e" || len(p.Placements[0].Tasks) != 2 {
		t.Fatalf("the gang grows by 2 and nobody else starts: %+v", p)
	}
}

// What a gang with a known end has taken in this cycle is not free to those who
// keep out of the way of a booking.
func TestABookingGivesNoDeviceTwice(t *testing.T) {
	for _, strategy := range []schedule.Strategy{schedule.BinPack, schedule.Fill} {
		st := aside(strategy, 2)
		put := func(j schedule.Job, priority int, ends int64) {
			j.Priority, j.EndsBy = priority, ends
			st.PutJob(j)
		}
		put(on(gpuJob("r", "q", 1, 1, 1), "n00000", 0, 1), 100, 0)
		put(on(gpuJob("z", "q", 2, 4, 1), "n00001", 0, 4), 100, 40*hour)
		put(more(on(gpuJob("e", "q", 3, 1, 1), "n00000", 1, 1), 1), 90, 30*hour)
		put(gpuJob("g", "q", 4, 2, 2), 80, 0)
		n := gpuJob("n", "q", 5, 1, 1)
		n.Preemptible = false
		put(n, 70, 0)
		if strategy == schedule.Fill {
			st.SetWork(st.Work())
		}
		taken := map[string]core.WorkloadID{}
		p := cycle.Run(st, 10*hour)
		for _, pl := range p.Placements {
			for _, x := range pl.Tasks {
				for _, d := range x.Place.Devices {
					at := string(x.Place.Node) + "/" + d.Device
					if other, twice := taken[at]; twice {
						t.Errorf("%q: %s is given to %s and to %s", strategy, at, other, pl.ID)
					}
					taken[at] = pl.ID
				}
			}
		}
		if len(p.Placements) == 0 || p.Placements[0].ID != "e" {
			t.Errorf("%q: e grows: %+v", strategy, p)
		}
	}
}

// Two were promised room. The first, a gang, does not fit any more; the second,
// that nobody may displace, gets what others have left for it.
func TestAPromiseIsKeptBesideABooking(t *testing.T) {
	for _, promised := range []bool{true, false} {
		st := aside(schedule.BinPack, 1)
		z := on(gpuJob("z", "q", 1, 2, 1), "n00000", 0, 2)
		z.EndsBy = 30 * hour
		st.PutJob(z)
		r := on(gpuJob("r", "q", 2, 1, 1), "n00000", 2, 1)
		r.Held[0].Leaving = true
		st.PutJob(r)
		g := gpuJob("g", "q", 3, 4, 1)
		g.Promised, g.Rank, g.Owed = promised, 1, 4
		st.PutJob(g)
		n := gpuJob("n", "q", 4, 1, 1)
		n.Preemptible, n.Promised, n.Rank, n.Owed = false, true, 2, 1
		st.PutJob(n)
		done := make(chan *schedule.Plan, 1)
		go func() { done <- cycle.Run(st, 10*hour) }()
		select {
		case p := <-done:
			if len(p.Placements)+len(p.Promises) != 1 || len(p.Evictions) != 0 {
				t.Errorf("gang promised %v: only n gets room: %+v", promised, p)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("gang promised %v: the cycle does not end", promised)
		}
	}
}
