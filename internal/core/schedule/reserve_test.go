package schedule_test

import (
	"testing"

	"github.com/musterhq/muster/internal/core"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/displace"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// hour is in ms.
const hour = int64(3_600_000)

// waitsForGang is two nodes of 8 GPUs, 12 of which are held until 10 h, and a
// gang that needs all.
func waitsForGang(t *testing.T, reserve int) *state.State {
	t.Helper()
	st := state.Load(&schedule.Snapshot{Nodes: nodes(2, 8), Pools: []schedule.Pool{{Name: "default", Reserve: reserve}}, Queues: []schedule.Queue{plainQueue("q", 1, quota.Unlimited)}}, schedule.Config{})
	long := gpuJob("long", "q", 1, 12, 1)
	long.Preemptible = false
	st.PutJob(long)
	p := cycle.Run(st, 0)
	if len(p.Placements) != 1 {
		t.Fatalf("%+v", p)
	}
	var places []schedule.Place
	for _, x := range p.Placements[0].Tasks {
		places = append(places, x.Place)
	}
	held := run(long, places...)
	held.Started, held.EndsBy = 1, 10*hour
	st.PutJob(held)
	st.PutJob(gpuJob("gang", "q", 2, 16, 1))
	return st
}

func TestBackfillKeepsOutOfTheWayOfAGang(t *testing.T) {
	small := func(name string, run int64, preemptible bool) schedule.Job {
		j := gpuJob(name, "q", 3, 2, 1)
		j.MaxRun, j.Preemptible = run, preemptible
		return j
	}
	for name, c := range map[string]struct {
		job     schedule.Job
		reserve int
		starts  bool
	}{
		"who leaves in time may start":           {small("s", 9*hour, false), 1, true},
		"who stays longer may not":               {small("s", 11*hour, false), 1, false},
		"nor who may stay for ever":              {small("s", 0, false), 1, false},
		"nor who cannot be displaced by then":    {small("s", 0, true), 1, false},
		"without reservations anybody may start": {small("s", 0, false), 0, true},
	} {
		st := waitsForGang(t, c.reserve)
		st.PutJob(c.job)
		p := cycle.Run(st, 0)
		if got := len(p.Placements) == 1; got != c.starts {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// What the gang will not need may be used for as long as one likes.
func TestBackfillUsesWhatIsLeftBesideAGang(t *testing.T) {
	st := waitsForGang(t, 1)
	for _, n := range nodes(3, 8) {
		st.PutNode(n)
	}
	gang := gpuJob("gang", "q", 2, 20, 1)
	st.PutJob(gang)
	one := gpuJob("s", "q", 3, 4, 1)
	one.Preemptible = false
	st.PutJob(one)
	two := gpuJob("t", "q", 4, 1, 1)
	two.Preemptible = false
	st.PutJob(two)
	p := cycle.Run(st, 0)
	if len(p.Placements) != 1 || p.Placements[0].ID != "s" {
		t.Errorf("4 of 24 devices are left beside the gang's 20: %+v", p)
	}
}

func TestThoseWhoHadMostMakeRoomForWhoWaitedTooLong(t *testing.T) {
	st := state.Load(&schedule.Snapshot{Nodes: nodes(1, 2), Queues: []schedule.Queue{plainQueue("q", 1, quota.Unlimited)}}, schedule.Config{Quantum: hour})
	for i, started := range []int64{5 * hour, 2 * hour} {
		j := gpuJob([]string{"young", "old"}[i], "q", int64(i), 1, 1)
		j = run(j, schedule.Place{Node: "n00000", Devices: shares(i), CPU: 1000})
		j.Started = started
		st.PutJob(j)
	}
	waits := gpuJob("waits", "q", 9, 1, 1)
	waits.Due = 20 * hour
	st.PutJob(waits)
	if p := cycle.Run(st, 19*hour); len(p.Evictions) != 0 {
		t.Errorf("before it is due: %+v", p)
	}
	p := cycle.Run(st, 20*hour)
	if len(p.Evictions) != 1 || p.Evictions[0].ID != "old" || p.Evictions[0].Cause != displace.Relieve || len(p.Promises) != 1 {
		t.Errorf("%+v", p)
	}
}

// shares is the whole i-th device.
func shares(i int) []core.Share {
	return []core.Share{{Device: gpus(i+1, "H100")[i].ID, Index: i, Milli: 1000}}
}
