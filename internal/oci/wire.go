package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// answerFactor is how many idle timeouts a registry may take to digest an
// upload before it answers: some copy the whole blob first.
const answerFactor = 10

// wire carries requests. It gives up a connection that is silent for too long,
// however long the whole takes, and it never sends anything in the clear to a
// host that is not meant to get it.
type wire struct {
	next  http.RoundTripper
	idle  time.Duration
	plain func(host string) bool
}

func newWire(next http.RoundTripper, carry func(*http.Transport, time.Duration) http.RoundTripper, idle time.Duration, plain func(string) bool) *wire {
	if next == nil {
		base := &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: idle, KeepAlive: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2:   true,
			TLSHandshakeTimeout: idle,
			MaxIdleConnsPerHost: 16,
			IdleConnTimeout:     90 * time.Second,
			DisableCompression:  true, // layers are counted and resumed as they are stored
			ReadBufferSize:      64 << 10,
		}
		if next = base; carry != nil {
			next = carry(base, idle)
		}
	}
	return &wire{next: next, idle: idle, plain: plain}
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == "http" && !w.plain(req.URL.Host) {
		closeBody(req.Body)
		return nil, fmt.Errorf("%s: %w", req.URL.Host, errPlainHTTP)
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	first := w.idle
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		first *= answerFactor
	}
	quiet := time.AfterFunc(first, func() { cancel(errIdle) })
	out := req.WithContext(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		out.Body = &sending{ReadCloser: req.Body, quiet: quiet, wire: w}
		quiet.Reset(w.idle)
	}
	resp, err := w.next.RoundTrip(out)
	quiet.Stop()
	if err != nil {
		if context.Cause(ctx) == errIdle {
			err = fmt.Errorf("%s: %w (%v)", req.URL.Host, errIdle, w.idle)
		}
		cancel(nil)
		return nil, err
	}
	resp.Body = &receiving{body: resp.Body, ctx: ctx, cancel: cancel, quiet: quiet, wire: w}
	return resp, nil
}

func closeBody(b io.Closer) {
	if b != nil {
		b.Close()
	}
}

// sending resets the clock whenever the connection takes more of the body.
type sending struct {
	io.ReadCloser
	quiet *time.Timer
	wire  *wire
}

func (s *sending) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if err != nil {
		s.quiet.Reset(s.wire.idle * answerFactor)
	} else {
		s.quiet.Reset(s.wire.idle)
	}
	return n, err
}

// receiving runs the clock only while somebody waits for bytes: a reader that
// takes its time (a slow disk) is not the registry's fault.
type receiving struct {
	body   io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	quiet  *time.Timer
	wire   *wire
}

func (r *receiving) Read(p []byte) (int, error) {
	r.quiet.Reset(r.wire.idle)
	n, err := r.body.Read(p)
	r.quiet.Stop()
	if err != nil && err != io.EOF && context.Cause(r.ctx) == errIdle {
		err = errIdle
	}
	return n, err
}

func (r *receiving) Close() error {
	r.quiet.Stop()
	err := r.body.Close()
	r.cancel(nil)
	return err
}

// session is an authenticated way to one repository.
type session struct {
	repo   name.Repository
	client *http.Client
	cred   *Credential
}

// connect asks the registry how it wants to be asked, and gets a token where
// it deals in them.
func (w *wire) connect(ctx context.Context, repo name.Repository, cred *Credential, scope string) (*session, error) {
	var t http.RoundTripper
	err := again(ctx, func() (err error) {
		t, err = transport.NewWithContext(ctx, repo.Registry, authOf(cred), transport.NewUserAgent(w, userAgent), []string{repo.Scope(scope)})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &session{repo: repo, client: &http.Client{Transport: t}, cred: cred}, nil
}

const userAgent = "muster"

// again repeats a request that a busy registry or a broken connection spoiled:
// four times within about three seconds, since the caller has patience of its own.
func again(ctx context.Context, fn func() error) error {
	for wait := 100 * time.Millisecond; ; wait *= 3 {
		err := fn()
		if err == nil || wait > 3*time.Second || !worthAgain(err) {
			return err
		}
		if e := pause(ctx, wait); e != nil {
			return e
		}
	}
}

// worthAgain says whether an error may pass within seconds. A refused
// connection or an unknown host will not, and an idle one has had its time.
func worthAgain(err error) bool {
	var status *transport.Error
	if errors.As(err, &status) {
		return status.StatusCode == http.StatusTooManyRequests || status.StatusCode >= 500
	}
	return broken(err)
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
