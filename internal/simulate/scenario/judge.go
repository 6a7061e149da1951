package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Kind is what a difference is about; a smaller one weighs more.
type Kind int

// The kinds, by weight.
const (
	Broken      Kind = iota // the scheduler failed, or its decisions cannot be
	WrongStatus             // of a task
	WrongNode               // of a task
	WrongFree               // devices of a node
	TooMany                 // decisions in one round
)

// String is the kind in a word.
func (k Kind) String() string {
	return [...]string{"broken", "status", "node", "devices", "decisions"}[k]
}

// Difference is one way in which a scheduler did not do what was expected.
type Difference struct {
	Kind  Kind
	Round int    // from 1
	Text  string // what was expected, what was decided
}

// compareTasks judges where tasks stand against the expectations.
func (c *Case) compareTasks(tasks []TaskState, round int, when string) []Difference {
	var all []Difference
	for i := range tasks {
		t := &tasks[i]
		for _, x := range c.expectations(t) {
			want, got := place(x.Status, x.Node), place(t.Status, t.Node)
			switch {
			case t.Status != x.Status:
				all = append(all, Difference{WrongStatus, round, fmt.Sprintf("task %s: expected %s, was %s %s", t.Name, want, got, when)})
			case x.Node != "" && placed(x.Status) && t.Node != x.Node:
				all = append(all, Difference{WrongNode, round, fmt.Sprintf("task %s: expected %s, was %s %s", t.Name, want, got, when)})
			}
		}
	}
	return all
}

// expectations of a task are its job's and its own.
func (c *Case) expectations(t *TaskState) []Expect {
	var all []Expect
	if x, ok := c.Expected.Jobs[c.Jobs[t.Job].Name]; ok && !x.Vacuous {
		all = append(all, x)
	}
	if x, ok := c.Expected.Tasks[t.Name]; ok && !x.Vacuous {
		all = append(all, x)
	}
	return all
}

// compareNodes judges what is free.
func (c *Case) compareNodes(nodes map[string]NodeGPUs, round int, when string) []Difference {
	var all []Difference
	for _, name := range slices.Sorted(maps.Keys(c.Expected.Nodes)) {
		x := c.Expected.Nodes[name]
		got, ok := nodes[name]
		for _, part := range []struct {
			word string
			want *float64
			got  float64
		}{{"idle", x.IdleGPUs, got.Idle}, {"releasing", x.ReleasingGPUs, got.Releasing}} {
			switch {
			case part.want == nil:
			case !ok:
				all = append(all, Difference{WrongFree, round, fmt.Sprintf("node %s: expected %v GPUs %s, none were told %s", name, *part.want, part.word, when)})
			case part.got != *part.want:
				all = append(all, Difference{WrongFree, round, fmt.Sprintf("node %s: expected %v GPUs %s, were %v %s", name, *part.want, part.word, part.got, when)})
			}
		}
	}
	return all
}

// compareCounts judges how much was decided.
func (c *Case) compareCounts(d *Decisions, round int) []Difference {
	var all []Difference
	for _, part := range []struct {
		word string
		most *int
		got  int
	}{{"binds", c.Expected.MaxBinds, d.Binds}, {"evictions", c.Expected.MaxEvictions, d.Evictions}, {"promises", c.Expected.MaxPipelined, d.Promises}} {
		if part.most != nil && part.got > *part.most {
			all = append(all, Difference{TooMany, round, fmt.Sprintf("expected at most %d %s in a round, were %d in round %d", *part.most, part.word, part.got, round)})
		}
	}
	return all
}

// hints says which tasks were meant to share a device and do not, or the
// other way round. The source cannot tell either, so it decides nothing.
func (c *Case) hints(tasks []TaskState) []string {
	type hinted struct {
		task *TaskState
		want []string
	}
	var all []hinted
	for i := range tasks {
		for _, x := range c.expectations(&tasks[i]) {
			if len(x.GPUGroupsHint) > 0 && tasks[i].Node != "" && len(tasks[i].Groups) > 0 {
				all = append(all, hinted{&tasks[i], x.GPUGroupsHint})
			}
		}
	}
	var differences []string
	for i, a := range all {
		for _, b := range all[:i] {
			if a.task.Node != b.task.Node || a.task == b.task {
				continue
			}
			meant, are := overlap(a.want, b.want), overlap(a.task.Groups, b.task.Groups)
			if meant && !are {
				differences = append(differences, fmt.Sprintf("tasks %s and %s were meant to share a device of %s", b.task.Name, a.task.Name, a.task.Node))
			} else if are && !meant {
				differences = append(differences, fmt.Sprintf("tasks %s and %s were not meant to share a device of %s", b.task.Name, a.task.Name, a.task.Node))
			}
		}
	}
	return differences
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// placed reports whether a task of that status is somewhere, or will be. A node
// that is named with another is what the source left there.
func placed(s Status) bool { return holds(s) || s == Pipelined }

func place(s Status, node string) string {
	if node == "" {
		return string(s)
	}
	return string(s) + " on " + node
}

// byWeight puts first what weighs more, and of that what came earlier.
func byWeight(all []Difference) {
	slices.SortStableFunc(all, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Round, b.Round))
	})
}
