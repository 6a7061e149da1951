package control

import (
	"context"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/estimate"
	"github.com/musterhq/muster/internal/engine/explanation"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/engine/submission"
)

// Foremost is the command of that name.
func (c *Control) Foremost(ctx context.Context, n int) ([]core.WorkloadID, error) {
	return Do(ctx, c, explanation.Foremost(n))
}

// Committed is the command of that name.
func (c *Control) Committed(ctx context.Context, ids []core.WorkloadID) ([]*core.Workload, error) {
	return Do(ctx, c, explanation.Committed(ids))
}

// Explain says why each of the ids waits; those that do not wait are absent.
func (c *Control) Explain(ctx context.Context, ids []core.WorkloadID) (map[core.WorkloadID]explanation.Pending, error) {
	out, err := Do(ctx, c, explanation.Explain(ids))
	if err != nil {
		return nil, err
	}
	c.expect(ctx, out)
	return out, nil
}

// Preview answers what edits of projects and departments would change, and
// changes nothing.
func (c *Control) Preview(ctx context.Context, edits []organisation.Edit) (*report.Preview, error) {
	select {
	case c.studies <- struct{}{}:
		defer func() { <-c.studies }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s, err := Do(ctx, c, report.PreviewOf(edits))
	if err != nil {
		return nil, err
	}
	var out *report.Preview
	if f := s.Before.Safely("", func() { out = s.Answer() }); f != nil {
		s.Failed(f)
		return nil, &draft.Error{Code: draft.CodeUnavailable, Message: "the scheduler failed while it worked out what this would change", Hint: "it can be applied all the same; tell the administrator: the server's log names the file with which the failure can be repeated"}
	}
	return out, nil
}

// Why answers why a workload waits, and when it will start.
func (c *Control) Why(ctx context.Context, r draft.Ref) (*explanation.Why, error) {
	return c.answer(ctx, explanation.StudyOf(r))
}

// WhatIf answers what would become of a submission.
func (c *Control) WhatIf(ctx context.Context, s submission.Submission) (*explanation.Why, error) {
	return c.answer(ctx, explanation.StudyRun(s))
}

func (c *Control) answer(ctx context.Context, ask draft.Command[*explanation.Study]) (*explanation.Why, error) {
	select {
	case c.studies <- struct{}{}:
		defer func() { <-c.studies }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s, err := Do(ctx, c, ask)
	if err != nil {
		return nil, err
	}
	return s.Answer(), nil
}

// Course answers who is likely to hold which devices until an instant, with a lookup
// of the workloads that it names. Whoever asks again soon is told the same.
func (c *Control) Course(ctx context.Context, until time.Time) (forecast.Course, func(core.WorkloadID) *core.Workload, error) {
	c.courses.Lock()
	last := c.courses.last
	c.courses.Unlock()
	if now := c.clock(); last != nil && now.Sub(last.at) < max(courseHolds, forecastRests*last.cost) && !until.After(last.until) {
		return last.course, last.study.Live, nil
	}
	select {
	case c.studies <- struct{}{}:
		defer func() { <-c.studies }()
	case <-ctx.Done():
		return forecast.Course{}, nil, ctx.Err()
	}
	s, err := Do(ctx, c, explanation.Forecast())
	if err != nil {
		return forecast.Course{}, nil, err
	}
	begun := time.Now()
	made := &lastCourse{at: c.clock(), until: until, study: s, course: s.Course(until)}
	made.cost = time.Since(begun)
	c.courses.Lock()
	c.courses.last = made
	c.courses.Unlock()
	return made.course, s.Live, nil
}

// courses keeps the last course that was made.
type courses struct {
	sync.Mutex
	last *lastCourse
}

type lastCourse struct {
	at, until time.Time
	cost      time.Duration
	study     *explanation.Study
	course    forecast.Course
}

// courseHolds is for how long a course is told again.
const courseHolds = 10 * time.Second

// Estimates is how good the estimates of starts were since the server began.
func (c *Control) Estimates() estimate.Score { return c.engine.Insight.Score.Read() }

// forecasts works out the starts of all that wait at once, for lists.
type forecasts struct {
	mu   sync.Mutex
	cost time.Duration // of the last
	busy bool
}

// expect puts expected starts into explanations of a list: the same that an
// answer of one of them has.
func (c *Control) expect(ctx context.Context, all map[core.WorkloadID]explanation.Pending) {
	now := c.clock()
	fill := func(old bool) (missing bool) { // old: also what was told long ago
		hold := max(estimate.WordHolds, forecastRests*c.forecasts.took())
		for id, p := range all {
			if p.Position == 0 {
				continue
			}
			span, ok := c.engine.Insight.Score.LastWord(id, now.Add(-hold).UnixMilli())
			if !ok {
				if missing = true; old {
					span, _ = c.engine.Insight.Score.LastWord(id, 0)
				} else {
					span = forecast.Span{}
				}
			}
			p.EarliestStart, p.Start = span.Likely, span // 0: nobody can tell, or not yet
			all[id] = p
		}
		return missing
	}
	if !fill(true) || !c.forecasts.begin() {
		return
	}
	s, err := Do(ctx, c, explanation.Forecast())
	if err != nil {
		c.forecasts.end(0)
		return
	}
	if s.Many() { // what was told while there were fewer is good no more
		c.forecasts.end(0)
		fill(false)
		return
	}
	ready := make(chan struct{})
	go func() {
		defer close(ready)
		begun := time.Now()
		s.Foresee()
		c.forecasts.end(time.Since(begun))
	}()
	select {
	case <-ready:
		fill(true)
	case <-time.After(quick):
	case <-ctx.Done():
	}
}

// studiesAtOnce bounds how many answers are worked out at a time: the rest of
// the machine is for work.
const studiesAtOnce = 2

func (o *forecasts) took() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.cost
}

// begin reports whether the caller may work one out: one at a time.
func (o *forecasts) begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy {
		return false
	}
	o.busy = true
	return true
}

func (o *forecasts) end(took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy = false
	if took > 0 {
		o.cost = took
	}
}

const (
	// quick is how long an answer with a list may wait for estimates; where they
	// take longer they are worked out beside it and told the next time.
	quick = 200 * time.Millisecond
	// forecastRests is how many times as long as a forecast took none is made.
	forecastRests = 20
)
