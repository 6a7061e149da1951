package kube

import (
	"context"
	"errors"
	"io"
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
	said map[string]*said
	away error // why the cluster was last lost sight of
}

// said is a warning that comes again and again.
type said struct {
	at     time.Time
	unsaid int
}

// sayEvery is how often a warning of one sort is logged.
const sayEvery = time.Minute

func newCalm(log *slog.Logger) *calm {
	return &calm{log: log, slots: make(chan struct{}, atOnce), said: map[string]*said{}}
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
		s = &said{}
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

// lost takes over why an informer does not hear of the cluster. It tries again
// by itself, after pauses that grow.
func (c *calm) lost(err error) {
	if errors.Is(err, io.EOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // watches end, and are begun anew
	}
	c.mu.Lock()
	c.away = err
	c.mu.Unlock()
	c.warn("lost sight of the cluster; looking again", "err", err)
}

// last is why the cluster was last lost sight of; nil: it never was.
func (c *calm) last() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.away
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
