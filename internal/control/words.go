package control

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/engine/explanation"
)

// What is told of a claim changes with every start and end of others: it is told
// anew at most this often, so many at once.
const (
	wordsEvery = 15 * time.Second
	wordsPause = 300 * time.Millisecond
	wordsChunk = 32
)

// speaker tells the makers of claims why these wait.
type speaker struct {
	a      *actuator
	p      backend.Claimant
	logged map[string]time.Time
	stale  time.Time // when something last changed
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
	s := &speaker{a: a, p: p, logged: map[string]time.Time{}}
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
		next, err := s.report(ctx)
		if err != nil && ctx.Err() == nil {
			a.log.Warn("those who wait could not be told why; trying again", "err", err)
			next = wordsEvery
		}
		if again = nil; next > 0 {
			again = time.After(next)
		}
	}
}

// report delivers what is due and returns when something is due again; 0: when something
// changes.
func (s *speaker) report(ctx context.Context) (time.Duration, error) {
	waiting, err := Do(ctx, s.a.ctl, explanation.ClaimsWaiting(s.a.backend.Name()))
	if err != nil {
		return 0, err
	}
	now := s.a.ctl.clock()
	var due []string
	next := time.Duration(0)
	there := make(map[string]time.Time, len(waiting))
	for _, key := range waiting {
		at := s.logged[key]
		there[key] = at
		switch left := wordsEvery - now.Sub(at); {
		case at.IsZero(), at.Before(s.stale) && left <= 0:
			due = append(due, key)
		case at.Before(s.stale) && (next == 0 || left < next):
			next = left
		}
	}
	s.logged = there
	slices.SortStableFunc(due, func(a, b string) int { return cmp.Compare(there[a].UnixNano(), there[b].UnixNano()) })
	for chunk := range slices.Chunk(due, wordsChunk) {
		words, err := Do(ctx, s.a.ctl, explanation.WordsOf(s.a.backend.Name(), chunk))
		if err != nil {
			return 0, err
		}
		if err := s.p.Explain(ctx, words); err != nil {
			return 0, err
		}
		for _, key := range chunk { // of which there is nothing to be told yet may be soon
			s.logged[key] = now.Add(time.Second - wordsEvery)
		}
		for _, w := range words {
			s.logged[w.Claim] = now
		}
	}
	return next, nil
}
