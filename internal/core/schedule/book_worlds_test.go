package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// ahead is the world with starts that are booked: who runs has an end, mostly,
// and some who wait were told a time.
func ahead(w *world) *world {
	c := w.clone()
	r := rand.New(rand.NewPCG(uint64(len(w.text())), 11))
	c.Snap.Pools = []schedule.Pool{
		{Name: "default", Reserve: 1 + r.IntN(3), GPU: []schedule.Strategy{schedule.BinPack, schedule.Fill, schedule.Spread}[r.IntN(3)]},
		{Name: "west", Reserve: r.IntN(3)},
	}
	if r.IntN(2) == 0 {
		c.Cfg.Quantum = 500
	}
	for i := range c.Snap.Jobs {
		j := &c.Snap.Jobs[i]
		switch {
		case len(j.Held) > 0:
			j.Started = clock - r.Int64N(2000)
			if r.IntN(4) > 0 {
				j.EndsBy = clock + r.Int64N(3000) - 200
			}
			if r.IntN(3) == 0 {
				j.Likely = clock + r.Int64N(2000) - 200
			}
		case r.IntN(3) == 0:
			j.MaxRun = 1 + r.Int64N(3000)
		}
		if r.IntN(4) == 0 {
			j.Booked = schedule.Booking{At: clock + r.Int64N(2000) - 300, Since: clock - r.Int64N(2000), Pool: []string{"default", "west"}[r.IntN(2)]}
		}
	}
	return c
}

func TestBookedPlansAreSound(t *testing.T) {
	t.Parallel()
	search(t, 500, func(w *world) string {
		w = ahead(w)
		return strings.Join(judged(w, cycle.Cycle(&w.Snap, w.Cfg)), "; ")
	})
}

func TestBookedPlansAreRepeatable(t *testing.T) {
	t.Parallel()
	search(t, 200, func(w *world) string {
		w = ahead(w)
		st := state.Load(&w.Snap, w.Cfg)
		cycle.Prepare(st)
		before := said(st)
		want := cycle.Run(st, clock)
		if d := difference(before, said(st)); d != "" {
			return "a cycle changes the state: " + d
		}
		c := w.clone()
		r := rand.New(rand.NewPCG(uint64(len(w.text())), 3))
		s := &c.Snap
		r.Shuffle(len(s.Nodes), func(i, j int) { s.Nodes[i], s.Nodes[j] = s.Nodes[j], s.Nodes[i] })
		r.Shuffle(len(s.Jobs), func(i, j int) { s.Jobs[i], s.Jobs[j] = s.Jobs[j], s.Jobs[i] })
		if got := cycle.Cycle(s, c.Cfg); !reflect.DeepEqual(got, want) {
			return fmt.Sprintf("%s %v\nshuffled: %s %v", brief(want), want.Bookings, brief(got), got.Bookings)
		}
		return ""
	})
}

// TestEditedStatesBookAsLoaded edits a state at random while time passes and
// those with a time are told of it, and compares its plans with those of a state
// that was loaded with the outcome.
func TestEditedStatesBookAsLoaded(t *testing.T) {
	t.Parallel()
	search(t, 200, func(w *world) string {
		c := ahead(w)
		r := rand.New(rand.NewPCG(uint64(len(w.text())), 5))
		st := state.Load(&c.Snap, c.Cfg)
		now := clock
		for range 8 {
			what := "time passes"
			if r.IntN(3) > 0 {
				what = edit(r, c, st)
			}
			if r.IntN(2) == 0 {
				now += r.Int64N(500)
			}
			c.Snap.Now = now
			got := cycle.Run(st, now)
			loaded := state.Load(&c.Snap, c.Cfg)
			want := cycle.Run(loaded, now)
			if !reflect.DeepEqual(got, want) {
				return fmt.Sprintf("%s, after %d ms: loaded %s %v\nedited %s %v", what, now-clock, brief(want), want.Bookings, brief(got), got.Bookings)
			}
			if d := difference(said(loaded), said(st)); d != "" {
				return fmt.Sprintf("%s: loaded %s", what, d)
			}
			c.Snap.Jobs = slices.Clone(c.Snap.Jobs)
			for _, b := range got.Bookings {
				i := slices.IndexFunc(c.Snap.Jobs, func(j schedule.Job) bool { return j.ID == b.ID })
				c.Snap.Jobs[i].Booked = b.Booking
				st.PutJob(c.Snap.Jobs[i])
			}
		}
		return ""
	})
}

// told puts into the state what a plan tells.
func tellAll(st *state.State, p *schedule.Plan) {
	for _, b := range p.Bookings {
		j := st.Jobs[b.ID].Job
		j.Booked = b.Booking
		st.PutJob(j)
	}
}

// begin lets a plan's placements run from now on.
func begin(st *state.State, p *schedule.Plan, now int64) []core.WorkloadID {
	var ids []core.WorkloadID
	for _, pl := range p.Placements {
		j := st.Jobs[pl.ID].Job
		var places []schedule.Place
		for _, t := range pl.Tasks {
			places = append(places, t.Place)
		}
		j = run(j, places...)
		j.Started = now
		if j.MaxRun > 0 {
			j.EndsBy = now + j.MaxRun
		}
		st.PutJob(j)
		ids = append(ids, pl.ID)
	}
	return ids
}

// gangBooked is a full node of 8 GPUs of which 6 are free at 12 h, 2 at once, and
// a gang of 8 that was told a time at 0 h.
func gangBooked(t *testing.T) *state.State {
	t.Helper()
	st := state.NewState(Default())
	st.SetPools([]schedule.Pool{{Name: "default", Reserve: 4, GPU: schedule.Fill, CPU: schedule.Fill}})
	st.SetQueues([]schedule.Queue{{ID: "q", Priority: 100, Default: schedule.Unlimited()}, {ID: "other", Priority: 90, Age: 1, Default: schedule.Unlimited()}})
	for _, n := range nodes(1, 8) {
		st.PutNode(n)
	}
	long := on(gpuJob("long", "q", 1, 1, 1), "n00000", 0, 6)
	long.EndsBy = 13 * hour
	st.PutJob(long)
	st.PutJob(gpuJob("gang", "q", 2, 8, 1))
	st.SetWork(st.Work())
	p := cycle.Run(st, hour)
	if len(p.Bookings) != 1 || p.Bookings[0] != (schedule.Booked{ID: "gang", Booking: schedule.Booking{At: 13 * hour, Since: hour, Pool: "default"}}) {
		t.Fatalf("%+v", p)
	}
	tellAll(st, p)
	if p := cycle.Run(st, hour); len(p.Bookings) != 0 {
		t.Fatalf("it was told already: %+v", p)
	}
	return st
}

// A time that was told is kept whoever comes later: who cannot be made to leave
// by then keeps out of the way, and who can does leave.
func TestATimeThatWasToldIsKept(t *testing.T) {
	for _, c := range []struct {
		name  string
		at    int64
		job   func(*schedule.Job)
		fits  bool
		leave bool
	}{
		{"preemptible, 12 h before", hour, func(*schedule.Job) {}, true, true},
		{"preemptible, half an hour before", 13*hour - hour/2, func(*schedule.Job) {}, false, false},
		{"preemptible, half an hour before, for a quarter", 13*hour - hour/2, func(j *schedule.Job) { j.MaxRun = hour / 4 }, true, false},
		{"less important, half an hour before", 13*hour - hour/2, func(j *schedule.Job) { j.Priority = 40 }, true, true},
		{"for 11 h", hour, func(j *schedule.Job) { j.MaxRun, j.Preemptible = 11*hour, false }, true, false},
		{"for 13 h", hour, func(j *schedule.Job) { j.MaxRun, j.Preemptible = 13*hour, false }, false, false},
		{"never displaced", hour, func(j *schedule.Job) { j.Preemptible = false }, false, false},
		{"of another project", hour, func(j *schedule.Job) { j.Queue = "other" }, false, false},
		{"of another project, for 11 h", hour, func(j *schedule.Job) { j.Queue, j.MaxRun = "other", 11*hour }, true, false},
	} {
		st := gangBooked(t)
		late := gpuJob("late", "q", 3, 1, 1)
		c.job(&late)
		st.PutJob(late)
		p := cycle.Run(st, c.at)
		if got := len(p.Placements) == 1; got != c.fits {
			t.Errorf("%s: %+v", c.name, p)
		}
		if len(p.Bookings) != 0 {
			t.Errorf("%s: the gang's time has moved: %+v", c.name, p.Bookings)
		}
		begin(st, p, c.at)
		for _, at := range []int64{c.at, c.at + 1000, 13*hour - 1000} {
			if p := cycle.Run(st, at); len(p.Placements)+len(p.Evictions)+len(p.Bookings) != 0 {
				t.Errorf("%s, at %d: %+v", c.name, at, p)
			}
		}
		st.DropJob("long")
		if late.MaxRun > 0 {
			st.DropJob("late")
		}
		p = cycle.Run(st, 13*hour)
		switch {
		case c.leave && (len(p.Evictions) != 1 || p.Evictions[0].ID != "late" || p.Evictions[0].For != "gang" || len(p.Promises) != 1):
			t.Errorf("%s: it leaves for the gang: %+v", c.name, p)
		case !c.leave && (len(p.Placements) == 0 || p.Placements[0].ID != "gang"):
			t.Errorf("%s: the gang starts: %+v", c.name, p)
		}
	}
}

// Nothing is looked at again while a time that was told only comes nearer.
func TestBookedStatesAreQuiet(t *testing.T) {
	st := gangBooked(t)
	cycle.Run(st, 3*hour)
	for _, at := range []int64{3 * hour, 4 * hour, 13*hour - 1} {
		if !st.Idle(at) {
			t.Errorf("at %d h there is nothing to do", at/hour)
		}
	}
	if st.Idle(13 * hour) {
		t.Error("the time has come")
	}
}

// Who was told a time keeps it though as many others, who go first, are given
// theirs.
func TestATimeIsNotLostToOthersTimes(t *testing.T) {
	st := gangBooked(t)
	for i := range 5 { // of which 4 may have a time
		n := nodes(i+2, 8)[i+1]
		for d := range n.Devices {
			n.Devices[d].Product = "A100"
		}
		st.PutNode(n)
		long := on(gpuJob(fmt.Sprintf("long%d", i), "q", int64(10+i), 1, 1), n.ID, 0, 8)
		long.Preemptible, long.EndsBy, long.Priority = false, 20*hour, 90
		st.PutJob(long)
		j := gpuJob(fmt.Sprintf("high%d", i), "q", int64(20+i), 1+i%2, 8/(1+i%2))
		j.Shape.Groups[0].Runs[0].Need.Type = "A100"
		j.Shape, j.Priority = schedule.Flat(j.Shape.Groups...), 90
		st.PutJob(j)
	}
	p := cycle.Run(st, 2*hour)
	if len(p.Bookings) == 0 {
		t.Error("nobody else has a time")
	}
	for _, b := range p.Bookings {
		if b.ID == "gang" {
			t.Errorf("its time is not what it was: %+v", p.Bookings)
		}
	}
}
