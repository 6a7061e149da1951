package timeseries

import "math"

// first guess of how many values a ring will have; it doubles from there.
const ringFirst = 16

// ring keeps the last values of one series, one for each slot of time: slot n
// covers the step seconds from n*step on. It grows as time passes, up to most.
type ring struct {
	step  int64
	most  int
	first int64     // the slot of vals[0], before it goes round
	last  int64     // the newest slot
	in    uint16    // how many values the newest slot is the mean of
	vals  []float32 // NaN: nobody looked
}

// at is where the value of a slot lies.
func (r *ring) at(slot int64) int { return int((slot - r.first) % int64(r.most)) }

// has reports whether the value of a slot is kept.
func (r *ring) has(slot int64) bool {
	return len(r.vals) > 0 && slot >= r.first && slot <= r.last && slot > r.last-int64(r.most)
}

// add takes a value of a second. room says whether the ring may grow to so many
// values; where it may not, it keeps what it has room for. It reports by how many
// values it has grown.
func (r *ring) add(second int64, v float64, room func(int) bool) (grown int) {
	slot := second / r.step
	switch {
	case len(r.vals) > 0 && slot < r.last:
		return 0 // the clock was set back
	case len(r.vals) > 0 && slot == r.last:
		i := r.at(slot)
		if n := float64(r.in); r.in < math.MaxUint16 {
			r.vals[i] = float32((float64(r.vals[i])*n + v) / (n + 1))
			r.in++
		}
		return 0
	case len(r.vals) == 0 || slot-r.last >= int64(r.most):
		r.vals, r.first, r.last = r.vals[:0], slot, slot-1
	}
	for r.last < slot {
		grown += r.push(float32(math.NaN()), room)
	}
	r.vals[r.at(slot)], r.in = float32(v), 1
	return grown
}

// push opens the next slot.
func (r *ring) push(v float32, room func(int) bool) (grown int) {
	r.last++
	if n := len(r.vals); n < r.most && n == cap(r.vals) {
		want := min(max(ringFirst, 2*n), r.most)
		if n > 0 && !room(want-n) {
			r.most = n // from here on it goes round
		} else {
			vals := make([]float32, n, want)
			copy(vals, r.vals)
			r.vals, grown = vals, want-n
		}
	}
	if i := r.at(r.last); i < len(r.vals) {
		r.vals[i] = v
	} else {
		r.vals = append(r.vals, v)
	}
	return grown
}

// mean is the mean of what is known between two seconds, the second of them
// excluded; NaN: nothing.
func (r *ring) mean(from, to int64) float64 {
	sum, n := 0.0, 0
	for slot := from / r.step; slot*r.step < to; slot++ {
		if !r.has(slot) {
			continue
		}
		if v := float64(r.vals[r.at(slot)]); !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return plain(sum / float64(n))
}

// plain takes off what keeping a value in four bytes has added to it.
func plain(v float64) float64 {
	if v > 1e6 {
		return v
	}
	return math.Round(v*1e6) / 1e6
}
