package schedule_test

// Nothing lies idle, and nobody overtakes his like.

import (
	"slices"
	"sort"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/explain"
)

// inversion: among interchangeable jobs of one queue the better placed is served first.
func (w *vw) inversion(plan *schedule.Plan) {
	for _, p := range plan.Placements {
		b := w.jobs[p.ID]
		if len(b.Held) > 0 || b.Promised || b.Moved {
			continue
		}
		for _, a := range w.jobs {
			if a.done || a.ID == b.ID || a.Queue != b.Queue || len(a.Held) > 0 || a.Promised {
				continue
			}
			if slices.ContainsFunc(slices.Concat(plan.Placements, plan.Promises), func(x schedule.Placement) bool { return x.ID == a.ID }) {
				continue
			}
			if a.Preemptible != b.Preemptible || !slices.Equal(a.Pools, b.Pools) || schedule.NewShape(a.Shape.Sets, a.template).Key != schedule.NewShape(b.Shape.Sets, b.template).Key || a.User != b.User {
				continue
			}
			if a.Priority > b.Priority || a.Priority == b.Priority && a.Order < b.Order {
				if a.MaxRun != b.MaxRun {
					continue // backfill
				}
				if w.cfg.Quantum > 0 && a.Priority == b.Priority && b.Due > 0 && b.Due <= w.now && (a.Due == 0 || b.Due < a.Due) {
					continue // it has been due for longer
				}
				w.fault("inversion", "%s (prio %d order %d) starts before %s (prio %d order %d)", b.ID, b.Priority, b.Order, a.ID, a.Priority, a.Order)
			}
		}
	}
}

func (w *vw) suits(n *schedule.Node, j *vj, g int) bool {
	if !n.Ready || n.Cordon {
		return false
	}
	r := j.template[g].Runs[0].Rule
	for _, t := range n.Taints {
		if t.Effect == core.NoSchedule && (r == nil || len(r.Tolerates) == 0) {
			return false
		}
	}
	return true
}

// room is how many of the need fit in what both views leave of n.
func roomOn(n *schedule.Node, need schedule.Need, now, soon *vbook) int {
	k := 0
	cpu, mem, pods := max(now.cpu, soon.cpu), max(now.mem, soon.mem), max(now.pods, soon.pods)
	dev := map[string]int{}
	for _, d := range n.Devices {
		dev[d.ID] = max(now.dev[d.ID], soon.dev[d.ID])
	}
	milli := need.Milli
	if need.GPUMemory > 0 {
		milli = int(need.GPUMemory * 1000 / (80 << 30))
	}
	for {
		cpu += need.CPU
		mem += need.Memory
		pods++
		if need.CPU > 0 && cpu > n.CPU || need.Memory > 0 && mem > n.Memory || n.Pods > 0 && pods > n.Pods {
			return k
		}
		var fit []string
		for _, d := range n.Devices {
			if d.Healthy && dev[d.ID]+milli <= 1000 {
				fit = append(fit, d.ID)
			}
		}
		if need.Devices > 0 && len(fit) < need.Devices {
			return k
		}
		sort.Slice(fit, func(a, b int) bool { return dev[fit[a]] > dev[fit[b]] })
		for i := range need.Devices {
			dev[fit[i]] += milli
		}
		k++
		if k > 50 {
			return k
		}
	}
}

// conserve: whoever waits, is a plain job of equal tasks without topology, and fits beside all that is placed and promised, must have been given a place.
func (w *vw) conserve(plan *schedule.Plan) {
	now, soon := w.books(), w.books()
	after := w.after(plan, true)
	for _, hs := range after {
		for i := range hs {
			soon[hs[i].Place.Node].add(&hs[i].Place)
		}
	}
	for _, j := range w.jobs {
		if !j.done {
			for i := range j.Held {
				now[j.Held[i].Place.Node].add(&j.Held[i].Place)
			}
		}
	}
	for _, p := range plan.Placements {
		for i := range p.Tasks {
			now[p.Tasks[i].Place.Node].add(&p.Tasks[i].Place)
		}
	}
	is := w.account(after)
	for id, j := range w.jobs {
		if j.done || len(j.Held) > 0 || len(j.template) > 1 || len(after[id]) > 0 {
			continue
		}
		if t := j.Shape.Sets[0].Topology; t != nil && t.Required != "" {
			continue
		}
		need := j.template[0].Runs[0].Need
		pools := j.Pools
		if len(pools) == 0 {
			for _, p := range w.pools {
				pools = append(pools, p.Name)
			}
		}
		w.stats.checksWC++
		gate := false
		for q := w.queue(j.Queue); q != nil; q = w.queue(q.Parent) {
			gate = gate || q.MaxJobs > 0 && is.jobs[q.ID] >= q.MaxJobs
		}
		lq := w.queue(j.Queue)
		uk := string(j.Queue) + "/" + j.User
		gate = gate || lq.UserJobs > 0 && is.ujobs[uk] >= lq.UserJobs
		if gate {
			continue
		}
		for _, pn := range pools {
			var pool *schedule.Pool
			for i := range w.pools {
				if w.pools[i].Name == pn {
					pool = &w.pools[i]
				}
			}
			if pool.Reserve > 0 {
				continue
			}
			k := 0
			var smallest int64
			for i := range w.nodes {
				n := &w.nodes[i]
				if n.Pool != pn {
					continue
				}
				if len(n.Devices) > 0 {
					smallest = 80 << 30
				}
				if w.suits(n, j, 0) {
					k += roomOn(n, need, now[n.ID], soon[n.ID])
				}
			}
			_ = smallest
			min := j.template[0].Min
			if k < min {
				continue
			}
			milli := int64(need.Milli)
			if need.GPUMemory > 0 {
				milli = need.GPUMemory * 1000 / (80 << 30)
			}
			more := quota.Amounts{int64(min) * int64(need.Devices) * milli, int64(min) * need.CPU, int64(min) * need.Memory}
			ok := true
			for q := w.queue(j.Queue); q != nil && ok; q = w.queue(q.Parent) {
				key := pn + "/" + string(q.ID)
				for r := range 3 {
					if more[r] > 0 && q.Default.Limit[r] >= 0 && is.all[key][r]+more[r] > q.Default.Limit[r] {
						ok = false
					}
					if more[r] > 0 && !j.Preemptible && q.Default.Quota[r] >= 0 && is.fixed[key][r]+more[r] > q.Default.Quota[r] {
						ok = false
					}
				}
			}
			if lq.UserGPU > 0 && more[0] > 0 && is.ugpu[uk]+more[0] > lq.UserGPU {
				ok = false
			}
			if ok {
				ex, _ := explain.Explain(w.st, w.now, id)
				w.fault("idle", "%s (%d x %+v, preemptible %v, q %s) waits and %d fit in %s; says %v; moved %v promised %v reserve %d; plan %s; cfg %+v; idle %v", id, min, need, j.Preemptible, j.Queue, k, pn, ex.Reasons, j.Moved, j.Promised, pool.Reserve, brief(plan), w.cfg, w.st.Quiet)
				break
			}
		}
	}
}
