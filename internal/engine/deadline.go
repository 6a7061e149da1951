package engine

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
)

// deadline does what is due of the deadline of a workload, and reports whether
// anything was. It must run inside change.
func deadline(tx *draft.Tx, d *draft.Draft) (bool, error) {
	w := d.W
	at := tx.DeadlineWake(w)
	if at.IsZero() || at.After(tx.Now) {
		return false, nil
	}
	due, _ := tx.State.DeadlineOf(w)
	if due.At.After(tx.Now) {
		w.AtRisk = tx.Now
		d.Notify(lifecycle.DeadlineAtRisk, fmt.Sprintf("it is to be done by %s and takes %v (%s): if it does not start by %s it will be late",
			due.At.Format(time.RFC3339), due.Length.Round(time.Second), lengthFrom[due.From], due.Start.Format(time.RFC3339)))
		return true, nil
	}
	w.Missed = tx.Now
	message := fmt.Sprintf("its deadline %s has passed", due.At.Format(time.RFC3339))
	if w.Spec.DeadlineAction != spec.DeadlineStop {
		d.Notify(lifecycle.DeadlineMissed, message)
		if w.Phase.Held() {
			d.Fact(lifecycle.DeadlineMissed, true, tx.Now, "", message)
		}
		return true, nil
	}
	if w.Phase.Held() {
		return true, consequence.End(tx, d, lifecycle.Input{On: lifecycle.Deadline, Cause: lifecycle.CauseDeadline, Reason: lifecycle.ReasonDeadlineMissed, Message: message}, draft.ActorControl)
	}
	return true, consequence.End(tx, d, lifecycle.Input{On: lifecycle.Stop, Cause: lifecycle.CauseDeadline, Reason: lifecycle.ReasonDeadlineMissed, Message: message}, draft.ActorControl)
}

// lengthFrom says where the length of a workload is from.
var lengthFrom = map[string]string{"expectedDuration": "its expectedDuration", "learnt": "as its likes did", "maxDuration": "its time limit"}
