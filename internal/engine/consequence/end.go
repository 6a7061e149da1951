package consequence

import (
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// End applies an event that ends the present attempt, tells what runs to end,
// and goes on to the target when nothing does. It must run inside change.
func End(tx *draft.Tx, d *draft.Draft, in lifecycle.Input, actor string) error {
	return EndWithin(tx, d, in, actor, nil)
}

// EndWithin is End with another grace than the own one of the workload.
func EndWithin(tx *draft.Tx, d *draft.Draft, in lifecycle.Input, actor string, within *time.Duration) error {
	if err := tx.Step(d, in, actor); err != nil {
		return err
	}
	if d.W.Phase == lifecycle.Deleting {
		tx.Actions = append(tx.Actions, draft.Action{Kind: draft.ActDeleteLogs, Workload: d.W.ID})
	}
	if d.W.Phase != lifecycle.Terminating {
		return nil
	}
	d.ClearConditions()
	d.W.EndGrace = 0
	g := d.W.Grace()
	if within != nil {
		g, d.W.EndGrace = *within, *within
	}
	for _, t := range workload.SortedTasks(d.Tasks) {
		if t.State.Held() {
			c := *t
			c.State = core.TaskStopping
			d.SetTask(c)
			tx.Stop(&c, g)
		}
	}
	return release(tx, d)
}

// release gives the resources back once no task of the attempt is left.
func release(tx *draft.Tx, d *draft.Draft) error {
	for _, t := range d.Tasks.Open() {
		if t.State.Held() {
			return nil
		}
	}
	if err := tx.Step(d, lifecycle.Input{On: lifecycle.Release}, draft.ActorControl); err != nil {
		return err
	}
	if who := d.W.Again; who != "" && workload.Restartable(d.W) {
		return Again(tx, d, lifecycle.Input{On: lifecycle.Restart, Reason: lifecycle.ReasonRestartedByUser, Message: "as it was told while it ended"}, who)
	}
	switch p := d.W.Phase; {
	case p == lifecycle.Deleting:
		tx.Actions = append(tx.Actions, draft.Action{Kind: draft.ActDeleteLogs, Workload: d.W.ID})
	case p == lifecycle.Publishing:
		tx.Operation(draft.Operation{Kind: draft.OperationPublish, Workload: d.W})
	case p.InQueue():
		if todo := d.Attempt().Todo; todo != nil && len(todo) == 0 {
			return NothingLeft(tx, d)
		}
	}
	return QueuedAgain(tx, d)
}

// NothingLeft ends an array whose last tasks succeeded while they were being
// ended for another's sake: there is nothing to queue for.
func NothingLeft(tx *draft.Tx, d *draft.Draft) error {
	if d.W.Phase == lifecycle.Queued {
		if err := tx.Step(d, lifecycle.Input{On: lifecycle.Reserve, Message: "all its tasks have succeeded"}, draft.ActorControl); err != nil {
			return err
		}
	}
	if err := tx.Step(d, lifecycle.Input{On: lifecycle.Admit, Message: "all its tasks have succeeded"}, draft.ActorControl); err != nil {
		return err
	}
	return Conclude(tx, d)
}

// QueuedAgain takes a workload that came back to its queue out of it where the
// queue has been closed meanwhile.
func QueuedAgain(tx *draft.Tx, d *draft.Draft) error {
	if !d.W.Phase.InQueue() {
		return nil
	}
	why, note := ClosedTo(tx, d.W)
	if why == QueueOpen {
		return StartEmpty(tx, d)
	}
	return tx.Step(d, lifecycle.Input{On: lifecycle.QueueClosed, Reason: why.reason(), Message: note}, draft.ActorControl)
}

// Remove ends a workload and has its logs deleted. It must run inside change.
func Remove(tx *draft.Tx, d *draft.Draft, why lifecycle.Reason, message, actor string) error {
	in := lifecycle.Input{On: lifecycle.Delete, Reason: why, Message: message}
	if actor != draft.ActorControl {
		in.Cause = lifecycle.CauseStop
	}
	return End(tx, d, in, actor)
}

// Again begins a workload that has ended anew. It must run inside change.
func Again(tx *draft.Tx, d *draft.Draft, in lifecycle.Input, actor string) error {
	if err := tx.Step(d, in, actor); err != nil {
		return err
	}
	anew(d)
	return Gate(tx, d)
}

// AgainHeld is Again for what is held at once, and waits for whoever lets it go. It must
// run inside change.
func AgainHeld(tx *draft.Tx, d *draft.Draft, in lifecycle.Input, actor string, h *core.Hold) error {
	if err := tx.Step(d, in, actor); err != nil {
		return err
	}
	anew(d)
	d.W.Hold = h
	return Gate(tx, d)
}

// AgainOnly begins an array that has ended anew for some of its tasks; those that were
// stopped stay so. It must run inside change.
func AgainOnly(tx *draft.Tx, d *draft.Draft, in lifecycle.Input, actor string, tasks, stopped []int) error {
	if err := tx.Step(d, in, actor); err != nil {
		return err
	}
	d.Attempt().Todo = tasks
	anew(d)
	d.W.Canceled = stopped
	return Gate(tx, d)
}

// anew forgets what a workload has come to that begins once more.
func anew(d *draft.Draft) {
	d.W.Failures, d.W.SystemFailures = 0, 0
	d.W.Course = core.Course{
		As: d.W.As, Bounds: d.W.Bounds, Image: d.W.Image, Generation: d.W.Generation, ServicePort: d.W.ServicePort, Replicas: workload.FirstReplicas(d.W.Spec),
		Checkpoint: d.W.Checkpoint, Metadata: d.W.Metadata, // the work may go on from there
	}
}
