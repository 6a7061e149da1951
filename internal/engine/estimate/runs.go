// Package estimate learns how long workloads run and how good the estimates of
// starts were, and corrects the next ones by that. It may be used by several
// goroutines at once.
package estimate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lengths"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
	"github.com/musterhq/muster/internal/store"
)

// Learnt is what has been learnt: how long workloads ran, and how good the
// estimates of starts were. Unlike the rest of the engine it may be used by
// several goroutines.
type Learnt struct {
	Lengths runs
	Score   score
}

func New() *Learnt {
	return &Learnt{Score: newScore()}
}

// seedRuns is how many ended workloads a start of the server learns from; what
// ends later is added as it does.
const seedRuns = 500

// Seed learns from what the store remembers. Without it estimates are vaguer
// for a while, so that an error is none of the caller's.
func (in *Learnt) Seed(ctx context.Context, s store.Store) error {
	var ends []lifecycle.Phase
	for _, p := range lifecycle.Phases() {
		if p.End {
			ends = append(ends, p.Phase)
		}
	}
	page, err := s.List(ctx, store.Query{Phases: ends, Limit: seedRuns})
	if err != nil {
		return fmt.Errorf("learn how long workloads run: %w", err)
	}
	for _, w := range slices.Backward(page.Items) { // the oldest first
		in.Lengths.note(w)
	}
	return nil
}

// Saw takes notice of a committed change.
func (in *Learnt) Saw(w *core.Workload, steps []core.Transition) {
	for _, t := range steps {
		in.Score.saw(&t)
	}
	if len(steps) > 0 && w.Phase.End() {
		in.Lengths.note(w)
	}
}

// runs is how long workloads ran that have ended.
type runs struct {
	mu   sync.RWMutex
	book lengths.Book
}

// classesOf are those that w belongs to, the narrowest first.
func classesOf(w *core.Workload) []lengths.Class {
	gpus := w.Spec.TotalGPUs()
	return []lengths.Class{
		{Key: fmt.Sprintf("%s|%s|%s|%d|%s", w.Project, w.User, w.Kind, gpus, stem(w)), Least: 3},
		{Key: fmt.Sprintf("%s|%s|%s|%d", w.Project, w.User, w.Kind, gpus), Least: 5},
		{Key: fmt.Sprintf("%s||%s", w.Project, w.Kind), Least: 10},
	}
}

// stem is what the names of w and its likes begin with.
func stem(w *core.Workload) string {
	if w.Spec.NamePrefix != "" {
		return w.Spec.NamePrefix
	}
	return strings.TrimRight(w.Name, "0123456789-")
}

// cutShort reports whether a run was ended from outside: it says no more of how
// long such work runs than that it runs for longer.
func cutShort(p lifecycle.Phase) bool {
	switch p {
	case lifecycle.Preempted, lifecycle.Lost, lifecycle.Stopped, lifecycle.Canceled, lifecycle.Deleted:
		return true
	}
	return false
}

// note remembers the last run of w.
func (p *runs) note(w *core.Workload) {
	a := w.Attempts[len(w.Attempts)-1]
	if a.RunningAt.IsZero() || a.EndedAt.IsZero() {
		return
	}
	one := lengths.Length{Ms: a.EndedAt.Sub(a.RunningAt).Milliseconds(), Cut: cutShort(w.Phase)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.book.Note(classesOf(w), one)
}

// Likes are the lengths of the narrowest class of w of which enough ended by
// themselves, as far as they are longer than since, the shortest first.
func (p *runs) Likes(w *core.Workload, since int64) []lengths.Length {
	if w.Kind.Replicated() {
		return nil // runs until someone stops it
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.book.Likes(classesOf(w), since)
}

// Left is how long w probably still takes, in ms, if it has had so much already; 0:
// nobody knows.
func (p *runs) Left(w *core.Workload, had int64) int64 {
	if w.Kind.Replicated() {
		return 0
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.book.Left(classesOf(w), had)
}

// Length is how long such workloads ran that ran for longer than since: a tenth
// was over by the first, half by the second, nine tenths by the third.
func (p *runs) Length(w *core.Workload, since int64) (forecast.Span, bool) {
	all := p.Likes(w, since)
	if len(all) == 0 {
		return forecast.Span{}, false
	}
	return forecast.Span{Early: lengths.Quantile(all, .1), Likely: lengths.Quantile(all, .5), Late: lengths.Quantile(all, .9)}, true
}

// Ends are never to the second: what is given up must be noticed, cleaned up and
// planned for. slack and slackPart widen a span by so much at least.
const (
	slack     = 10 * time.Second
	slackPart = 20 // of its length
)

// Basis counts on what an estimate rests.
type Basis struct {
	Learnt  int // running workloads whose likes have ended before
	Limits  int // whose limit alone is known
	Unknown int // of which nothing is known
}

// Span is when w ends if it runs, else how long it will run.
func (in *Learnt) Span(w *core.Workload, j *schedule.Job, now int64, b *Basis) forecast.Span {
	if w.Phase == lifecycle.Terminating { // most leave at once, some when they are made to
		last := w.PhaseAt.Add(w.Grace()).UnixMilli()
		return forecast.Span{Early: now + 1, Likely: max(min(now+slack.Milliseconds()/2, last), now+1), Late: max(last, now) + slack.Milliseconds()}
	}
	from, running := int64(0), len(j.Held) > 0
	if running {
		from = j.Started
		if from == 0 {
			from = now
		}
	}
	learnt, ok := in.Lengths.Length(w, max(now-from, 0)*int64(core.Bit(running)))
	limit := j.MaxRun
	if running && j.EndsBy > 0 {
		limit = max(j.EndsBy-from, 1)
	}
	switch {
	case ok:
		learnt.Early = max(learnt.Early-learnt.Early/slackPart-slack.Milliseconds(), 1)
		learnt.Late += learnt.Late/slackPart + slack.Milliseconds()
	case limit > 0:
		// Of a limit alone it is known that it is the latest; that half of all
		// work ends long before its limit is no ground to promise it.
		passed := max(now-from, 0) * int64(core.Bit(running))
		learnt = forecast.Span{Early: passed + (limit-passed)/10, Likely: limit, Late: limit + 3*slack.Milliseconds()}
	default:
		if running {
			b.Unknown++
		}
		return forecast.Span{}
	}
	if running {
		b.Learnt += core.Bit(ok)
		b.Limits += core.Bit(!ok)
	}
	if limit > 0 && ok {
		latest := limit + 3*slack.Milliseconds()
		learnt = forecast.Span{Early: min(learnt.Early, limit), Likely: min(learnt.Likely, limit), Late: min(learnt.Late, latest)}
	}
	return forecast.Span{Early: from + learnt.Early, Likely: from + learnt.Likely, Late: from + learnt.Late}
}
