package explanation

import (
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/draft"
)

// DeadlineState is how a workload stands to its deadline.
type DeadlineState struct {
	draft.Deadline
	Left   time.Duration // until it; negative: it has passed
	Missed bool
	// Expected is when it is likely to be done; zero: nobody knows. InTime says
	// that this is not after the deadline.
	Expected time.Time
	InTime   bool
}

// standingTo is how w stands to its deadline if it is to start at that instant,
// or has; zero: nobody knows.
func standingTo(d draft.Deadline, w *core.Workload, start, now time.Time) *DeadlineState {
	s := &DeadlineState{Deadline: d, Left: d.At.Sub(now), Missed: !w.Missed.IsZero() || d.At.Before(now)}
	if !start.IsZero() && d.Length > 0 {
		s.Expected = start.Add(d.Length)
		if s.Expected.Before(now) {
			s.Expected = now // it takes longer than it was taken to
		}
		s.InTime = !s.Expected.After(d.At)
	}
	return s
}

// deadlineNow is how a workload stands that asks why it waits.
func (s *Study) deadlineNow(y *Why) {
	if s.due == nil {
		return
	}
	start := time.Time{}
	switch a := s.w.Attempts[len(s.w.Attempts)-1]; {
	case s.w.Phase.Held():
		start = a.RunningAt
		if start.IsZero() {
			start = s.now
		}
	case y.Trial != nil && y.Trial.Now:
		start = s.now
	case y.Forecast.Likely > 0:
		start = time.UnixMilli(y.Forecast.Likely).UTC()
	case y.Forecast.Early > 0 && y.Forecast.Late == 0:
		start = time.UnixMilli(y.Forecast.Early).UTC()
	}
	y.Deadline = standingTo(*s.due, s.w, start, s.now)
}
