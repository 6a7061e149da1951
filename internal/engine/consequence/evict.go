package consequence

import (
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/displace"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/planner"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Evict carries out what the plan takes from running workloads.
func Evict(tx *draft.Tx, ev schedule.Eviction) error {
	d, ok := tx.Open(ev.ID)
	if !ok {
		return nil
	}
	tx.Causes = append(tx.Causes, workload.CauseOf(ev))
	if !ev.Whole && sheds(d, len(ev.Tasks)) {
		return tx.Change(d, func() error { return shed(tx, d, ev) })
	}
	if d.W.Phase == lifecycle.Reserved {
		return tx.Change(d, func() error { return unreserve(tx, d, ev) })
	}
	in := decide.AfterEviction(d.W.Kind, d.W.Spec, ev.Moves) // what has to go whole, since too little would be left meanwhile, moves whole
	in.Cause, in.For, in.Message = workload.CauseOf(ev), string(ev.For), whyEvicted(tx, ev)
	return tx.Change(d, func() error { return End(tx, d, in, ActorScheduler) })
}

// whyEvicted says who gets the room, and by which right.
func whyEvicted(tx *draft.Tx, ev schedule.Eviction) string {
	who := "others"
	if w, _, ok := tx.View(ev.For); ok {
		who = w.Name + " of project " + string(w.Project)
	}
	switch ev.Cause {
	case schedule.Reclaim:
		return "its project holds more than its due; " + who + " claims its own"
	case schedule.Preempt:
		return who + " has a higher priority"
	case schedule.Consolidate:
		return "moves so that " + who + " fits"
	case displace.Relieve:
		if w, _, ok := tx.View(ev.For); ok {
			if b := workload.BookingOf(w); b.At > 0 && b.At <= tx.Now.UnixMilli() {
				return who + " was told that it starts now, and this began after that was told"
			}
		}
		return who + " has waited for longer than its patience, and this has had the most"
	case schedule.Reserve:
		return planner.VacatedFor(tx, ev.Window)
	case schedule.StaleGang:
		return "too few of its tasks were left for too long"
	default:
		return "its room is needed by " + who
	}
}

// ActorScheduler stands in transitions that the scheduler's plan made.
const ActorScheduler = "scheduler"

// unreserve takes back the quota that is reserved for a workload: it competes for it
// again, and what came after its reservation is asked anew.
func unreserve(tx *draft.Tx, d *draft.Draft, ev schedule.Eviction) error {
	in := lifecycle.Input{On: lifecycle.Release, Cause: workload.CauseOf(ev), For: string(ev.For), Reason: lifecycle.ReasonPreempted, Message: "its reservation is taken back: " + whyEvicted(tx, ev)}
	if err := tx.Step(d, in, ActorScheduler); err != nil {
		return err
	}
	return QueuedAgain(tx, d)
}
