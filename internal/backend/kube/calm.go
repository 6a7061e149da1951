package kube

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// calm keeps what goes wrong for a thousand tasks at once, while an API server
// is away, from a thousand requests at once and as many lines in the log.
type calm struct {
	log   *slog.Logger
	slots chan struct{}

	mu   sync.Mutex
	said map[string]*warning
}

// warning is one that comes again and again.
type warning struct {
	at     time.Time
	unsaid int
}

// sayEvery is how often a warning of one sort is logged.
const sayEvery = time.Minute

func newCalm(log *slog.Logger) *calm {
	return &calm{log: log, slots: make(chan struct{}, atOnce), said: map[string]*warning{}}
}

// begin waits until one more may try again; false: there is no time left. Who
// has begun calls end.
func (c *calm) begin(ctx context.Context) bool {
	select {
	case c.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *calm) end() { <-c.slots }

// warn logs what goes wrong, each sort now and then.
func (c *calm) warn(what string, args ...any) {
	c.mu.Lock()
	s := c.said[what]
	if s == nil {
		s = &warning{}
		c.said[what] = s
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

// unanswered reports whether an error is that nobody answered, or a gateway for
// it, rather than what the API server said.
func unanswered(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return refusalOf(err) == nil
	}
	code := answer.Status().Code
	return code >= http.StatusBadGateway && code <= http.StatusGatewayTimeout
}
