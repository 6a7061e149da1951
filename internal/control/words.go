package control

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// ClaimsWaiting are the keys of claims of a backend that have members without a
// place; the value is a []string.
func ClaimsWaiting(backendName string) Command {
	return func(tx *tx) (any, error) {
		var out []string
		for k, c := range tx.e.claims.of {
			if k.backend != backendName {
				continue
			}
			for _, m := range c.members {
				if m.Task == (core.TaskID{}) {
					out = append(out, k.key)
					break
				}
			}
		}
		slices.Sort(out)
		return out, nil
	}
}

// WordsOf is why claims of a backend wait; the value is a []backend.Word. Those that
// do not are left out.
func WordsOf(backendName string, keys []string) Command {
	return func(tx *tx) (any, error) {
		var out []backend.Word
		tx.sync()
		tx.ends()
		for _, key := range keys {
			k := claimKey{backendName, key}
			c := tx.e.claims.of[k]
			if c == nil {
				continue
			}
			w := backend.Word{Claim: key}
			if w.Reason, w.Text = tx.word(k, c); w.Text != "" {
				if c.Note != "" {
					w.Text += "; " + c.Note
				}
				out = append(out, w)
			}
		}
		return out, nil
	}
}

// wordMost is how many reasons one word gives.
const wordMost = 3

// word is why the members of a claim wait that have no place.
func (tx *tx) word(k claimKey, c *claim) (reason, text string) {
	d, err := tx.standsFor(k, c)
	if err != nil || d == nil {
		return "", ""
	}
	if d.w.Phase.End() {
		if !kept(d.w) {
			return "", ""
		}
		return string(d.w.Phase), fmt.Sprintf("workload %s of project %s is %s (%s); muster restart -p %s %s lets it run", d.w.Name, d.w.Project, d.w.Phase, d.w.Reason, d.w.Project, d.w.Name)
	}
	w, tasks, _ := tx.view(d.w.ID)
	p, ok := tx.phase(w, tasks)
	held := w.Phase.Held()
	switch {
	case held && len(tx.e.open(w, tasks)) == 0 || !ok || held:
		r, lacks := tx.e.lacks(w, tasks)
		switch ex, explained := tx.explain(w.ID); {
		case lacks:
			p = one(r)
		case tx.e.wants(w, tasks) && explained:
			p.Explanation = tx.named(ex)
		case w.Phase == lifecycle.Terminating:
			return string(w.Phase), fmt.Sprintf("workload %s is being ended (%s); then it waits again", w.Name, w.Reason)
		default:
			return "", ""
		}
	}
	if len(p.Reasons) == 0 {
		return "", ""
	}
	var all []string
	for i := range p.Reasons[:min(len(p.Reasons), wordMost)] {
		all = append(all, p.Reasons[i].String())
	}
	return string(p.Reasons[0].Token), fmt.Sprintf("workload %s of project %s: %s", w.Name, w.Project, strings.Join(all, "; "))
}

// What is told of a claim changes with every start and end of others: it is told
// anew at most this often, so many at once.
const (
	wordsEvery = 15 * time.Second
	wordsPause = 300 * time.Millisecond
	wordsChunk = 32
)

// speaker tells the makers of claims why these wait.
type speaker struct {
	a     *actuator
	p     backend.Claimant
	said  map[string]time.Time
	stale time.Time // when something last changed
}

// speakAgain has those told who wait.
func (a *actuator) speakAgain() {
	select {
	case a.replanned <- struct{}{}:
	default:
	}
}

// speak tells them until ctx is done: what is new soon, the rest now and then
// while something changes.
func (a *actuator) speak(ctx context.Context, p backend.Claimant) {
	s := &speaker{a: a, p: p, said: map[string]time.Time{}}
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.replanned:
			s.stale = a.ctl.clock()
		case <-again:
		}
		select { // what comes at once is told at once
		case <-ctx.Done():
			return
		case <-time.After(wordsPause):
		}
		next, err := s.tell(ctx)
		if err != nil && ctx.Err() == nil {
			a.log.Warn("those who wait could not be told why; trying again", "err", err)
			next = wordsEvery
		}
		if again = nil; next > 0 {
			again = time.After(next)
		}
	}
}

// tell tells what is due and returns when something is again; 0: when something
// changes.
func (s *speaker) tell(ctx context.Context) (time.Duration, error) {
	v, err := s.a.ctl.Do(ctx, ClaimsWaiting(s.a.backend.Name()))
	if err != nil {
		return 0, err
	}
	now := s.a.ctl.clock()
	waiting := v.([]string)
	var due []string
	next := time.Duration(0)
	there := make(map[string]time.Time, len(waiting))
	for _, key := range waiting {
		at := s.said[key]
		there[key] = at
		switch left := wordsEvery - now.Sub(at); {
		case at.IsZero(), at.Before(s.stale) && left <= 0:
			due = append(due, key)
		case at.Before(s.stale) && (next == 0 || left < next):
			next = left
		}
	}
	s.said = there
	slices.SortStableFunc(due, func(a, b string) int { return cmp.Compare(there[a].UnixNano(), there[b].UnixNano()) })
	for chunk := range slices.Chunk(due, wordsChunk) {
		v, err := s.a.ctl.Do(ctx, WordsOf(s.a.backend.Name(), chunk))
		if err != nil {
			return 0, err
		}
		words := v.([]backend.Word)
		if err := s.p.Explain(ctx, words); err != nil {
			return 0, err
		}
		for _, key := range chunk { // of which there is nothing to be told yet may be soon
			s.said[key] = now.Add(time.Second - wordsEvery)
		}
		for _, w := range words {
			s.said[w.Claim] = now
		}
	}
	return next, nil
}
