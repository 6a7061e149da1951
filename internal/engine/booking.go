package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
	"github.com/musterhq/muster/internal/engine/draft"
)

// A booking is a time to start that waiting work was told. It is kept with the
// attempt, so that whoever leads next keeps it, and an attempt that has to begin
// again has none.

// book stores what those are told whose time to start is new, or another.
func book(tx *draft.Tx, plan *schedule.Plan) {
	if !tx.State.Complete {
		return // not all of the room can be seen, nor who holds it
	}
	for _, b := range plan.Bookings {
		w, _, ok := tx.View(b.ID)
		if !ok || len(w.Attempts) == 0 {
			continue
		}
		was := w.Attempts[len(w.Attempts)-1].Booked
		now := booked(b.Booking, was)
		if was != nil && now != nil && now.At.After(was.At) {
			tx.State.D.Log.Info("a start is later than was told", "workload", w.Name, "project", w.Project, "told", was.At, "now", now.At)
		}
		if was != nil && now == nil {
			tx.State.D.Log.Info("a start that was told is not known any more", "workload", w.Name, "project", w.Project, "told", was.At)
		}
		d, ok := tx.Open(b.ID)
		if !ok {
			continue
		}
		if err := tx.Change(d, func() error { d.Attempt().Booked = now; return nil }); err != nil {
			tx.State.D.Log.Error("plan does not fit the state", "workload", b.ID, "err", err)
		}
	}
}

// booked is what is stored of a booking; nil: there is none.
func booked(b schedule.Booking, was *core.Booking) *core.Booking {
	if b.At == 0 {
		return nil
	}
	out := &core.Booking{At: time.UnixMilli(b.At).UTC(), Since: time.UnixMilli(b.Since).UTC(), Pool: b.Pool}
	if was != nil {
		if out.First = was.First; was.First.IsZero() {
			out.First = was.At
		}
	}
	return out
}

// foresee tells the scheduler by when work that has come up has probably ended, as
// nine of ten of its likes had that ran for as long as it has: bookings rest on
// the ends of several at once, and what half of all outlive would be in the way
// of most starts that were told. It is looked at again when that time has come
// and it still runs.
func foresee(tx *draft.Tx) {
	e := tx.State
	for id, ok := e.Foreseen.Due(tx.Now); ok; id, ok = e.Foreseen.Due(tx.Now) {
		e.Unforeseen[id] = struct{}{}
	}
	for _, id := range slices.Sorted(maps.Keys(e.Unforeseen)) {
		delete(e.Unforeseen, id)
		w, tasks, ok := tx.View(id)
		if !ok {
			delete(e.Expected, id)
			continue
		}
		x, known := draft.Expectation{Attempt: w.Attempt}, false
		if a := &w.Attempts[len(w.Attempts)-1]; w.Phase.Held() && !a.RunningAt.IsZero() {
			var span forecast.Span
			if span, known = e.Insight.Lengths.Length(w, max(tx.Now.Sub(a.RunningAt).Milliseconds(), 0)); known {
				x.At = a.RunningAt.UnixMilli() + span.Late
				known = x.At > tx.Now.UnixMilli()
			}
		}
		if !known {
			x.At = 0
		}
		if e.Expected[id] == x {
			continue
		}
		e.Expected[id] = x
		if known {
			e.Foreseen.Add(time.UnixMilli(x.At), id)
			e.Instants.Add(x.At)
		}
		if j, ok := e.Job(w, tasks); ok {
			e.Sched.PutJob(j)
		}
	}
}
