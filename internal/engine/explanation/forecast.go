package explanation

import (
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/estimate"
	"github.com/musterhq/muster/internal/engine/planner"
)

// Forecast asks when all that wait start. Where there are too many to tell it costs
// next to nothing: a copy of them would hold up whoever else wants the engine.
func Forecast() draft.Command[*Study] {
	return func(tx *draft.Tx) (*Study, error) {
		s := &Study{now: tx.Now, w: &core.Workload{}, in: tx.State.Insight}
		planner.Sync(tx)
		if s.many = forecast.TooMany(len(tx.State.Sched.Jobs)); s.many {
			return s, nil
		}
		planner.Ends(tx)
		s.copyOf(tx)
		return s, nil
	}
}

// Many reports whether there are too many to tell when they start.
func (s *Study) Many() bool { return s.many }

// Foresee works a forecast out. It changes nothing but what has been told. Where
// the scheduler fails at it nothing is told.
func (s *Study) Foresee() {
	if s.many {
		return
	}
	f := s.copy.Safely("", func() {
		spans, _ := s.spans()
		s.foresee(spans)
	})
	if f != nil {
		s.failed(f)
	}
}

// foresee is when all that wait start, corrected by past misses. Every place that
// tells of a start has it from here. What is told is remembered, to be told again
// and to be compared with what comes; not so for what is not submitted.
func (s *Study) foresee(spans map[core.WorkloadID]forecast.Span) map[core.WorkloadID]forecast.Span {
	if s.many {
		return nil
	}
	now := s.now.UnixMilli()
	out := forecast.OfAll(s.copy, s.draws(now, spans))
	for id, j := range s.jobs {
		w, raw := s.live[id], out[id]
		if w == nil || len(j.Held) > 0 {
			continue
		}
		classes := estimate.Likenesses(w, j.Promised)
		span := s.in.Score.Correct(classes, now, raw)
		if out[id] = span; s.dry {
			continue
		}
		s.in.Score.Track(id, estimate.Estimate{At: now, Raw: raw, Shown: span, Classes: classes})
		s.in.Score.Remember(id, now, span)
	}
	return out
}

// agree makes a forecast of one say what the forecast for all does.
func (s *Study) agree(f *forecast.Forecast, all map[core.WorkloadID]forecast.Span) {
	if f.Simple || f.Relieved {
		return // by another way than by known ends
	}
	if mine := all[s.w.ID]; mine.Likely > 0 {
		f.Span = mine
	}
	for id, span := range all {
		if span.Likely > 0 {
			f.Starts[id] = span.Likely
		}
	}
}

// Course is who holds which devices from now on until an instant, as it goes if
// everything takes as long as is likely and nobody comes. It tells of the jobs of the
// scheduler alone. Where the scheduler fails nothing is told.
func (s *Study) Course(until time.Time) forecast.Course {
	if s.many {
		return forecast.Course{Simple: true}
	}
	var out forecast.Course
	f := s.copy.Safely("", func() {
		spans, _ := s.spans()
		out = forecast.CourseOf(s.copy, spans, until.UnixMilli())
	})
	if f != nil {
		s.failed(f)
		return forecast.Course{Simple: true}
	}
	return out
}

// Live is a workload of a course; nil: it is not known any more.
func (s *Study) Live(id core.WorkloadID) *core.Workload { return s.live[id] }
