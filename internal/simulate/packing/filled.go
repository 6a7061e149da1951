package packing

import (
	"github.com/musterhq/muster/internal/core/schedule/fragmentation"
)

// filled is the policy of core/schedule/fill.
type filled struct {
	model    *fragmentation.Model
	cluster  []fragmentation.Stock
	products []fragmentation.Product // by node
}

func newFilled(tr *Trace, static bool) *filled {
	f := &filled{cluster: stock(tr)}
	var c fragmentation.Counter
	if static {
		for i := range tr.Tasks {
			c.Add(shape(&tr.Tasks[i]))
		}
	}
	f.model = fragmentation.New(c.Shapes(), f.cluster)
	for i := range tr.Nodes {
		f.products = append(f.products, f.model.Product(kindOf(&tr.Nodes[i])))
	}
	return f
}

// kindOf is the node's kind, without a number of GPUs.
func kindOf(n *Node) fragmentation.Stock {
	return fragmentation.Stock{Model: n.Model, Devices: n.GPUs, CPU: n.CPU}
}

func stock(tr *Trace) []fragmentation.Stock {
	var all []fragmentation.Stock
	at, bare := map[fragmentation.Stock]int{}, int64(0)
	for i := range tr.Nodes {
		kind := kindOf(&tr.Nodes[i])
		if kind.Devices == 0 {
			bare += kind.CPU
			continue
		}
		k, ok := at[kind]
		if !ok {
			k = len(all)
			at[kind] = k
			all = append(all, kind)
		}
		all[k].GPUs += int64(tr.Nodes[i].GPUs)
	}
	if bare > 0 {
		all = append(all, fragmentation.Stock{CPU: bare})
	}
	return all
}

func shape(t *Task) fragmentation.Shape {
	return fragmentation.Shape{CPU: t.CPU, Devices: t.GPUs, Milli: t.Milli, Models: t.Models, Count: 1}
}

func (f *filled) rate(s *Seat, node int, t *Task, pick []int) int64 {
	delta, ok := f.model.Delta(s.CPU, s.Free, f.products[node], fragmentation.Ask{CPU: t.CPU, Devices: t.GPUs, Milli: t.Milli}, pick)
	if !ok {
		return unfit
	}
	return delta
}

// learned is filled with the counts of what has arrived so far.
type learned struct {
	*ranked
	filled  *filled
	counter fragmentation.Counter
}

func newLearned(tr *Trace) *learned {
	f := newFilled(tr, false)
	return &learned{ranked: newRanked(tr, f), filled: f}
}

// Arrive counts the task, and computes everything anew when that is due.
func (l *learned) Arrive(t *Task) {
	if l.counter.Add(shape(t)) {
		l.filled.model = fragmentation.New(l.counter.Shapes(), l.filled.cluster)
		l.forget()
	}
}
