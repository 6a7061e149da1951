package engine

import (
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// StopRequest ends a workload and keeps its definition.
type StopRequest struct {
	Ref     Ref
	Actor   string
	Message string
	Grace   *time.Duration // instead of the workload's own
}

// Stop ends a workload; the value is the workload. One that is being stopped
// already, or has ended, is refused with its phase.
func Stop(r StopRequest) Command {
	return func(tx *tx) (any, error) {
		d, err := tx.find(r.Ref)
		if err != nil {
			return nil, err
		}
		in := lifecycle.Input{On: lifecycle.Stop, Cause: lifecycle.CauseStop, Reason: lifecycle.ReasonStoppedByUser, Message: r.Message}
		if d.w.Again != "" { // it ends as it would have, and stays so
			return d.w, tx.change(d, func() error { d.w.Again = ""; return nil })
		}
		if _, err := lifecycle.Next(d.w.State, in); err != nil {
			return nil, illegal(d.w.Name, err)
		}
		err = tx.change(d, func() error { return tx.endWithin(d, in, r.Actor, r.Grace) })
		return d.w, err
	}
}

// end applies an event that ends the present attempt, tells what runs to end,
// and goes on to the target when nothing does. It must run inside change.
func (tx *tx) end(d *draft, in lifecycle.Input, actor string) error {
	return tx.endWithin(d, in, actor, nil)
}

func (tx *tx) endWithin(d *draft, in lifecycle.Input, actor string, within *time.Duration) error {
	if err := tx.step(d, in, actor); err != nil {
		return err
	}
	if d.w.Phase == lifecycle.Deleting {
		tx.actions = append(tx.actions, Action{Kind: ActDeleteLogs, Workload: d.w.ID})
	}
	if d.w.Phase != lifecycle.Terminating {
		return nil
	}
	d.calm()
	d.w.EndGrace = 0
	g := d.w.Grace()
	if within != nil {
		g, d.w.EndGrace = *within, *within
	}
	for _, t := range sortedTasks(d.tasks) {
		if t.State.Held() {
			c := *t
			c.State = core.TaskStopping
			d.setTask(c)
			tx.stop(&c, g)
		}
	}
	return tx.release(d)
}

// release gives the resources back once no task of the attempt is left.
func (tx *tx) release(d *draft) error {
	for _, t := range d.tasks {
		if t.State.Held() {
			return nil
		}
	}
	if err := tx.step(d, lifecycle.Input{On: lifecycle.Release}, actorControl); err != nil {
		return err
	}
	if who := d.w.Again; who != "" && Restartable(d.w) {
		return tx.again(d, lifecycle.Input{On: lifecycle.Restart, Reason: lifecycle.ReasonRestartedByUser, Message: "as it was told while it ended"}, who)
	}
	switch d.w.Phase {
	case lifecycle.Deleting:
		tx.actions = append(tx.actions, Action{Kind: ActDeleteLogs, Workload: d.w.ID})
	case lifecycle.Publishing:
		tx.operation(Operation{Kind: OperationPublish, Workload: d.w})
	case lifecycle.Queued, lifecycle.Reserved:
		if todo := d.attempt().Todo; todo != nil && len(todo) == 0 {
			return tx.nothingLeft(d)
		}
	}
	return tx.queuedAgain(d)
}

// nothingLeft ends an array whose last tasks succeeded while they were being
// ended for another's sake: there is nothing to queue for.
func (tx *tx) nothingLeft(d *draft) error {
	if d.w.Phase == lifecycle.Queued {
		if err := tx.step(d, lifecycle.Input{On: lifecycle.Reserve, Message: "all its tasks have succeeded"}, actorControl); err != nil {
			return err
		}
	}
	if err := tx.step(d, lifecycle.Input{On: lifecycle.Admit, Message: "all its tasks have succeeded"}, actorControl); err != nil {
		return err
	}
	return tx.conclude(d)
}

// queuedAgain takes a workload that came back to its queue out of it where the
// queue has been closed meanwhile.
func (tx *tx) queuedAgain(d *draft) error {
	if d.w.Phase != lifecycle.Queued && d.w.Phase != lifecycle.Reserved {
		return nil
	}
	why, note := tx.closedTo(d.w)
	if why == queueOpen {
		return tx.startEmpty(d)
	}
	return tx.step(d, lifecycle.Input{On: lifecycle.QueueClosed, Reason: why.reason(), Message: note}, actorControl)
}

// Delete removes a workload, its logs and artifacts, ending it first.
func Delete(r Ref, actor string) Command {
	return func(tx *tx) (any, error) {
		d, err := tx.find(r)
		if err != nil {
			return nil, err
		}
		if _, err := lifecycle.Next(d.w.State, lifecycle.Input{On: lifecycle.Delete}); err != nil {
			return nil, illegal(d.w.Name, err)
		}
		if d, err = tx.reopen(d); err != nil {
			return nil, err
		}
		err = tx.change(d, func() error { return tx.remove(d, lifecycle.ReasonDeletedByUser, "", actor) })
		return d.w, err
	}
}

func (tx *tx) remove(d *draft, why lifecycle.Reason, message, actor string) error {
	in := lifecycle.Input{On: lifecycle.Delete, Reason: why, Message: message}
	if actor != actorControl {
		in.Cause = lifecycle.CauseStop
	}
	return tx.end(d, in, actor)
}

// Removed reports that the logs and artifacts of a Deleting workload are gone,
// or why they are not.
func Removed(id core.WorkloadID, failure error) Command {
	return func(tx *tx) (any, error) {
		d, ok := tx.open(id)
		if !ok || d.w.Phase != lifecycle.Deleting {
			return nil, nil
		}
		in := lifecycle.Input{On: lifecycle.Remove, Reason: d.w.Reason, Message: d.w.Message}
		if failure != nil {
			in = lifecycle.Input{On: lifecycle.RemoveFail, Reason: lifecycle.ReasonDeleteFailed, Message: failure.Error()}
		}
		return nil, tx.change(d, func() error { return tx.step(d, in, actorControl) })
	}
}

// PreemptRequest takes the resources of a workload back.
type PreemptRequest struct {
	Ref     Ref
	Actor   string
	Message string
	// Move keeps its reservation: it starts again, elsewhere, as soon as it
	// fits.
	Move bool
}

// Preempt ends a workload for another's sake: it goes back to its queue, or,
// where its document or kind says so, ends Preempted. The value is the workload.
func Preempt(r PreemptRequest) Command {
	return func(tx *tx) (any, error) {
		d, err := tx.find(r.Ref)
		if err != nil {
			return nil, err
		}
		w := d.w
		in := lifecycle.Input{On: lifecycle.Preempt, Target: decide.AfterPreemption(w.Kind, w.Spec), Cause: lifecycle.CausePerson, Message: r.Message}
		if r.Move {
			in = lifecycle.Input{On: lifecycle.Move, Cause: lifecycle.CausePerson, Message: r.Message}
		}
		if _, err := lifecycle.Next(w.State, in); err != nil {
			return nil, illegal(w.Name, err)
		}
		if !r.Move && !*w.Spec.Preemptible {
			return nil, &Error{Code: CodeConflict, Message: w.Name + " is not preemptible", Hint: "muster stop " + w.Name + " ends it"}
		}
		err = tx.change(d, func() error { return tx.end(d, in, r.Actor) })
		return d.w, err
	}
}
