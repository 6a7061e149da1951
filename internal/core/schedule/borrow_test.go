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

// TestWhatLastsTooLongBorrowsNothing has queues of random worlds limit for how long
// is borrowed: what lasts longer has no more of a queue after a plan than its
// quota, or than it had.
func TestWhatLastsTooLongBorrowsNothing(t *testing.T) {
	t.Parallel()
	search(t, 1000, func(w *world) string {
		r := rand.New(rand.NewPCG(uint64(len(w.Snap.Jobs)), uint64(len(w.Snap.Nodes))))
		for i := range w.Snap.Queues {
			if r.IntN(2) == 0 {
				w.Snap.Queues[i].BorrowMax = 1 + r.Int64N(3000)
			}
		}
		for i := range w.Snap.Jobs {
			w.Snap.Jobs[i].MaxRun = r.Int64N(2) * r.Int64N(4000)
		}
		st := state.Load(&w.Snap, w.Cfg)
		before := lasting(st)
		takeBack := carryOut(st, w.Snap.Now)
		fault := ""
		for k, x := range lasting(st) {
			if x.held > max(x.quota, before[k].held) {
				fault = fmt.Sprintf("what lasts too long has %d of %s, whose quota is %d; it had %d", x.held, k, x.quota, before[k].held)
			}
		}
		takeBack()
		return fault
	})
}

type lasts struct{ held, quota int64 }

// lasting is, by pool, queue and resource, what those hold who may not use more
// than the queue's quota since they last too long.
func lasting(st *state.State) map[string]lasts {
	out := map[string]lasts{}
	for _, j := range st.Jobs {
		for _, x := range j.Holds {
			if x.Leaving || x.Gone {
				continue
			}
			p := x.Site.Pool
			for q := j.Leaf; q >= 0; q = st.Queues.List[q].ParentIndex {
				if most := st.Queues.List[q].BorrowMax; most == 0 || j.MaxRun > 0 && j.MaxRun <= most {
					continue
				}
				for r, n := range x.Amount {
					if has := p.Q[q].Quota.Quota[r]; has >= 0 {
						k := fmt.Sprintf("%s of %s in %s", queues.ResourceNames[r], st.Queues.List[q].ID, p.Name)
						out[k] = lasts{out[k].held + n, has}
					}
				}
			}
		}
	}
	return out
}

// TestABorrowingTimeLimit: beyond its quota a queue runs only what ends in time,
// and of several limits above each other the tightest holds.
func TestABorrowingTimeLimit(t *testing.T) {
	t.Parallel()
	const hour = 3_600_000
	for _, c := range []struct {
		name        string
		above, own  int64
		lasts       int64
		want        int
		preemptible bool
	}{
		{"no limit", 0, 0, 0, 8, true},
		{"without an end", 0, 4 * hour, 0, 4, true},
		{"too long", 0, 4 * hour, 4*hour + 1, 4, true},
		{"just short enough", 0, 4 * hour, 4 * hour, 8, true},
		{"tighter above", 2 * hour, 4 * hour, 3 * hour, 4, true},
		{"tighter below", 4 * hour, 2 * hour, 3 * hour, 4, true},
		{"of the department alone", 2 * hour, 0, 3 * hour, 4, true},
		{"never displaced", 0, 4 * hour, hour, 4, false},
	} {
		s := &schedule.Snapshot{Now: clock, Nodes: []schedule.Node{node("n", 8, 64000, 64<<30, "H100")}}
		above := schedule.Queue{ID: "all", Default: schedule.Unlimited(), BorrowMax: c.above}
		own := schedule.Queue{ID: "a", Parent: "all", Default: schedule.Unlimited(), BorrowMax: c.own}
		own.Default.Quota[quota.GPU] = 4000
		s.Queues = []schedule.Queue{above, own}
		for _, j := range asking("a", 8) {
			j.MaxRun, j.Preemptible = c.lasts, c.preemptible
			s.Jobs = append(s.Jobs, j)
		}
		if got := len(cycle.Cycle(s, Default()).Placements); got != c.want {
			t.Errorf("%s: %d start, want %d", c.name, got, c.want)
		}
	}

	// One that ends in time passes those that do not, and these are told why.
	s := &schedule.Snapshot{Now: clock, Nodes: []schedule.Node{node("n", 8, 64000, 64<<30, "H100")}}
	a := schedule.Queue{ID: "a", Default: schedule.Unlimited(), BorrowMax: hour}
	a.Default.Quota[quota.GPU] = 4000
	s.Queues = []schedule.Queue{a}
	s.Jobs = asking("a", 8)
	s.Jobs[7].MaxRun = hour
	st := state.Load(s, Default())
	started := map[core.WorkloadID]bool{}
	for _, p := range cycle.Run(st, clock).Placements {
		started[p.ID] = true
	}
	if len(started) != 5 || !started["a7"] {
		t.Errorf("%v start; want four within the quota, and a7", started)
	}
	if ex, _ := explain.Explain(st, clock, "a5"); len(ex.Reasons) == 0 || ex.Reasons[0].Token != schedule.BorrowingTimeLimit ||
		!strings.Contains(ex.Reasons[0].String(), "beyond the quota of a only work may run that ends within 1h0m0s") || !strings.Contains(ex.Reasons[0].Hint(), "--max-duration 1h0m0s") {
		t.Errorf("a5 waits since %v", ex.Reasons)
	}
}
