package scenario

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

var (
	modes      = []Mode{SinglePass, Rounds}
	actions    = []Action{Allocate, Consolidation, Reclaim, Preempt, StaleGangEviction}
	statuses   = []Status{Pending, Binding, Pipelined, Running, Releasing, StuckInReleasing, Failed, Succeeded}
	strategies = []string{"mixed", "single"}
)

// Validate reports everything in the case that contradicts itself.
func (c *Case) Validate() error {
	v := validation{nodes: map[string]bool{}, queues: map[string]bool{}, topologies: map[string]*Topology{}, jobs: map[string]bool{}, tasks: map[string]bool{}}
	oneOf(&v, "mode", c.Mode, modes)
	if len(c.Actions) == 0 || c.Mode == SinglePass && len(c.Actions) != 1 {
		v.say("actions has %d entries; single_pass wants one, rounds the whole cycle", len(c.Actions))
	}
	for i, a := range c.Actions {
		oneOf(&v, fmt.Sprintf("actions[%d]", i), a, actions)
	}
	v.checkNodes(c)
	for i := range c.Topologies {
		v.topologies[c.Topologies[i].Name] = &c.Topologies[i]
	}
	v.checkQueues(c.Queues)
	for i := range c.Jobs {
		v.checkJob(&c.Jobs[i], fmt.Sprintf("jobs[%d]", i))
	}
	v.checkClaims(c)
	v.checkExpected(&c.Expected)
	return errors.Join(v.errs...)
}

// What is above these is a slip of the pen, and would take for ever.
const (
	mostRounds  = 1000
	mostDevices = 1024 // of one task
)

type validation struct {
	nodes, queues, jobs, tasks map[string]bool
	topologies                 map[string]*Topology
	errs                       []error
}

func (v *validation) say(format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf(format, args...))
}

// exists complains about a name that nothing has.
func (v *validation) exists(path, name string, among map[string]bool) {
	if !among[name] {
		v.say("%s %q does not exist; there are %s", path, name, list(slices.Sorted(maps.Keys(among))))
	}
}

// once enters a name and complains if it is there already.
func (v *validation) once(path, name string, among map[string]bool) {
	if name == "" || among[name] {
		v.say("%s %q is empty or used twice; names tell things apart", path, name)
	}
	among[name] = true
}

func (v *validation) checkNodes(c *Case) {
	for i := range c.Nodes {
		n, path := &c.Nodes[i], fmt.Sprintf("nodes[%d]", i)
		v.once(path+".name", n.Name, v.nodes)
		if n.GPUs < 0 || n.GPUMemMiB < 0 || n.CPUMillis < 0 || n.MemBytes < 0 || n.MaxPods < 0 {
			v.say("%s (%s) has less than nothing: gpus %d, gpu_mem_mib %d, cpu_millis %d, mem_bytes %d, max_pods %d", path, n.Name, n.GPUs, n.GPUMemMiB, n.CPUMillis, n.MemBytes, n.MaxPods)
		}
		if n.MIG != nil {
			oneOf(v, path+".mig.strategy", n.MIG.Strategy, strategies)
		}
	}
}

func (v *validation) checkQueues(queues []Queue) {
	parent := map[string]string{}
	for i := range queues {
		q, path := &queues[i], fmt.Sprintf("queues[%d]", i)
		v.once(path+".name", q.Name, v.queues)
		parent[q.Name] = q.Parent
		for _, t := range []Terms{q.GPU, q.CPUMillis, q.MemBytes} {
			if t.Quota != nil && *t.Quota < 0 || t.Limit != nil && *t.Limit < 0 || t.Weight < 0 {
				v.say("%s (%s) has a negative quota, limit or over_quota_weight; null is unlimited", path, q.Name)
			}
		}
	}
	for i := range queues {
		q, path := &queues[i], fmt.Sprintf("queues[%d].parent", i)
		if q.Parent == "" {
			continue
		}
		v.exists(path, q.Parent, v.queues)
		steps := 0
		for at := q.Parent; at != "" && at != q.Name && steps <= len(queues); at = parent[at] {
			steps++
			if parent[at] == q.Name {
				v.say("%s %q: queue %s is above itself", path, q.Parent, q.Name)
			}
		}
		if q.Parent == q.Name {
			v.say("%s %q: queue %s is above itself", path, q.Parent, q.Name)
		}
	}
}

func (v *validation) checkJob(j *Job, path string) {
	v.once(path+".name", j.Name, v.jobs)
	v.exists(path+".queue", j.Queue, v.queues)
	v.checkConstraint(path, j.TopologyConstraint)
	groups := map[string]bool{}
	v.checkGroups(path, j.Groups, groups)
	kinds := 0
	for _, asked := range []bool{j.GPUs > 0, j.GPUFraction > 0, j.GPUMemMiB > 0} {
		if asked {
			kinds++
		}
	}
	if kinds > 1 {
		v.say("%s (%s) asks for devices in %d ways; want one of gpus_per_task, gpu_fraction_per_task, gpu_mem_mib_per_task", path, j.Name, kinds)
	}
	if j.GPUs < 0 || j.GPUFraction < 0 || j.GPUFraction > 1 || j.GPUMemMiB < 0 || j.Devices < 0 || j.Devices > mostDevices || j.CPUMillis < 0 || j.MemBytes < 0 || j.Min() < 0 {
		v.say("%s (%s) asks for less than nothing, or for more than all of a device", path, j.Name)
	}
	for i := range j.Tasks {
		t, path := &j.Tasks[i], fmt.Sprintf("%s.tasks[%d]", path, i)
		v.once(path+".name", t.Name, v.tasks)
		oneOf(v, path+".state", t.State, statuses)
		if t.Node != "" {
			v.exists(path+".node", t.Node, v.nodes)
		} else if holds(t.State) {
			v.say("%s (%s) is %s without a node", path, t.Name, t.State)
		}
		if t.Group != "" {
			v.exists(path+".group", t.Group, groups)
		} else if len(groups) > 0 {
			v.say("%s (%s) is in no group; want one of %s", path, t.Name, list(slices.Sorted(maps.Keys(groups))))
		}
	}
}

// checkGroups collects the leaves: only they have tasks.
func (v *validation) checkGroups(path string, groups []Group, leaves map[string]bool) {
	for i := range groups {
		g, path := &groups[i], fmt.Sprintf("%s.groups[%d]", path, i)
		v.checkConstraint(path, g.TopologyConstraint)
		if len(g.Groups) == 0 {
			v.once(path+".name", g.Name, leaves)
		}
		if g.MinGroups != nil && (*g.MinGroups < 0 || *g.MinGroups > len(g.Groups)) {
			v.say("%s.min_groups is %d of %d groups", path, *g.MinGroups, len(g.Groups))
		}
		v.checkGroups(path, g.Groups, leaves)
	}
}

func (v *validation) checkConstraint(path string, c *Constraint) {
	if c == nil || c.Required == "" && c.Preferred == "" { // asks for nothing
		return
	}
	t := v.topologies[c.Topology]
	if t == nil {
		v.say("%s.topology_constraint.topology %q does not exist", path, c.Topology)
		return
	}
	for _, level := range []string{c.Required, c.Preferred} {
		if level != "" && !slices.Contains(t.Levels, level) {
			v.say("%s.topology_constraint: level %q is not of topology %s; it has %s", path, level, t.Name, list(t.Levels))
		}
	}
}

func (v *validation) checkClaims(c *Case) {
	if c.DeviceClaims == nil {
		return
	}
	for i, s := range c.DeviceClaims.Slices {
		v.exists(fmt.Sprintf("device_claims.slices[%d].node", i), s.Node, v.nodes)
	}
}

func (v *validation) checkExpected(e *Expected) {
	if u, a := e.RoundsUntilMatch, e.RoundsAfterMatch; u < 0 || a < 0 || u > mostRounds || a > mostRounds {
		v.say("expected: rounds_until_match %d, rounds_after_match %d; want 0 to %d", u, a, mostRounds)
	}
	for _, part := range []struct {
		path  string
		all   map[string]Expect
		among map[string]bool
	}{{"expected.jobs", e.Jobs, v.jobs}, {"expected.tasks", e.Tasks, v.tasks}} {
		for _, name := range slices.Sorted(maps.Keys(part.all)) {
			x := part.all[name]
			oneOf(v, part.path+"."+name+".status", x.Status, statuses)
			if !x.Vacuous {
				v.exists(part.path, name, part.among)
			}
			if x.Node != "" {
				v.exists(part.path+"."+name+".node", x.Node, v.nodes)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Nodes)) {
		v.exists("expected.nodes", name, v.nodes)
	}
}

func oneOf[T ~string](v *validation, path string, value T, allowed []T) {
	if !slices.Contains(allowed, value) {
		words := make([]string, len(allowed))
		for i, a := range allowed {
			words[i] = string(a)
		}
		v.say("%s is %q, want one of %s", path, value, list(words))
	}
}

func list(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}
