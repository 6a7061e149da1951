package serviceproxy

import (
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/consequence"
)

const (
	// probeEager is how often a replica that is not ready yet is asked at least, so
	// that it is used as soon as it can be.
	probeEager = 100 * time.Millisecond
	// unnamed is how long a replica whose document names no port is asked on the
	// one in its $PORT. What has not listened there by then is none that is asked
	// things, and is ready as it runs.
	unnamed = 3 * time.Second
)

// probe asks a replica again and again until it is gone, and tells the control
// backend when the answer changes.
func (b *route) probe(ctx context.Context, r *replica) {
	failures := 0
	for ctx.Err() == nil {
		b.mu.Lock()
		doc, task, was := b.doc, r.task, r.probed
		b.mu.Unlock()
		p := doc.Readiness()
		ok := b.answers(ctx, &task, doc, p)
		if ctx.Err() != nil {
			return
		}
		failures++
		if ok {
			failures = 0
		}
		now := ok || was && failures < p.Failures
		if now != was {
			b.mu.Lock()
			if r.probed = now; now {
				b.announce()
			}
			b.mu.Unlock()
		}
		if now != task.Ready {
			b.s.send(ctx, consequence.Probed(map[core.TaskID]bool{task.ID: now}))
		}
		wait := p.Period.Std()
		if !now {
			wait = min(wait, probeEager)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// answers asks once.
func (b *route) answers(ctx context.Context, t *core.Task, doc *spec.Document, p spec.Probe) bool {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout.Std())
	defer cancel()
	port := target(t, doc)
	e := b.s.enterer(t.Backend)
	switch {
	case e == nil:
		return false
	case port == 0:
		return true // it has no port to be asked: that it runs must do
	case len(doc.Ports) == 0 && p.Port == 0 && time.Since(t.StartedAt) > unnamed:
		return true // it may not listen at all
	}
	conn, err := e.Dial(ctx, t.ID, port)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	if p.Path == "" {
		return true
	}
	tr := &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://replica/"+strings.TrimPrefix(p.Path, "/"), nil)
	if err != nil {
		return false
	}
	req.Header.Set("User-Agent", "muster-probe")
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode >= 200 && resp.StatusCode < 400
}
