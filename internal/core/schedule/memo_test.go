package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// crowd is a world in which more is wanted than there is, in several queues and
// priorities, so that searches for victims fail more often than not.
func crowd(seed uint64) *world {
	r := rand.New(rand.NewPCG(seed, 31))
	w := &world{Snap: schedule.Snapshot{Now: clock}, Cfg: schedule.Config{MaxMoves: r.IntN(5), MoveRest: r.Int64N(3000)}, alike: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		w.Cfg.Quantum = 500 + r.Int64N(2000)
	}
	pools := []string{"default"}
	if r.IntN(3) == 0 {
		pools = append(pools, "west")
	}
	for _, name := range pools {
		w.Snap.Pools = append(w.Snap.Pools, schedule.Pool{Name: name, GPU: []schedule.Strategy{schedule.BinPack, schedule.Spread, schedule.Fill}[r.IntN(3)], Reserve: r.IntN(3), MinRuntime: r.Int64N(2) * r.Int64N(3000)})
	}
	for i := range 3 + r.IntN(6) {
		n := node(fmt.Sprintf("n%d", i), 4, 16_000, 64*gib, "H100")
		n.Pool = pools[i%len(pools)]
		w.Snap.Nodes = append(w.Snap.Nodes, n)
	}
	parents := []core.ProjectID{""}
	if r.IntN(3) == 0 {
		parents = append(parents, "east", "north")
		for i, id := range parents[1:] {
			x := plainQueue(string(id), int64(i), 12_000)
			x.PreemptMin, x.ReclaimMin = -1, -1
			w.Snap.Queues = append(w.Snap.Queues, x)
		}
	}
	for q := range 2 + r.IntN(4) {
		x := plainQueue(fmt.Sprintf("q%d", q), int64(q), r.Int64N(8)*1000)
		if r.IntN(4) == 0 {
			x.Default.Limit[quota.GPU] = (4 + r.Int64N(8)) * 1000
		}
		x.Parent = parents[r.IntN(len(parents))]
		x.PreemptMin, x.ReclaimMin = -1, -1
		if r.IntN(4) == 0 {
			x.BorrowMax = 1 + r.Int64N(3000)
		}
		if r.IntN(3) == 0 {
			x.PreemptMin, x.ReclaimMin = r.Int64N(3000), r.Int64N(3000)
		}
		w.Snap.Queues = append(w.Snap.Queues, x)
	}
	for i := range 15 + r.IntN(40) {
		w.Snap.Jobs = append(w.Snap.Jobs, arrival(r, w, i))
	}
	return w
}

// arrival is one more that waits.
func arrival(r *rand.Rand, w *world, i int) schedule.Job {
	tasks, each := 1, 1<<r.IntN(3)
	if r.IntN(4) == 0 && !w.alike {
		tasks = 2 + r.IntN(2)
	}
	queue := w.Snap.Queues[len(w.Snap.Queues)-1-r.IntN(w.leaves())].ID
	j := gpuJob(fmt.Sprintf("j%03d", i), string(queue), int64(i), tasks, each)
	g := j.Shape.Groups[0]
	g.Min -= r.IntN(g.Min) // some are elastic
	if r.IntN(5) == 0 && !w.alike {
		g.Runs[0].Need.Milli = 500
	}
	j.Shape = schedule.Flat(g)
	j.Priority, j.Preemptible = 40+10*r.IntN(3), r.IntN(6) > 0
	j.Due, j.MaxRun = clock+r.Int64N(6000), r.Int64N(2)*r.Int64N(4000)
	if r.IntN(3) == 0 { // some are protected from some
		j.Unsaved, j.Expected, j.Since = r.IntN(2) == 0, r.Int64N(2)*r.Int64N(5000), clock-r.Int64N(2)*r.Int64N(1_000_000)
		j.Displaced, j.Attained = r.IntN(3)*20, r.Int64N(4000)
	}
	if r.IntN(6) == 0 {
		j.Patient = clock + r.Int64N(3000)
	}
	if len(w.Snap.Pools) > 1 && r.IntN(2) == 0 {
		j.Pools = []string{w.Snap.Pools[r.IntN(2)].Name}
	}
	return j
}

// leaves is how many queues have work of their own; they come last.
func (w *world) leaves() int {
	return len(slices.DeleteFunc(slices.Clone(w.Snap.Queues), func(q schedule.Queue) bool { return q.ID == "east" || q.ID == "north" }))
}

// TestWhatIsRememberedIsTrue lets plans take effect in a state that is kept, ends
// and adds jobs, breaks nodes and lets time pass, and compares each plan with
// that of a state that has just been loaded and remembers nothing.
func TestWhatIsRememberedIsTrue(t *testing.T) {
	t.Parallel()
	cases := uint64(400)
	if testing.Short() {
		cases = 15
	}
	if *casesFlag > 0 {
		cases = *casesFlag
	}
	for seed := uint64(1); seed <= cases; seed++ {
		if fault := remembers(seed, crowd(seed)); fault != "" {
			t.Fatalf("seed %d: %s", seed, fault)
		}
	}
}

func remembers(seed uint64, w *world) string {
	r := rand.New(rand.NewPCG(seed, 37))
	l := &life{w: w, held: map[core.WorkloadID]int{}}
	st := state.Load(&w.Snap, w.Cfg)
	st.SetWork(st.Work())
	for step := range 25 {
		what := ""
		s := &w.Snap
		if len(s.Jobs) == 0 {
			break
		}
		switch i := r.IntN(len(s.Jobs)); r.IntN(6) {
		case 0:
			s.Now += r.Int64N(1500)
			what = "time passes"
		case 1:
			s.Jobs = append(slices.Clone(s.Jobs), arrival(r, w, 1000+step))
			st.PutJob(s.Jobs[len(s.Jobs)-1])
			what = "one comes"
		case 2:
			n := &s.Nodes[r.IntN(len(s.Nodes))]
			if r.IntN(3) == 0 {
				n.Cordon = !n.Cordon
				st.PutNode(*n)
				what = "a node changes"
			}
		default:
			what = "drop " + string(s.Jobs[i].ID)
			st.DropJob(s.Jobs[i].ID)
			s.Jobs = slices.Delete(slices.Clone(s.Jobs), i, i+1)
		}
		got := cycle.Run(st, s.Now)
		fresh := state.Load(s, w.Cfg)
		fresh.Forgetful = true
		fresh.Fill = st.Fill
		want := cycle.Run(fresh, s.Now)
		if !reflect.DeepEqual(got, want) {
			return fmt.Sprintf("step %d, %s: loaded %s\nkept %s", step, what, brief(want), brief(got))
		}
		if d := difference(said(fresh), said(st)); d != "" {
			return fmt.Sprintf("step %d, %s: loaded %s", step, what, d)
		}
		if r.IntN(3) == 0 {
			continue // it is not carried out
		}
		l.start(got)
		for _, pl := range got.Placements {
			if j := l.job(pl.ID); j.Started == clock {
				j.Started = s.Now
			}
		}
		l.part(func(j *schedule.Job, h *schedule.Held) bool {
			return slices.ContainsFunc(got.Evictions, func(e schedule.Eviction) bool { return e.ID == j.ID && slices.Contains(e.Tasks, h.Task) })
		})
		for i := range s.Jobs {
			if j := &s.Jobs[i]; !reflect.DeepEqual(st.Jobs[j.ID].Job, *j) {
				st.PutJob(*j)
			}
		}
	}
	return ""
}
