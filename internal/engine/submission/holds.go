package submission

import (
	"fmt"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/planner"
	"github.com/musterhq/muster/internal/engine/workload"
)

// HoldRequest keeps a workload from being queued, or lets it go again.
type HoldRequest struct {
	Ref     draft.Ref
	Actor   string
	Message string
	// Requeue has what runs go back to its queue, and what has ended begin anew, to
	// wait there.
	Requeue bool
}

// Hold keeps a workload that waits from being queued until it is released. What is
// held is Inadmissible: that is what a workload is whose queue is closed, and this
// one's is closed to it. A check, as of what waits for others, would not do, as
// there is no way back from Queued to Reviewing. What is on its way to its queue
// (reviews, builds, waits for another try) goes that way, and stops before it.
func Hold(r HoldRequest) draft.Command[*core.Workload] {
	return func(tx *draft.Tx) (*core.Workload, error) {
		d, err := tx.Find(r.Ref)
		if err != nil {
			return nil, err
		}
		if r.Requeue && !d.W.Phase.Unstarted() {
			return requeueHeld(tx, d, r)
		}
		if w := d.W; !w.Phase.Unstarted() {
			hint := "muster preempt " + w.Name + " takes its resources back, and muster stop " + w.Name + " ends it"
			if w.Phase.End() {
				hint = "it has ended already"
			}
			return nil, &draft.Error{Code: draft.CodeIllegal, Message: fmt.Sprintf("%s is %s; only what waits can be held", w.Name, w.Phase), Hint: hint}
		}
		if h := d.W.Hold; h != nil {
			return nil, &draft.Error{Code: draft.CodeConflict, Message: fmt.Sprintf("%s is %s already", d.W.Name, consequence.HeldNote(h)), Hint: "muster release " + d.W.Name + " lets it go"}
		}
		err = tx.Change(d, func() error {
			d.W.Hold = &core.Hold{By: r.Actor, Message: r.Message, At: tx.Now}
			if !d.W.Phase.InQueue() {
				return nil
			}
			return tx.Step(d, lifecycle.Input{On: lifecycle.QueueClosed, Reason: lifecycle.ReasonHeld, Message: consequence.HeldNote(d.W.Hold)}, r.Actor)
		})
		return d.W, err
	}
}

// requeueHeld holds what has started, or ended: both in one, as it would begin again
// between the two.
func requeueHeld(tx *draft.Tx, d *draft.Draft, r HoldRequest) (*core.Workload, error) {
	hold := &core.Hold{By: r.Actor, Message: r.Message, At: tx.Now}
	w := d.W
	if w.Phase.End() {
		in := lifecycle.Input{On: lifecycle.Restart, Reason: lifecycle.ReasonRestartedByUser, Message: "to be held" + consequence.More(r.Message)}
		if _, err := lifecycle.Next(w.State, in); err != nil || w.Kind.Foreign() {
			return nil, draft.Illegal(w.Name, err)
		}
		if err := planner.Feasible(tx, w.Spec, w.User); err != nil {
			return nil, err
		}
		if err := consequence.MayRestart(tx, w); err != nil {
			return nil, err
		}
		d, err := tx.Reopen(d)
		if err != nil {
			return nil, err
		}
		err = tx.Change(d, func() error { return consequence.AgainHeld(tx, d, in, r.Actor, hold) })
		return d.W, err
	}
	in := lifecycle.Input{On: lifecycle.Preempt, Target: decide.AfterPreemption(w.Kind, w.Spec), Cause: lifecycle.CausePerson, Message: "to be held" + consequence.More(r.Message)}
	if _, err := lifecycle.Next(w.State, in); err != nil {
		return nil, draft.Illegal(w.Name, err)
	}
	if !workload.Takes(w, "preempt") || in.Target != lifecycle.Queued {
		return nil, &draft.Error{Code: draft.CodeConflict, Message: w.Name + " would not come back to its queue", Hint: "muster stop " + w.Name + " ends it"}
	}
	err := tx.Change(d, func() error {
		d.W.Hold = hold
		return consequence.End(tx, d, in, r.Actor)
	})
	return d.W, err
}

// Release lets a workload go that is held, and all of its tasks that are.
func Release(r HoldRequest) draft.Command[*core.Workload] {
	return func(tx *draft.Tx) (*core.Workload, error) {
		d, err := tx.Find(r.Ref)
		if err != nil {
			return nil, err
		}
		if d.W.Hold == nil && len(d.W.HeldTasks) == 0 {
			return nil, &draft.Error{Code: draft.CodeConflict, Message: fmt.Sprintf("%s is %s, and nobody holds it", d.W.Name, d.W.Phase), Hint: "muster why " + d.W.Name + " says what it waits for"}
		}
		err = tx.Change(d, func() error {
			d.W.Hold, d.W.HeldTasks, tx.State.Dirty = nil, nil, true
			if d.W.Phase != lifecycle.Inadmissible {
				return nil
			}
			if why, _ := consequence.Closed(tx, d.W.Project); why != consequence.QueueOpen {
				return consequence.CloseAnew(tx, d)
			}
			if err := tx.Step(d, lifecycle.Input{On: lifecycle.QueueOpen, Message: "released by " + r.Actor + consequence.More(r.Message)}, r.Actor); err != nil {
				return err
			}
			return consequence.StartEmpty(tx, d)
		})
		return d.W, err
	}
}
