package control

import (
	"sync"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
)

// Score is how good the estimates of starts were since the server began.
type Score struct {
	Inside int // it started within the range
	Early  int // before it
	Late   int // after it
}

// Of is how many estimates have been scored.
func (s Score) Of() int { return s.Inside + s.Early + s.Late }

// ScoreLeast is how many estimates must have been scored for a rate to mean
// anything.
const ScoreLeast = 10

// estimate is a range that somebody was told.
type estimate struct{ early, late time.Time }

// score compares what was said with what came. The first word counts: whoever
// asks again just before the start is told nothing that is hard to tell.
type score struct {
	mu    sync.Mutex
	open  map[core.WorkloadID]estimate
	total Score
	off   func(time.Duration) // is told how far off each was; nil: nobody is
}

// openMost bounds how many estimates are remembered.
const openMost = 10_000

// said remembers what was told of a workload that waits.
func (s *score) said(id core.WorkloadID, span schedule.Span) {
	if span.Early == 0 || span.Late == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, before := s.open[id]; !before && len(s.open) < openMost {
		s.open[id] = estimate{time.UnixMilli(span.Early), time.UnixMilli(span.Late)}
	}
}

// saw scores an estimate when its workload starts, and forgets it when it leaves
// its queue otherwise.
func (s *score) saw(t *core.Transition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.open[t.Workload]
	if !ok || t.To == lifecycle.Queued || t.To == lifecycle.Reserved {
		return
	}
	delete(s.open, t.Workload)
	if t.To == lifecycle.Starting && s.off != nil {
		s.off(t.At.Sub(e.early.Add(e.late.Sub(e.early) / 2)))
	}
	switch {
	case t.To != lifecycle.Starting:
	case t.At.Before(e.early):
		s.total.Early++
	case t.At.After(e.late):
		s.total.Late++
	default:
		s.total.Inside++
	}
}

func (s *score) read() Score {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}
