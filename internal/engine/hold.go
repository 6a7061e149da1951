package engine

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
)

// HoldRequest keeps a workload from being queued, or lets it go again.
type HoldRequest struct {
	Ref     Ref
	Actor   string
	Message string
}

// Hold keeps a workload that waits from being queued until it is released; the
// value is the workload. What is held is Inadmissible: that is what a workload
// is whose queue is closed, and this one's is closed to it. A check, as of what
// waits for others, would not do, as there is no way back from Queued to
// Reviewing. What is on its way to its queue (reviews, builds, waits for
// another try) goes that way, and stops before it.
func Hold(r HoldRequest) Command {
	return func(tx *tx) (any, error) {
		d, err := tx.find(r.Ref)
		if err != nil {
			return nil, err
		}
		if w := d.w; !w.Phase.Unstarted() {
			hint := "muster preempt " + w.Name + " takes its resources back, and muster stop " + w.Name + " ends it"
			if w.Phase.End() {
				hint = "it has ended already"
			}
			return nil, &Error{Code: CodeIllegal, Message: fmt.Sprintf("%s is %s; only what waits can be held", w.Name, w.Phase), Hint: hint}
		}
		if h := d.w.Hold; h != nil {
			return nil, &Error{Code: CodeConflict, Message: fmt.Sprintf("%s is %s already", d.w.Name, heldNote(h)), Hint: "muster release " + d.w.Name + " lets it go"}
		}
		err = tx.change(d, func() error {
			d.w.Hold = &core.Hold{By: r.Actor, Message: r.Message, At: tx.now}
			if d.w.Phase != lifecycle.Queued && d.w.Phase != lifecycle.Reserved {
				return nil
			}
			return tx.step(d, lifecycle.Input{On: lifecycle.QueueClosed, Reason: lifecycle.ReasonHeld, Message: heldNote(d.w.Hold)}, r.Actor)
		})
		return d.w, err
	}
}

// Release lets a workload go that is held; the value is the workload.
func Release(r HoldRequest) Command {
	return func(tx *tx) (any, error) {
		d, err := tx.find(r.Ref)
		if err != nil {
			return nil, err
		}
		if d.w.Hold == nil {
			return nil, &Error{Code: CodeConflict, Message: fmt.Sprintf("%s is %s, and nobody holds it", d.w.Name, d.w.Phase), Hint: "muster why " + d.w.Name + " says what it waits for"}
		}
		err = tx.change(d, func() error {
			d.w.Hold = nil
			if d.w.Phase != lifecycle.Inadmissible {
				return nil
			}
			if why, _ := tx.closed(d.w.Project); why != queueOpen {
				return tx.closeAnew(d)
			}
			if err := tx.step(d, lifecycle.Input{On: lifecycle.QueueOpen, Message: "released by " + r.Actor + more(r.Message)}, r.Actor); err != nil {
				return err
			}
			return tx.startEmpty(d)
		})
		return d.w, err
	}
}

// closedTo says whether w is kept out of its queue at present, and why.
func (tx *tx) closedTo(w *core.Workload) (closing, string) {
	why, note := tx.closed(w.Project)
	if why == queueOpen && w.Hold != nil {
		return heldBack, heldNote(w.Hold)
	}
	return why, note
}

// closeAnew has the history say of what is Inadmissible that it is so for
// another reason than before.
func (tx *tx) closeAnew(d *draft) error {
	why, note := tx.closedTo(d.w)
	if why == queueOpen || why.reason() == d.w.Reason {
		return nil
	}
	return tx.step(d, lifecycle.Input{On: lifecycle.QueueClosed, Reason: why.reason(), Message: note}, actorControl)
}

// heldFrom is the hold that a document asks for.
func (tx *tx) heldFrom(w *core.Workload, actor string) *core.Hold {
	if !w.Spec.Hold {
		return nil
	}
	return &core.Hold{By: actor, Message: "hold of its document", At: tx.now}
}

func heldNote(h *core.Hold) string {
	return "held by " + h.By + " since " + h.At.UTC().Format(time.RFC3339) + more(h.Message)
}

func more(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}

// heldPending is that somebody holds it, as a reason for waiting.
func heldPending(h *core.Hold) schedule.Reason {
	return schedule.Reason{Token: schedule.HeldBack, Note: heldNote(h)}
}
