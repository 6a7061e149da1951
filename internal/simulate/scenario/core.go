package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
)

// Core is the program's own scheduler core.
type Core struct{}

// now is the time of every cycle: cases know ages only.
const now = int64(1) << 40

// Cycle implements Scheduler.
func (Core) Cycle(c *Case, state *State) (*Decisions, error) {
	t := &translation{c: c, state: state, members: map[string][][]int{}}
	t.seat()
	how := t.policy()
	plan := cycle.Cycle(t.snapshot(&how), how.Config)
	d := state.Decide()
	t.read(plan, d)
	d.Count(state)
	d.Nodes = c.Devices(d.Tasks)
	return d, nil
}

// translation is one case in the core's words.
type translation struct {
	c       *Case
	state   *State
	members map[string][][]int // by job, group: positions in state of its tasks that wait, in order
	devices map[int][]int      // by position in state: devices of its node
}

// policy is that of a server, less what the cases were made without: bookings,
// patience, protection of what has just started, and bounds on moves.
func (t *translation) policy() schedule.Policy {
	c := t.c
	options := []schedule.Option{schedule.MaxMoves(-1), schedule.MoveRest(0), schedule.StaleGrace(0), schedule.NoPatience(), schedule.Bookings(0), schedule.MinRuntime(0)}
	if c.Config.PredicatesOff {
		options = append(options, schedule.Without(schedule.Filters))
	}
	if s := c.Config.StaleGraceSeconds; s != nil {
		options = append(options, schedule.StaleGrace(time.Duration(*s*float64(time.Second))))
	}
	var actions []schedule.Action
	for _, a := range c.Actions {
		actions = append(actions, schedule.Action(a))
	}
	options = append(options, schedule.Only(actions...))
	if len(c.Config.Plugins) > 0 {
		for name, part := range map[string]schedule.Part{
			"proportion": schedule.Quotas, "nodeavailability": schedule.Availability, "gpusharingorder": schedule.Sharing, "priority": schedule.Priority, "elastic": schedule.Elastic,
		} {
			if !slices.ContainsFunc(c.Config.Plugins, func(p Plugin) bool { return p.Name == name }) {
				options = append(options, schedule.Without(part))
			}
		}
	}
	return schedule.NewPolicy(options...)
}

func (t *translation) snapshot(how *schedule.Policy) *schedule.Snapshot {
	s := &schedule.Snapshot{Now: now}
	where := schedule.BinPack
	if t.c.Config.NodePlacement == "spread" {
		where = schedule.Spread
	}
	pool := how.Pool("default", where, where, 0)
	if t.c.Config.DevicePlacement == "spread" {
		pool.Devices = schedule.Spread
	}
	s.Pools = []schedule.Pool{pool}
	for i := range t.c.Nodes {
		s.Nodes = append(s.Nodes, node(&t.c.Nodes[i]))
	}
	for i := range t.c.Queues {
		s.Queues = append(s.Queues, queue(&t.c.Queues[i]))
	}
	for i := range t.c.Jobs {
		s.Jobs = append(s.Jobs, t.job(i))
	}
	return s
}

func node(n *Node) schedule.Node {
	out := schedule.Node{Node: core.Node{ID: core.NodeID(n.Name), Pool: "default", Ready: true, CPU: n.CPUMillis, Memory: n.MemBytes, Labels: n.Labels}, Pods: n.MaxPods}
	if n.MIG != nil {
		out.MIG, out.MIGStrategy = map[string]int{}, n.MIG.Strategy
		for name, count := range n.MIG.Instances {
			out.MIG[profile(name)] += count
		}
	}
	if out.MIGStrategy == "mixed" {
		return out
	}
	for i := range n.GPUs {
		out.Devices = append(out.Devices, core.Device{ID: fmt.Sprint(i), Index: i, Memory: n.GPUMemMiB << 20, Healthy: true})
	}
	return out
}

// profile is a partition's name in the scheduler's words. Cases name resources of
// a cluster; to the scheduler what has a slash in its name is no part of a GPU.
func profile(resource string) string {
	if name, ok := strings.CutPrefix(resource, "nvidia.com/mig-"); ok {
		return name
	}
	return resource
}

func queue(q *Queue) schedule.Queue {
	out := schedule.Queue{ID: core.ProjectID(q.Name), Parent: core.ProjectID(q.Parent), Priority: q.Priority, Age: q.CreatedOrder, ReclaimMin: -1, PreemptMin: -1}
	if q.MinRuntime > 0 {
		out.ReclaimMin = int64(q.MinRuntime * 1000)
	}
	own := schedule.Unlimited()
	for r, terms := range map[quota.Resource]Terms{quota.GPU: q.GPU, quota.CPU: q.CPUMillis, quota.Memory: q.MemBytes} {
		unit := 1.0
		if r == quota.GPU {
			unit = 1000
		}
		if terms.Quota != nil {
			own.Quota[r] = int64(math.Round(*terms.Quota * unit))
		}
		if terms.Limit != nil {
			own.Limit[r] = int64(math.Round(*terms.Limit * unit))
		}
		own.Weight[r] = int64(math.Round(terms.Weight * 1000))
	}
	out.Default = own
	return out
}

func (t *translation) need(x *TaskState) schedule.Need {
	j := &t.c.Jobs[x.Job]
	task := &j.Tasks[x.Index]
	n := schedule.Need{CPU: j.CPUMillis, Memory: j.MemBytes, Never: task.LegacyMIG}
	whole := j.GPUs
	if task.GPUs != nil {
		whole = *task.GPUs
	}
	switch {
	case len(task.MIG) > 0:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(task.MIG)) {
			parts = append(parts, fmt.Sprintf("%s=%d", profile(name), task.MIG[name]))
		}
		n.Extended = strings.Join(parts, ",")
	case j.GPUMemMiB > 0:
		n.Devices, n.GPUMemory = max(j.Devices, 1), j.GPUMemMiB<<20
	case j.GPUFraction > 0:
		n.Devices, n.Milli = max(j.Devices, 1), int(math.Round(j.GPUFraction*1000))
	case whole > 0:
		n.Devices, n.Milli = int(whole), 1000
	}
	return n
}

func (t *translation) rule(x *TaskState) *schedule.Rule {
	task := &t.c.Jobs[x.Job].Tasks[x.Index]
	r := &schedule.Rule{Near: task.AffinityKey, Away: task.AntiAffinityKey}
	if len(task.NodeAffinityIn) > 0 {
		r.Terms = []schedule.Term{{Key: "node-type", Op: "In", Values: task.NodeAffinityIn}}
	}
	for _, k := range slices.Sorted(maps.Keys(task.PodLabels)) {
		r.Tags += k + "=" + task.PodLabels[k] + ";"
	}
	if r.Near == "" && r.Away == "" && r.Tags == "" && len(r.Terms) == 0 {
		return nil
	}
	return r
}

func (t *translation) job(i int) schedule.Job {
	j := &t.c.Jobs[i]
	sets, groups, byName := t.shape(j)
	out := schedule.Job{
		ID: core.WorkloadID(j.Name), Queue: core.ProjectID(j.Queue), Priority: j.Priority, Preemptible: j.Preemptible,
		Order: j.CreatedOrder, Started: now - int64(j.AgeMinutes*60_000), Done: make([]int, len(groups)),
	}
	var mine []int
	for k := range t.state.Tasks {
		if t.state.Tasks[k].Job == i {
			mine = append(mine, k)
		}
	}
	slices.SortStableFunc(mine, func(a, b int) int {
		return cmp.Compare(j.Tasks[t.state.Tasks[b].Index].Priority, j.Tasks[t.state.Tasks[a].Index].Priority)
	})
	waiting := make([][]int, len(groups))
	active := make([]int, len(groups))
	for _, k := range mine {
		x := &t.state.Tasks[k]
		g := byName[j.Tasks[x.Index].Group]
		switch x.Status {
		case Running, Pipelined, Releasing, StuckInReleasing:
			if x.Status == Running || x.Status == Pipelined {
				active[g]++
			}
			out.Held = append(out.Held, t.held(k, g))
		case Succeeded:
			out.Done[g]++
		case Failed:
		default:
			waiting[g] = append(waiting[g], k)
			groups[g].Runs = extend(groups[g].Runs, t.need(x), t.rule(x))
		}
	}
	t.members[j.Name] = waiting
	if !slices.ContainsFunc(out.Done, func(n int) bool { return n > 0 }) {
		out.Done = nil
	}
	out.BelowSince = t.since(j, active, groups)
	if s := j.StaleGraceSeconds; s != nil {
		grace := int64(*s * 1000)
		out.StaleGrace = &grace
	}
	if d := j.PreemptionDelaySeconds; d != nil {
		out.Patient = now - int64(j.AgeMinutes*60_000) + int64(*d*1000)
	}
	out.Shape = schedule.NewShape(sets, groups)
	return out
}

// since is from when on the job's gang has been below its minimum.
func (t *translation) since(j *Job, active []int, groups []schedule.Group) int64 {
	if j.StaleSeconds != nil {
		return now - int64(*j.StaleSeconds*1000)
	}
	some := false
	for g := range groups {
		some = some || active[g] > 0
	}
	if !some {
		return 0
	}
	for g := range groups {
		if active[g] < groups[g].Min {
			return now
		}
	}
	return 0
}

func (t *translation) held(k, g int) schedule.Held {
	x := &t.state.Tasks[k]
	n := t.need(x)
	h := schedule.Held{Group: g, Task: k, Need: n, Rule: t.rule(x), Leaving: x.Status == Releasing || x.Status == StuckInReleasing, Stuck: x.Status == StuckInReleasing}
	h.Place = schedule.Place{Node: core.NodeID(x.Node), CPU: n.CPU, Memory: n.Memory, Extended: n.Extended}
	milli := t.milli(x, n)
	for _, d := range t.devices[k] {
		h.Place.Devices = append(h.Place.Devices, core.Share{Device: fmt.Sprint(d), Index: d, Milli: milli})
	}
	return h
}

// milli is how much of each of its devices a task has where it is.
func (t *translation) milli(x *TaskState, n schedule.Need) int {
	for i := range t.c.Nodes {
		if t.c.Nodes[i].Name == x.Node && n.GPUMemory > 0 {
			return int(n.GPUMemory * 1000 / (t.c.Nodes[i].GPUMemMiB << 20))
		}
	}
	return n.Milli
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func extend(runs []schedule.Run, n schedule.Need, r *schedule.Rule) []schedule.Run {
	if last := len(runs) - 1; last >= 0 && runs[last].Need == n && sameRule(runs[last].Rule, r) {
		runs[last].Count++
		return runs
	}
	return append(runs, schedule.Run{Need: n, Rule: r, Count: 1})
}

func sameRule(a, b *schedule.Rule) bool {
	if a == nil || b == nil {
		return a == b
	}
	return fmt.Sprint(*a) == fmt.Sprint(*b)
}

// shape is the job's tree of groups; the map has the leafs' positions by name.
func (t *translation) shape(j *Job) ([]schedule.Set, []schedule.Group, map[string]int) {
	top := schedule.Set{Parent: -1, Topology: t.topology(j.TopologyConstraint)}
	if j.MinGroups != nil {
		top.MinGroups = *j.MinGroups
	}
	if len(j.Groups) == 0 {
		return []schedule.Set{top}, []schedule.Group{{Name: "tasks", Min: j.Min()}}, map[string]int{"": 0}
	}
	sets, groups, names := []schedule.Set{top}, []schedule.Group(nil), map[string]int{}
	var walk func(in []Group, parent int)
	walk = func(in []Group, parent int) {
		for i := range in {
			g := &in[i]
			if len(g.Groups) == 0 {
				names[g.Name] = len(groups)
				n := 1
				if g.MinAvailable != nil {
					n = *g.MinAvailable
				}
				groups = append(groups, schedule.Group{Name: g.Name, Set: parent, Min: n, Topology: t.topology(g.TopologyConstraint)})
				continue
			}
			s := schedule.Set{Parent: parent, Topology: t.topology(g.TopologyConstraint)}
			if g.MinGroups != nil {
				s.MinGroups = *g.MinGroups
			}
			sets = append(sets, s)
			walk(g.Groups, len(sets)-1)
		}
	}
	walk(j.Groups, 0)
	return sets, groups, names
}

func (t *translation) topology(x *Constraint) *schedule.Topology {
	if x == nil {
		return nil
	}
	for i := range t.c.Topologies {
		if t.c.Topologies[i].Name == x.Topology {
			return &schedule.Topology{Levels: t.c.Topologies[i].Levels, Required: x.Required, Preferred: x.Preferred}
		}
	}
	return &schedule.Topology{Required: x.Required, Preferred: x.Preferred}
}

// read writes a plan's decisions into d.
func (t *translation) read(plan *schedule.Plan, d *Decisions) {
	for _, e := range plan.Evictions {
		for _, k := range e.Tasks {
			x := &d.Tasks[k]
			if x.Status == Pipelined { // it has not started: there is nothing to end
				x.Status, x.Node, x.Groups = Pending, "", nil
				continue
			}
			x.Status = Releasing
		}
	}
	for _, p := range slices.Concat(plan.Placements, plan.Promises) {
		for _, x := range p.Tasks {
			k := x.Task
			if !x.Moves {
				k = t.members[string(p.ID)][x.Group][x.Task]
			}
			s := &d.Tasks[k]
			s.Status, s.Node, s.Groups = Binding, string(x.Place.Node), nil
			if x.Later {
				s.Status = Pipelined
			}
			for _, dev := range x.Place.Devices {
				if dev.Milli < 1000 {
					s.Groups = append(s.Groups, dev.Device)
				}
			}
		}
	}
}
