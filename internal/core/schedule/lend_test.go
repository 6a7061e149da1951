package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/queues"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// TestWhatIsNotLentIsAtHand has queues of random worlds keep parts of their
// quotas: where all that is kept was free before a plan it is free after it,
// except for what its owner has begun to use.
func TestWhatIsNotLentIsAtHand(t *testing.T) {
	t.Parallel()
	search(t, 1000, func(w *world) string {
		r := rand.New(rand.NewPCG(uint64(len(w.Snap.Jobs)), uint64(len(w.Snap.Nodes))))
		for i := range w.Snap.Queues {
			q := &w.Snap.Queues[i]
			keep := func(of schedule.Quota) schedule.Quota {
				for res, n := range of.Quota {
					if n > 0 && r.IntN(2) == 0 {
						of.Keep[res] = n * int64(1+r.IntN(4)) / 4
					}
				}
				return of
			}
			q.Default = keep(q.Default)
			for name, of := range q.Shares {
				q.Shares[name] = keep(of)
			}
		}
		st := state.Load(&w.Snap, w.Cfg)
		before := missing(st)
		takeBack := carryOut(st, w.Snap.Now)
		fault := ""
		for k, n := range missing(st) {
			if n > before[k] {
				fault = fmt.Sprintf("of %s %d more are missing than before of what is kept", k, n-max(before[k], 0))
			}
		}
		takeBack()
		return fault
	})
}

// carryOut does what Cycle does, but for taking it back, which what is returned does.
func carryOut(st *state.State, now int64) (takeBack func()) {
	st.Now = now
	cycle.Prepare(st)
	c := cycle.New(st)
	c.Redeem()
	for _, a := range []schedule.Action{schedule.Allocate, schedule.Consolidate, schedule.Reclaim, schedule.Preempt} {
		c.Walk(a)
	}
	return func() { cycle.Finish(st, c) }
}

// missing is, by pool and resource, by how much less is free than is kept for
// queues that do not use it.
func missing(st *state.State) map[string]int64 {
	out := map[string]int64{}
	for _, name := range st.PoolNames() {
		p := st.Pools[name]
		kept, _ := st.Kept(p, -1)
		for r, n := range kept {
			out[fmt.Sprintf("%s in %s", queues.ResourceNames[r], name)] = max(n-p.Free[r], 0)
		}
	}
	return out
}

// lender is a world of 8 GPUs of which a keeps 3 of its 4, and jobs that want one
// each.
func lender(jobs ...schedule.Job) *schedule.Snapshot {
	a := schedule.Queue{ID: "a", Default: schedule.Unlimited()}
	a.Default.Quota[quota.GPU], a.Default.Keep[quota.GPU] = 4000, 3000
	b := schedule.Queue{ID: "b", Default: schedule.Unlimited(), Age: 1}
	b.Default.Quota[quota.GPU] = 0
	return &schedule.Snapshot{Now: clock, Nodes: []schedule.Node{node("n", 8, 64000, 64<<30, "H100")}, Queues: []schedule.Queue{a, b}, Jobs: jobs}
}

func asking(queue core.ProjectID, n int) (all []schedule.Job) {
	for i := range n {
		j := waiter(fmt.Sprintf("%s%d", queue, i), int64(100*len(queue)+i)+int64(queue[0])*1000, single(gpu(1)))
		j.Queue = queue
		all = append(all, j)
	}
	return all
}

func TestALendingLimitIsKept(t *testing.T) {
	t.Parallel()
	started := func(s *schedule.Snapshot) string {
		out := map[core.ProjectID]int{}
		for _, p := range cycle.Cycle(s, Default()).Placements {
			out[core.ProjectID(p.ID[:1])]++
		}
		return fmt.Sprintf("a%d b%d", out["a"], out["b"])
	}
	if got := started(lender(asking("b", 8)...)); got != "a0 b5" {
		t.Errorf("alone b starts %s; want 5: 4 that nobody is promised, and 1 that is lent", got)
	}
	if got := started(lender(append(asking("a", 8), asking("b", 8)...)...)); got != "a4 b4" && got != "a6 b2" {
		t.Errorf("together %s start; want all 8", got)
	}
	if got := started(lender(append(asking("a", 2), asking("b", 8)...)...)); got != "a2 b5" {
		t.Errorf("beside 2 of a's, %s start; want 5 of b's: 1 is still kept", got)
	}
	st := state.Load(lender(asking("b", 8)...), Default())
	for _, p := range cycle.Run(st, clock).Placements {
		j := st.Jobs[p.ID].Job
		j.Held = []schedule.Held{{Need: gpu(1), Place: p.Tasks[0].Place}}
		j.Shape, j.Started = schedule.NewShape([]schedule.Set{{Parent: -1}}, []schedule.Group{{Min: 1}}), clock
		st.PutJob(j)
	}
	ex, _ := explain.Explain(st, clock, "b7")
	if len(ex.Reasons) == 0 || ex.Reasons[0].Token != schedule.NotLent || !strings.Contains(ex.Reasons[0].String(), "3 GPU are free, 3 GPU stay so for a") {
		t.Errorf("b7 waits since %v", ex.Reasons)
	}
	for _, j := range asking("a", 3) { // its owner has them at once, and nobody leaves
		st.PutJob(j)
	}
	if plan := cycle.Run(st, clock+1); len(plan.Placements) != 3 || len(plan.Evictions) != 0 {
		t.Errorf("a gets %d at once, and %d leave", len(plan.Placements), len(plan.Evictions))
	}
}

// TestADepartmentKeepsWhatItsProjectsKeep: what a project keeps counts once, not
// again for its department; its sibling must leave it, too.
func TestADepartmentKeepsWhatItsProjectsKeep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		jobs []schedule.Job
		want string
	}{
		{asking("b", 8), "b4 c0"}, // d keeps its 4, not those and a's 3
		{asking("c", 8), "b0 c5"}, // to a's sibling d is no bound, and a is
		{append(asking("b", 8), asking("c", 8)...), "b1 c4"},
	} {
		s := lender(c.jobs...)
		d := schedule.Queue{ID: "d", Default: schedule.Unlimited()}
		d.Default.Quota[quota.GPU], d.Default.Keep[quota.GPU] = 4000, 4000
		s.Queues[0].Parent = "d"
		sibling := schedule.Queue{ID: "c", Parent: "d", Default: schedule.Unlimited(), Age: 2}
		sibling.Default.Quota[quota.GPU] = 0
		s.Queues = append(s.Queues, sibling, d)
		out := map[byte]int{}
		for _, p := range cycle.Cycle(s, Default()).Placements {
			out[p.ID[0]]++
		}
		if got := fmt.Sprintf("b%d c%d", out['b'], out['c']); got != c.want {
			t.Errorf("%s start, want %s", got, c.want)
		}
	}
}
