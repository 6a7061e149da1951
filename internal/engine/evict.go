package engine

import (
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
)

// evict carries out what the plan takes from running workloads.
func (tx *tx) evict(ev schedule.Eviction) error {
	d, ok := tx.open(ev.ID)
	if !ok {
		return nil
	}
	tx.causes = append(tx.causes, causeOf(ev))
	if !ev.Whole && sheds(d, len(ev.Tasks)) {
		return tx.change(d, func() error { return tx.shed(d, ev) })
	}
	if d.w.Phase == lifecycle.Reserved {
		return tx.change(d, func() error { return tx.unreserve(d, ev) })
	}
	in := decide.AfterEviction(d.w.Kind, d.w.Spec, ev.Moves) // what has to go whole, since too little would be left meanwhile, moves whole
	in.Cause, in.For, in.Message = causeOf(ev), string(ev.For), tx.whyEvicted(ev)
	return tx.change(d, func() error { return tx.end(d, in, actorScheduler) })
}

// whyEvicted says who gets the room, and by which right.
func (tx *tx) whyEvicted(ev schedule.Eviction) string {
	who := "others"
	if w, _, ok := tx.view(ev.For); ok {
		who = w.Name + " of project " + string(w.Project)
	}
	switch ev.Cause {
	case schedule.Reclaim:
		return "its project holds more than its due; " + who + " claims its own"
	case schedule.Preempt:
		return who + " has a higher priority"
	case schedule.Consolidate:
		return "moves so that " + who + " fits"
	case cycle.Relieve:
		if w, _, ok := tx.view(ev.For); ok {
			if b := bookingOf(w); b.At > 0 && b.At <= tx.now.UnixMilli() {
				return who + " was told that it starts now, and this began after that was told"
			}
		}
		return who + " has waited for longer than its patience, and this has had the most"
	case schedule.Reserve:
		return tx.vacatedFor(ev.Window)
	case schedule.StaleGang:
		return "too few of its tasks were left for too long"
	default:
		return "its room is needed by " + who
	}
}

// causeOf is the cause of an eviction as transitions have it: the scheduler's
// action.
func causeOf(ev schedule.Eviction) lifecycle.Cause { return lifecycle.Cause(ev.Cause) }

// displaced reports whether an attempt ended for others' sake.
func displaced(by lifecycle.Event) bool { return by == lifecycle.Preempt || by == lifecycle.Move }
