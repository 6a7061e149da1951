//go:build linux

package protocol

import (
	"sync"

	"github.com/musterhq/muster/internal/backend"
)

// maxBacklog is how many observations a slow watcher may be behind before it
// gets a fresh picture instead.
const maxBacklog = 1 << 16

// Backlog collects what one connection has not been told yet.
type Backlog struct {
	mu      sync.Mutex
	pending []backend.Observation
	over    bool
	Wake    chan struct{}
}

// Add takes note of an observation. It never waits.
func (w *Backlog) Add(o backend.Observation) {
	w.mu.Lock()
	if len(w.pending) < maxBacklog {
		w.pending = append(w.pending, o)
	} else {
		w.over = true
	}
	w.mu.Unlock()
	select {
	case w.Wake <- struct{}{}:
	default:
	}
}

// Take returns what was added since the last call; over says that there was too
// much of it, so that only a fresh look tells everything.
func (w *Backlog) Take() (seen []backend.Observation, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen, over = w.pending, w.over
	w.pending, w.over = nil, false
	return seen, over
}
