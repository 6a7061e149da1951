package quota

import (
	"math"
	"time"
)

// DefaultWindow is how far back usage counts if nothing else is said.
const DefaultWindow = 7 * 24 * time.Hour

// slots is how many pieces a window is kept in: its old end moves on smoothly
// within one of them.
const slots = 64

// Usage is what a queue has used lately: the integral of what it held over
// time, in which what is older counts less. Times are those after 1970.
type Usage struct {
	width    time.Duration // of a slot
	halfLife time.Duration // 0: no decay
	ring     [slots + 1]used
	last     time.Time // of the last Add
}

// used is what was used in one slot, in amounts times seconds, each moment
// weighed as it counts at the slot's end.
type used struct {
	number int64 // since 1970
	sum    [Resources]float64
}

// NewUsage returns an empty usage. What is older than the window does not
// count; without one, DefaultWindow is meant. What is older than something by
// halfLife counts half of it; without one, the same.
func NewUsage(window, halfLife time.Duration) *Usage {
	if window <= 0 {
		window = DefaultWindow
	}
	halfLife = max(halfLife, 0)
	if halfLife > 0 && halfLife < window/slots {
		window = halfLife * slots // nothing is left of what is older
	}
	return &Usage{width: max(window/slots, time.Microsecond), halfLife: halfLife}
}

// Window is how far back usage counts.
func (u *Usage) Window() time.Duration { return u.width * slots }

// Add says that held has been held from the time of the last Add until at.
// The first one only sets the time, and one of the past changes nothing.
func (u *Usage) Add(at time.Time, held Amounts) {
	if u.last.IsZero() {
		u.last = at
	}
	if at.After(u.last) {
		u.Span(u.last, at, held)
		u.last = at
	}
}

// Span says that held was held from one time to another, beside what is known
// already. Spans may come in any order: a restarted program can read them from
// its history. What is older than a window before the newest is lost.
func (u *Usage) Span(from, to time.Time, held Amounts) {
	// Whole slots only: Sum takes the part of the oldest that still counts.
	if oldest := u.end(to.UnixNano()/int64(u.width) - slots - 1); from.Before(oldest) {
		from = oldest
	}
	for from.Before(to) {
		number := from.UnixNano() / int64(u.width)
		end := u.end(number)
		until := to
		if end.Before(to) {
			until = end
		}
		s := &u.ring[number%int64(len(u.ring))]
		if number > s.number {
			*s = used{number: number}
		}
		if number == s.number { // else the ring has gone on, and this is too old
			seconds := u.seconds(end.Sub(from), end.Sub(until))
			for r := range s.sum {
				s.sum[r] += float64(float64(held[r]) * seconds)
			}
		}
		from = until
	}
}

// Sum is what counts at a time, in amounts times seconds.
func (u *Usage) Sum(at time.Time) [Resources]float64 {
	var sum [Resources]float64
	for i := range u.ring {
		s := &u.ring[i]
		age := at.Sub(u.end(s.number))
		// Of the oldest slot only what is still in the window, as if its use
		// had been even.
		part := min(float64(u.Window()-age)/float64(u.width), 1)
		if part <= 0 {
			continue
		}
		part *= u.decay(age)
		for r := range sum {
			sum[r] += float64(s.sum[r] * part)
		}
	}
	return sum
}

// Share is the part of capacity that was used, as it counts at a time. If the
// capacity has changed, keep it in a Usage of its own: the quotient of the two
// sums is what was used of what there was.
func (u *Usage) Share(at time.Time, capacity Amounts) [Resources]float64 {
	share := u.Sum(at)
	whole := u.seconds(u.Window(), 0)
	for r := range share {
		if capacity[r] <= 0 {
			share[r] = 0
			continue
		}
		share[r] /= float64(capacity[r]) * whole
	}
	return share
}

func (u *Usage) end(number int64) time.Time {
	return time.Unix(0, (number+1)*int64(u.width))
}

// decay is how much counts what is so old.
func (u *Usage) decay(age time.Duration) float64 {
	if u.halfLife == 0 {
		return 1
	}
	return math.Exp2(-float64(age) / float64(u.halfLife))
}

// seconds is the time between two ages, decayed.
func (u *Usage) seconds(oldest, newest time.Duration) float64 {
	if u.halfLife == 0 {
		return (oldest - newest).Seconds()
	}
	return u.halfLife.Seconds() / math.Ln2 * (u.decay(newest) - u.decay(oldest))
}
