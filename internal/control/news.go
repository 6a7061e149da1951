package control

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/backend"
)

// linger is how long news that frees nothing waits for more to share a commit
// with. Nobody's work waits for it: a task that runs, runs.
const linger = 3 * time.Millisecond

// news gathers what a backend's watch brings, so that a backend is never held up by
// a commit and what came meanwhile shares the next one.
type news struct {
	mu    sync.Mutex
	seen  []backend.Observation
	wake  chan struct{} // there is something; capacity one
	ended chan struct{} // there is an end among it; capacity one
}

func newNews() *news {
	return &news{wake: make(chan struct{}, 1), ended: make(chan struct{}, 1)}
}

func (n *news) add(seen []backend.Observation) {
	n.mu.Lock()
	n.seen = append(n.seen, seen...)
	n.mu.Unlock()
	nudge(n.wake)
	if slices.ContainsFunc(seen, func(o backend.Observation) bool { return o.State.Ended() }) {
		nudge(n.ended)
	}
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// next waits for news and returns all of it; nil when ctx is done.
func (n *news) next(ctx context.Context) []backend.Observation {
	select {
	case <-ctx.Done():
		return nil
	case <-n.wake:
	}
	more := time.NewTimer(linger)
	defer more.Stop()
	select {
	case <-ctx.Done():
		return nil
	case <-n.ended:
	case <-more.C:
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	seen := n.seen
	n.seen = nil
	return seen
}
