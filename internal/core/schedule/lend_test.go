package schedule

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
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
			keep := func(of Quota) Quota {
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
		st := Load(&w.Snap, w.Cfg)
		before := st.missing()
		st.now = w.Snap.Now
		st.prepare()
		c := newCycle(st) // as Cycle does, but for taking it back
		c.redeem()
		for _, a := range []Action{Allocate, Consolidate, Reclaim, Preempt} {
			c.walk(a)
		}
		fault := ""
		for k, n := range st.missing() {
			if n > before[k] {
				fault = fmt.Sprintf("of %s %d more are missing than before of what is kept", k, n-max(before[k], 0))
			}
		}
		st.finish(c)
		return fault
	})
}

// missing is, by pool and resource, by how much less is free than is kept for
// queues that do not use it.
func (st *State) missing() map[string]int64 {
	out := map[string]int64{}
	for _, name := range st.poolNames() {
		p := st.pools[name]
		kept, _ := st.kept(p, -1)
		for r, n := range kept {
			out[fmt.Sprintf("%s in %s", resourceNames[r], name)] = max(n-p.free[r], 0)
		}
	}
	return out
}

// lender is a world of 8 GPUs of which a keeps 3 of its 4, and jobs that want one
// each.
func lender(jobs ...Job) *Snapshot {
	a := Queue{ID: "a", Default: Unlimited()}
	a.Default.Quota[quota.GPU], a.Default.Keep[quota.GPU] = 4000, 3000
	b := Queue{ID: "b", Default: Unlimited(), Age: 1}
	b.Default.Quota[quota.GPU] = 0
	return &Snapshot{Now: clock, Nodes: []Node{node("n", 8, 64000, 64<<30, "H100")}, Queues: []Queue{a, b}, Jobs: jobs}
}

func asking(queue core.ProjectID, n int) (all []Job) {
	for i := range n {
		j := waiter(fmt.Sprintf("%s%d", queue, i), int64(100*len(queue)+i)+int64(queue[0])*1000, single(gpu(1)))
		j.Queue = queue
		all = append(all, j)
	}
	return all
}

func TestALendingLimitIsKept(t *testing.T) {
	t.Parallel()
	started := func(s *Snapshot) string {
		out := map[core.ProjectID]int{}
		for _, p := range Cycle(s, Default()).Placements {
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
	st := Load(lender(asking("b", 8)...), Default())
	for _, p := range st.Cycle(clock).Placements {
		j := st.jobs[p.ID].Job
		j.Held = []Held{{Need: gpu(1), Place: p.Tasks[0].Place}}
		j.Shape, j.Started = NewShape([]Set{{Parent: -1}}, []Group{{Min: 1}}), clock
		st.PutJob(j)
	}
	ex, _ := st.Explain(clock, "b7")
	if len(ex.Reasons) == 0 || ex.Reasons[0].Token != NotLent || !strings.Contains(ex.Reasons[0].String(), "3 GPU are free, 3 GPU stay so for a") {
		t.Errorf("b7 waits since %v", ex.Reasons)
	}
	for _, j := range asking("a", 3) { // its owner has them at once, and nobody leaves
		st.PutJob(j)
	}
	if plan := st.Cycle(clock + 1); len(plan.Placements) != 3 || len(plan.Evictions) != 0 {
		t.Errorf("a gets %d at once, and %d leave", len(plan.Placements), len(plan.Evictions))
	}
}

// TestADepartmentKeepsWhatItsProjectsKeep: what a project keeps counts once, not
// again for its department; its sibling must leave it, too.
func TestADepartmentKeepsWhatItsProjectsKeep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		jobs []Job
		want string
	}{
		{asking("b", 8), "b4 c0"}, // d keeps its 4, not those and a's 3
		{asking("c", 8), "b0 c5"}, // to a's sibling d is no bound, and a is
		{append(asking("b", 8), asking("c", 8)...), "b1 c4"},
	} {
		s := lender(c.jobs...)
		d := Queue{ID: "d", Default: Unlimited()}
		d.Default.Quota[quota.GPU], d.Default.Keep[quota.GPU] = 4000, 4000
		s.Queues[0].Parent = "d"
		sibling := Queue{ID: "c", Parent: "d", Default: Unlimited(), Age: 2}
		sibling.Default.Quota[quota.GPU] = 0
		s.Queues = append(s.Queues, sibling, d)
		out := map[byte]int{}
		for _, p := range Cycle(s, Default()).Placements {
			out[p.ID[0]]++
		}
		if got := fmt.Sprintf("b%d c%d", out['b'], out['c']); got != c.want {
			t.Errorf("%s start, want %s", got, c.want)
		}
	}
}
