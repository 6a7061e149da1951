package server

import (
	"bytes"
	"io"
	"net/http"

	"github.com/musterhq/muster/internal/server/problem"
)

// OnBehalf carries requests of this process to the server as those of somebody whom the
// API server of a cluster has authenticated under a name. Answers are short: nothing
// is streamed.
func (s *Server) OnBehalf(name string) http.RoundTripper { return &behalf{s, name} }

type behalf struct {
	server *Server
	name   string
}

// RoundTrip answers a request in this process.
func (b *behalf) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &buffered{header: http.Header{}, status: http.StatusOK}
	if ctx, p := b.server.guard.InCluster(r.Context(), b.name); p != nil {
		problem.Write(w, p)
	} else {
		if r = r.Clone(ctx); r.Body == nil { // as a server has it
			r.Body = http.NoBody
		}
		b.served(w, r)
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// served answers as a connection does: what panics after its answer has begun, and was
// logged, ends there.
func (b *behalf) served(w *buffered, r *http.Request) {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // it is what is panicked with
			panic(p)
		}
	}()
	b.server.behalf(w, r)
}

// buffered is a whole answer in memory.
type buffered struct {
	header  http.Header
	status  int
	written bool
	body    bytes.Buffer
}

func (a *buffered) Header() http.Header { return a.header }

func (a *buffered) WriteHeader(status int) {
	if !a.written {
		a.status, a.written = status, true
	}
}

func (a *buffered) Write(b []byte) (int, error) {
	a.written = true
	return a.body.Write(b)
}
