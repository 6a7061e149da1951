package schedule_test

// What must be true of every plan.

import (
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/displace"
)

func (w *vw) check(plan *schedule.Plan) {
	w.plan = plan
	w.stats.placements += len(plan.Placements)
	w.stats.evictions += len(plan.Evictions)
	w.stats.promises += len(plan.Promises)
	// 1 rooms
	now, soon := w.books(), w.books()
	for id, hs := range w.after(plan, true) {
		_ = id
		for i := range hs {
			soon[hs[i].Place.Node].add(&hs[i].Place)
		}
	}
	for _, j := range w.jobs {
		if j.done {
			continue
		}
		for i := range j.Held {
			now[j.Held[i].Place.Node].add(&j.Held[i].Place)
		}
	}
	for _, p := range plan.Placements {
		for i := range p.Tasks {
			now[p.Tasks[i].Place.Node].add(&p.Tasks[i].Place)
			n := w.nodeOf(p.Tasks[i].Place.Node)
			if !n.Ready || n.Cordon {
				w.fault("place", "%s on unfit %s", p.ID, n.ID)
			}
			for _, d := range p.Tasks[i].Place.Devices {
				k := slices.IndexFunc(n.Devices, func(x core.Device) bool { return x.ID == d.Device })
				if k < 0 || !n.Devices[k].Healthy {
					w.fault("place", "%s on dead device of %s", p.ID, n.ID)
				}
			}
		}
	}
	w.over(now, "now")
	w.over(soon, "soon")
	// 2 gangs
	for mode, held := range map[string]map[core.WorkloadID][]schedule.Held{"now": w.after(plan, false), "soon": w.after(plan, true)} {
		for id, hs := range held {
			j := w.jobs[id]
			if len(hs) == 0 {
				continue
			}
			placed := slices.ContainsFunc(plan.Placements, func(p schedule.Placement) bool { return p.ID == id })
			promised := slices.ContainsFunc(plan.Promises, func(p schedule.Placement) bool { return p.ID == id })
			if mode == "now" && !placed || mode == "soon" && !placed && !promised {
				// may only have lost
				evicted := slices.ContainsFunc(plan.Evictions, func(e schedule.Eviction) bool { return e.ID == id })
				if !evicted || mode == "now" {
					continue
				}
			}
			n := make([]int, len(j.template))
			pool := map[string]bool{}
			dom := map[string]bool{}
			for _, h := range hs {
				n[h.Group]++
				nd := w.nodeOf(h.Place.Node)
				pool[nd.Pool] = true
				if t := j.Shape.Sets[0].Topology; t != nil && t.Required != "" {
					d := nd.Labels["block"]
					if t.Required == "rack" {
						d += "/" + nd.Labels["rack"]
					}
					dom[d] = true
				}
			}
			for g := range n {
				if n[g] < j.template[g].Min {
					w.fault("gang", "%s %s has %d of min %d", mode, id, n[g], j.template[g].Min)
				}
				if n[g] > j.template[g].Runs[0].Count {
					w.fault("gang", "%s %s has %d of max %d", mode, id, n[g], j.template[g].Runs[0].Count)
				}
			}
			if len(pool) > 1 {
				w.fault("gang", "%s in two pools", id)
			}
			if len(dom) > 1 {
				w.fault("topology", "%s in %v", id, dom)
			}
		}
	}
	// 3 limits
	w.limits(w.account(w.after(plan, true)), w.account(w.after(&schedule.Plan{}, false)), w.fault)
	// 4 evictions
	for _, e := range plan.Evictions {
		j := w.jobs[e.ID]
		if e.Cause == schedule.StaleGang {
			continue
		}
		if !j.Preemptible {
			w.fault("evict", "%s not preemptible, %s", e.ID, e.Cause)
		}
		by := w.jobs[e.For]
		if by == nil || !slices.ContainsFunc(plan.Promises, func(p schedule.Placement) bool { return p.ID == e.For }) && !slices.ContainsFunc(plan.Placements, func(p schedule.Placement) bool { return p.ID == e.For }) {
			w.fault("evict", "%s for %q which gets nothing (%s)", e.ID, e.For, e.Cause)
			continue
		}
		switch e.Cause {
		case schedule.Preempt:
			if by.Queue != j.Queue || by.Priority <= j.Priority {
				w.fault("evict", "preempt of %s (prio %d %s) by %s (prio %d %s)", e.ID, j.Priority, j.Queue, by.ID, by.Priority, by.Queue)
			}
		case schedule.Reclaim:
			if by.Queue == j.Queue {
				w.fault("evict", "reclaim within %s", j.Queue)
			}
		case displace.Relieve:
			if w.now-j.Started < w.cfg.Quantum || by.Due > w.now {
				w.fault("evict", "relieve of %s started %d ago, %s due in %d", e.ID, w.now-j.Started, by.ID, by.Due-w.now)
			}
			if by.Queue == j.Queue && j.Priority > by.Priority {
				w.fault("evict", "relieve of higher priority")
			}
		}
	}
	w.inversion(plan)
	if len(plan.Evictions)+len(plan.Placements) == 0 && samePromises(w.promise, plan) { // else the next cycle follows at once
		w.conserve(plan)
	}
	w.needless(plan)
}

// limits tells of what is beyond a limit and more than it was.
func (w *vw) limits(is, was *acct, fault func(kind, format string, args ...any)) {
	for i := range w.queues {
		q := &w.queues[i]
		for _, p := range w.pools {
			k := p.Name + "/" + string(q.ID)
			for r := range 3 {
				if l := q.Default.Limit[r]; l >= 0 && is.all[k][r] > max(l, was.all[k][r]) {
					fault("limit", "%s res %d has %d limit %d was %d", k, r, is.all[k][r], l, was.all[k][r])
				}
				if l := q.Default.Quota[r]; l >= 0 && is.fixed[k][r] > max(l, was.fixed[k][r]) {
					fault("quota", "%s res %d non-preemptible %d quota %d", k, r, is.fixed[k][r], l)
				}
			}
		}
		if q.MaxJobs > 0 && is.jobs[q.ID] > max(q.MaxJobs, was.jobs[q.ID]) {
			fault("maxjobs", "%s %d of %d", q.ID, is.jobs[q.ID], q.MaxJobs)
		}
		for _, u := range []string{"ann", "bob", "eve"} {
			k := string(q.ID) + "/" + u
			if q.UserJobs > 0 && is.ujobs[k] > max(q.UserJobs, was.ujobs[k]) {
				fault("userjobs", "%s %d of %d", k, is.ujobs[k], q.UserJobs)
			}
			if q.UserGPU > 0 && is.ugpu[k] > max(q.UserGPU, was.ugpu[k]) {
				fault("usergpu", "%s %d of %d", k, is.ugpu[k], q.UserGPU)
			}
		}
	}
}
