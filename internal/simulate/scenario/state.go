package scenario

import (
	"fmt"
	"slices"
)

// TaskState is where one task stands.
type TaskState struct {
	Job    int // position in the case
	Index  int // position in the job
	Name   string
	Status Status
	Node   string   // where it is or will be; "" if nowhere
	Groups []string // labels of the shared devices it is on; same label and node, same device
}

// State is where all tasks stand when a cycle begins.
type State struct {
	Round int         // from 0
	Tasks []TaskState // by job, then as in the job
}

// Start is the state that the case begins in.
func (c *Case) Start() *State {
	s := new(State)
	for j := range c.Jobs {
		for i := range c.Jobs[j].Tasks {
			t := &c.Jobs[j].Tasks[i]
			s.Tasks = append(s.Tasks, TaskState{Job: j, Index: i, Name: t.Name, Status: t.State, Node: t.Node, Groups: slices.Clone(t.GPUGroups)})
		}
	}
	return s
}

// Task is the task of a name; nil if there is none.
func (s *State) Task(name string) *TaskState { return find(s.Tasks, name) }

// Decisions are what a cycle leaves behind.
type Decisions struct {
	Tasks []TaskState // all of the state's, in its order
	// How often it decided to place, to evict and to promise. A victim that is
	// moved is an eviction and a promise.
	Binds, Evictions, Promises int
	// Nodes is what the scheduler believes of each node's devices; where a case
	// asks for it and it is not here, the case fails.
	Nodes map[string]NodeGPUs
}

// NodeGPUs is how many devices of a node nobody has, and how many are about to
// be nobody's. A device shared by several is about to be free when all of
// them are leaving.
type NodeGPUs struct {
	Idle, Releasing float64
}

// Decide returns decisions that leave everything as it is, for a scheduler to change.
func (s *State) Decide() *Decisions {
	d := &Decisions{Tasks: slices.Clone(s.Tasks)}
	for i := range d.Tasks {
		d.Tasks[i].Groups = slices.Clone(d.Tasks[i].Groups)
	}
	return d
}

// Task is the task of a name; nil if there is none.
func (d *Decisions) Task(name string) *TaskState { return find(d.Tasks, name) }

// Count sets the numbers of decisions to what tasks show: each that has been
// placed, evicted or promised something since before.
func (d *Decisions) Count(before *State) {
	d.Binds, d.Evictions, d.Promises = count(before, d)
}

func count(before *State, d *Decisions) (binds, evictions, promises int) {
	for i := range d.Tasks {
		was, is := &before.Tasks[i], &d.Tasks[i]
		switch {
		case is.Status == Binding && was.Status != Binding:
			binds++
		case is.Status == Releasing && was.Status != Releasing:
			evictions++
		case is.Status == Pipelined && was.Status != Pipelined:
			promises++
			if was.Status == Running {
				evictions++
			}
		}
	}
	return binds, evictions, promises
}

// apply returns the state that follows from decisions: who is placed runs,
// who is evicted waits again, and a promise is forgotten.
func (c *Case) apply(d *Decisions, round int) *State {
	next := &State{Round: round, Tasks: slices.Clone(d.Tasks)}
	for i := range next.Tasks {
		t := &next.Tasks[i]
		switch {
		case t.Status == Binding:
			t.Status = Running
		case t.Status == Pipelined, t.Status == Releasing && !c.Jobs[t.Job].StaysReleasing:
			t.Status, t.Node, t.Groups = Pending, "", nil
		}
	}
	return next
}

// consistent reports why decisions cannot follow from a state: the adapter
// that made them is wrong, whatever the case expects.
func (c *Case) consistent(before *State, d *Decisions) error {
	if d == nil {
		return fmt.Errorf("the scheduler decided nothing and gave no error")
	}
	if len(d.Tasks) != len(before.Tasks) {
		return fmt.Errorf("the decisions are about %d tasks, the state has %d", len(d.Tasks), len(before.Tasks))
	}
	for i := range d.Tasks {
		was, is := &before.Tasks[i], &d.Tasks[i]
		if is.Name != was.Name || is.Job != was.Job || is.Index != was.Index {
			return fmt.Errorf("decision %d is about task %q, the state has %q there; keep its order", i, is.Name, was.Name)
		}
		if !slices.Contains(after[was.Status], is.Status) {
			return fmt.Errorf("task %s was %s and is %s, want one of %v", is.Name, was.Status, is.Status, after[was.Status])
		}
		if (holds(is.Status) || is.Status == Pipelined) && !slices.ContainsFunc(c.Nodes, func(n Node) bool { return n.Name == is.Node }) {
			return fmt.Errorf("task %s is %s on node %q, which does not exist", is.Name, is.Status, is.Node)
		}
		if holds(was.Status) && is.Status != Pipelined && is.Node != was.Node {
			return fmt.Errorf("task %s was on %s and is %s on %q; only a promise can move it", is.Name, was.Node, is.Status, is.Node)
		}
	}
	if b, e, p := count(before, d); d.Binds < b || d.Evictions < e || d.Promises < p {
		return fmt.Errorf("the decisions count %d binds, %d evictions and %d promises, their tasks show %d, %d and %d", d.Binds, d.Evictions, d.Promises, b, e, p)
	}
	return nil
}

// after is what a cycle can make of a task.
var after = map[Status][]Status{
	Pending:          {Pending, Binding, Pipelined},
	Binding:          {Binding, Running, Releasing},
	Pipelined:        {Pipelined, Pending, Binding},
	Running:          {Running, Releasing, Pipelined},
	Releasing:        {Releasing},
	StuckInReleasing: {StuckInReleasing},
	Failed:           {Failed},
	Succeeded:        {Succeeded},
}

// holds reports whether a task has its place.
func holds(s Status) bool {
	return s == Binding || s == Running || s == Releasing || s == StuckInReleasing
}

// Devices counts the free devices of every node from where tasks stand.
func (c *Case) Devices(tasks []TaskState) map[string]NodeGPUs {
	nodes := map[string]NodeGPUs{}
	for _, n := range c.Nodes {
		nodes[n.Name] = NodeGPUs{Idle: float64(n.GPUs)}
	}
	type device struct{ node, label string }
	leaving := map[device]bool{} // shared devices, and whether all on them leave
	for i := range tasks {
		t := &tasks[i]
		if !holds(t.Status) {
			continue
		}
		job, n := &c.Jobs[t.Job], nodes[t.Node]
		whole := job.GPUs
		if g := job.Tasks[t.Index].GPUs; g != nil {
			whole = *g
		}
		n.Idle -= whole
		if t.Status == Releasing {
			n.Releasing += whole
		}
		nodes[t.Node] = n
		for k := range job.Shares() {
			d := device{t.Node, fmt.Sprintf("only of %s, %d", t.Name, k)}
			if k < len(t.Groups) {
				d.label = t.Groups[k]
			}
			others, known := leaving[d]
			leaving[d] = t.Status == Releasing && (others || !known)
		}
	}
	for d, all := range leaving {
		n := nodes[d.node]
		n.Idle--
		if all {
			n.Releasing++
		}
		nodes[d.node] = n
	}
	return nodes
}

func find(tasks []TaskState, name string) *TaskState {
	for i := range tasks {
		if tasks[i].Name == name {
			return &tasks[i]
		}
	}
	return nil
}
