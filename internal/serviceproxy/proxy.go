package serviceproxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// ticket is the replica that a request goes to; another one where the first
// turns out to be gone.
type ticket struct {
	rep   *replica
	begun time.Time
}

type ticketKey struct{}

// goneError says that a replica could not even be connected to.
type goneError struct{ err error }

func (e *goneError) Error() string { return e.err.Error() }
func (e *goneError) Unwrap() error { return e.err }

// handler passes requests to ready replicas.
func (b *route) handler() http.Handler {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			conn, err := b.dial(ctx, host)
			if err != nil {
				return nil, &goneError{err}
			}
			return conn, nil
		},
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     30 * time.Second,
		DisableCompression:  true,
	}
	proxy := &httputil.ReverseProxy{
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) { return b.send(transport, r) }),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "replica"
			r.Out.Host = r.In.Host
			r.SetXForwarded()
		},
		ModifyResponse: func(r *http.Response) error {
			b.measured.note(time.Since(r.Request.Context().Value(ticketKey{}).(*ticket).begun), r.StatusCode >= http.StatusInternalServerError)
			return nil
		},
		FlushInterval: -1, // tokens come as they are made
		ErrorLog:      slog.NewLogLogger(b.s.log.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				b.measured.note(time.Since(r.Context().Value(ticketKey{}).(*ticket).begun), true)
				refuse(w, http.StatusBadGateway, fmt.Sprintf("a replica of %s did not answer: %v", b.name, err))
			}
		},
	}
	context.AfterFunc(b.ctx, transport.CloseIdleConnections)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		rep, err := b.acquire(r.Context())
		if err != nil {
			if r.Context().Err() == nil {
				b.measured.note(time.Since(begun), true)
			}
			w.Header().Set("Retry-After", "5")
			refuse(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		t := &ticket{rep, begun}
		// Else the server reads and closes the request when the answer begins, and
		// whoever still passes it on, be it to find that it has ended, closes the
		// connection that the answer comes by.
		_ = http.NewResponseController(w).EnableFullDuplex()
		defer func() {
			if t.rep != nil { // else it was given back, and no other found
				b.release(t.rep)
			}
		}()
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), ticketKey{}, t)))
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// sendTries is how many replicas a request is offered to.
const sendTries = 4

// send sends a request to its replica. One that is being ended may go in the
// middle of it: what cannot have reached it, or may be asked twice, goes to
// another.
func (b *route) send(transport http.RoundTripper, r *http.Request) (*http.Response, error) {
	t := r.Context().Value(ticketKey{}).(*ticket)
	for try := 1; ; try++ {
		out := r.Clone(r.Context())
		out.URL.Host = t.rep.host
		resp, err := transport.RoundTrip(out)
		var gone *goneError
		again := errors.As(err, &gone) || (r.Method == http.MethodGet || r.Method == http.MethodHead) && (r.Body == nil || r.Body == http.NoBody)
		if err == nil || !again || try == sendTries || r.Context().Err() != nil {
			return resp, err
		}
		b.release(t.rep)
		t.rep = nil
		if t.rep, err = b.acquire(r.Context()); err != nil {
			return nil, err
		}
	}
}

func refuse(w http.ResponseWriter, status int, text string) {
	http.Error(w, text, status)
}

func (b *route) dial(ctx context.Context, host string) (net.Conn, error) {
	b.mu.Lock()
	var t *core.Task
	for _, r := range b.replicas {
		if r.host == host {
			c := r.task
			t = &c
		}
	}
	doc := b.doc
	b.mu.Unlock()
	if t == nil {
		return nil, errors.New("the replica has gone")
	}
	e := b.s.enterer(t.Backend)
	if e == nil {
		return nil, fmt.Errorf("backend %s cannot reach its tasks", t.Backend)
	}
	return e.Dial(ctx, t.ID, target(t, doc))
}

// acquire reserves the ready replica with the fewest requests. Where none is
// ready the request waits, which is also what brings one up from zero.
func (b *route) acquire(ctx context.Context) (*replica, error) {
	b.mu.Lock()
	b.inflight++
	b.peak = max(b.peak, b.inflight)
	b.mu.Unlock()
	patience := time.NewTimer(b.s.hold)
	defer patience.Stop()
	for {
		b.mu.Lock()
		if r := b.freest(); r != nil {
			r.busy++
			b.mu.Unlock()
			return r, nil
		}
		wait := b.changed
		b.mu.Unlock()
		var err error
		select {
		case <-wait:
			continue
		case <-patience.C:
			err = fmt.Errorf("no replica of %s was ready for %v; muster describe %s says why", b.name, b.s.hold, b.name)
		case <-ctx.Done():
			err = ctx.Err()
		case <-b.ctx.Done():
			err = fmt.Errorf("%s is not served any more", b.name)
		}
		b.release(nil)
		return nil, err
	}
}

func (b *route) freest() *replica {
	var best *replica
	for _, r := range b.replicas {
		if r.probed && (best == nil || r.busy < best.busy || r.busy == best.busy && r.turn(b.next) < best.turn(b.next)) {
			best = r
		}
	}
	if best != nil {
		b.next = best.task.ID.Index + 1
	}
	return best
}

// turn orders equally busy replicas so that they take turns.
func (r *replica) turn(next int) int {
	if n := r.task.ID.Index - next; n >= 0 {
		return n
	}
	return 1<<30 + r.task.ID.Index
}

func (b *route) release(r *replica) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inflight--
	if r != nil {
		r.busy--
	}
}
