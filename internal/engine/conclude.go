package engine

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
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
	if d.w.Phase == lifecycle.Running && (c.succeeded == c.total || c.chief && cleans(d.w)) {
		if d.w.Kind == lifecycle.Workspace && d.w.Spec.Restart == "always" {
			return tx.failed(d, d.tasks[0]) // a clean exit is restarted like an error
		}
		zero := 0
		d.attempt().ExitCode = &zero
		target := lifecycle.Completed
		if d.w.Spec.Publish != nil {
			target = lifecycle.Publishing
		}
		return tx.end(d, lifecycle.Input{On: lifecycle.Succeed, Target: target}, actorBackend(c.node))
	}
	return nil
}

// cleans reports whether the success of the first task is that of the gang,
// whose other tasks are then ended.
func cleans(w *core.Workload) bool {
	return w.Spec.Gang() && (w.Spec.CleanPolicy == "running" || w.Spec.CleanPolicy == "" && (w.Spec.Framework == "mpi" || w.Spec.Slurm != nil))
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
			c.left += bit(t.State.Held())
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

// failed decides what becomes of an attempt one of whose tasks failed.
func (tx *tx) failed(d *draft, t *core.Task) error {
	a := d.attempt()
	index := t.ID.Index
	a.Culprit, a.ExitCode = &index, t.ExitCode
	reason := lifecycle.Reason(t.Reason)
	message := blame(d.w, t)
	actor := actorBackend(t.Node)
	retries := lifecycle.Input{On: lifecycle.TaskFail, To: lifecycle.Terminating, Target: lifecycle.Backoff, Reason: reason, Message: message}
	switch tx.ruled(d, t) {
	case ruleRetry:
		return tx.end(d, retries, actor)
	case ruleFail:
		in := retries
		in.Target = lifecycle.Failed
		return tx.end(d, in, actor)
	}
	in := retries
	in.Target = lifecycle.Failed
	switch {
	case systemic(t):
		in = lifecycle.Input{On: lifecycle.NodeLost, Target: lifecycle.Failed, Reason: reason, Message: message}
		if limit := d.w.Spec.Retry.System; limit == nil || d.w.SystemFailures < *limit {
			d.w.SystemFailures++
			in.Target = lifecycle.Queued
			n := d.w.SystemFailures
			if !a.RunningAt.IsZero() && tx.now.Sub(a.RunningAt) >= healthy {
				n = 1 // limits count all of a life, pauses only what comes one after another
			}
			tx.rest(d, t, n)
		}
	case reason == lifecycle.ReasonMaxDuration:
		in = lifecycle.Input{On: lifecycle.Deadline, Reason: reason, Message: message}
	case t.State == core.TaskLost:
		in = lifecycle.Input{On: lifecycle.OutcomeLost, Reason: lifecycle.ReasonOutcomeUnknown, Message: message}
	case reason == lifecycle.ReasonFailedImagePull && d.w.Phase == lifecycle.Starting:
		in = lifecycle.Input{On: lifecycle.PullFail, Reason: reason, Message: message}
	case reason == lifecycle.ReasonContainerCannot && d.w.Phase == lifecycle.Starting:
		in = lifecycle.Input{On: lifecycle.CannotRun, Reason: reason, Message: message}
	case reason == lifecycle.ReasonMountFailed && d.w.Phase == lifecycle.Starting:
		in = lifecycle.Input{On: lifecycle.MountFail, Reason: reason, Message: message}
	case d.w.Kind.Attended() && d.w.Spec.Restart != "never":
		tx.restartLater(d, t)
		d.w.Failures = d.tasks[index].Failures
		return tx.step(d, lifecycle.Input{On: lifecycle.TaskFail, To: lifecycle.Restarting, Reason: ends(t), Message: message}, actor)
	default:
		d.w.Failures++
		if d.w.Failures <= d.w.Spec.Retry.Limit {
			in.Target = lifecycle.Backoff
		}
	}
	return tx.end(d, in, actor)
}

// ends is why an attended task is started again in place.
func ends(t *core.Task) lifecycle.Reason {
	if t.ExitCode != nil && *t.ExitCode == 0 {
		return lifecycle.ReasonExited
	}
	return lifecycle.Reason(t.Reason)
}

// ruling is what a retry rule says of a failure.
type ruling int

const (
	ruleNone ruling = iota // none fits: the kind and retry.limit decide
	ruleRetry
	ruleFail
)

// ruled finds the retry rule that fits a failure and counts its use.
func (tx *tx) ruled(d *draft, t *core.Task) ruling {
	rules := d.w.Spec.Retry.Rules
	if d.w.Kind.Attended() {
		return ruleNone
	}
	for i, r := range rules {
		if !fits(r, t) {
			continue
		}
		if r.Action == "fail" {
			return ruleFail
		}
		uses := make([]int, len(rules))
		copy(uses, d.w.RuleUses)
		if r.Limit > 0 && uses[i] >= r.Limit {
			return ruleFail
		}
		if r.Action == "retry" {
			if d.w.Failures++; r.Limit == 0 && d.w.Failures > d.w.Spec.Retry.Limit {
				return ruleFail
			}
		}
		uses[i]++
		d.w.RuleUses = uses
		return ruleRetry
	}
	return ruleNone
}

// fits reports whether a retry rule is about how t failed.
func fits(r spec.RetryRule, t *core.Task) bool {
	return (len(r.ExitCodes) == 0 || t.ExitCode != nil && slices.Contains(r.ExitCodes, *t.ExitCode)) &&
		(len(r.Reasons) == 0 || slices.Contains(r.Reasons, t.Reason))
}

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
			Edition: d.w.Edition, Failures: t.Failures, State: core.TaskStarting, PlacedAt: t.PlacedAt, Stages: t.Stages,
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
