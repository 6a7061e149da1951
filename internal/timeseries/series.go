// Package timeseries keeps what was measured in the last day, in memory and within
// a fixed bound, so that charts need no other system: an hour as it was measured
// and a day by the minute.
package timeseries

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"
)

// Coarse is the step of what is kept for a Day; Hour is how far back the fine
// steps go.
const (
	Coarse = time.Minute
	Hour   = time.Hour
	Day    = 24 * time.Hour
)

// Key names a series.
type Key struct {
	Of     string // task:ID, device:NODE/ID, node:NAME, project:NAME, cluster
	Metric string // cpu_cores, memory_bytes …; the unit is its last word
}

// Point is a value of a series.
type Point struct {
	Key
	Value float64 // not a number, or below zero: nothing is known
	// Slow says that it is enough to keep it by the minute.
	Slow bool
}

// Options say how much is kept.
type Options struct {
	Step time.Duration // of what is kept for an hour; 0: 10 s
	Max  int64         // bytes for all; 0: 64 MiB
}

// Store keeps series. It is safe for concurrent use.
type Store struct {
	mu      sync.Mutex
	step    int64
	max     int64
	bytes   int64
	refused int64 // values of series for which there was no room
	all     map[Key]*kept
	newest  int64 // second of the last values
	swept   int64 // when old ones were last looked for
	full    int64 // when that was last done for want of room
}

// kept is one series.
type kept struct {
	last   int64 // second of the last value
	value  float64
	fine   ring // step 0: there is none
	coarse ring
}

const (
	valueBytes = 4
	keptBytes  = 256 // of a series beside its values
	// resting is after how many seconds a series may go for want of room: what
	// it is of has ended.
	resting = 120
)

// New returns an empty store.
func New(o Options) *Store {
	s := &Store{step: int64(cmp.Or(o.Step, 10*time.Second) / time.Second), max: cmp.Or(o.Max, 64<<20), all: map[Key]*kept{}}
	s.step = min(max(s.step, 1), int64(Coarse/time.Second))
	return s
}

// Add takes values of one instant.
func (s *Store) Add(at time.Time, points ...Point) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := at.Unix()
	s.newest = max(s.newest, now)
	if now-s.swept >= int64(time.Hour/time.Second) {
		s.swept = now
		s.drop(func(k *kept) bool { return k.last < now-int64(Day/time.Second) })
	}
	for _, p := range points {
		if p.Value >= 0 && !math.IsInf(p.Value, 0) {
			s.add(now, p)
		}
	}
}

func (s *Store) add(now int64, p Point) {
	k := s.all[p.Key]
	if k == nil {
		if !s.room(now, keptBytes+2*ringFirst*valueBytes) {
			s.refused++
			return
		}
		k = &kept{coarse: newRing(int64(Coarse/time.Second), Day)}
		if !p.Slow {
			k.fine = newRing(s.step, Hour)
		}
		s.all[p.Key] = k
		s.bytes += keptBytes
	}
	k.last, k.value = now, p.Value
	room := func(n int) bool { return s.room(now, int64(n)*valueBytes) }
	for _, r := range []*ring{&k.fine, &k.coarse} {
		if r.step > 0 {
			s.bytes += int64(r.add(now, p.Value, room)) * valueBytes
		}
	}
}

func newRing(step int64, span time.Duration) ring {
	return ring{step: step, most: int(int64(span/time.Second) / step)}
}

// room reports whether so many bytes more may be used. What has ended makes
// room, oldest first.
func (s *Store) room(now, bytes int64) bool {
	if s.bytes+bytes <= s.max {
		return true
	}
	if now-s.full >= s.step { // looking costs a walk over all
		s.full = now
		var ended []Key
		for key, k := range s.all {
			if k.last < now-resting {
				ended = append(ended, key)
			}
		}
		slices.SortFunc(ended, func(a, b Key) int {
			return cmp.Or(cmp.Compare(s.all[a].last, s.all[b].last), cmp.Compare(a.Of, b.Of), cmp.Compare(a.Metric, b.Metric))
		})
		for _, key := range ended {
			if s.bytes+bytes <= s.max-s.max/10 {
				break
			}
			s.remove(key)
		}
	}
	return s.bytes+bytes <= s.max
}

func (s *Store) drop(old func(*kept) bool) {
	for key, k := range s.all {
		if old(k) {
			s.remove(key)
		}
	}
}

func (s *Store) remove(key Key) {
	s.bytes -= size(s.all[key])
	delete(s.all, key)
}

// size is what a series takes, in bytes.
func size(k *kept) int64 { return keptBytes + int64(cap(k.fine.vals)+cap(k.coarse.vals))*valueBytes }

// Last is the newest value of a series, if it is not older than since.
func (s *Store) Last(k Key, since time.Time) (float64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.all[k]
	if x == nil || x.last < since.Unix() {
		return 0, false
	}
	return x.value, true
}

// PointsMost is how many values a Range has at most.
const PointsMost = 2000

// Range is a stretch of time in steps.
type Range struct {
	From  time.Time // of the first step
	Step  time.Duration
	Count int
}

// Range is the stretch from from to to in steps of about step (0: as fine as it
// makes sense), which is made of whole steps of what is kept, and of at most
// PointsMost. now is when it is asked for.
func (s *Store) Range(from, to time.Time, step time.Duration, now time.Time) Range {
	from = later(from, now.Add(-Day))
	unit := time.Duration(s.step) * time.Second
	if now.Sub(from) > Hour+unit {
		unit = Coarse
	}
	span := max(to.Sub(from), unit)
	step = max(min(step, span), unit, span/PointsMost) // a longer one would only hold what was before
	step = (step + unit - 1) / unit * unit
	from = from.Truncate(step)
	count := max(0, (to.Sub(from)+step-1)/step) // below: all of it is older than what is kept
	return Range{From: from, Step: step, Count: min(int(count), PointsMost)}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Query returns the mean of each step of a range, not a number where nothing is
// known; nil: nothing is known of all of it.
func (s *Store) Query(k Key, r Range) []float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.all[k]
	if x == nil {
		return nil
	}
	from, step := r.From.Unix(), int64(r.Step/time.Second)
	of := &x.coarse
	if x.fine.step > 0 && step%int64(Coarse/time.Second) != 0 {
		of = &x.fine
	}
	out, any := make([]float64, r.Count), false
	for i := range out {
		out[i] = of.mean(from+int64(i)*step, from+int64(i+1)*step)
		any = any || !math.IsNaN(out[i])
	}
	if !any {
		return nil
	}
	return out
}

// Stats say how full a store is.
type Stats struct {
	Series     int
	Bytes, Max int64
	Refused    int64 // values of series for which there was no room
}

// Stats says how full the store is.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{len(s.all), s.bytes, s.max, s.refused}
}
