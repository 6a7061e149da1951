package control

import (
	"maps"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
)

// actorScheduler stands in transitions that the scheduler's plan made.
const actorScheduler = "scheduler"

// schedule runs one cycle over the draft and applies its plan to it.
func (tx *tx) schedule() {
	if len(tx.e.lanes) == 0 {
		return
	}
	plan := schedule.Cycle(tx.snapshot(false), tx.e.d.Schedule)
	for _, p := range plan.Placements {
		tx.place(p)
	}
	tx.e.dirty = false // what the plan itself changed, it has taken into account
}

// place puts the tasks of one workload where the plan says.
func (tx *tx) place(p schedule.Placement) {
	d, ok := tx.open(p.ID)
	if !ok {
		return
	}
	err := tx.change(d, func() error {
		if d.w.Phase == lifecycle.Queued {
			if err := tx.step(d, lifecycle.Input{On: lifecycle.Reserve}, actorScheduler); err != nil {
				return err
			}
			if err := tx.step(d, lifecycle.Input{On: lifecycle.Admit}, actorScheduler); err != nil {
				return err
			}
			if d.w.Spec.Gang() {
				d.attempt().Port = tx.e.d.Port()
			}
		}
		for i, index := range next(d.w, d.tasks, len(p.Tasks)) {
			d.setTask(core.Task{
				ID:   core.TaskID{Workload: d.w.ID, Attempt: d.w.Attempt, Index: index},
				Role: d.w.Spec.Role(index), Plane: tx.e.nodes[p.Tasks[i].Node].Plane, Node: p.Tasks[i].Node, Devices: p.Tasks[i].Devices,
				State: core.TaskStarting, PlacedAt: tx.now,
			})
		}
		return nil
	})
	if err != nil {
		tx.e.d.Log.Error("plan does not fit the state", "workload", p.ID, "err", err)
		return
	}
	for _, t := range sortedTasks(d.tasks) {
		if t.State == core.TaskStarting && t.PlacedAt.Equal(tx.now) {
			tx.start(d.w, t)
		}
	}
}

// Pending is why and how long a workload waits.
type Pending struct {
	schedule.Explanation
	AheadNames []string
}

// Explain answers, for each of the ids that waits, why.
func Explain(ids []core.WorkloadID) Command {
	return func(tx *tx) (any, error) {
		out := map[core.WorkloadID]Pending{}
		var snap *schedule.Snapshot
		var plan *schedule.Plan
		for _, id := range ids {
			w, _, ok := tx.view(id)
			if !ok {
				continue
			}
			switch w.Phase {
			case lifecycle.Queued:
				if snap == nil {
					snap = tx.snapshot(true)
					plan = schedule.Cycle(snap, tx.e.d.Schedule)
				}
				if ex, ok := schedule.Explain(snap, plan, tx.e.d.Schedule, id); ok {
					out[id] = Pending{Explanation: ex, AheadNames: tx.namesOf(ex.Ahead)}
				}
			case lifecycle.Inadmissible:
				token := schedule.QueueNotFound
				if _, ok := tx.project(w.Project); ok {
					token = schedule.QueueStopped
				}
				out[id] = one(schedule.Reason{Token: token, Note: w.Message})
			case lifecycle.Backoff:
				p := one(schedule.Reason{Token: schedule.RetryBackoff, Note: w.Message})
				p.EarliestStart = w.WakeAt.UnixMilli()
				out[id] = p
			}
		}
		return out, nil
	}
}

func one(r schedule.Reason) Pending {
	return Pending{Explanation: schedule.Explanation{Reasons: []schedule.Reason{r}}}
}

func (tx *tx) namesOf(ids []core.WorkloadID) []string {
	names := make([]string, 0, len(ids))
	for _, id := range ids {
		if w, _, ok := tx.view(id); ok {
			names = append(names, w.Name)
		}
	}
	return names
}

// ClusterState is the nodes with what is held of them.
type ClusterState struct {
	Nodes    []NodeState
	Projects []core.Project
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
	UsedCPU    int64
	UsedMemory int64
	Tasks      int
	Milli      map[string]int // by device ID
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
		snap := tx.snapshot(false)
		for _, n := range snap.Nodes {
			ns := NodeState{Node: n.Node, UsedCPU: n.UsedCPU, UsedMemory: n.UsedMemory, Milli: map[string]int{}}
			for i, m := range n.UsedMilli {
				ns.Milli[n.Devices[i].ID] = m
			}
			if u := e.usage[n.ID]; u != nil {
				ns.Tasks = u.tasks
			}
			st.Nodes = append(st.Nodes, ns)
		}
		for _, q := range snap.Queues {
			st.Projects = append(st.Projects, e.projects[q.ID])
		}
		return st, nil
	}
}
