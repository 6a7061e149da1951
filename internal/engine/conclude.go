package engine

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// conclude draws what follows for the workload from the states of its tasks.
// It must run inside change.
func (tx *tx) conclude(d *draft) error {
	switch {
	case d.w.Phase == lifecycle.Terminating:
		return tx.release(d)
	case d.w.Kind == lifecycle.External:
		return tx.concludeExternal(d)
	case !d.w.Phase.Held():
		return nil
	case d.w.Kind == lifecycle.Inference:
		return tx.balance(d)
	case d.w.Phase == lifecycle.Restarting:
		return nil
	}
	if d.w.Spec.Elastic() {
		if err := tx.regroup(d); err != nil || d.w.Phase == lifecycle.Terminating || !d.w.Phase.Held() {
			return err
		}
	}
	if d.w.Spec.Array != nil {
		if over, err := tx.comeBack(d); over || err != nil {
			return err
		}
	}
	c := count(d)
	// First what came first: a task may start and end between two looks.
	if d.w.Phase == lifecycle.Starting && c.ready {
		if err := tx.step(d, lifecycle.Input{On: lifecycle.AllReady}, actorBackend(c.node)); err != nil {
			return err
		}
	}
	if c.bad != nil && (!c.independent || c.left == 0) {
		return tx.failed(d, c.bad)
	}
	if d.w.Phase == lifecycle.Running && decide.Succeeds(d.w.Spec, c.succeeded, c.total, c.chief) {
		if d.w.Kind == lifecycle.Workspace && d.w.Spec.Restart == "always" {
			return tx.failed(d, d.tasks[0]) // a clean exit is restarted like an error
		}
		zero := 0
		d.attempt().ExitCode = &zero
		return tx.end(d, lifecycle.Input{On: lifecycle.Succeed, Target: decide.AfterSuccess(d.w.Spec)}, actorBackend(c.node))
	}
	return nil
}

// tally is what the tasks of an attempt add up to.
type tally struct {
	independent bool
	total       int
	left        int // not ended, or not even placed
	succeeded   int
	chief       bool       // the first task has succeeded
	ready       bool       // everything that must have started has
	bad         *core.Task // the first that failed or was lost
	node        core.NodeID
}

func count(d *draft) tally {
	c := tally{independent: d.w.Spec.Array != nil, total: total(d.w)}
	elastic := d.w.Spec.Elastic()
	if elastic {
		c.total = len(ranks(d.tasks))
	}
	started, first, placed := 0, -1, 0
	for index, t := range d.tasks {
		if t.Again {
			continue // it waits, like those that were never placed
		}
		if d.w.TaskCanceled(index) { // nothing follows from it
			c.left += core.Bit(t.State.Held())
			continue
		}
		placed++
		if elastic && (t.Leaving || t.State.Ended() && !t.RestartAt.IsZero()) {
			continue // it is none of the ranks, or will be one again
		}
		if first < 0 || index < first {
			first, c.node = index, t.Node
		}
		switch t.State {
		case core.TaskRunning, core.TaskStopping:
			started++
		case core.TaskSucceeded:
			started++
			c.succeeded++
			c.chief = c.chief || index == 0
		case core.TaskFailed, core.TaskLost:
			if c.bad == nil || t.EndedAt.Before(c.bad.EndedAt) || t.EndedAt.Equal(c.bad.EndedAt) && t.ID.Index < c.bad.ID.Index {
				c.bad = t
			}
			if !t.StartedAt.IsZero() {
				started++
			}
		}
		if t.State.Held() {
			c.left++
		}
	}
	if !elastic {
		c.left += c.total - placed
	}
	c.ready = started >= c.total || c.independent && started > 0
	return c
}

// failed carries out what follows for an attempt one of whose tasks failed.
func (tx *tx) failed(d *draft, t *core.Task) error {
	a := d.attempt()
	index := t.ID.Index
	a.Culprit, a.ExitCode = &index, t.ExitCode
	had := decide.Counts{Failures: d.w.Failures, System: d.w.SystemFailures, Rules: d.w.RuleUses}
	out := decide.AfterFailure(d.w.Kind, d.w.Spec, d.w.Phase, had, failureOf(t))
	d.w.Failures, d.w.SystemFailures, d.w.RuleUses = out.Counts.Failures, out.Counts.System, out.Counts.Rules
	if out.Pause {
		tx.rest(d, t, decide.InRow(d.w.SystemFailures, since(a.RunningAt, tx.now)))
	}
	in := out.Input
	in.Reason, in.Message = lifecycle.Reason(t.Reason), blame(d.w, t)
	if in.On == lifecycle.OutcomeLost {
		in.Reason = lifecycle.ReasonOutcomeUnknown
	}
	if out.InPlace {
		tx.restartLater(d, t)
		d.w.Failures, in.Reason = d.tasks[index].Failures, ends(t)
		return tx.step(d, in, actorBackend(t.Node))
	}
	return tx.end(d, in, actorBackend(t.Node))
}

// failureOf is how t failed, as far as that decides anything.
func failureOf(t *core.Task) decide.Failure {
	return decide.Failure{Class: t.Class, Lost: t.State == core.TaskLost, ExitCode: t.ExitCode}
}

// since is how long it is since then; zero: that has not been.
func since(then, now time.Time) time.Duration {
	if then.IsZero() {
		return 0
	}
	return now.Sub(then)
}

// ends is why an attended task is started again in place.
func ends(t *core.Task) lifecycle.Reason {
	if exited(t) {
		return lifecycle.ReasonExited
	}
	return lifecycle.Reason(t.Reason)
}

// exited reports whether t has ended by itself without an error.
func exited(t *core.Task) bool { return t.ExitCode != nil && *t.ExitCode == 0 }

// blame is one sentence on which task failed and how.
func blame(w *core.Workload, t *core.Task) string {
	who := "its task"
	if w.Spec.Size() > 1 {
		who = fmt.Sprintf("%s %d on %s", t.Role, t.ID.Index, t.Node)
	}
	switch {
	case t.State == core.TaskLost:
		return who + " was lost: " + t.Message
	case t.Message != "":
		return who + " failed: " + t.Message
	case t.Signal != 0:
		return fmt.Sprintf("%s was ended by signal %d", who, t.Signal)
	case t.ExitCode != nil:
		return fmt.Sprintf("%s exited with code %d", who, *t.ExitCode)
	default:
		return who + " failed"
	}
}

// restartInPlace starts tasks of an attended workload again where they were,
// each once its back-off is over. It must run inside change.
func (tx *tx) restartInPlace(d *draft) error {
	due := false
	for _, t := range sortedTasks(d.tasks) {
		if t.RestartAt.IsZero() || t.RestartAt.After(tx.now) {
			continue
		}
		if !due && d.w.Phase == lifecycle.Restarting {
			if err := tx.step(d, lifecycle.Input{On: lifecycle.BackoffOver}, actorControl); err != nil {
				return err
			}
		}
		due = true
		again := core.Task{
			ID: t.ID, Role: t.Role, Backend: t.Backend, Node: t.Node, Pool: t.Pool, Devices: t.Devices, CPU: t.CPU, Memory: t.Memory, Counted: t.Counted, Port: t.Port,
			Generation: d.w.Generation, Failures: t.Failures, State: core.TaskStarting, PlacedAt: t.PlacedAt, Stages: t.Stages,
			RestartedAt: tx.now, Restarts: t.Restarts + 1, SeenAt: t.SeenAt, FormerAt: t.SeenAt,
		}
		d.setTask(again)
		tx.forget(tx.backendOf(t), t.ID)
		tx.start(d.w, &again)
	}
	if d.w.Kind == lifecycle.Inference {
		return tx.balance(d)
	}
	return nil
}
