package engine

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/planner"
	"github.com/musterhq/muster/internal/engine/workload"
)

// runScheduler runs one cycle over the draft and applies its plan to it.
func runScheduler(tx *draft.Tx) {
	e := tx.State
	planner.Sync(tx)
	planner.Learn(tx)
	planner.Look(tx)
	planner.PassUsage(tx)
	e.Planned = tx.Now
	planner.TakeBack(tx)
	foresee(tx)
	for range maxRounds {
		plan := planner.Plan(tx)
		changed := promise(tx, plan)
		for _, ev := range plan.Evictions {
			if err := consequence.Evict(tx, ev); err != nil {
				e.D.Log.Error("plan does not fit the state", "workload", ev.ID, "err", err)
			}
		}
		for _, p := range plan.Placements {
			place(tx, p)
		}
		book(tx, plan)
		if len(plan.Evictions)+len(plan.Placements) == 0 && !changed {
			break // else another round sees what is to be free, and what was refused
		}
	}
	e.Dirty = false // what the plan itself changed, it has taken into account
}

// maxRounds bounds how often a plan is followed by another at one instant. Each
// places or ends something that was not before, so that it never comes to that.
const maxRounds = 1000

// place puts the tasks of one workload where the plan says, unless checks after
// the reservation come first.
func place(tx *draft.Tx, p schedule.Placement) {
	d, ok := tx.Open(p.ID)
	if !ok {
		return
	}
	held := false
	err := tx.Change(d, func() error {
		if d.W.Phase == lifecycle.Queued {
			if err := tx.Step(d, lifecycle.Input{On: lifecycle.Reserve, Message: workload.OpenChecks(d.W, workload.AtReservation)}, consequence.ActorScheduler); err != nil {
				return err
			}
			if workload.ChecksOpen(d.W, workload.AtReservation) {
				held = true
				d.Attempt().Earmark = workload.Granted(p.Takes)
				return consequence.Ask(tx, d, workload.AtReservation)
			}
		}
		if d.W.Phase == lifecycle.Reserved {
			if err := tx.Step(d, lifecycle.Input{On: lifecycle.Admit}, consequence.ActorScheduler); err != nil {
				return err
			}
			if d.W.Spec.Gang() && len(p.Tasks) > 0 {
				d.Attempt().Port = freePort(tx, d, p.Tasks[0].Place.Node)
			}
		}
		before := 0
		if d.W.Spec.Elastic() {
			before = len(workload.Ranks(d.Tasks))
		}
		putTasks(tx, d, p)
		switch {
		case d.W.Kind.Replicated():
			consequence.Serving(tx, d)
		case d.W.Spec.Array != nil:
			consequence.Curtailed(tx, d)
		}
		if before > 0 {
			if err := consequence.Resized(tx, d, before, lifecycle.Input{Message: "there is room for more"}, consequence.ActorScheduler); err != nil {
				return err
			}
			consequence.Scaling(tx, d)
		}
		return nil
	})
	if err != nil {
		tx.State.D.Log.Error("plan does not fit the state", "workload", p.ID, "err", err)
		return
	}
	if held {
		return
	}
	for _, t := range workload.OpenIf(d.Tasks, func(t *core.Task) bool { return t.State == core.TaskStarting && t.PlacedAt.Equal(tx.Now) }) {
		tx.Start(d.W, t)
	}
}

// putTasks makes the tasks of a placement. It must run inside change.
func putTasks(tx *draft.Tx, d *draft.Draft, p schedule.Placement) {
	w := d.W
	if w.Kind.Foreign() {
		consequence.PutMembers(tx, d, p)
		return
	}
	places := slices.Clone(p.Tasks)
	slices.SortStableFunc(places, func(a, b schedule.Placed) int { return cmp.Compare(a.Group, b.Group) }) // what is apart is the first task
	indexes := workload.NextIndexes(w, d.Tasks, len(places))
	if workload.Numbered(w) {
		d.Attempt().Next += len(places)
	}
	for i, index := range indexes {
		on := tx.State.Nodes[places[i].Place.Node]
		t := core.Task{
			ID:   core.TaskID{Workload: w.ID, Attempt: w.Attempt, Index: index, Run: d.Succeed(index)},
			Role: w.Spec.Role(index), Backend: on.Backend, Node: on.ID, Pool: on.Pool, Devices: places[i].Place.Devices, Product: on.Product(places[i].Place.Devices, places[i].Place.Extended),
			CPU: places[i].Place.CPU, Memory: places[i].Place.Memory, Counted: places[i].Place.Extended, State: core.TaskStarting, PlacedAt: tx.Now, Generation: w.Generation,
		}
		t.Port = portOf(tx, d, t.Node)
		if w.Spec.Needs(index).GPU.Kind() == spec.MemoryGPU && len(t.Devices) > 0 {
			d.Attempt().Part = t.Devices[0].Milli
		}
		d.SetTask(t)
	}
}

// portOf is the port of a task of its own; 0: it needs none. Replicas share the
// machine, so each is given one in $PORT; only one that is always alone may
// have the port that its document names.
func portOf(tx *draft.Tx, d *draft.Draft, on core.NodeID) int {
	w, s := d.W, d.W.Spec
	switch {
	case w.Kind.Replicated() && len(s.Ports) > 0 && ownAddress(tx, on):
		return s.Ports[0].Port
	case w.Kind.Replicated() && len(s.Ports) > 0 && w.Replicas <= 1 && s.Autoscale == nil && *s.Update.MaxSurge == 0 && !portUsed(tx, d, on, s.Ports[0].Port):
		return s.Ports[0].Port
	case w.Kind.Replicated(), s.Framework == "mpi", s.Framework == "tensorflow", s.Slurm != nil && s.Gang():
		return freePort(tx, d, on)
	default:
		return 0
	}
}

// ownAddress reports whether each task on a node has an address of its own, so
// that all may have the same port.
func ownAddress(tx *draft.Tx, on core.NodeID) bool {
	return tx.State.D.Address != nil && tx.State.D.Address(tx.State.Nodes[on].Backend, core.TaskID{}) != ""
}

// portTries bounds the search for a port that nobody has been given yet; a task
// that gets one which is in use fails and says so.
const portTries = 1000

// freePort proposes a port that nobody has been given.
func freePort(tx *draft.Tx, d *draft.Draft, on core.NodeID) int {
	port := tx.State.D.Port()
	for range portTries {
		if !portUsed(tx, d, on, port) {
			break
		}
		port = tx.State.D.Port()
	}
	return port
}

// portUsed reports whether another task on that node, or another task of the
// same workload, has been given a port.
func portUsed(tx *draft.Tx, d *draft.Draft, on core.NodeID, port int) bool {
	if u := tx.State.Usage[on]; u != nil && u.Ports[port] > 0 || d.Attempt().Port == port {
		return true
	}
	for _, t := range d.Tasks.Open() {
		if t.Port == port && workload.Holds(d.W, t) {
			return true
		}
	}
	return false
}
