package engine

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// firstEnd is the limit that ends w first, as things stand; false: none does.
func (tx *tx) firstEnd(w *core.Workload) (decide.End, bool) {
	a := w.Attempts[len(w.Attempts)-1]
	return decide.FirstEnd(w.Kind, w.Spec, w.Project, tx.tree().Rules(w.Project), a.RunningAt, w.IdleSince)
}

// limited ends a running workload whose limit has come, or warns of it. It must
// run inside change.
func (tx *tx) limited(d *draft) (bool, error) {
	end, ok := tx.firstEnd(d.w)
	if !ok {
		return false, nil
	}
	if !end.At.After(tx.now) {
		return true, tx.end(d, lifecycle.Input{On: lifecycle.Deadline, Cause: lifecycle.CauseLimit, Reason: end.Reason(), Message: end.Message}, actorControl)
	}
	if near := end.At.Add(-end.Warning()); !near.After(tx.now) && !d.w.Warned.Equal(end.At) {
		d.w.Warned, d.near = end.At, &end
		d.condition(core.Condition{Type: lifecycle.DeadlineNear, Since: tx.now}, false)
		d.fact(lifecycle.DeadlineNear, true, tx.now, lifecycle.ConditionCause(end.Reason()), fmt.Sprintf("it will be ended at %s", end.At.UTC().Format(time.RFC3339)))
	}
	return false, nil
}

// unwarn forgets the warning of an end that may not come any more; where it
// does, it is given again.
func (d *draft) unwarn() {
	d.condition(core.Condition{Type: lifecycle.DeadlineNear}, false)
	d.w.Warned = time.Time{}
}

// Activity takes over how busy the devices of running tasks are. A workload
// all of whose devices are at rest is Idle.
func Activity(samples []backend.Sample) Command {
	return func(tx *tx) (any, error) {
		busy, seen := map[core.WorkloadID]bool{}, map[core.WorkloadID]int{}
		for _, s := range samples {
			w, tasks, ok := tx.view(s.Task.Workload)
			if t := tasks[s.Task.Index]; !ok || t == nil || t.ID != s.Task || len(t.Devices) == 0 || s.Busy < 0 {
				continue
			}
			seen[w.ID]++
			busy[w.ID] = busy[w.ID] || s.Busy > 0
		}
		for _, id := range SortedKeys(seen) {
			w, tasks, _ := tx.view(id)
			idle := w.Phase == lifecycle.Running && !busy[id] && seen[id] == withDevices(tasks)
			if idle != w.IdleSince.IsZero() {
				continue
			}
			d, _ := tx.open(id)
			err := tx.change(d, func() error {
				d.w.IdleSince = time.Time{}
				if idle {
					d.w.IdleSince = tx.now
				} else if c := d.holding(lifecycle.DeadlineNear); c != nil && c.Cause == lifecycle.ConditionCause(decide.End{Limit: decide.LimitIdle}.Reason()) {
					d.unwarn() // it has woken up in time
				}
				d.fact(lifecycle.Idle, idle, tx.now, "", "none of its GPUs does anything")
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
}

// withDevices is how many running tasks hold devices.
func withDevices(tasks map[int]*core.Task) int {
	n := 0
	for _, t := range tasks {
		if len(t.Devices) > 0 && t.State == core.TaskRunning {
			n++
		}
	}
	return n
}

// holding returns a condition that holds, or nil.
func (d *draft) holding(t lifecycle.ConditionType) *core.Condition {
	for i := range d.w.Conditions {
		if d.w.Conditions[i].Type == t {
			return &d.w.Conditions[i]
		}
	}
	return nil
}

// nodeGrace is for how long a node may be silent.
func (e *Engine) nodeGrace() time.Duration {
	if e.D.NodeGrace > 0 {
		return e.D.NodeGrace
	}
	return 5 * time.Minute
}

// Reach says whether a backend reports; what runs on one that does not is
// Unreachable until it does again, and nothing new goes there.
func Reach(backendName string, ok bool, message string) Command {
	return func(tx *tx) (any, error) {
		if err := tx.reached(backendName, ok, message); err != nil {
			return nil, err
		}
		return nil, tx.unreachable(func(t *core.Task) bool { return t.Backend == backendName }, !ok, lifecycle.BackendSilent, message)
	}
}

// unreachable sets or clears Unreachable on what has tasks there. It is not
// cleared while other tasks are on a backend that is silent, or was when a server
// before this one ended.
func (tx *tx) unreachable(there func(*core.Task) bool, on bool, cause lifecycle.ConditionCause, message string) error {
	for _, id := range SortedKeys(tx.e.held) {
		w, tasks, ok := tx.view(id)
		if !ok {
			continue
		}
		has, up, elsewhere := false, false, false
		for _, t := range tasks {
			up = up || t.State.Held()
			has = has || t.State.Held() && there(t)
			elsewhere = elsewhere || t.State.Held() && !there(t) && !tx.e.heard[t.Backend]
		}
		has = has || !on && !up // of one that has nothing up anywhere it is not true any more
		d := &draft{w: w}
		c := d.holding(lifecycle.Unreachable)
		set := c != nil && c.Cause == cause
		if !has || on == set || on && c != nil || !on && elsewhere {
			continue
		}
		d, _ = tx.open(id)
		err := tx.change(d, func() error {
			d.fact(lifecycle.Unreachable, on, tx.now, cause, message)
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
func (tx *tx) silent() error {
	down := func(t *core.Task) bool { n, ok := tx.e.nodes[t.Node]; return ok && !n.Ready }
	for _, n := range tx.e.nodes {
		if n.Ready {
			continue
		}
		there := func(t *core.Task) bool { return t.Node == n.ID }
		if err := tx.unreachable(there, true, lifecycle.NodeSilent, fmt.Sprintf("node %s is not ready: %s", n.ID, n.Message)); err != nil {
			return err
		}
	}
	for _, id := range SortedKeys(tx.e.held) {
		w, tasks, ok := tx.view(id)
		if !ok {
			continue
		}
		still := false
		for _, t := range tasks {
			still = still || t.State.Held() && down(t)
		}
		c := (&draft{w: w}).holding(lifecycle.Unreachable)
		if still || c == nil || c.Cause != lifecycle.NodeSilent {
			continue
		}
		d, _ := tx.open(id)
		if err := tx.change(d, func() error { d.fact(lifecycle.Unreachable, false, tx.now, "", ""); return nil }); err != nil {
			return err
		}
	}
	return nil
}

// nodesLost gives up tasks on nodes that have been silent for too long. It must
// run inside change.
func (tx *tx) nodesLost(d *draft) error {
	cut := ""
	for _, t := range sortedTasks(d.tasks) {
		n, ok := tx.e.nodes[t.Node]
		if !t.State.Held() || ok && n.Ready {
			continue
		}
		if s, silent := tx.e.cut[t.Backend]; silent {
			cut = s.Message
			if cut == "" {
				cut = "its backend does not answer"
			}
			continue // nobody knows how it is
		}
		c := *t
		c.State, c.EndedAt, c.Ready = core.TaskLost, tx.now, false
		c.Class, c.Reason, c.Message = lifecycle.FailureNode, string(lifecycle.ReasonNodeLost), fmt.Sprintf("node %s has not reported for %v", t.Node, tx.e.nodeGrace())
		d.setTask(c)
		tx.e.dirty = true // others of its workload may go on elsewhere
	}
	d.fact(lifecycle.Unreachable, false, tx.now, "", "")
	if cut != "" {
		d.fact(lifecycle.Unreachable, true, tx.now, lifecycle.BackendSilent, cut)
	}
	return tx.conclude(d)
}
