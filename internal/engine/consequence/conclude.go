package consequence

import (
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Conclude draws what follows for the workload from the states of its tasks.
// It must run inside change.
func Conclude(tx *draft.Tx, d *draft.Draft) error {
	switch {
	case d.W.Phase == lifecycle.Terminating:
		return release(tx, d)
	case d.W.Kind.Foreign():
		return concludeExternal(tx, d)
	case !d.W.Phase.Held():
		return nil
	case d.W.Kind.Replicated():
		return balance(tx, d)
	case d.W.Phase == lifecycle.Restarting:
		return nil
	}
	if d.W.Spec.Elastic() {
		if err := regroup(tx, d); err != nil || d.W.Phase == lifecycle.Terminating || !d.W.Phase.Held() {
			return err
		}
	}
	if d.W.Spec.Array != nil {
		if over, err := comeBack(tx, d); over || err != nil {
			return err
		}
	}
	c := count(d)
	// First what came first: a task may start and end between two looks.
	if d.W.Phase == lifecycle.Starting && c.ready {
		if err := tx.Step(d, lifecycle.Input{On: lifecycle.AllReady}, actorBackend(c.node)); err != nil {
			return err
		}
	}
	if c.bad != nil && (!c.independent || c.left == 0) {
		return failed(tx, d, c.bad)
	}
	if d.W.Phase == lifecycle.Running && decide.Succeeds(d.W.Spec, c.succeeded, c.total, c.chief) {
		if d.W.Kind.Interactive() && d.W.Spec.Restart == "always" {
			return failed(tx, d, d.Tasks.At(0)) // a clean exit is restarted like an error
		}
		zero := 0
		d.Attempt().ExitCode = &zero
		return End(tx, d, lifecycle.Input{On: lifecycle.Succeed, Target: decide.AfterSuccess(d.W.Spec)}, actorBackend(c.node))
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

func count(d *draft.Draft) tally {
	c := tally{independent: d.W.Spec.Array != nil, total: workload.Total(d.W)}
	elastic := d.W.Spec.Elastic()
	if elastic {
		c.total = len(workload.Ranks(d.Tasks))
	}
	tasks, started, first, placed := d.Tasks.All(), 0, -1, 0
	if c.independent {
		// Of an array all may have ended but a few: what is finished is only added up.
		sum := d.Tasks.Sum(d.W)
		tasks, started, placed = d.Tasks.Open(), sum.Succeeded+sum.Started, sum.Count
		c.succeeded, c.bad = sum.Succeeded, d.Tasks.FirstFailed(d.W)
		for index, t := range d.Tasks.Finished() {
			if !d.W.TaskCanceled(index) {
				first, c.node, c.chief = index, t.Node, index == 0 && t.State == core.TaskSucceeded
				break
			}
		}
	}
	for index, t := range tasks {
		if t.Again {
			continue // it waits, like those that were never placed
		}
		if d.W.TaskCanceled(index) { // nothing follows from it
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
			if workload.FailedBefore(t, c.bad) {
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
func failed(tx *draft.Tx, d *draft.Draft, t *core.Task) error {
	a := d.Attempt()
	index := t.ID.Index
	a.Culprit, a.ExitCode = &index, t.ExitCode
	had := decide.Counts{Failures: d.W.Failures, System: d.W.SystemFailures, Rules: d.W.RuleUses}
	out := decide.AfterFailure(d.W.Kind, d.W.Spec, d.W.Phase, had, workload.FailureOf(t))
	d.W.Failures, d.W.SystemFailures, d.W.RuleUses = out.Counts.Failures, out.Counts.System, out.Counts.Rules
	if out.Pause {
		rest(tx, d, t, decide.InRow(d.W.SystemFailures, workload.Since(a.RunningAt, tx.Now)))
	}
	in := out.Input
	in.Reason, in.Message = lifecycle.Reason(t.Reason), workload.Blame(d.W, t)
	if in.On == lifecycle.OutcomeLost {
		in.Reason = lifecycle.ReasonOutcomeUnknown
	}
	if out.InPlace {
		restartLater(tx, d, t)
		d.W.Failures, in.Reason = d.Tasks.At(index).Failures, workload.WhyRestarted(t)
		return tx.Step(d, in, actorBackend(t.Node))
	}
	return End(tx, d, in, actorBackend(t.Node))
}

// RestartInPlace starts tasks of an attended workload again where they were,
// each once its back-off is over. It must run inside change.
func RestartInPlace(tx *draft.Tx, d *draft.Draft) error {
	due := false
	for _, t := range workload.SortedTasks(d.Tasks) {
		if t.RestartAt.IsZero() || t.RestartAt.After(tx.Now) {
			continue
		}
		if !due && d.W.Phase == lifecycle.Restarting {
			if err := tx.Step(d, lifecycle.Input{On: lifecycle.BackoffOver}, draft.ActorControl); err != nil {
				return err
			}
		}
		due = true
		again := core.Task{
			ID: t.ID, Role: t.Role, Backend: t.Backend, Node: t.Node, Pool: t.Pool, Devices: t.Devices, Product: t.Product, CPU: t.CPU, Memory: t.Memory, Counted: t.Counted, Port: t.Port,
			Generation: d.W.Generation, Failures: t.Failures, State: core.TaskStarting, PlacedAt: t.PlacedAt, Stages: t.Stages,
			RestartedAt: tx.Now, Restarts: t.Restarts + 1, SeenAt: t.SeenAt, FormerAt: t.SeenAt,
		}
		d.SetTask(again)
		tx.Forget(tx.BackendOf(t), t.ID)
		tx.Start(d.W, &again)
	}
	if d.W.Kind.Replicated() {
		return balance(tx, d)
	}
	return nil
}

func actorBackend(node core.NodeID) string { return "backend:" + string(node) }

// What the backend takes away or refuses (a drained node, a quota of the cluster,
// a policy of others) is no failure of the work: it is placed again. But where
// nothing of the place has changed meanwhile the same would happen at once, so
// that there is a pause before, which grows.

// rest keeps d from being placed for a while because the backend would not have t,
// or not any more, for the nth time. After the loss of a node there is no need:
// the others are as good as ever.
func rest(tx *draft.Tx, d *draft.Draft, t *core.Task, n int) {
	if !workload.TakenAway(t) {
		return
	}
	at := tx.Now.Add(decide.SystemWait(d.W.ID, d.W.Spec.Retry, n, !t.StartedAt.IsZero())).Truncate(time.Microsecond)
	if at.After(d.W.AskAt) {
		d.W.AskAt = at
	}
}

// Spared has no more tasks placed beside those that run where the backend has just
// refused one or taken one away. It must run inside change.
func Spared(tx *draft.Tx, d *draft.Draft, t *core.Task) {
	// Counting refusals looks at all tasks, of which an array may have very many:
	// only where there was one.
	if workload.TakenAway(t) && (workload.Grows(d.W) || d.W.Spec.Elastic()) {
		rest(tx, d, t, workload.Refusals(d.Tasks))
	}
}
