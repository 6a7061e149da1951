package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// limited ends a running workload whose limit has come, or warns of it. It must
// run inside change.
func limited(tx *draft.Tx, d *draft.Draft) (bool, error) {
	end, ok := tx.FirstEnd(d.W)
	if !ok {
		return false, nil
	}
	if !end.At.After(tx.Now) {
		return true, consequence.End(tx, d, lifecycle.Input{On: lifecycle.Deadline, Cause: lifecycle.CauseLimit, Reason: end.Reason(), Message: end.Message}, draft.ActorControl)
	}
	if near := end.At.Add(-end.Warning()); !near.After(tx.Now) && !d.W.Warned.Equal(end.At) {
		d.W.Warned, d.Near = end.At, &end
		d.Condition(core.Condition{Type: lifecycle.DeadlineNear, Since: tx.Now}, false)
		d.Fact(lifecycle.DeadlineNear, true, tx.Now, lifecycle.ConditionCause(end.Reason()), fmt.Sprintf("it will be ended at %s", end.At.UTC().Format(time.RFC3339)))
	}
	return false, nil
}

// Activity takes over how busy the devices of running tasks are. A workload
// all of whose devices are at rest is Idle.
func Activity(samples []backend.Sample) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		busy, seen := map[core.WorkloadID]bool{}, map[core.WorkloadID]int{}
		for _, s := range samples {
			w, tasks, ok := tx.View(s.Task.Workload)
			if t := tasks.At(s.Task.Index); !ok || t == nil || t.ID != s.Task || len(t.Devices) == 0 || s.Busy < 0 {
				continue
			}
			seen[w.ID]++
			busy[w.ID] = busy[w.ID] || s.Busy > 0
		}
		for _, id := range slices.Sorted(maps.Keys(seen)) {
			w, tasks, _ := tx.View(id)
			idle := w.Phase == lifecycle.Running && !busy[id] && seen[id] == workload.WithDevices(tasks)
			if idle != w.IdleSince.IsZero() {
				continue
			}
			d, _ := tx.Open(id)
			err := tx.Change(d, func() error {
				d.W.IdleSince = time.Time{}
				if idle {
					d.W.IdleSince = tx.Now
				} else if c := workload.Condition(d.W, lifecycle.DeadlineNear); c != nil && c.Cause == lifecycle.ConditionCause(decide.End{Limit: decide.LimitIdle}.Reason()) {
					d.Unwarn() // it has woken up in time
				}
				d.Fact(lifecycle.Idle, idle, tx.Now, "", "none of its GPUs does anything")
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
}

// Reach says whether a backend reports; what runs on one that does not is
// Unreachable until it does again, and nothing new goes there.
func Reach(backendName string, ok bool, message string) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		if err := reached(tx, backendName, ok, message); err != nil {
			return nil, err
		}
		return nil, unreachable(tx, func(t *core.Task) bool { return t.Backend == backendName }, !ok, lifecycle.BackendSilent, message)
	}
}

// unreachable sets or clears Unreachable on what has tasks there. It is not
// cleared while other tasks are on a backend that is silent, or was when a server
// before this one ended.
func unreachable(tx *draft.Tx, there func(*core.Task) bool, on bool, cause lifecycle.ConditionCause, message string) error {
	for _, id := range slices.Sorted(maps.Keys(tx.State.Held)) {
		w, tasks, ok := tx.View(id)
		if !ok {
			continue
		}
		has, up, elsewhere := false, false, false
		for _, t := range tasks.Open() {
			up = up || t.State.Held()
			has = has || t.State.Held() && there(t)
			elsewhere = elsewhere || t.State.Held() && !there(t) && !tx.State.Connected[t.Backend]
		}
		has = has || !on && !up // of one that has nothing up anywhere it is not true any more
		c := workload.Condition(w, lifecycle.Unreachable)
		set := c != nil && c.Cause == cause
		if !has || on == set || on && c != nil || !on && elsewhere {
			continue
		}
		d, _ := tx.Open(id)
		err := tx.Change(d, func() error {
			d.Fact(lifecycle.Unreachable, on, tx.Now, cause, message)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// silent marks what runs on nodes that are not ready, and clears what runs on
// those that are again.
func silent(tx *draft.Tx) error {
	down := func(t *core.Task) bool { n, ok := tx.State.Nodes[t.Node]; return ok && !n.Ready }
	for _, n := range tx.State.Nodes {
		if n.Ready {
			continue
		}
		there := func(t *core.Task) bool { return t.Node == n.ID }
		if err := unreachable(tx, there, true, lifecycle.NodeSilent, fmt.Sprintf("node %s is not ready: %s", n.ID, n.Message)); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(tx.State.Held)) {
		w, tasks, ok := tx.View(id)
		if !ok {
			continue
		}
		still := false
		for _, t := range tasks.Open() {
			still = still || t.State.Held() && down(t)
		}
		c := workload.Condition(w, lifecycle.Unreachable)
		if still || c == nil || c.Cause != lifecycle.NodeSilent {
			continue
		}
		d, _ := tx.Open(id)
		if err := tx.Change(d, func() error { d.Fact(lifecycle.Unreachable, false, tx.Now, "", ""); return nil }); err != nil {
			return err
		}
	}
	return nil
}

// nodesLost gives up tasks on nodes that have been silent for too long. It must
// run inside change.
func nodesLost(tx *draft.Tx, d *draft.Draft) error {
	cut := ""
	for _, t := range workload.SortedTasks(d.Tasks) {
		n, ok := tx.State.Nodes[t.Node]
		if !t.State.Held() || ok && n.Ready {
			continue
		}
		if s, silent := tx.State.Cut[t.Backend]; silent {
			cut = s.Message
			if cut == "" {
				cut = "its backend does not answer"
			}
			continue // nobody knows how it is
		}
		c := *t
		c.State, c.EndedAt, c.Ready = core.TaskLost, tx.Now, false
		c.Class, c.Reason, c.Message = lifecycle.FailureNode, string(lifecycle.ReasonNodeLost), fmt.Sprintf("node %s has not reported for %v", t.Node, tx.State.NodeGrace())
		d.SetTask(c)
		tx.State.Dirty = true // others of its workload may go on elsewhere
	}
	d.Fact(lifecycle.Unreachable, false, tx.Now, "", "")
	if cut != "" {
		d.Fact(lifecycle.Unreachable, true, tx.Now, lifecycle.BackendSilent, cut)
	}
	return consequence.Conclude(tx, d)
}

// reached takes over whether a backend answers. Nothing new is placed on one that
// does not.
func reached(tx *draft.Tx, name string, ok bool, message string) error {
	was, cut := tx.State.Cut[name]
	tx.State.Connected[name] = ok
	switch {
	case ok && !cut:
		return nil
	case ok:
		delete(tx.State.Cut, name)
	case cut:
		tx.State.Cut[name] = draft.Silence{Since: was.Since, Message: message}
		return nil
	default:
		tx.State.Cut[name] = draft.Silence{Since: tx.Now, Message: message}
	}
	var ids []core.NodeID
	for id, n := range tx.State.Reported {
		if n.Backend == name {
			ids = append(ids, id)
		}
	}
	tx.SurveyOf(ids)
	if !ok {
		return nil
	}
	return handed(tx) // of some it may be known only now that they never fit
}
