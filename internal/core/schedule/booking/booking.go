// Package booking gives jobs that do not fit yet the time from which they will, by
// the known ends of what runs, and keeps others out of the way of those who were
// told one.
package booking

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/place"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Books are those who have a time to start.
type Books struct {
	St     *state.State
	Booked map[*ledger.Pool][]*Booking     // who has a time to start
	guests map[*ledger.Site][]*ledger.Hold // placed in this cycle after somebody was given a time
	ends   map[*ledger.Pool][]*ledger.Job  // whose end is known, in order
}

// Booking is the time from which a job that does not fit yet will, by the known
// ends of what runs, and where.
type Booking struct {
	J          *ledger.Job
	Tries      []ledger.Try
	At         int64 // unix ms
	placements []ledger.Placement
	Announced  schedule.Booking
}

// soonWithin is by how much, in ms, a start may be later than was told before
// that is worth telling: a task that starts is not up at once, and ends later by
// as much.
const soonWithin = 60_000

// Open reports whether somebody may still be given a time in p.
func (bs *Books) Open(p *ledger.Pool) bool {
	if n := len(bs.Booked[p]); n < p.Reserve {
		return true
	} else if n >= 2*p.Reserve {
		return false
	}
	for _, j := range bs.St.Announced {
		if j.Booked.Pool == p.Name && !bs.has(p, j) {
			return true
		}
	}
	return false
}

func (bs *Books) has(p *ledger.Pool, j *ledger.Job) bool {
	return slices.ContainsFunc(bs.Booked[p], func(b *Booking) bool { return b.J == j })
}

// Book gives j a time to start in p, if it can be told. Who comes after it keeps
// out of its way. Who was told one keeps it, though others with the right to go
// first have been given theirs.
func (bs *Books) Book(p *ledger.Pool, j *ledger.Job, tries []ledger.Try) {
	if p.Reserve == 0 || j.Standing > 0 || len(tries) == 0 || bs.has(p, j) {
		return
	}
	announced := j.Booked.At != 0 && j.Booked.Pool == p.Name
	if n := len(bs.Booked[p]); n >= p.Reserve && (!announced || n >= 2*p.Reserve) {
		return
	}
	b := &Booking{J: j, Tries: tries, Announced: schedule.Booking{Pool: p.Name, Since: bs.St.Now}}
	if announced {
		b.Announced = j.Booked
	}
	if !bs.soonest(p, b) && !bs.yielded(p, b) {
		return
	}
	b.announce(bs.St.Now)
	if bs.Booked == nil {
		bs.Booked = map[*ledger.Pool][]*Booking{}
	}
	bs.Booked[p] = append(bs.Booked[p], b)
}

// announce says from when j starts: as it was told, unless it will be later, or much
// sooner.
func (b *Booking) announce(now int64) {
	if t := &b.Announced; t.At == 0 || b.At > t.At+soonWithin || b.At < t.At-max(soonWithin, (t.At-t.Since)/4) && t.At > now {
		t.At = max(b.At, now)
	}
}

// Clear reports whether none of those holds are where somebody has a time to
// start who would need them by then.
func (bs *Books) Clear(p *ledger.Pool, j *ledger.Job, taken []*ledger.Hold) bool {
	for _, b := range bs.Booked[p] {
		if b.J == j || b.J.Standing > 0 || bs.leavesBy(b, j) {
			continue
		}
		for _, h := range taken {
			if slices.ContainsFunc(b.placements, func(x ledger.Placement) bool { return x.Site == h.Site }) {
				return false
			}
		}
	}
	return true
}

// Guest notes who was placed in this cycle though others have a time: they may
// be on its room for as long as that lasts.
func (bs *Books) Guest(p *ledger.Pool, taken []*ledger.Hold) {
	if len(bs.Booked[p]) == 0 {
		return
	}
	if bs.guests == nil {
		bs.guests = map[*ledger.Site][]*ledger.Hold{}
	}
	for _, h := range taken {
		bs.guests[h.Site] = append(bs.guests[h.Site], h)
	}
}

// Between places j without delaying those who have a time: it leaves before that,
// or uses what they will not need.
func (bs *Books) Between(p *ledger.Pool, j *ledger.Job, tries []ledger.Try) bool {
	st := bs.St
	mark := len(st.Log)
	var ahead []*Booking
	for _, b := range bs.Booked[p] {
		if b.J != j && b.J.Standing == 0 && !bs.leavesBy(b, j) {
			ahead = append(ahead, b)
		}
	}
	slices.SortStableFunc(ahead, func(a, b *Booking) int { return cmp.Compare(a.At, b.At) })
	for _, b := range ahead {
		if at := len(st.Log); !bs.occupy(b, true) {
			st.Undo(at) // its time has come to nothing by what was placed before j
		}
	}
	had := len(j.Holds)
	if !place.PlaceIn(st, p, j, tries) {
		st.Undo(mark)
		return false
	}
	taken := slices.Clone(j.Holds[had:])
	for _, h := range taken {
		if h.Later { // it would wait for those who are only expected to go
			st.Undo(mark)
			return false
		}
	}
	st.Undo(mark)
	for _, h := range taken {
		if s := h.Site; !s.Now.Spares(h, nil) || !s.Soon.Spares(h, nil) {
			st.Undo(mark) // it is promised to somebody who would have ended by then
			return false
		}
		again := *h
		st.Do(ledger.Entry{Op: ledger.Took, H: &again})
	}
	return true
}
