package schedule_test

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
)

// judge says what is wrong with a plan for a world; empty: nothing.
type judge struct {
	w      *world
	plan   *schedule.Plan
	before *book
	now    *book // with what starts at once, nobody having left
	soon   *book // once those have left who were told to, and with all that is promised
	jobs   map[core.WorkloadID]*schedule.Job
	found  []string
}

func (g *judge) fault(format string, args ...any) {
	g.found = append(g.found, fmt.Sprintf(format, args...))
}

func judged(w *world, plan *schedule.Plan) []string {
	g := &judge{w: w, plan: plan, before: newBook(&w.Snap), now: newBook(&w.Snap), soon: newBook(&w.Snap), jobs: map[core.WorkloadID]*schedule.Job{}}
	for i := range w.Snap.Jobs {
		j := &w.Snap.Jobs[i]
		g.jobs[j.ID] = j
		for k := range j.Held {
			h := &j.Held[k]
			g.before.take(j, h)
			g.now.take(j, h)
			if !h.Leaving || h.Stuck {
				g.soon.take(j, h)
			}
		}
	}
	g.evictions()
	g.placements()
	g.room()
	g.trees()
	g.accounts()
	g.counts()
	return g.found
}

// taskOf finds a task that the job holds.
func taskOf(j *schedule.Job, task int) *schedule.Held {
	i := slices.IndexFunc(j.Held, func(h schedule.Held) bool { return h.Task == task })
	if i < 0 {
		return nil
	}
	return &j.Held[i]
}

func (g *judge) evictions() {
	for _, e := range g.plan.Evictions {
		j := g.jobs[e.ID]
		if len(e.Tasks) == 0 {
			g.fault("an eviction of %s evicts nothing", e.ID)
		}
		if e.Cause == schedule.Reserve {
			g.vacated(j, &e)
		} else if e.Cause != schedule.StaleGang {
			if !j.Preemptible {
				g.fault("%s is not preemptible and is evicted", e.ID)
			}
			if !slices.ContainsFunc(g.plan.Promises, func(p schedule.Placement) bool { return p.ID == e.For }) {
				g.fault("%s is evicted for %q, which gets nothing", e.ID, e.For)
			} else if by := g.jobs[e.For]; e.Cause == schedule.Preempt && (by.Queue != j.Queue || by.Priority <= j.Priority) || e.Cause == schedule.Reclaim && by.Queue == j.Queue {
				g.fault("%s by %s of %s: %s", e.Cause, e.For, e.ID, "the rule does not allow it")
			}
		}
		if e.Cause == schedule.Consolidate && !e.Moves {
			g.fault("consolidation ends %s", e.ID)
		}
		left := 0
		for _, h := range j.Held {
			if !h.Leaving {
				left++
			}
		}
		for _, task := range e.Tasks {
			h := taskOf(j, task)
			if h == nil || h.Leaving {
				g.fault("%s is evicted of task %d, which it does not hold", e.ID, task)
				continue
			}
			g.soon.give(j, h)
		}
		if e.Whole != (left == len(e.Tasks)) {
			g.fault("%s: %d of %d tasks are evicted, and whole is %v", e.ID, len(e.Tasks), left, e.Whole)
		}
		if by := g.jobs[e.For]; by != nil && (e.Cause == schedule.Reclaim || e.Cause == schedule.Preempt) {
			g.sheltered(j, by, &e)
		}
	}
}

// sheltered checks that a job is left alone for as long as it may run
// undisturbed; what it has above its minimum does not count.
func (g *judge) sheltered(j, by *schedule.Job, e *schedule.Eviction) {
	if j.Started == 0 {
		return
	}
	least := int64(0)
	for _, p := range g.w.Snap.Pools {
		if p.Name == g.before.nodes[j.Held[0].Place.Node].node.Pool {
			least = p.MinRuntime
		}
	}
	path := func(id core.ProjectID) (up []core.ProjectID) {
		for ; id != ""; id = g.before.queue[id].Parent {
			up = append([]core.ProjectID{id}, up...)
		}
		return up
	}
	mine, theirs := path(j.Queue), path(by.Queue)
	at := len(mine) - 1
	if e.Cause == schedule.Reclaim {
		for at = 0; mine[at] == theirs[at]; at++ {
		}
	}
	for ; at >= 0; at-- {
		q := g.before.queue[mine[at]]
		own := q.ReclaimMin
		if e.Cause == schedule.Preempt {
			own = q.PreemptMin
		}
		if own >= 0 {
			least = max(least, own)
			break
		}
	}
	if clock-j.Started >= least {
		return
	}
	have := make([]int, len(j.Shape.Groups))
	for _, h := range j.Held {
		if !h.Leaving && !slices.Contains(e.Tasks, h.Task) {
			have[h.Group]++
		}
	}
	for i := range have {
		if have[i] < j.Shape.Groups[i].Min {
			g.fault("%s has run for %d ms of %d undisturbed, and %s loses it tasks of its minimum", j.ID, clock-j.Started, least, by.ID)
			return
		}
	}
}

// placements enters what is placed, and checks each task by itself.
func (g *judge) placements() {
	enter := func(pl schedule.Placement, promise bool) {
		j := g.jobs[pl.ID]
		if g.stopped(j.Queue) {
			g.fault("%s is placed, and its queue is stopped", j.ID)
		}
		for _, t := range pl.Tasks {
			need, rule := g.needOf(j, &t)
			if need == nil {
				g.fault("%s: task %d of group %d is not one that waits", j.ID, t.Task, t.Group)
				continue
			}
			g.task(j, &t, need, rule)
			h := &schedule.Held{Group: t.Group, Need: *need, Rule: rule, Place: t.Place}
			g.soon.take(j, h)
			if !t.Later {
				g.now.take(j, h)
			}
			if t.Later && !promise {
				g.fault("%s is to start at once, and its task %d later", j.ID, t.Task)
			}
			if t.Moves && !t.Later {
				g.fault("%s: task %d moves before it has left", j.ID, t.Task)
			}
		}
	}
	for _, pl := range g.plan.Placements {
		enter(pl, false)
	}
	for _, pl := range g.plan.Promises {
		enter(pl, true)
	}
}

func (g *judge) stopped(q core.ProjectID) bool {
	for ; q != ""; q = g.before.queue[q].Parent {
		if g.before.queue[q].Stopped {
			return true
		}
	}
	return false
}

func (g *judge) needOf(j *schedule.Job, t *schedule.Placed) (*schedule.Need, *schedule.Rule) {
	if t.Moves {
		for _, e := range g.plan.Evictions {
			if h := taskOf(j, t.Task); e.ID == j.ID && h != nil && slices.Contains(e.Tasks, t.Task) {
				return &h.Need, h.Rule
			}
		}
		return nil, nil
	}
	nth := t.Task
	for i := range j.Shape.Groups[t.Group].Runs {
		r := &j.Shape.Groups[t.Group].Runs[i]
		if nth < r.Count {
			return &r.Need, r.Rule
		}
		nth -= r.Count
	}
	return nil, nil
}

// task checks one task's place against what it needs.
func (g *judge) task(j *schedule.Job, t *schedule.Placed, need *schedule.Need, rule *schedule.Rule) {
	n := g.before.nodes[t.Place.Node].node
	g.inTime(j, n.ID)
	if !suits(n, need, rule) {
		g.fault("%s may not be on %s", j.ID, n.ID)
	}
	if len(j.Pools) > 0 && !slices.Contains(j.Pools, n.Pool) {
		g.fault("%s may not be in pool %s", j.ID, n.Pool)
	}
	if t.Place.CPU != need.CPU || t.Place.Memory != need.Memory || t.Place.Extended != need.Extended || len(t.Place.Devices) != need.Devices {
		g.fault("%s needs %+v and gets %+v", j.ID, *need, t.Place)
	}
	seen := map[string]bool{}
	for _, sh := range t.Place.Devices {
		i := slices.IndexFunc(n.Devices, func(d core.Device) bool { return d.ID == sh.Device })
		if i < 0 || seen[sh.Device] || !n.Devices[i].Healthy || sh.Milli != milliOn(n, need) || !spec.OfType(n.Devices[i].Product, n.Devices[i].Memory, need.Type) {
			g.fault("%s needs %+v and gets %+v of %s", j.ID, *need, sh, n.ID)
		}
		seen[sh.Device] = true
	}
}

// room checks that nothing is given twice, on nodes that got something.
func (g *judge) room() {
	for _, pl := range slices.Concat(g.plan.Placements, g.plan.Promises) {
		for _, t := range pl.Tasks {
			n := t.Place.Node
			if what := g.soon.nodes[n].over(); what != "" && g.soon.nodes[n].overBy(g.before.nodes[n]) {
				g.fault("%s of %s is promised twice", what, n)
			}
			if what := g.now.nodes[n].over(); !t.Later && what != "" && g.now.nodes[n].overBy(g.before.nodes[n]) {
				g.fault("%s of %s is given twice", what, n)
			}
		}
	}
}

// overBy reports whether what is over was not so before.
func (x *shelf) overBy(before *shelf) bool {
	n := x.node
	if x.cpu > n.CPU && x.cpu > before.cpu || x.mem > n.Memory && x.mem > before.mem || n.Pods > 0 && x.pods > n.Pods && x.pods > before.pods {
		return true
	}
	for d := range x.dev {
		if x.dev[d] > 1000 && x.dev[d] > before.dev[d] {
			return true
		}
	}
	for name := range x.mig {
		if x.mig[name] > n.MIG[name] && x.mig[name] > before.mig[name] {
			return true
		}
	}
	return false
}

// trees checks that gangs are whole, in one pool and where their topology
// allows.
func (g *judge) trees() {
	for id, j := range g.jobs {
		was, soon, now := g.tasksOf(j, false, false), g.tasksOf(j, true, true), g.tasksOf(j, true, false)
		changed := len(soon) != len(was) || slices.ContainsFunc(slices.Concat(g.plan.Placements, g.plan.Promises), func(p schedule.Placement) bool { return p.ID == id })
		if !changed || len(soon) == 0 {
			continue
		}
		if !g.wholeTree(j, soon, 0) && (g.wholeTree(j, was, 0) || len(soon) > len(was)) {
			g.fault("%s ends up with less than its minimum", id)
		}
		if !g.wholeTree(j, now, 0) && len(now) > len(was) {
			g.fault("%s starts with less than its minimum", id)
		}
		pool := ""
		for _, h := range soon {
			if p := g.before.nodes[h.Place.Node].node.Pool; pool != "" && p != pool {
				g.fault("%s is in two pools", id)
			} else {
				pool = p
			}
		}
		if len(soon) > len(was) {
			g.topology(j, soon)
		}
	}
}

// tasksOf are the job's tasks that stay; with plan those that it gets too.
func (g *judge) tasksOf(j *schedule.Job, plan, later bool) []schedule.Held {
	var out []schedule.Held
	for _, h := range j.Held {
		gone := h.Leaving
		for _, e := range g.plan.Evictions {
			gone = gone || plan && e.ID == j.ID && slices.Contains(e.Tasks, h.Task)
		}
		if !gone {
			out = append(out, h)
		}
	}
	if plan {
		for _, pl := range slices.Concat(g.plan.Placements, g.plan.Promises) {
			for _, t := range pl.Tasks {
				if pl.ID != j.ID || !later && t.Later {
					continue
				}
				if need, rule := g.needOf(j, &t); need != nil {
					out = append(out, schedule.Held{Group: t.Group, Task: -1, Need: *need, Rule: rule, Place: t.Place})
				}
			}
		}
	}
	return out
}

func (g *judge) wholeTree(j *schedule.Job, tasks []schedule.Held, set int) bool {
	whole, members := 0, 0
	for s := range j.Shape.Sets {
		if s > 0 && j.Shape.Sets[s].Parent == set {
			members++
			if g.wholeTree(j, tasks, s) {
				whole++
			}
		}
	}
	for i := range j.Shape.Groups {
		if j.Shape.Groups[i].Set == set {
			members++
			n := 0
			for _, h := range tasks {
				if h.Group == i {
					n++
				}
			}
			if n >= j.Shape.Groups[i].Min {
				whole++
			}
		}
	}
	if m := j.Shape.Sets[set].MinGroups; m > 0 {
		return whole >= min(m, members)
	}
	return whole == members
}
