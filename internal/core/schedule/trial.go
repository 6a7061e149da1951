package schedule

import (
	"slices"
)

// Trial is what would become of a job if it were looked at alone.
type Trial struct {
	Now     bool // it would start at once
	Later   bool // it would start once those whom it displaces have left
	Pool    string
	Tasks   []Placed
	Victims []Eviction
	// Reasons are why neither; empty: it would start.
	Reasons []Reason
}

// Try answers whether j would start now, where, and whom it would displace, all
// others staying as they are. The state is afterwards as it was.
func (st *State) Try(now int64, data Job) Trial {
	st.now = now
	old, known := st.jobs[data.ID]
	var was Job
	if known {
		was = old.Job
	}
	version := st.version
	st.PutJob(data)
	defer func() {
		st.DropJob(data.ID)
		if known {
			st.PutJob(was)
		}
		st.version = version // all is as it was
	}()
	st.prepare()
	j := st.jobs[data.ID]
	for _, a := range []Action{Allocate, Consolidate, Reclaim, Preempt} {
		for _, p := range st.poolsOf(j) {
			c := newCycle(st)
			out := hopeless
			if r := st.gate(j); r == nil {
				out = c.look(a, p, j)
			}
			if out == hopeless {
				continue
			}
			plan := c.plan()
			st.finish(c)
			t := Trial{Pool: p.Name, Victims: plan.Evictions, Now: len(plan.Placements) > 0}
			for _, pl := range slices.Concat(plan.Placements, plan.Promises) {
				if pl.ID == j.ID {
					t.Tasks = pl.Tasks
				}
			}
			t.Now = len(plan.Promises) == 0
			t.Later = !t.Now
			return t
		}
	}
	return Trial{Reasons: st.why(j)}
}

// EverFits reports whether job would fit if nothing ran and every node were
// fit; otherwise the reason says what is too much.
func EverFits(nodes []Node, data Job) (Reason, bool) {
	return Bare(nodes).Fits(data)
}

// Bare is the state of a cluster on which nothing runs, every node counted that
// could come back. It tells what can ever fit.
func Bare(nodes []Node) *State {
	st := NewState(Config{NoQuota: true})
	for _, n := range nodes {
		st.PutBare(n)
	}
	return st
}

// PutBare makes a node known as it would be with nothing on it.
func (st *State) PutBare(n Node) {
	n.OtherCPU, n.OtherMem, n.OtherMilli = 0, 0, nil
	n.Ready, n.Cordon, n.CutOff = true, false, false
	n.Devices = slices.Clone(n.Devices)
	for d := range n.Devices {
		n.Devices[d].Healthy = true
	}
	st.PutNode(n)
}

// Fits reports whether data's minimum has room on what is free, whatever the
// queues say.
func (st *State) Fits(data Job) (Reason, bool) {
	st.prepare()
	data.Queue = ""
	j := st.stranger(data)
	_, tries := st.next(j)
	for _, p := range st.poolsOf(j) {
		mark := len(st.log)
		ok := st.placeIn(p, j, tries)
		st.undo(mark)
		if ok {
			return Reason{}, true
		}
	}
	return st.never(j, tries), false
}
