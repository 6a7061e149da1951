package packing

import (
	"fmt"
	"strconv"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/fragmentation"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Core is the program's own scheduler as a policy: each arrival is a job of
// its own and a whole cycle, as in the server.
func Core() Policy {
	return Policy{"default", func(tr *Trace, _ uint64) Placer { return newByCore(tr) }}
}

// byCore keeps one state of the scheduler over all arrivals.
type byCore struct {
	state   *state.State
	nodes   map[core.NodeID]int
	classes []class
	counter fragmentation.Counter
	held    map[place][]core.WorkloadID // who has what, to find who leaves
	arrived int64
	devices []int
}

// class is a need in the scheduler's words.
type class struct {
	need        schedule.Need
	rule        *schedule.Rule
	waits, runs *schedule.Shape
}

// place tells running jobs apart as far as their leaving matters.
type place struct {
	node, class int
	devices     string
}

const (
	corePool  = "default"
	coreQueue = "all"
	modelKey  = "model"
)

func newByCore(tr *Trace) *byCore {
	// Whether a device should be shared is for Fill to judge here: the preference
	// for those that are shared already, which comes before it, costs 0.04 points.
	how := schedule.NewPolicy(schedule.Without(schedule.Sharing))
	c := &byCore{
		state: state.NewState(how.Config), nodes: map[core.NodeID]int{}, classes: make([]class, tr.Classes), held: map[place][]core.WorkloadID{},
	}
	c.state.SetPools([]schedule.Pool{how.Pool(corePool, schedule.Fill, schedule.Fill, 0)})
	c.state.SetQueues([]schedule.Queue{{ID: coreQueue, Default: schedule.Unlimited()}})
	for i := range tr.Nodes {
		n := &tr.Nodes[i]
		id := core.NodeID(fmt.Sprintf("%08d", i))
		c.nodes[id] = i
		node := core.Node{ID: id, Pool: corePool, Ready: true, CPU: n.CPU, Memory: n.Memory << 20, Labels: map[string]string{modelKey: n.Model}}
		for d := range n.GPUs {
			node.Devices = append(node.Devices, core.Device{ID: strconv.Itoa(d), Index: d, Product: n.Model, Healthy: true})
		}
		c.state.PutNode(schedule.Node{Node: node})
	}
	c.state.SetWork(nil)
	return c
}

// Arrive counts the task, and tells the scheduler when that is due.
func (c *byCore) Arrive(t *Task) {
	if c.counter.Add(shape(t)) {
		c.state.SetWork(c.counter.Shapes())
	}
}

func (c *byCore) classOf(t *Task) *class {
	k := &c.classes[t.Class]
	if k.waits != nil {
		return k
	}
	k.need = schedule.Need{Devices: t.GPUs, Milli: t.Milli, CPU: t.CPU, Memory: t.Memory << 20}
	if len(t.Models) > 0 && t.GPUs > 0 {
		k.rule = &schedule.Rule{Terms: []schedule.Term{{Key: modelKey, Op: "In", Values: t.Models}}}
	}
	k.waits = schedule.Flat(schedule.Group{Name: "task", Min: 1, Runs: []schedule.Run{{Need: k.need, Rule: k.rule, Count: 1}}})
	k.runs = schedule.Flat(schedule.Group{Name: "task", Min: 1})
	return k
}

func (c *byCore) Place(t *Task) (int, []int, bool) {
	k := c.classOf(t)
	c.arrived++
	j := schedule.Job{ID: core.WorkloadID(strconv.FormatInt(c.arrived, 10)), Queue: coreQueue, Order: c.arrived, Shape: k.waits}
	c.state.PutJob(j)
	plan := cycle.Run(c.state, c.arrived)
	if len(plan.Placements) != 1 || plan.Placements[0].ID != j.ID {
		c.state.DropJob(j.ID)
		return 0, nil, false
	}
	at := plan.Placements[0].Tasks[0].Place
	j.Shape, j.Started = k.runs, c.arrived
	j.Held = []schedule.Held{{Need: k.need, Rule: k.rule, Place: at}}
	c.state.PutJob(j)
	c.devices = c.devices[:0]
	for _, d := range at.Devices {
		c.devices = append(c.devices, d.Index)
	}
	key := placeOf(t, c.nodes[at.Node], c.devices)
	c.held[key] = append(c.held[key], j.ID)
	return c.nodes[at.Node], c.devices, true
}

// Release ends one of those that have the same of the same node; they are alike.
func (c *byCore) Release(t *Task, node int, devices []int) {
	key := placeOf(t, node, devices)
	ids := c.held[key]
	last := len(ids) - 1
	if last < 0 {
		return
	}
	c.state.DropJob(ids[last])
	if c.held[key] = ids[:last]; last == 0 {
		delete(c.held, key)
	}
}

func placeOf(t *Task, node int, devices []int) place {
	return place{node: node, class: t.Class, devices: fmt.Sprint(devices)}
}
