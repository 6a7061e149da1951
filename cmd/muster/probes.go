package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// probes tell whoever asks whether this process is well, also while it stands
// by and has no server yet.
type probes struct {
	server *http.Server
	at     net.Addr                     // nil: nowhere
	next   atomic.Pointer[http.Handler] // of the server, once there is one
}

// openProbes serves them on an address; an empty one: nowhere.
func openProbes(at string) (*probes, error) {
	p := &probes{}
	if at == "" {
		return p, nil
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		return nil, fmt.Errorf("--probes %q: %w; write HOST:PORT like :8081", at, err)
	}
	p.at = l.Addr()
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := p.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			l.Close() // whoever probes sees that nobody answers
		}
	}()
	return p, nil
}

// pass hands requests on to the server from now on.
func (p *probes) pass(h http.Handler) { p.next.Store(&h) }

// ServeHTTP answers while this process stands by: it is alive, and not ready.
func (p *probes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := p.next.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	if r.URL.Path == "/livez" || r.URL.Path == "/healthz" {
		fmt.Fprintln(w, "ok")
		return
	}
	http.Error(w, "this server stands by, or has only begun", http.StatusServiceUnavailable)
}

func (p *probes) close() {
	if p.server != nil {
		_ = p.server.Close() // the process ends
	}
}
