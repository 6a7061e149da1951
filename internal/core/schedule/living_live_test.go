package schedule_test

// Plans put into effect, and time that passes.

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
)

func (w *vw) apply(plan *schedule.Plan) {
	w.log = append(w.log, fmt.Sprintf("%d: %s", w.now/1000, brief(plan)))
	// promises
	before := w.promise
	w.promise = map[core.WorkloadID][2]int{}
	for i, p := range plan.Promises {
		w.promise[p.ID] = [2]int{i + 1, len(p.Tasks)}
	}
	touched := map[core.WorkloadID]bool{}
	for id := range before {
		touched[id] = true
	}
	for id := range w.promise {
		touched[id] = true
	}
	for _, e := range plan.Evictions {
		j := w.jobs[e.ID]
		touched[e.ID] = true
		for k := range j.Held {
			if slices.Contains(e.Tasks, j.Held[k].Task) {
				j.Held[k].Leaving = true
			}
		}
		if e.Moves {
			w.moved[e.ID] = true
		}
		j.leaveAt = w.now + w.grace
		if w.grace == 0 {
			w.left(j)
		}
	}
	for _, p := range plan.Placements {
		j := w.jobs[p.ID]
		touched[p.ID] = true
		delete(w.promise, p.ID)
		delete(w.moved, p.ID)
		if len(j.Held) == 0 {
			j.Job.Started = w.now
			j.ends = w.now + j.remain
			if j.MaxRun > 0 {
				j.EndsBy = w.now + j.MaxRun
			}
			if !j.started {
				j.started, j.firstAt = true, w.now
			}
		}
		next := 0
		for _, h := range j.Held {
			next = max(next, h.Task+1)
		}
		for _, t := range p.Tasks {
			r := j.template[t.Group].Runs[0]
			j.Held = append(j.Held, schedule.Held{Group: t.Group, Task: next, Need: r.Need, Rule: r.Rule, Place: t.Place})
			next++
		}
	}
	for id := range touched {
		if j := w.jobs[id]; j != nil && !j.done {
			w.put(j)
		}
	}
}

// left: what was told to leave has left.
func (w *vw) left(j *vj) {
	j.Held = slices.DeleteFunc(j.Held, func(h schedule.Held) bool { return h.Leaving })
	j.leaveAt = 0
	if len(j.Held) == 0 {
		j.Attained += w.now - j.Started
		j.remain = max(j.remain-(w.now-j.Started), 60_000)
		j.Started, j.ends = 0, 0
		j.Due, j.Since = w.now+96*3600_000, w.now
		if !w.keep && !w.moved[j.ID] {
			w.order++
			j.Order = w.order + 100000
		}
	}
}

func (w *vw) cycles() {
	for round := 0; ; round++ {
		if round > 60 {
			if os.Getenv("LOGS") != "" {
				for id, j := range w.jobs {
					if !j.done {
						fmt.Printf("   %s q %s user %s prio %d pre %v order %d pools %v promised %v started %d groups", id, j.Queue, j.User, j.Priority, j.Preemptible, j.Order, j.Pools, j.Promised, j.Started)
						for _, g := range j.template {
							fmt.Printf(" [min %d of %d %+v]", g.Min, g.Runs[0].Count, g.Runs[0].Need)
						}
						for _, h := range j.Held {
							fmt.Printf(" %s/%d", h.Place.Node, len(h.Place.Devices))
						}
						fmt.Println()
					}
				}
				for _, n := range w.nodes {
					fmt.Printf("   node %s pool %s gpus %d cpu %d mem %dGi cordon %v taint %d pods %d\n", n.ID, n.Pool, len(n.Devices), n.CPU, n.Memory>>30, n.Cordon, len(n.Taints), n.Pods)
				}
				for _, q := range w.queues {
					fmt.Printf("   queue %s parent %s prio %d %+v maxjobs %d userjobs %d usergpu %d reclaimmin %d\n", q.ID, q.Parent, q.Priority, q.Default, q.MaxJobs, q.UserJobs, q.UserGPU, q.ReclaimMin)
				}
			}
			w.fault("livelock", "grace %d keep %v cfg moves %d rest %d quantum %d pools %+v goes on: %s", w.grace, w.keep, w.cfg.MaxMoves, w.cfg.MoveRest, w.cfg.Quantum, w.pools, strings.Join(w.log[max(0, len(w.log)-6):], " | "))
			return
		}
		plan := cycle.Run(w.st, w.now)
		w.stats.cycles++
		if w.record != nil {
			w.record(plan)
		}
		if w.IntN(3) == 0 {
			w.stats.fresh++
			other := cycle.Run(w.fresh(), w.now)
			if !reflect.DeepEqual(norm(plan), norm(other)) {
				w.fault("differs", "at %d kept state %s | fresh state %s", w.now, brief(plan), brief(other))
			}
		}
		w.check(plan)
		if len(w.found) > 0 {
			return
		}
		old := len(w.promise)
		same := samePromises(w.promise, plan)
		if len(plan.Placements)+len(plan.Evictions) == 0 && (same || old == 0 && len(plan.Promises) == 0) {
			return
		}
		w.apply(plan)
	}
}

func samePromises(was map[core.WorkloadID][2]int, p *schedule.Plan) bool {
	if len(was) != len(p.Promises) {
		return false
	}
	for i, x := range p.Promises {
		if was[x.ID] != [2]int{i + 1, len(x.Tasks)} {
			return false
		}
	}
	return true
}

func norm(p *schedule.Plan) *schedule.Plan {
	q := &schedule.Plan{Placements: slices.Clone(p.Placements), Promises: slices.Clone(p.Promises), Evictions: slices.Clone(p.Evictions)}
	slices.SortFunc(q.Placements, func(a, b schedule.Placement) int { return cmp.Compare(a.ID, b.ID) })
	if len(q.Placements) == 0 {
		q.Placements = nil
	}
	if len(q.Promises) == 0 {
		q.Promises = nil
	}
	if len(q.Evictions) == 0 {
		q.Evictions = nil
	}
	return q
}

// uncordon opens all nodes, and reports whether any was cordoned.
func (w *vw) uncordon() (any bool) {
	for i := range w.nodes {
		if w.nodes[i].Cordon {
			w.nodes[i].Cordon, any = false, true
			w.st.PutNode(w.nodes[i])
		}
	}
	return any
}

// live runs the world: arrivals, then until all have ended.
func (w *vw) live(arrivals int) {
	left := arrivals
	for step := 0; step < 4000 && len(w.found) == 0; step++ {
		// next event
		next := int64(1 << 62)
		for _, j := range w.jobs {
			if j.done {
				continue
			}
			if j.leaveAt > 0 {
				next = min(next, j.leaveAt)
			}
			if len(j.Held) > 0 && j.ends > 0 {
				next = min(next, j.ends)
			}
			if len(j.Held) == 0 && j.Due > w.now {
				next = min(next, j.Due)
			}
			if len(j.Held) == 0 && j.Patient > w.now {
				next = min(next, j.Patient)
			}
			if j.Started > 0 && w.cfg.Quantum > 0 && j.Started+w.cfg.Quantum > w.now {
				next = min(next, j.Started+w.cfg.Quantum)
			}
			for _, l := range []int64{600_000, 900_000} {
				if j.Started > 0 && j.Started+l > w.now {
					next = min(next, j.Started+l)
				}
			}
		}
		if left > 0 {
			if at := w.now + int64(w.IntN(300_000)); at < next {
				w.now = at
				left--
				w.arrival()
				w.cycles()
				continue
			}
		}
		if next == 1<<62 {
			if left > 0 || !w.uncordon() {
				break
			}
			w.cycles()
			continue
		}
		w.now = max(next, w.now)
		var ids []core.WorkloadID
		for id := range w.jobs {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		for _, id := range ids {
			j := w.jobs[id]
			if j.done {
				continue
			}
			if j.leaveAt > 0 && j.leaveAt <= w.now {
				w.left(j)
				w.put(j)
			}
			if len(j.Held) > 0 && j.ends > 0 && j.ends <= w.now {
				j.done = true
				j.Held = nil
				delete(w.promise, id)
				delete(w.moved, id)
				w.st.DropJob(id)
			}
		}
		if w.one(40) && left > 0 {
			i := w.IntN(len(w.nodes))
			w.nodes[i].Cordon = !w.nodes[i].Cordon
			w.st.PutNode(w.nodes[i])
		}
		if left == 0 {
			w.uncordon()
		}
		w.cycles()
	}
	if len(w.found) > 0 {
		return
	}
	for id, j := range w.jobs {
		if !j.done && len(j.Held) == 0 {
			// nothing runs any more, and it waits: is it allowed?
			running := 0
			for _, o := range w.jobs {
				if len(o.Held) > 0 {
					running++
				}
			}
			if running == 0 {
				ex, _ := explain.Explain(w.st, w.now, id)
				var toks []string
				for _, r := range ex.Reasons {
					toks = append(toks, string(r.Token))
				}
				bad := true
				for _, t := range toks {
					switch schedule.Token(t) {
					case schedule.OverLimit, schedule.NonPreemptibleOverQuota, schedule.NeverFits:
						bad = false
					}
				}
				if bad {
					w.fault("stuck", "%s never starts on an empty cluster: %v (%s)", id, toks, ex.Reasons)
				}
			}
		}
	}
}
