package server

import (
	"context"
	"net/http"
)

// headOnly ends what answers a HEAD request where its body would begin, of which
// nothing is sent. A stream would go on until its client leaves, and that has its answer
// and waits on the same connection for the next.
type headOnly struct {
	http.ResponseWriter
	end context.CancelFunc
}

func (h *headOnly) Write(b []byte) (int, error) {
	defer h.end()
	return h.ResponseWriter.Write(b)
}

// FlushError is for http.ResponseController.
func (h *headOnly) FlushError() error {
	defer h.end()
	return http.NewResponseController(h.ResponseWriter).Flush()
}

// Flush implements http.Flusher.
func (h *headOnly) Flush() { _ = h.FlushError() }

// Unwrap is for http.ResponseController.
func (h *headOnly) Unwrap() http.ResponseWriter { return h.ResponseWriter }
