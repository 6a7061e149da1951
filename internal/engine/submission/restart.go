package submission

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/planner"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Restart runs an ended workload again from the start, as a new attempt. One
// that is on its way to an end is told, and does so as soon as it is there.
func Restart(r draft.Ref, actor string) draft.Command[*core.Workload] {
	return func(tx *draft.Tx) (*core.Workload, error) {
		d, err := tx.Find(r)
		if err != nil {
			return nil, err
		}
		in := lifecycle.Input{On: lifecycle.Restart, Reason: lifecycle.ReasonRestartedByUser}
		if !workload.Restartable(d.W) {
			_, err := lifecycle.Next(d.W.State, in)
			return nil, draft.Illegal(d.W.Name, err)
		}
		if err := planner.Feasible(tx, d.W.Spec, d.W.User); err != nil {
			return nil, err
		}
		if err := consequence.MayRestart(tx, d.W); err != nil {
			return nil, err
		}
		if d.W.Phase == lifecycle.Terminating {
			return d.W, tx.Change(d, func() error { d.W.Again = actor; return nil })
		}
		if d, err = tx.Reopen(d); err != nil {
			return nil, err
		}
		err = tx.Change(d, func() error { return consequence.Again(tx, d, in, actor) })
		return d.W, err
	}
}
