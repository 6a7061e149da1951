// Package server is the HTTP face of the control plane: it decodes requests,
// runs one use case, and encodes the answer. It decides nothing.
package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/store"
)

// bodyMax bounds a single document, in bytes; bulkMax a bulk submission.
const (
	bodyMax = 1 << 20
	bulkMax = 64 << 20
)

// Config is what a Server needs.
type Config struct {
	Control *control.Control
	Clock   func() time.Time
	Log     *slog.Logger
	Version api.Version
	Status  api.ServerStatus
	// Token must be shown by whoever comes over TCP; empty: TCP is refused.
	Token string
	// Sealer makes secrets; nil: none are kept.
	Sealer Sealer
	// BuildLogs is the directory of the logs of image builds, ID.log each.
	BuildLogs string
	// TaskSocket is the path of a unix socket that is served too, at which only
	// tasks with their tokens are heard; empty: there is none.
	TaskSocket string
	// MAC makes the tokens of tasks, see control.TaskToken; nil: they have none.
	MAC func(purpose string) string
	// LoggedOut is the file where it is kept which browsers have logged out; empty:
	// nowhere, and they are let in again after a restart.
	LoggedOut string
	// Collectors are what /metrics tells beside the server's own.
	Collectors []prometheus.Collector
	// Address is a URL at which browsers of this machine reach the server, opened
	// when it is first asked for; nil: there is none but what is served anyway.
	Address func() (string, error)
	// Hosts are names by which browsers may call the server, beside addresses and
	// localhost.
	Hosts []string
}

// Server serves the API.
type Server struct {
	control   *control.Control
	store     store.Store
	clock     func() time.Time
	log       *slog.Logger
	version   api.Version
	status    api.ServerStatus
	token     string
	sealer    Sealer
	buildLogs string
	tasks     string // socket
	mac       func(purpose string) string
	sessions  *sessions
	overviews overviews
	counted   counted
	address   func() (string, error)
	hosts     map[string]bool
	origins   *http.CrossOriginProtection
	metrics   *metrics
	users     sync.Map // uid to name
	api       huma.API
	mux       *http.ServeMux
	guarded   http.HandlerFunc // serve, without its panics
	closing   chan struct{}
	once      sync.Once
}

// New returns a server over a control plane.
func New(c Config) *Server {
	s := &Server{
		control: c.Control, store: c.Control.Store(), clock: c.Clock, log: c.Log, version: c.Version,
		status: c.Status, token: c.Token, sealer: c.Sealer, buildLogs: c.BuildLogs, tasks: c.TaskSocket, mac: c.MAC, mux: http.NewServeMux(), closing: make(chan struct{}),
	}
	s.sessions = newSessions(c.MAC, c.Token, c.Clock, newLoggedOut(c.LoggedOut, c.Log, c.Clock))
	s.address, s.hosts, s.origins = c.Address, map[string]bool{}, http.NewCrossOriginProtection()
	for _, h := range c.Hosts {
		s.hosts[strings.ToLower(h)] = true
	}
	s.metrics = newMetrics(s)
	s.metrics.registry.MustRegister(c.Collectors...)
	s.guarded = guarded(s.serve, s.log, s.metrics.panics)
	s.routes()
	return s
}

// Close ends the streams, so that http.Server.Shutdown need not wait for them.
func (s *Server) Close() { s.once.Do(func() { close(s.closing) }) }

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.guarded(w, r) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	task, p := s.taskOf(r)
	var v *visit
	if p == nil && task == nil {
		v, p = s.authenticate(r)
	}
	if p != nil {
		writeProblem(w, p)
		return
	}
	if task != nil {
		r = r.WithContext(context.WithValue(r.Context(), callerKey{}, task))
	}
	if v != nil { // what it follows ends when it logs out
		ctx, done := s.sessions.ended.during(r.Context(), v)
		defer done()
		r = r.WithContext(context.WithValue(ctx, visitKey{}, v))
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		// What curl -d says unless told otherwise. There are no forms here, and
		// nothing of a page of somebody else gets this far, so it can only mean JSON.
		r.Header.Set("Content-Type", "application/json")
	}
	if r, p = matching(r); p != nil {
		writeProblem(w, p)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// idleMost is how long a connection is kept on which nobody asks anything: who
// has no token may open connections too, and each takes a descriptor. Clients of
// ours let go of them before, after 90 s: they meet none that is just closing.
const idleMost = 2 * time.Minute

// Listener returns an http.Server for this API whose connections know their
// peers.
func (s *Server) Listener() *http.Server {
	return &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       idleMost,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return withPeer(ctx, plainConn(c), s.tasks) },
		ConnState:         heardOf,
	}
}

func (s *Server) routes() {
	frameworkErrors.Do(func() { huma.NewError = frameworkProblem })
	cfg := huma.DefaultConfig("Muster", s.version.API)
	cfg.Info.Description = "AI workload orchestrator. Every state carries a reason (token), a message (sentence) and since when."
	cfg.DocsPath, cfg.SchemasPath, cfg.OpenAPIPath = "", "", "/openapi"
	cfg.CreateHooks = nil // no $schema links in bodies
	s.api = humago.New(s.mux, cfg)
	s.schemas()
	s.workloadRoutes()
	s.whyRoutes()
	s.actionRoutes()
	s.selfRoutes()
	s.firstErrorRoute()
	s.streamRoutes()
	s.logPageRoutes()
	s.taskPageRoute()
	s.rowRoute()
	s.overviewRoutes()
	s.sessionRoutes()
	s.pages()
	s.utilRoutes()
	s.holdingsRoute()
	s.clusterRoutes()
	s.projectRoutes()
	s.poolRoutes()
	s.licenseRoutes()
	s.reservationRoutes()
	s.nodeRoutes()
	s.organisationRoutes()
	s.prospectRoute()
	s.convertRoutes()
	s.documentRoutes()
	s.secretRoutes()
	s.notificationRoutes()
	s.templateRoutes()
	s.usageRoutes()
	s.measuredRoutes()
	s.enterRoutes()
	s.serverRoutes()
	s.docs()
}

// frameworkErrors guards the framework's one global.
var frameworkErrors sync.Once

// OpenAPI is the description of the API, as JSON.
func (s *Server) OpenAPI() ([]byte, error) { return s.api.OpenAPI().MarshalJSON() }

// schemas describes what the framework cannot see: how an instant is written,
// and what only streams carry.
func (s *Server) schemas() {
	all := s.api.OpenAPI().Components.Schemas
	all.Schema(typeOf[api.Time](), true, "Time")
	*all.Map()["Time"] = huma.Schema{Type: huma.TypeString, Format: "date-time", Description: "RFC 3339, in UTC, with microseconds"}
	all.Schema(typeOf[api.Greeting](), true, "Greeting")
	all.Schema(typeOf[api.Overview](), true, "Overview")
	all.Schema(typeOf[api.LogPage](), true, "LogPage")
}
