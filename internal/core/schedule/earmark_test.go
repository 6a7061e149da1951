package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/queues"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// TestEarmarksAddUp reserves quota for jobs of random worlds that hold nothing:
// what queues have is what their jobs hold and what is reserved for the others,
// nobody goes beyond a limit, and looking changes nothing.
func TestEarmarksAddUp(t *testing.T) {
	t.Parallel()
	recalled := 0
	search(t, 1000, func(w *world) string {
		r := rand.New(rand.NewPCG(uint64(len(w.Snap.Jobs)), uint64(len(w.Snap.Nodes))))
		for i := range w.Snap.Jobs {
			j := &w.Snap.Jobs[i]
			if j.Earmark = (schedule.Earmark{}); len(j.Held) > 0 || len(w.Snap.Nodes) == 0 || r.IntN(2) == 0 {
				continue
			}
			j.Earmark = schedule.Earmark{Pool: w.Snap.Nodes[r.IntN(len(w.Snap.Nodes))].Pool, Amounts: quota.Amounts{quota.GPU: int64(r.IntN(4)) * 500, quota.CPU: int64(r.IntN(3)) * 1000}}
			if r.IntN(2) == 0 { // its checks are being made
				sh := *j.Shape
				groups := append([]schedule.Group{}, sh.Groups...)
				for g := range groups {
					groups[g].Runs = nil
				}
				j.Shape = schedule.NewShape(sh.Sets, groups)
			} else {
				j.Promised = true
			}
		}
		st := state.Load(&w.Snap, w.Cfg)
		before := accounts(st)
		if fault := tallied(st); fault != "" {
			return "before: " + fault
		}
		st.Now = w.Snap.Now
		cycle.Prepare(st)
		c := cycle.New(st) // as Cycle does, but for taking it back
		c.Redeem()
		for _, a := range []schedule.Action{schedule.Allocate, schedule.Consolidate, schedule.Reclaim, schedule.Preempt} {
			c.Walk(a)
		}
		c.Honour()
		c.Relieve()
		c.Spare()
		fault := tallied(st)
		for k, a := range accounts(st) {
			for res, n := range a.Alloc {
				if limit := a.Limit[res]; fault == "" && !w.Cfg.NoQuota && limit >= 0 && n > max(limit, before[k].Alloc[res]) {
					fault = fmt.Sprintf("%s has %d of %s, of at most %d; before it had %d", k, n, queues.ResourceNames[res], limit, before[k].Alloc[res])
				}
			}
		}
		recalled += len(c.Recalled())
		cycle.Finish(st, c)
		for k, a := range accounts(st) {
			if b := before[k]; fault == "" && (a.Alloc != b.Alloc || a.Fixed != b.Fixed || a.Marked != b.Marked) {
				fault = fmt.Sprintf("after looking %s has %v, %v not preemptible, %v reserved; before it had %v, %v, %v", k, a.Alloc, a.Fixed, a.Marked, b.Alloc, b.Fixed, b.Marked)
			}
		}
		if fault == "" {
			fault = tallied(st)
		}
		return fault
	})
	if recalled == 0 {
		t.Error("nowhere was a reservation taken back")
	}
}

// accounts are those of all queues, by pool and queue.
func accounts(st *state.State) map[string]ledger.Account {
	out := map[string]ledger.Account{}
	for name, p := range st.Pools {
		for i := range p.Q {
			out[name+"/"+string(st.Queues.List[i].ID)] = p.Q[i]
		}
	}
	return out
}

// tallied says whose accounts are not what their jobs hold, and what is reserved
// for those that hold nothing; empty: nobody's.
func tallied(st *state.State) string {
	held, marked := map[string]quota.Amounts{}, map[string]quota.Amounts{}
	for _, j := range st.Jobs {
		for q := j.Leaf; q >= 0; q = st.Queues.List[q].ParentIndex {
			standing := false
			for _, h := range j.Holds {
				if k := h.Site.Pool.Name + "/" + string(st.Queues.List[q].ID); !h.Leaving {
					held[k], standing = held[k].Add(h.Amount), true
				}
			}
			if k := j.Earmark.Pool + "/" + string(st.Queues.List[q].ID); !standing && !j.Recalled && j.Earmark.Pool != "" {
				marked[k] = marked[k].Add(j.Earmark.Amounts)
			}
		}
	}
	for k, a := range accounts(st) {
		if a.Held() != held[k] || a.Marked != marked[k] {
			return fmt.Sprintf("%s has %v and %v reserved; its jobs hold %v and %v", k, a.Held(), a.Marked, held[k], marked[k])
		}
	}
	return ""
}

func TestAnEarmarkCountsForOthersOnly(t *testing.T) {
	t.Parallel()
	world := func(q schedule.Queue, jobs ...schedule.Job) *state.State {
		return state.Load(&schedule.Snapshot{Now: clock, Nodes: []schedule.Node{node("n", 8, 64000, 64<<30, "H100")}, Queues: []schedule.Queue{q}, Jobs: jobs}, Default())
	}
	job := func(id string, order int64, n int) schedule.Job {
		j := waiter(id, order, single(gpu(n)))
		j.Queue, j.User = "a", "u"
		return j
	}
	reserved := job("reserved", 2, 2)
	reserved.Promised, reserved.Earmark = true, schedule.Earmark{Pool: "default", Amounts: quota.Amounts{quota.GPU: 2000}}
	for what, bound := range map[string]func(*schedule.Queue){
		"a limit":         func(q *schedule.Queue) { q.Default.Limit[quota.GPU] = 2000 },
		"a user's limit":  func(q *schedule.Queue) { q.UserGPU = 2000 },
		"a number":        func(q *schedule.Queue) { q.MaxJobs = 1 },
		"a user's number": func(q *schedule.Queue) { q.UserJobs = 1 },
	} {
		q := schedule.Queue{ID: "a", Default: schedule.Unlimited()}
		bound(&q)
		plan := cycle.Run(world(q, job("older", 1, 1), reserved), clock)
		if len(plan.Placements) != 1 || plan.Placements[0].ID != "reserved" || len(plan.Evictions) != 0 {
			t.Errorf("with %s: %+v", what, plan)
			continue
		}
		if e := plan.Placements[0].Takes; e.Pool != "default" || e.Amounts[quota.GPU] != 2000 {
			t.Errorf("with %s it takes %+v", what, e)
		}
		if _, ok := explain.Explain(world(q, job("older", 1, 1), reserved), clock, "older"); !ok {
			t.Errorf("with %s nobody knows why the other waits", what)
		}
	}
	// What is reserved is wanted once, not twice.
	q := schedule.Queue{ID: "a", Default: schedule.Unlimited()}
	q.Default.Quota[quota.GPU] = 0
	if got, _ := world(q, reserved).FairShare("default", "a"); got[quota.GPU] != 2000 {
		t.Errorf("its fair share is %v", got)
	}
}
