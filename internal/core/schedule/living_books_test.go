package schedule_test

// Books of its own: who holds what, and what queues have.

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
)

type vbook struct {
	cpu, mem int64
	pods     int
	dev      map[string]int
}

func (w *vw) nodeOf(id core.NodeID) *schedule.Node {
	for i := range w.nodes {
		if w.nodes[i].ID == id {
			return &w.nodes[i]
		}
	}
	return nil
}

func (b *vbook) add(p *schedule.Place) {
	b.cpu += p.CPU
	b.mem += p.Memory
	b.pods++
	for _, d := range p.Devices {
		b.dev[d.Device] += d.Milli
	}
}

func (w *vw) books() map[core.NodeID]*vbook {
	m := map[core.NodeID]*vbook{}
	for i := range w.nodes {
		m[w.nodes[i].ID] = &vbook{dev: map[string]int{}}
	}
	return m
}

func (w *vw) over(m map[core.NodeID]*vbook, what string) {
	for id, b := range m {
		n := w.nodeOf(id)
		if b.cpu > n.CPU || b.mem > n.Memory || n.Pods > 0 && b.pods > n.Pods {
			w.fault("overalloc", "%s %s cpu %d/%d mem %d/%d pods %d/%d", what, id, b.cpu, n.CPU, b.mem, n.Memory, b.pods, n.Pods)
		}
		for d, milli := range b.dev {
			i := slices.IndexFunc(n.Devices, func(x core.Device) bool { return x.ID == d })
			if i < 0 || milli > 1000 {
				who := ""
				for jid, j := range w.jobs {
					if j.done {
						continue
					}
					for _, h := range j.Held {
						if h.Place.Node == id {
							who += fmt.Sprintf(" %s[%d lv%v %v]", jid, h.Task, h.Leaving, h.Place.Devices)
						}
					}
				}
				for _, pl := range slices.Concat(w.plan.Placements, w.plan.Promises) {
					for _, t := range pl.Tasks {
						if t.Place.Node == id {
							who += fmt.Sprintf(" PLAN %s[%d later %v moves %v %v]", pl.ID, t.Task, t.Later, t.Moves, t.Place.Devices)
						}
					}
				}
				w.fault("overalloc", "%s %s device %s %d: %s; plan %s; cordon %v t=%d", what, id, d, milli, who, brief(w.plan), n.Cordon, w.now)
			}
		}
	}
}

func charge(p *schedule.Place) quota.Amounts {
	a := quota.Amounts{0, p.CPU, p.Memory}
	for _, d := range p.Devices {
		a[0] += int64(d.Milli)
	}
	return a
}

type acct struct {
	all, fixed map[string]quota.Amounts
	jobs       map[core.ProjectID]int
	ujobs      map[string]int
	ugpu       map[string]int64
}

func (w *vw) queue(id core.ProjectID) *schedule.Queue {
	i := slices.IndexFunc(w.queues, func(q schedule.Queue) bool { return q.ID == id })
	if i < 0 {
		return nil
	}
	return &w.queues[i]
}

// after: tasks of each job after the plan (with promises or not)
func (w *vw) after(plan *schedule.Plan, promises bool) map[core.WorkloadID][]schedule.Held {
	out := map[core.WorkloadID][]schedule.Held{}
	gone := map[string]bool{}
	for _, e := range plan.Evictions {
		for _, t := range e.Tasks {
			gone[string(e.ID)+"/"+strconv.Itoa(t)] = true
		}
	}
	for id, j := range w.jobs {
		if j.done {
			continue
		}
		for _, h := range j.Held {
			if h.Leaving || gone[string(id)+"/"+strconv.Itoa(h.Task)] {
				continue
			}
			out[id] = append(out[id], h)
		}
	}
	addp := func(ps []schedule.Placement) {
		for _, p := range ps {
			j := w.jobs[p.ID]
			for _, t := range p.Tasks {
				n := j.template[t.Group].Runs[0].Need
				out[p.ID] = append(out[p.ID], schedule.Held{Group: t.Group, Task: -1, Need: n, Rule: j.template[t.Group].Runs[0].Rule, Place: t.Place})
			}
		}
	}
	addp(plan.Placements)
	if promises {
		addp(plan.Promises)
	}
	return out
}

func (w *vw) account(held map[core.WorkloadID][]schedule.Held) *acct {
	a := &acct{map[string]quota.Amounts{}, map[string]quota.Amounts{}, map[core.ProjectID]int{}, map[string]int{}, map[string]int64{}}
	for id, hs := range held {
		if len(hs) == 0 {
			continue
		}
		j := w.jobs[id]
		a.ujobs[string(j.Queue)+"/"+j.User]++
		for q := w.queue(j.Queue); q != nil; q = w.queue(q.Parent) {
			a.jobs[q.ID]++
		}
		for _, h := range hs {
			c := charge(&h.Place)
			a.ugpu[string(j.Queue)+"/"+j.User] += c[0]
			pool := w.nodeOf(h.Place.Node).Pool
			for q := w.queue(j.Queue); q != nil; q = w.queue(q.Parent) {
				k := pool + "/" + string(q.ID)
				a.all[k] = a.all[k].Add(c)
				if !j.Preemptible {
					a.fixed[k] = a.fixed[k].Add(c)
				}
			}
		}
	}
	return a
}
