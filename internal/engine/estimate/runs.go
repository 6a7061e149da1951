// Package estimate learns how long workloads run and how good the estimates of
// starts were, and corrects the next ones by that. It may be used by several
// goroutines at once.
package estimate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/core"
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
	return &Learnt{Lengths: runs{of: map[string]*lengths{}}, Score: newScore()}
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
	mu    sync.RWMutex
	of    map[string]*lengths
	order []string // keys of of as they came
}

// lengths are the last few lengths of a class.
type lengths struct {
	all  []Length
	next int
}

// Length is how long one ran, in ms, or that it ran for at least so long, where
// something else than its own end was the end of it.
type Length struct {
	Ms  int64
	Cut bool
}

// Bounds of what is remembered: lengths of a class, and classes.
const (
	lengthsKept = 64
	classesKept = 20_000
)

// class is a set of workloads that are alike, and how many of them must have
// ended before anything is said of them.
type class struct {
	key   string
	least int
}

// classesOf are those that w belongs to, the narrowest first.
func classesOf(w *core.Workload) []class {
	gpus := w.Spec.TotalGPUs()
	return []class{
		{fmt.Sprintf("%s|%s|%s|%d|%s", w.Project, w.User, w.Kind, gpus, stem(w)), 3},
		{fmt.Sprintf("%s|%s|%s|%d", w.Project, w.User, w.Kind, gpus), 5},
		{fmt.Sprintf("%s||%s", w.Project, w.Kind), 10},
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
	one := Length{a.EndedAt.Sub(a.RunningAt).Milliseconds(), cutShort(w.Phase)}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range classesOf(w) {
		l := p.of[c.key]
		if l == nil {
			if len(p.order) >= classesKept {
				delete(p.of, p.order[0])
				p.order = p.order[1:]
			}
			l = &lengths{}
			p.of[c.key] = l
			p.order = append(p.order, c.key)
		}
		if len(l.all) < lengthsKept {
			l.all = append(l.all, one)
			continue
		}
		l.all[l.next] = one
		l.next = (l.next + 1) % lengthsKept
	}
}

// Likes are the lengths of the narrowest class of w of which enough ended by
// themselves, as far as they are longer than since, the shortest first.
func (p *runs) Likes(w *core.Workload, since int64) []Length {
	if w.Kind.Replicated() {
		return nil // runs until someone stops it
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, c := range classesOf(w) {
		l := p.of[c.key]
		if l == nil {
			continue
		}
		whole, ended := 0, 0
		var longer []Length
		for _, x := range l.all {
			whole += core.Bit(!x.Cut)
			if x.Ms > since {
				longer = append(longer, x)
				ended += core.Bit(!x.Cut)
			}
		}
		if whole < c.least || ended == 0 { // too few, or it has outlived all others of its class
			continue
		}
		slices.SortFunc(longer, func(a, b Length) int { return cmp.Or(cmp.Compare(a.Ms, b.Ms), core.Bit(a.Cut)-core.Bit(b.Cut)) })
		return longer
	}
	return nil
}

// Length is how long such workloads ran that ran for longer than since: a tenth
// was over by the first, half by the second, nine tenths by the third. Those that
// were cut short count for as long as they ran (the product limit of Kaplan and
// Meier), so that a quantile that nobody reached is the longest that was seen.
func (p *runs) Length(w *core.Workload, since int64) (forecast.Span, bool) {
	all := p.Likes(w, since)
	if len(all) == 0 {
		return forecast.Span{}, false
	}
	return forecast.Span{Early: quantile(all, .1), Likely: quantile(all, .5), Late: quantile(all, .9)}, true
}

// quantile is by when so great a part of sorted lengths was over.
func quantile(sorted []Length, q float64) int64 {
	left := 1.0
	for i, x := range sorted {
		if x.Cut {
			continue
		}
		left *= 1 - 1/float64(len(sorted)-i)
		if 1-left >= q-1e-9 {
			return x.Ms
		}
	}
	return sorted[len(sorted)-1].Ms
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
