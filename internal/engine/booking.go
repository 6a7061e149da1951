package engine

import (
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
)

// A booking is a time to start that waiting work was told. It is kept with the
// attempt, so that whoever leads next keeps it, and an attempt that has to begin
// again has none.

// book stores what those are told whose time to start is new, or another.
func (tx *tx) book(plan *schedule.Plan) {
	if !tx.e.complete {
		return // not all of the room can be seen, nor who holds it
	}
	for _, b := range plan.Bookings {
		w, _, ok := tx.view(b.ID)
		if !ok || len(w.Attempts) == 0 {
			continue
		}
		was := w.Attempts[len(w.Attempts)-1].Booked
		now := booked(b.Booking, was)
		if was != nil && now != nil && now.At.After(was.At) {
			tx.e.D.Log.Info("a start is later than was told", "workload", w.Name, "project", w.Project, "told", was.At, "now", now.At)
		}
		if was != nil && now == nil {
			tx.e.D.Log.Info("a start that was told is not known any more", "workload", w.Name, "project", w.Project, "told", was.At)
		}
		d, ok := tx.open(b.ID)
		if !ok {
			continue
		}
		if err := tx.change(d, func() error { d.attempt().Booked = now; return nil }); err != nil {
			tx.e.D.Log.Error("plan does not fit the state", "workload", b.ID, "err", err)
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

// bookingOf is the time to start that w was told, in the scheduler's words. What
// holds something has started.
func bookingOf(w *core.Workload) schedule.Booking {
	b := w.Attempts[len(w.Attempts)-1].Booked
	if b == nil || w.Phase.Held() && w.Phase != lifecycle.Reserved {
		return schedule.Booking{}
	}
	return schedule.Booking{At: b.At.UnixMilli(), Since: b.Since.UnixMilli(), Pool: b.Pool}
}

// expectation is when an attempt has probably ended.
type expectation struct {
	attempt int
	at      int64 // unix ms
}

// foresee tells the scheduler by when work that has come up has probably ended, as
// nine of ten of its likes had that ran for as long as it has: bookings rest on
// the ends of several at once, and what half of all outlive would be in the way
// of most starts that were told. It is looked at again when that time has come
// and it still runs.
func (tx *tx) foresee() {
	e := tx.e
	for id, ok := e.foreseen.due(tx.now); ok; id, ok = e.foreseen.due(tx.now) {
		e.unforeseen[id] = struct{}{}
	}
	for _, id := range SortedKeys(e.unforeseen) {
		delete(e.unforeseen, id)
		w, tasks, ok := tx.view(id)
		if !ok {
			delete(e.expected, id)
			continue
		}
		x, known := expectation{attempt: w.Attempt}, false
		if a := &w.Attempts[len(w.Attempts)-1]; w.Phase.Held() && !a.RunningAt.IsZero() {
			var span forecast.Span
			if span, known = e.Insight.Lengths.Length(w, max(tx.now.Sub(a.RunningAt).Milliseconds(), 0)); known {
				x.at = a.RunningAt.UnixMilli() + span.Late
				known = x.at > tx.now.UnixMilli()
			}
		}
		if !known {
			x.at = 0
		}
		if e.expected[id] == x {
			continue
		}
		e.expected[id] = x
		if known {
			e.foreseen.push(time.UnixMilli(x.at), id)
			e.instants.add(x.at)
		}
		if j, ok := e.job(w, tasks); ok {
			e.sched.PutJob(j)
		}
	}
}

// likely is by when w has probably ended, in unix ms; 0: nobody knows.
func (e *Engine) likely(w *core.Workload) int64 {
	if x := e.expected[w.ID]; x.attempt == w.Attempt && w.Phase.Held() {
		return x.at
	}
	return 0
}

// comesUp notes of a workload that is new to the indexes whether its end is to be
// foreseen.
func (e *Engine) comesUp(w *core.Workload) {
	if !w.Phase.Held() || w.Attempts[len(w.Attempts)-1].RunningAt.IsZero() || e.Insight == nil {
		return
	}
	if x, known := e.expected[w.ID]; !known || x.attempt != w.Attempt {
		put(&e.unforeseen, w.ID, struct{}{})
	}
}
