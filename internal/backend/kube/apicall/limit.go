package apicall

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// Limiter keeps what goes wrong for a thousand tasks at once, while an API server
// is away, from a thousand requests at once and as many lines in the log.
type Limiter struct {
	log   *slog.Logger
	slots chan struct{}

	mu       sync.Mutex
	warnings map[string]*warning
}

// warning is one that comes again and again.
type warning struct {
	at     time.Time
	unsaid int
}

// Pauses before a request that failed is tried again: the first, and the longest.
const (
	FirstPause   = 200 * time.Millisecond
	LongestPause = time.Minute
)

// Timeout bounds the question whether the API server is there.
const Timeout = 10 * time.Second

// sayEvery is how often a warning of one sort is logged.
const sayEvery = time.Minute

// NewLimiter is a Limiter that warns in a log.
func NewLimiter(log *slog.Logger) *Limiter {
	return &Limiter{log: log, slots: make(chan struct{}, MaxConcurrent), warnings: map[string]*warning{}}
}

// Acquire waits until one more may try again; false: there is no time left. Who
// has it calls Release.
func (c *Limiter) Acquire(ctx context.Context) bool {
	select {
	case c.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// Release ends what Acquire began.
func (c *Limiter) Release() { <-c.slots }

// Warn logs what goes wrong, each sort now and then.
func (c *Limiter) Warn(what string, args ...any) {
	c.mu.Lock()
	s := c.warnings[what]
	if s == nil {
		s = &warning{}
		c.warnings[what] = s
	}
	s.unsaid++
	n, now := s.unsaid, time.Now()
	if quiet := !s.at.IsZero() && now.Sub(s.at) < sayEvery; quiet {
		c.mu.Unlock()
		return
	}
	s.at, s.unsaid = now, 0
	c.mu.Unlock()
	c.log.Warn(what, append(args, "times", n)...)
}

// Retry does f until it succeeds, with pauses that grow.
func (c *Limiter) Retry(ctx context.Context, what string, id core.TaskID, f func() error) {
	for wait := 100 * time.Millisecond; ctx.Err() == nil; wait = min(2*wait, 20*time.Second) {
		if !c.Acquire(ctx) {
			return
		}
		err := f()
		c.Release()
		if err == nil || ctx.Err() != nil {
			return
		}
		c.Warn(what+"; trying again", "task", id, "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}
