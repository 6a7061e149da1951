package explain

import (
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/displace"
	"github.com/musterhq/muster/internal/core/schedule/place"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Trial is what would become of a job if it were looked at alone.
type Trial struct {
	Now     bool // it would start at once
	Later   bool // it would start once those whom it displaces have left
	Pool    string
	Tasks   []schedule.Placed
	Victims []schedule.Eviction
	// Reasons are why neither; empty: it would start.
	Reasons []schedule.Reason
}

// Try answers whether j would start now, where, and whom it would displace, all
// others staying as they are. The state is afterwards as it was.
func Try(st *state.State, now int64, data schedule.Job) Trial {
	st.Now = now
	old, known := st.Jobs[data.ID]
	var was schedule.Job
	if known {
		was = old.Job
	}
	version := st.Version
	st.PutJob(data)
	defer func() {
		st.DropJob(data.ID)
		if known {
			st.PutJob(was)
		}
		st.Version = version // all is as it was
	}()
	cycle.Prepare(st)
	j := st.Jobs[data.ID]
	for _, a := range []schedule.Action{schedule.Allocate, schedule.Consolidate, schedule.Reclaim, schedule.Preempt} {
		for _, p := range st.PoolsOf(j) {
			c := cycle.New(st)
			out := displace.Hopeless
			if r := st.Gate(j); r == nil {
				out = c.Look(a, p, j)
			}
			if out == displace.Hopeless {
				continue
			}
			plan := c.Plan()
			cycle.Finish(st, c)
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
	return Trial{Reasons: Why(st, j)}
}

// EverFits reports whether job would fit if nothing ran and every node were
// fit; otherwise the reason says what is too much.
func EverFits(nodes []schedule.Node, data schedule.Job) (schedule.Reason, bool) {
	return Fits(Bare(nodes), data)
}

// Bare is the state of a cluster on which nothing runs, every node counted that
// could come back. It tells what can ever fit.
func Bare(nodes []schedule.Node) *state.State {
	st := state.NewState(schedule.Config{NoQuota: true})
	for _, n := range nodes {
		PutBare(st, n)
	}
	return st
}

// PutBare makes a node known as it would be with nothing on it.
func PutBare(st *state.State, n schedule.Node) {
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
func Fits(st *state.State, data schedule.Job) (schedule.Reason, bool) {
	cycle.Prepare(st)
	data.Queue = ""
	j := stranger(st, data)
	_, tries := j.Next()
	for _, p := range st.PoolsOf(j) {
		mark := len(st.Log)
		ok := place.PlaceIn(st, p, j, tries)
		st.Undo(mark)
		if ok {
			return schedule.Reason{}, true
		}
	}
	return never(st, j, tries), false
}
