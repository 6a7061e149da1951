package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/internal/server/problem"
)

// answer is an answer that knows whether it has begun.
type answer struct {
	http.ResponseWriter
	begun bool
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	a.begun = true
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(p)
}

// FlushError is what http.ResponseController flushes with.
func (a *answer) FlushError() error {
	a.begun = true
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Unwrap is where http.ResponseController finds the rest.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// guarded makes a problem of a panic: a mistake in one use case is told like any
// other failure, and counted. What had begun to be answered is broken off, so
// that nobody takes it for whole.
func guarded(next http.HandlerFunc, log *slog.Logger, panics prometheus.Counter) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a := &answer{ResponseWriter: w}
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p != http.ErrAbortHandler { //nolint:errorlint // it is what is panicked with
				panics.Inc()
				log.Error("a request panicked", "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				if !a.begun {
					problem.Write(w, problem.Internal())
					return
				}
			}
			panic(http.ErrAbortHandler)
		}()
		next(a, r)
	}
}
