package server

import (
	"context"
	"fmt"
	"html"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/server/problem"
)

// serverRoutes serves what operators and probes ask.
func (s *Server) serverRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "version", Method: http.MethodGet, Path: "/version", Summary: "Version of the server", Tags: []string{"server"},
	}, func(context.Context, *struct{}) (*struct{ Body api.Version }, error) {
		return &struct{ Body api.Version }{s.version}, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "server", Method: http.MethodGet, Path: "/v1/server", Summary: "Process, address and data directory of the server", Tags: []string{"server"},
	}, func(context.Context, *struct{}) (*struct{ Body api.ServerStatus }, error) {
		return &struct{ Body api.ServerStatus }{s.status}, nil
	})
	s.health(s.mux)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" && strings.Contains(r.Header.Get("Accept"), "text/html") {
			http.Redirect(w, r, "ui/", http.StatusFound)
			return
		}
		problem.Write(w, problem.New(http.StatusNotFound, "not_found", "there is nothing at "+r.Method+" "+r.URL.Path, "see /docs"))
	})
}

// router is where routes are registered.
type router interface {
	HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request))
}

// health serves what shows whether the server is well.
func (s *Server) health(mux router) {
	well := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }
	mux.HandleFunc("GET /healthz", well)
	mux.HandleFunc("GET /livez", well)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-s.Control.Ready():
			fmt.Fprintln(w, "ok")
		case <-r.Context().Done():
		default:
			problem.Write(w, problem.New(http.StatusServiceUnavailable, "unavailable", "the backends have not reported their nodes yet", "try again"))
		}
	})
	mux.HandleFunc("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}).ServeHTTP)
}

// Probes serves health and metrics, and nothing else, to whoever asks: where access
// control is on, metrics to those alone who may read them.
func (s *Server) Probes() http.Handler {
	mux := s.guard.NewMux()
	s.health(mux)
	return s.guard.Identified(mux)
}

// docs serves a page of all operations, made once, without anything from
// elsewhere.
func (s *Server) docs() {
	var b strings.Builder
	b.WriteString("<!doctype html><html lang=en><meta charset=utf-8><title>Muster API</title><style>body{font:15px/1.5 system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}code{font-size:14px}dt{margin-top:1rem}</style><h1>Muster API</h1><p>The exact contract: <a href=/openapi.json>/openapi.json</a><dl>")
	paths := s.api.OpenAPI().Paths
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := paths[path]
		for _, m := range []struct {
			verb string
			op   *huma.Operation
		}{{"GET", item.Get}, {"POST", item.Post}, {"PUT", item.Put}, {"PATCH", item.Patch}, {"DELETE", item.Delete}} {
			if m.op == nil {
				continue
			}
			fmt.Fprintf(&b, "<dt><code>%s %s</code></dt><dd>%s", m.verb, html.EscapeString(path), html.EscapeString(m.op.Summary))
			for _, p := range m.op.Parameters {
				if p.In == "query" || p.In == "header" {
					fmt.Fprintf(&b, "<br><code>%s</code> %s", html.EscapeString(p.Name), html.EscapeString(p.Description))
				}
			}
			b.WriteString("</dd>")
		}
	}
	b.WriteString("</dl></html>")
	page := b.String()
	s.mux.HandleFunc("GET /docs", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		fmt.Fprint(w, page)
	})
}
