package schedule_test

// Victims are needed.

import (
	"fmt"
	"os"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/displace"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// needless: sparing any one victim must make the place of the one it leaves for impossible.
func (w *vw) needless(plan *schedule.Plan) {
	for _, e := range plan.Evictions {
		if e.Moves || e.Cause == schedule.StaleGang || e.Cause == schedule.Consolidate {
			continue
		}
		by := w.jobs[e.For]
		if by == nil || len(by.Held) > 0 || by.level2() {
			continue
		}
		// a copy in which all others have left, all others have their promised places, and e stays
		c := state.NewState(schedule.Config{Actions: []schedule.Action{schedule.Allocate}, NoAvailability: w.cfg.NoAvailability})
		c.SetPools(func() []schedule.Pool {
			ps := slices.Clone(w.pools)
			for i := range ps {
				ps[i].Reserve = 0
			}
			return ps
		}())
		c.SetQueues(w.queues)
		for _, n := range w.nodes {
			c.PutNode(n)
		}
		after := w.after(plan, true)
		delete(after, e.For)
		for _, h := range w.jobs[e.ID].Held {
			if slices.Contains(e.Tasks, h.Task) {
				after[e.ID] = append(after[e.ID], h)
			}
		}
		bk := w.books()
		for _, hs := range after {
			for i := range hs {
				bk[hs[i].Place.Node].add(&hs[i].Place)
			}
		}
		full := false
		for id, b := range bk {
			n := w.nodeOf(id)
			full = full || b.cpu > n.CPU || b.mem > n.Memory || n.Pods > 0 && b.pods > n.Pods
			for _, m := range b.dev {
				full = full || m > 1000
			}
		}
		if full {
			continue // its room is somebody else's by now
		}
		w.limits(w.account(after), w.account(w.after(&schedule.Plan{}, false)), func(string, string, ...any) { full = true })
		if full {
			continue // others run instead of it, within the same limits
		}
		for id, hs := range after {
			if len(hs) == 0 {
				continue
			}
			j := w.jobs[id].Job
			j.Held = nil
			for k, h := range hs {
				h.Task, h.Leaving = k, false
				j.Held = append(j.Held, h)
			}
			gs := make([]schedule.Group, len(w.jobs[id].template))
			for g := range gs {
				gs[g] = w.jobs[id].template[g]
				gs[g].Runs = nil
			}
			j.Shape = schedule.NewShape(j.Shape.Sets, gs)
			c.PutJob(j)
		}
		j := by.Job
		j.Patient, j.Promised, j.Rank, j.Owed, j.Moved = 0, false, 0, 0, false
		w.stats.checksVict++
		c.Now = w.now
		c.PutJob(j)
		p := cycle.Run(c, w.now)
		if slices.ContainsFunc(p.Placements, func(x schedule.Placement) bool { return x.ID == e.For }) {
			if e.Cause != displace.Relieve && w.undue(e, after, p.Placements) {
				continue
			}
			if w.isBooked(plan, e.For, p.Placements) {
				continue // it keeps out of there for the sake of others
			}
			ev := len(plan.Evictions)
			mv := 0
			for _, x := range plan.Evictions {
				if x.Moves {
					mv++
				}
			}
			d := ""
			if os.Getenv("LOGS") != "" {
				for id, j := range w.jobs {
					if !j.done && (len(j.Held) > 0 || id == e.For) {
						d += fmt.Sprintf("\n      %s q %s prio %d pre %v started %d need %+v min %d:", id, j.Queue, j.Priority, j.Preemptible, w.now-j.Started, j.template[0].Runs[0].Need, j.template[0].Min)
						for _, h := range j.Held {
							d += fmt.Sprintf(" %s%v lv%v", h.Place.Node, len(h.Place.Devices), h.Leaving)
						}
					}
				}
				for _, n := range w.nodes {
					d += fmt.Sprintf("\n      node %s pool %s gpus %d cpu %d cordon %v taint %d", n.ID, n.Pool, len(n.Devices), n.CPU, n.Cordon, len(n.Taints))
				}
				for _, q := range w.queues {
					d += fmt.Sprintf("\n      queue %s parent %s %+v maxjobs %d userjobs %d usergpu %d", q.ID, q.Parent, q.Default, q.MaxJobs, q.UserJobs, q.UserGPU)
				}
				d += fmt.Sprintf("\n      without: %s", brief(p))
			}
			w.fault("needless", "%v %s leaves for %s (%s), which fits without (%d evictions, %d moves, cfg %+v t=%d): %s %s", w.pools, e.ID, e.For, e.Cause, ev, mv, w.cfg, w.now, brief(plan), d)
		}
	}
}

// level2: it wants more than its minimum (its room may have been grown)
func (j *vj) level2() bool {
	for _, g := range j.template {
		if g.Runs[0].Count > g.Min {
			return true
		}
	}
	return false
}

// isBooked: in the pool in which it fits somebody else has a time to start.
func (w *vw) isBooked(plan *schedule.Plan, id core.WorkloadID, ps []schedule.Placement) bool {
	for _, p := range ps {
		if p.ID != id {
			continue
		}
		pool := w.nodeOf(p.Tasks[0].Place.Node).Pool
		return slices.ContainsFunc(plan.Bookings, func(b schedule.Booked) bool { return b.ID != id && b.Pool == pool })
	}
	return false
}

// undue: with e spared the queue of the one it leaves for would have more than it is due.
func (w *vw) undue(e schedule.Eviction, after map[core.WorkloadID][]schedule.Held, ps []schedule.Placement) bool {
	by := w.jobs[e.For]
	held := map[core.WorkloadID][]schedule.Held{}
	for id, hs := range after {
		held[id] = hs
	}
	pool := ""
	for _, p := range ps {
		if p.ID == e.For {
			for _, t := range p.Tasks {
				held[p.ID] = append(held[p.ID], schedule.Held{Group: t.Group, Place: t.Place})
				pool = w.nodeOf(t.Place.Node).Pool
			}
		}
	}
	is, was := w.account(held), w.account(w.after(&schedule.Plan{}, false))
	for q := w.queue(by.Queue); q != nil; q = w.queue(q.Parent) {
		share := w.st.Pools[pool].Q[w.st.Queues.Find(q.ID)].Share
		k := pool + "/" + string(q.ID)
		for r := range 3 {
			if is.all[k][r] > max(share[r], was.all[k][r]) {
				return true
			}
		}
	}
	return false
}
