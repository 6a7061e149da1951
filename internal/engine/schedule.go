package engine

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
)

// ActorScheduler stands in transitions that the scheduler's plan made.
const ActorScheduler = "scheduler"

const actorScheduler = ActorScheduler

// schedule runs one cycle over the draft and applies its plan to it.
func (tx *tx) schedule() {
	e := tx.e
	tx.sync()
	tx.learn()
	tx.look()
	tx.tellPast()
	e.Planned = tx.now
	tx.takeBack()
	tx.foresee()
	for range maxRounds {
		plan := tx.plan()
		changed := tx.promise(plan)
		for _, ev := range plan.Evictions {
			if err := tx.evict(ev); err != nil {
				e.D.Log.Error("plan does not fit the state", "workload", ev.ID, "err", err)
			}
		}
		for _, p := range plan.Placements {
			tx.place(p)
		}
		tx.book(plan)
		if len(plan.Evictions)+len(plan.Placements) == 0 && !changed {
			break // else another round sees what is to be free, and what was refused
		}
	}
	e.dirty = false // what the plan itself changed, it has taken into account
}

// maxRounds bounds how often a plan is followed by another at one instant. Each
// places or ends something that was not before, so that it never comes to that.
const maxRounds = 1000

// place puts the tasks of one workload where the plan says, unless checks after
// the reservation come first.
func (tx *tx) place(p schedule.Placement) {
	d, ok := tx.open(p.ID)
	if !ok {
		return
	}
	held := false
	err := tx.change(d, func() error {
		if d.w.Phase == lifecycle.Queued {
			if err := tx.step(d, lifecycle.Input{On: lifecycle.Reserve, Message: openChecks(d.w, atReservation)}, actorScheduler); err != nil {
				return err
			}
			if checksOpen(d.w, atReservation) {
				held = true
				d.attempt().Earmark = granted(p.Takes)
				return tx.ask(d, atReservation)
			}
		}
		if d.w.Phase == lifecycle.Reserved {
			if err := tx.step(d, lifecycle.Input{On: lifecycle.Admit}, actorScheduler); err != nil {
				return err
			}
			if d.w.Spec.Gang() && len(p.Tasks) > 0 {
				d.attempt().Port = tx.freePort(d, p.Tasks[0].Place.Node)
			}
		}
		before := 0
		if d.w.Spec.Elastic() {
			before = len(ranks(d.tasks))
		}
		tx.putTasks(d, p)
		switch {
		case d.w.Kind == lifecycle.Inference:
			tx.serving(d)
		case d.w.Spec.Array != nil:
			tx.curtailed(d)
		}
		if before > 0 {
			if err := tx.resized(d, before, lifecycle.Input{Message: "there is room for more"}, actorScheduler); err != nil {
				return err
			}
			tx.scaling(d)
		}
		return nil
	})
	if err != nil {
		tx.e.D.Log.Error("plan does not fit the state", "workload", p.ID, "err", err)
		return
	}
	if held {
		return
	}
	for _, t := range sortedTasks(d.tasks) {
		if t.State == core.TaskStarting && t.PlacedAt.Equal(tx.now) {
			tx.start(d.w, t)
		}
	}
}

// putTasks makes the tasks of a placement. It must run inside change.
func (tx *tx) putTasks(d *draft, p schedule.Placement) {
	w := d.w
	if w.Kind == lifecycle.External {
		tx.putMembers(d, p)
		return
	}
	places := slices.Clone(p.Tasks)
	slices.SortStableFunc(places, func(a, b schedule.Placed) int { return cmp.Compare(a.Group, b.Group) }) // what is apart is the first task
	indexes := next(w, d.tasks, len(places))
	if numbered(w) {
		d.attempt().Next += len(places)
	}
	for i, index := range indexes {
		on := tx.e.nodes[places[i].Place.Node]
		t := core.Task{
			ID:   core.TaskID{Workload: w.ID, Attempt: w.Attempt, Index: index, Run: d.succeed(index)},
			Role: w.Spec.Role(index), Backend: on.Backend, Node: on.ID, Pool: on.Pool, Devices: places[i].Place.Devices,
			CPU: places[i].Place.CPU, Memory: places[i].Place.Memory, Counted: places[i].Place.MIG, State: core.TaskStarting, PlacedAt: tx.now, Generation: w.Generation,
		}
		t.Port = tx.portOf(d, t.Node)
		if w.Spec.Needs(index).GPU.Kind() == spec.MemoryGPU && len(t.Devices) > 0 {
			d.attempt().Part = t.Devices[0].Milli
		}
		d.setTask(t)
	}
}

// portOf is the port of a task of its own; 0: it needs none. Replicas share the
// machine, so each is given one in $PORT; only one that is always alone may
// have the port that its document names.
func (tx *tx) portOf(d *draft, on core.NodeID) int {
	w, s := d.w, d.w.Spec
	switch {
	case w.Kind == lifecycle.Inference && len(s.Ports) > 0 && tx.ownAddress(on):
		return s.Ports[0].Port
	case w.Kind == lifecycle.Inference && len(s.Ports) > 0 && w.Replicas <= 1 && s.Autoscale == nil && *s.Update.MaxSurge == 0 && !tx.portUsed(d, on, s.Ports[0].Port):
		return s.Ports[0].Port
	case w.Kind == lifecycle.Inference, s.Framework == "mpi", s.Framework == "tensorflow", s.Slurm != nil && s.Gang():
		return tx.freePort(d, on)
	default:
		return 0
	}
}

// ownAddress reports whether each task on a node has an address of its own, so
// that all may have the same port.
func (tx *tx) ownAddress(on core.NodeID) bool {
	return tx.e.D.Address != nil && tx.e.D.Address(tx.e.nodes[on].Backend, core.TaskID{}) != ""
}

// portTries bounds the search for a port that nobody has been given yet; a task
// that gets one which is in use fails and says so.
const portTries = 1000

// freePort proposes a port that nobody has been given.
func (tx *tx) freePort(d *draft, on core.NodeID) int {
	port := tx.e.D.Port()
	for range portTries {
		if !tx.portUsed(d, on, port) {
			break
		}
		port = tx.e.D.Port()
	}
	return port
}

// portUsed reports whether another task on that node, or another task of the
// same workload, has been given a port.
func (tx *tx) portUsed(d *draft, on core.NodeID, port int) bool {
	if u := tx.e.usage[on]; u != nil && u.ports[port] > 0 || d.attempt().Port == port {
		return true
	}
	for _, t := range d.tasks {
		if t.Port == port && holds(d.w, t) {
			return true
		}
	}
	return false
}

// ClusterState is the nodes with what is held of them.
type ClusterState struct {
	Nodes    []NodeState
	Pools    []PoolState
	Projects []core.Project          // departments too
	Phases   map[lifecycle.Phase]int // live workloads
	Holding  int                     // workloads that hold resources
	Waiting  int                     // workloads that wait for resources

	Commits    int64
	CommitTime time.Duration
	Entered    map[lifecycle.Phase]int64 // since the start
}

// NodeState is one node with what is held of it.
type NodeState struct {
	core.Node
	Note       string // why it takes nothing
	UsedCPU    int64
	UsedMemory int64
	Tasks      int
	Milli      map[string]int // by device ID
	Counted    map[string]int // that tasks hold of what is counted by name
}

// Cluster reads the nodes, their use and the projects.
func Cluster() Command {
	return func(tx *tx) (any, error) {
		e := tx.e
		st := &ClusterState{
			Phases: map[lifecycle.Phase]int{}, Holding: len(e.held),
			Commits: e.stats.commits, CommitTime: e.stats.spent, Entered: maps.Clone(e.stats.entered),
		}
		for _, en := range e.live {
			st.Phases[en.w.Phase]++
		}
		st.Waiting = st.Phases[lifecycle.Queued]
		st.Pools = tx.poolStates()
		st.Nodes = tx.nodeStates()
		st.Projects = slices.SortedFunc(tx.eachProject(), func(a, b core.Project) int { return cmp.Compare(a.ID, b.ID) })
		return st, nil
	}
}

// nodeStates are the nodes with what is held of them, by name.
func (tx *tx) nodeStates() []NodeState {
	var all []NodeState
	for _, id := range SortedKeys(tx.e.nodes) {
		ns := NodeState{Node: tx.e.nodes[id], Note: tx.setting(id).Note, Milli: map[string]int{}}
		if u := tx.e.usage[id]; u != nil {
			ns.UsedCPU, ns.UsedMemory, ns.Tasks, ns.Milli, ns.Counted = u.cpu, u.memory, u.tasks, maps.Clone(u.milli), maps.Clone(u.counted)
		}
		all = append(all, ns)
	}
	return all
}
