package engine

import (
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Restart runs an ended workload again from the start, as a new attempt. One
// that is on its way to an end is told, and does so as soon as it is there.
func Restart(r Ref, actor string) Command {
	return func(tx *tx) (any, error) {
		d, err := tx.find(r)
		if err != nil {
			return nil, err
		}
		in := lifecycle.Input{On: lifecycle.Restart, Reason: lifecycle.ReasonRestartedByUser}
		if !Restartable(d.w) {
			_, err := lifecycle.Next(d.w.State, in)
			return nil, illegal(d.w.Name, err)
		}
		if err := tx.feasible(d.w.Spec, d.w.User); err != nil {
			return nil, err
		}
		if err := tx.mayRestart(d.w); err != nil {
			return nil, err
		}
		if d.w.Phase == lifecycle.Terminating {
			return d.w, tx.change(d, func() error { d.w.Again = actor; return nil })
		}
		if d, err = tx.reopen(d); err != nil {
			return nil, err
		}
		err = tx.change(d, func() error { return tx.again(d, in, actor) })
		return d.w, err
	}
}

// Restartable reports whether a workload has ended and may run again, or is
// being ended and will then.
func Restartable(w *core.Workload) bool {
	state := w.State
	if state.Phase == lifecycle.Terminating {
		if w.Kind == lifecycle.External { // whether its pods are made again is not decided here
			return false
		}
		state = lifecycle.State{Phase: w.Target}
	}
	return slices.Contains(lifecycle.Allowed(state), lifecycle.Restart)
}

// again begins a workload that has ended anew. It must run inside change.
func (tx *tx) again(d *draft, in lifecycle.Input, actor string) error {
	if err := tx.step(d, in, actor); err != nil {
		return err
	}
	d.w.Failures, d.w.SystemFailures = 0, 0
	d.w.Course = core.Course{
		Image: d.w.Image, Generation: d.w.Generation, ServicePort: d.w.ServicePort, Replicas: firstReplicas(d.w.Spec),
		Checkpoint: d.w.Checkpoint, Metadata: d.w.Metadata, // the work may go on from there
	}
	return tx.gate(d)
}
