package submission

import (
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// StopRequest ends a workload and keeps its definition.
type StopRequest struct {
	Ref     draft.Ref
	Actor   string
	Message string
	Grace   *time.Duration // instead of the workload's own
}

// Stop ends a workload. One that is being stopped already, or has ended, is refused
// with its phase.
func Stop(r StopRequest) draft.Command[*core.Workload] {
	return func(tx *draft.Tx) (*core.Workload, error) {
		d, err := tx.Find(r.Ref)
		if err != nil {
			return nil, err
		}
		in := lifecycle.Input{On: lifecycle.Stop, Cause: lifecycle.CauseStop, Reason: lifecycle.ReasonStoppedByUser, Message: r.Message}
		if d.W.Again != "" { // it ends as it would have, and stays so
			return d.W, tx.Change(d, func() error { d.W.Again = ""; return nil })
		}
		if _, err := lifecycle.Next(d.W.State, in); err != nil {
			return nil, draft.Illegal(d.W.Name, err)
		}
		err = tx.Change(d, func() error { return consequence.EndWithin(tx, d, in, r.Actor, r.Grace) })
		return d.W, err
	}
}

// Delete removes a workload, its logs and artifacts, ending it first.
func Delete(r draft.Ref, actor string) draft.Command[*core.Workload] {
	return func(tx *draft.Tx) (*core.Workload, error) {
		d, err := tx.Find(r)
		if err != nil {
			return nil, err
		}
		if _, err := lifecycle.Next(d.W.State, lifecycle.Input{On: lifecycle.Delete}); err != nil {
			return nil, draft.Illegal(d.W.Name, err)
		}
		if d, err = tx.Reopen(d); err != nil {
			return nil, err
		}
		err = tx.Change(d, func() error { return consequence.Remove(tx, d, lifecycle.ReasonDeletedByUser, "", actor) })
		return d.W, err
	}
}

// Removed reports that the logs and artifacts of a Deleting workload are gone,
// or why they are not.
func Removed(id core.WorkloadID, failure error) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		d, ok := tx.Open(id)
		if !ok || d.W.Phase != lifecycle.Deleting {
			return nil, nil
		}
		in := lifecycle.Input{On: lifecycle.Remove, Reason: d.W.Reason, Message: d.W.Message}
		if failure != nil {
			in = lifecycle.Input{On: lifecycle.RemoveFail, Reason: lifecycle.ReasonDeleteFailed, Message: failure.Error()}
		}
		return nil, tx.Change(d, func() error { return tx.Step(d, in, draft.ActorControl) })
	}
}

// PreemptRequest takes the resources of a workload back.
type PreemptRequest struct {
	Ref     draft.Ref
	Actor   string
	Message string
	// Move keeps its reservation: it starts again, elsewhere, as soon as it
	// fits.
	Move bool
}

// Preempt ends a workload for another's sake: it goes back to its queue, or, where
// its document or kind says so, ends Preempted.
func Preempt(r PreemptRequest) draft.Command[*core.Workload] {
	return func(tx *draft.Tx) (*core.Workload, error) {
		d, err := tx.Find(r.Ref)
		if err != nil {
			return nil, err
		}
		w := d.W
		in := lifecycle.Input{On: lifecycle.Preempt, Target: decide.AfterPreemption(w.Kind, w.Spec), Cause: lifecycle.CausePerson, Message: r.Message}
		if r.Move {
			in = lifecycle.Input{On: lifecycle.Move, Cause: lifecycle.CausePerson, Message: r.Message}
		}
		if _, err := lifecycle.Next(w.State, in); err != nil {
			return nil, draft.Illegal(w.Name, err)
		}
		if !r.Move && !workload.Takes(w, "preempt") {
			return nil, &draft.Error{Code: draft.CodeConflict, Message: w.Name + " is not preemptible", Hint: "muster stop " + w.Name + " ends it"}
		}
		err = tx.Change(d, func() error { return consequence.End(tx, d, in, r.Actor) })
		return d.W, err
	}
}
