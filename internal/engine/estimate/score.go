package estimate

import (
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
)

// Score is how good the estimates of starts were since the server began.
type Score struct {
	Inside int // it started within the range
	Early  int // before it
	Late   int // after it
	// Width is the median of the last ranges from end to end, and Wait that of how
	// long it was until the starts.
	Width, Wait time.Duration
}

// Of is how many estimates have been scored.
func (s Score) Of() int { return s.Inside + s.Early + s.Late }

// ScoreLeast is how many estimates must have been scored for a rate to mean
// anything.
const ScoreLeast = 10

// score compares what was said with what came. The first word counts: whoever
// asks again just before the start is told nothing that is hard to tell.
type score struct {
	mu        sync.Mutex
	open      map[core.WorkloadID]Estimate
	total     Score
	past      misses
	widths    []time.Duration // of the last ranges
	waits     []time.Duration
	estimates map[core.WorkloadID]estimated
	Off       func(time.Duration) // is told how far off each was; nil: nobody is
}

func newScore() score {
	return score{open: map[core.WorkloadID]Estimate{}, past: misses{}, estimates: map[core.WorkloadID]estimated{}}
}

// Bounds of what is remembered: estimates that are open, and ranges for their
// median.
const (
	openMost   = 10_000
	widthsKept = 200
)

// Correct is the range to tell of a raw one.
func (s *score) Correct(classes []likeness, now int64, raw forecast.Span) forecast.Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.past.correct(classes, s.overdue(now), now, raw)
}

// overdue are the misses of who has not started yet, as far as they are large
// already: without them only those would count who were lucky. The caller holds
// mu.
func (s *score) overdue(now int64) misses {
	out := misses{}
	for _, e := range s.open {
		if e.Raw.Likely == 0 {
			continue
		}
		if x := scaleOf(e.At, e.Raw).miss(e.At, now); x > .8 {
			out.add(e.Classes, x)
		}
	}
	return out
}

// Track remembers what was told of a workload that waits.
func (s *score) Track(id core.WorkloadID, e Estimate) {
	if e.Shown.Early == 0 || e.Shown.Late == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, before := s.open[id]; !before && len(s.open) < openMost {
		s.open[id] = e
	}
}

// saw scores an estimate when its workload starts, and forgets it when it leaves
// its queue otherwise.
func (s *score) saw(t *core.Transition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.To != lifecycle.Queued {
		delete(s.estimates, t.Workload)
	}
	e, ok := s.open[t.Workload]
	if !ok || t.To.InQueue() {
		return
	}
	delete(s.open, t.Workload)
	if t.To != lifecycle.Starting {
		return
	}
	at := t.At.UnixMilli()
	if s.Off != nil {
		s.Off(time.Duration(at-(e.Shown.Early+(e.Shown.Late-e.Shown.Early)/2)) * time.Millisecond)
	}
	switch slack := marginOf.Milliseconds(); {
	case at < e.Shown.Early-slack:
		s.total.Early++
	case at > e.Shown.Late+slack:
		s.total.Late++
	default:
		s.total.Inside++
	}
	if e.Raw.Likely > 0 {
		s.past.add(e.Classes, scaleOf(e.At, e.Raw).miss(e.At, at))
	}
	keep := func(all []time.Duration, ms int64) []time.Duration {
		all = append(all, time.Duration(ms)*time.Millisecond)
		return all[max(0, len(all)-widthsKept):]
	}
	s.widths, s.waits = keep(s.widths, e.Shown.Late-e.Shown.Early), keep(s.waits, at-e.At)
}

func (s *score) Read() Score {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.total
	out.Width, out.Wait = median(s.widths), median(s.waits)
	return out
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

// estimated is the last word on when a workload starts.
type estimated struct {
	at   int64 // unix ms
	span forecast.Span
}

// Remember remembers the last word, so that whoever asks next, be it for a list, is
// told the same.
func (s *score) Remember(id core.WorkloadID, now int64, span forecast.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was := s.estimates[id]; span == (forecast.Span{}) && was.at > now-WordHolds.Milliseconds() {
		return // one who was asked for alone knows more
	}
	s.estimates[id] = estimated{now, span}
}

// LastWord is what was told of a workload, if that is new enough.
func (s *score) LastWord(id core.WorkloadID, since int64) (forecast.Span, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.estimates[id]
	return t.span, ok && t.at >= since
}

const (
	// WordHolds is for how long an estimate is told again in lists; costs of a
	// forecast make it longer.
	WordHolds = 10 * time.Second
)
