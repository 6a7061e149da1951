package schedule

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/musterhq/muster/internal/core/quota"
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
			if j.Earmark = (Earmark{}); len(j.Held) > 0 || len(w.Snap.Nodes) == 0 || r.IntN(2) == 0 {
				continue
			}
			j.Earmark = Earmark{Pool: w.Snap.Nodes[r.IntN(len(w.Snap.Nodes))].Pool, Amounts: quota.Amounts{quota.GPU: int64(r.IntN(4)) * 500, quota.CPU: int64(r.IntN(3)) * 1000}}
			if r.IntN(2) == 0 { // its checks are being made
				sh := *j.Shape
				groups := append([]Group{}, sh.Groups...)
				for g := range groups {
					groups[g].Runs = nil
				}
				j.Shape = NewShape(sh.Sets, groups)
			} else {
				j.Promised = true
			}
		}
		st := Load(&w.Snap, w.Cfg)
		before := st.accounts()
		if fault := st.tallied(); fault != "" {
			return "before: " + fault
		}
		st.now = w.Snap.Now
		st.prepare()
		c := newCycle(st) // as Cycle does, but for taking it back
		c.redeem()
		for _, a := range []Action{Allocate, Consolidate, Reclaim, Preempt} {
			c.walk(a)
		}
		c.honour()
		c.relieve()
		c.spare()
		fault := st.tallied()
		for k, a := range st.accounts() {
			for res, n := range a.alloc {
				if limit := a.Limit[res]; fault == "" && !w.Cfg.NoQuota && limit >= 0 && n > max(limit, before[k].alloc[res]) {
					fault = fmt.Sprintf("%s has %d of %s, of at most %d; before it had %d", k, n, resourceNames[res], limit, before[k].alloc[res])
				}
			}
		}
		recalled += len(c.recalled())
		st.finish(c)
		for k, a := range st.accounts() {
			if b := before[k]; fault == "" && (a.alloc != b.alloc || a.fixed != b.fixed || a.marked != b.marked) {
				fault = fmt.Sprintf("after looking %s has %v, %v not preemptible, %v reserved; before it had %v, %v, %v", k, a.alloc, a.fixed, a.marked, b.alloc, b.fixed, b.marked)
			}
		}
		if fault == "" {
			fault = st.tallied()
		}
		return fault
	})
	if recalled == 0 {
		t.Error("nowhere was a reservation taken back")
	}
}

// accounts are those of all queues, by pool and queue.
func (st *State) accounts() map[string]account {
	out := map[string]account{}
	for name, p := range st.pools {
		for i := range p.q {
			out[name+"/"+string(st.queues.list[i].ID)] = p.q[i]
		}
	}
	return out
}

// tallied says whose accounts are not what their jobs hold, and what is reserved
// for those that hold nothing; empty: nobody's.
func (st *State) tallied() string {
	held, marked := map[string]quota.Amounts{}, map[string]quota.Amounts{}
	for _, j := range st.jobs {
		for q := j.leaf; q >= 0; q = st.queues.list[q].parent {
			standing := false
			for _, h := range j.holds {
				if k := h.site.pool.Name + "/" + string(st.queues.list[q].ID); !h.leaving {
					held[k], standing = held[k].Add(h.amount), true
				}
			}
			if k := j.Earmark.Pool + "/" + string(st.queues.list[q].ID); !standing && !j.recalled && j.Earmark.Pool != "" {
				marked[k] = marked[k].Add(j.Earmark.Amounts)
			}
		}
	}
	for k, a := range st.accounts() {
		if a.held() != held[k] || a.marked != marked[k] {
			return fmt.Sprintf("%s has %v and %v reserved; its jobs hold %v and %v", k, a.held(), a.marked, held[k], marked[k])
		}
	}
	return ""
}

func TestAnEarmarkCountsForOthersOnly(t *testing.T) {
	t.Parallel()
	world := func(q Queue, jobs ...Job) *State {
		return Load(&Snapshot{Now: clock, Nodes: []Node{node("n", 8, 64000, 64<<30, "H100")}, Queues: []Queue{q}, Jobs: jobs}, Default())
	}
	job := func(id string, order int64, n int) Job {
		j := waiter(id, order, single(gpu(n)))
		j.Queue, j.User = "a", "u"
		return j
	}
	reserved := job("reserved", 2, 2)
	reserved.Promised, reserved.Earmark = true, Earmark{Pool: "default", Amounts: quota.Amounts{quota.GPU: 2000}}
	for what, bound := range map[string]func(*Queue){
		"a limit":         func(q *Queue) { q.Default.Limit[quota.GPU] = 2000 },
		"a user's limit":  func(q *Queue) { q.UserGPU = 2000 },
		"a number":        func(q *Queue) { q.MaxJobs = 1 },
		"a user's number": func(q *Queue) { q.UserJobs = 1 },
	} {
		q := Queue{ID: "a", Default: Unlimited()}
		bound(&q)
		plan := world(q, job("older", 1, 1), reserved).Cycle(clock)
		if len(plan.Placements) != 1 || plan.Placements[0].ID != "reserved" || len(plan.Evictions) != 0 {
			t.Errorf("with %s: %+v", what, plan)
			continue
		}
		if e := plan.Placements[0].Takes; e.Pool != "default" || e.Amounts[quota.GPU] != 2000 {
			t.Errorf("with %s it takes %+v", what, e)
		}
		if _, ok := world(q, job("older", 1, 1), reserved).Explain(clock, "older"); !ok {
			t.Errorf("with %s nobody knows why the other waits", what)
		}
	}
	// What is reserved is wanted once, not twice.
	q := Queue{ID: "a", Default: Unlimited()}
	q.Default.Quota[quota.GPU] = 0
	if got, _ := world(q, reserved).FairShare("default", "a"); got[quota.GPU] != 2000 {
		t.Errorf("its fair share is %v", got)
	}
}
