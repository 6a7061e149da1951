package scenario

import (
	"fmt"
	"slices"
)

// oracle is a scheduler that has read the answers. It decides what leads to
// them, within the bounds of a round, and can be told to go wrong.
type oracle struct {
	spoil func(c *Case, before *State, d *Decisions) // after each cycle; nil: nothing
}

func (o oracle) Cycle(c *Case, before *State) (*Decisions, error) {
	d := before.Decide()
	var binds, evictions, promises int
	room := func(n *int, most *int) bool {
		if most != nil && *n >= *most {
			return false
		}
		*n++
		return true
	}
	// What goes away comes first, so that it has gone when others come.
	for i := range d.Tasks {
		t := &d.Tasks[i]
		x, ok := answer(c, t)
		if ok && t.Status == Running && (x.Status == Pending || x.Status == Releasing) && room(&evictions, c.Expected.MaxEvictions) {
			t.Status = Releasing
		}
	}
	for i := range d.Tasks {
		t := &d.Tasks[i]
		x, ok := answer(c, t)
		if !ok || t.Status == Releasing {
			continue
		}
		node := x.Node
		if node == "" {
			node = c.Nodes[0].Name
		}
		moves := t.Status == Running && (x.Status == Pipelined || x.Status == Running && x.Node != "" && x.Node != t.Node)
		switch {
		case moves && room(&evictions, c.Expected.MaxEvictions) && room(&promises, c.Expected.MaxPipelined),
			t.Status == Pending && x.Status == Pipelined && room(&promises, c.Expected.MaxPipelined):
			*t = TaskState{t.Job, t.Index, t.Name, Pipelined, node, x.GPUGroupsHint}
		case t.Status == Pending && (x.Status == Binding || x.Status == Running) && room(&binds, c.Expected.MaxBinds):
			*t = TaskState{t.Job, t.Index, t.Name, Binding, node, x.GPUGroupsHint}
		}
	}
	d.Nodes = c.Devices(d.Tasks)
	d.Count(before)
	if o.spoil != nil {
		o.spoil(c, before, d)
	}
	return d, nil
}

func answer(c *Case, t *TaskState) (Expect, bool) {
	all := c.expectations(t)
	if len(all) == 0 {
		return Expect{}, false
	}
	return all[len(all)-1], true
}

// double is a scheduler with decisions told by hand, one change for each round;
// the last is repeated, and nil changes nothing.
type double struct {
	rounds []func(d *Decisions)
	calls  int
	seen   []*State
	silent bool // does not tell about nodes
	counts *[3]int
	err    error
}

func (f *double) Cycle(c *Case, before *State) (*Decisions, error) {
	f.seen = append(f.seen, before)
	d := before.Decide()
	if len(f.rounds) > 0 {
		if change := f.rounds[min(f.calls, len(f.rounds)-1)]; change != nil {
			change(d)
		}
	}
	f.calls++
	if !f.silent {
		d.Nodes = c.Devices(d.Tasks)
	}
	if len(d.Tasks) == len(before.Tasks) {
		d.Count(before)
	}
	if f.counts != nil {
		d.Binds, d.Evictions, d.Promises = f.counts[0], f.counts[1], f.counts[2]
	}
	return d, f.err
}

// set says what becomes of a task.
func set(name string, s Status, node string, groups ...string) func(d *Decisions) {
	return func(d *Decisions) {
		t := d.Task(name)
		t.Status, t.Node, t.Groups = s, node, groups
	}
}

func both(changes ...func(d *Decisions)) func(d *Decisions) {
	return func(d *Decisions) {
		for _, change := range changes {
			change(d)
		}
	}
}

// states are the tasks of a state in a line each.
func states(tasks []TaskState) []string {
	var all []string
	for _, t := range tasks {
		all = append(all, fmt.Sprint(t.Name, " ", t.Status, " ", t.Node, t.Groups))
	}
	slices.Sort(all)
	return all
}
