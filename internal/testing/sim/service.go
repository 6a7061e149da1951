package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
)

// counted reports whether a replica is one of those that the service has: it is
// there, or ended and will be started again in its place.
func counted(t *core.Task) bool { return !t.Leaving && (t.State.Held() || !t.RestartAt.IsZero()) }

// replicas: there are never more than are wanted and may be surplus, and the
// engine takes none away that is needed to serve.
func (o *watch) replicas(c draft.Change) error {
	w := c.Workload
	if w.Kind != lifecycle.Inference || !w.Phase.Held() || w.Phase == lifecycle.Terminating {
		return nil
	}
	here, ready, fresh, old, gone := 0, 0, 0, 0, false
	for _, t := range c.Tasks {
		was := o.before[t.ID]
		gone = gone || t.Leaving && !was.Leaving && was.Ready && o.w.signals.well[t.ID] && t.State == core.TaskStopping
		if t.Ready && (t.State != core.TaskRunning || t.Leaving) {
			return fmt.Errorf("replica %s is %s (leaving: %v) and ready", t.ID, t.State, t.Leaving)
		}
		if !counted(t) {
			continue
		}
		here++
		if t.Ready {
			ready++
		}
		if t.Generation == w.Generation && !t.Away {
			fresh++
		} else {
			old++
		}
	}
	u := w.Spec.Update
	if fresh > w.Replicas {
		return fmt.Errorf("%d replicas of its generation, %d are wanted", fresh, w.Replicas)
	}
	if most := w.Replicas + *u.MaxSurge; fresh > 0 && here > most && old == 0 {
		return fmt.Errorf("%d replicas, at most %d may be there", here, most)
	}
	least := w.Replicas - *u.MaxUnavailable
	if was, known := o.least[w.ID]; known && was < least { // it may have been taken away, as by a drain, before users asked for more
		least = was
	}
	if gone && ready < least && !rescaled(c) && !*w.Spec.Preemptible { // else others may have claimed its place
		return fmt.Errorf("a replica was taken away while %d are ready and %d must be", ready, least)
	}
	return o.surge(c, here)
}

// rescaled reports whether users have changed the service twice in one commit:
// what was too many by the first may be missing by the second.
func rescaled(c draft.Change) bool {
	n := 0
	for _, t := range c.Transitions {
		n += bit(t.Event == lifecycle.Scale)
	}
	return n > 1
}

// surge: a change that makes replicas stays within what may be surplus.
func (o *watch) surge(c draft.Change, here int) error {
	made := false
	for _, t := range c.Tasks {
		_, known := o.before[t.ID]
		made = made || !known
	}
	if most := c.Workload.Replicas + *c.Workload.Spec.Update.MaxSurge; made && here > most {
		return fmt.Errorf("replicas were made, %d are there, and at most %d may be", here, most)
	}
	return nil
}

// ports: no two living tasks of one workload listen on the same one.
func (o *watch) ports(c draft.Change) error {
	by := map[int]core.TaskID{}
	for _, t := range c.Tasks {
		if t.Port == 0 || t.ID.Attempt != c.Workload.Attempt || !(t.State.Held() || !t.RestartAt.IsZero()) {
			continue
		}
		if other, taken := by[t.Port]; taken {
			return fmt.Errorf("tasks %s and %s both have port %d", other, t.ID, t.Port)
		}
		by[t.Port] = t.ID
	}
	return nil
}

// preempted (I7): what must not be preempted is not, unless its whole project
// is emptied by its administrator.
func (o *watch) preempted(c draft.Change) error {
	was := o.yields[c.Workload.ID]
	o.yields[c.Workload.ID] = *c.Workload.Spec.Preemptible
	if was {
		return nil // perhaps its document says otherwise since the same commit
	}
	for _, t := range c.Transitions {
		if t.Event == lifecycle.Preempt && !*c.Workload.Spec.Preemptible {
			tree, err := o.tree()
			if err != nil {
				return err
			}
			if mode, _ := tree.Stopped(c.Workload.Project); mode == core.StopHoldAndDrain {
				continue
			}
			return fmt.Errorf("I7: it is not preemptible and %s preempted it", t.Actor)
		}
	}
	return nil
}

// conditions: each holds while it is true, and none outlives its attempt.
func (o *watch) conditions(c draft.Change) error {
	w := c.Workload
	has := map[lifecycle.ConditionType]core.Condition{}
	for _, k := range w.Conditions {
		if _, twice := has[k.Type]; twice {
			return fmt.Errorf("condition %s holds twice", k.Type)
		}
		has[k.Type] = k
	}
	if !w.Phase.Held() {
		if len(has) > 0 {
			return fmt.Errorf("it is %s with the conditions %+v", w.Phase, w.Conditions)
		}
		return nil
	}
	want := map[lifecycle.ConditionType]bool{lifecycle.Idle: !w.IdleSince.IsZero()}
	if w.Kind == lifecycle.Inference && w.Phase != lifecycle.Terminating {
		here, going, ready, old := 0, 0, 0, 0
		for _, t := range c.Tasks {
			going += bit(t.Leaving && t.State.Held())
			if counted(t) {
				here += bit(t.State != core.TaskStarting || t.Restarts > 0)
				old += bit(t.Generation != w.Generation)
				ready += bit(t.Ready)
			}
		}
		want[lifecycle.Updating] = old > 0
		want[lifecycle.Scaling] = old == 0 && (here != w.Replicas || going > 0)
		want[lifecycle.Degraded] = w.Phase == lifecycle.Running && ready < w.Replicas
	}
	if w.Phase != lifecycle.Terminating {
		want[lifecycle.Scaling] = want[lifecycle.Scaling] || w.Spec.Elastic() && moving(c)
		want[lifecycle.Degraded] = want[lifecycle.Degraded] || w.Spec.Array != nil && slices.ContainsFunc(c.Tasks, func(t *core.Task) bool { return t.Again || t.Leaving && t.State.Held() })
	}
	if has[lifecycle.Degraded].Reason == "TasksLost" { // how it came to lack some only its history tells
		up := 0
		for _, t := range c.Tasks {
			up += bit(counted(t) && t.State == core.TaskRunning)
		}
		want[lifecycle.Degraded] = w.Spec.Elastic() && up < w.Spec.Size()
	}
	for _, t := range []lifecycle.ConditionType{lifecycle.Idle, lifecycle.Updating, lifecycle.Scaling, lifecycle.Degraded} {
		k, holds := has[t]
		if holds && k.Reason == "Stuck" && w.Phase == lifecycle.Terminating {
			continue
		}
		if holds != want[t] {
			return fmt.Errorf("in %s condition %s holds: %v; it should: %v (%+v)", w.Phase, t, holds, want[t], w.Counts)
		}
	}
	return o.warned(w, has)
}

// warned: DeadlineNear holds only while an end is near.
func (o *watch) warned(w *core.Workload, has map[lifecycle.ConditionType]core.Condition) error {
	k, holds := has[lifecycle.DeadlineNear]
	if !holds {
		return nil
	}
	for _, e := range o.ends(w) {
		// By the clock as it was then, too: a restarted server's may be behind.
		if near := e.at.Add(-min(e.length/10, 10*time.Minute)); !near.After(o.w.clock()) || !near.After(k.Since) {
			return nil
		}
	}
	return fmt.Errorf("in %s it says that its end is near (%s), and none is", w.Phase, k.Message)
}

type limit struct {
	at     time.Time
	length time.Duration
}

// ends are the limits of a workload that runs.
func (o *watch) ends(w *core.Workload) []limit {
	if w.Bounds == nil {
		o.w.fail("workload %s has not kept what its project demanded", w.Name)
		return nil
	}
	var all []limit
	add := func(from time.Time, d time.Duration) {
		if d > 0 && !from.IsZero() {
			all = append(all, limit{from.Add(d), d})
		}
	}
	running := w.Attempts[len(w.Attempts)-1].RunningAt
	add(running, time.Duration(w.Spec.MaxDuration))
	add(running, w.Bounds.TimeLimit)
	add(w.IdleSince, time.Duration(w.Spec.IdleLimit))
	add(w.IdleSince, w.Bounds.Idle(w.Spec.Preemptible != nil && *w.Spec.Preemptible))
	return slices.Clip(all)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// moving reports whether an elastic gang is on its way to another size.
func moving(c draft.Change) bool {
	return slices.ContainsFunc(c.Tasks, func(t *core.Task) bool {
		return t.State.Held() && (t.Leaving || t.State == core.TaskStarting && c.Workload.Phase == lifecycle.Running) || !t.Leaving && !t.RestartAt.IsZero()
	})
}
