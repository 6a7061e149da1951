// Package server is the HTTP face of the control plane: it decodes requests,
// runs one use case, and encodes the answer. It decides nothing.
package server

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/osuser"
	engineaccess "github.com/musterhq/muster/internal/engine/access"
	"github.com/musterhq/muster/internal/engine/review"
	"github.com/musterhq/muster/internal/reported"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/curves"
	"github.com/musterhq/muster/internal/server/enter"
	"github.com/musterhq/muster/internal/server/logs"
	"github.com/musterhq/muster/internal/server/organisation"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/reviews"
	"github.com/musterhq/muster/internal/server/rights"
	"github.com/musterhq/muster/internal/server/schedules"
	"github.com/musterhq/muster/internal/server/share"
	"github.com/musterhq/muster/internal/server/usage"
	"github.com/musterhq/muster/internal/server/watch"
	"github.com/musterhq/muster/internal/server/weekmail"
	"github.com/musterhq/muster/internal/server/workloads"
	"github.com/musterhq/muster/internal/sharelink"
	"github.com/musterhq/muster/internal/weekly"
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
	Address func(context.Context) (string, error)
	// Hosts are names by which browsers may call the server, beside addresses and
	// localhost.
	Hosts []string
	// Accounts are those of the machine, where tasks run as who submits them; nil: they
	// do not.
	Accounts osuser.Accounts
	// Reported keeps what tasks report as curves; nil: in memory, for as long as the
	// server runs.
	Reported *reported.Store
	// Shares are links that show workloads without an account; nil: there are none.
	Shares *sharelink.Kept
	// Mail is how reports are mailed, to whom of Weekly each Monday; nil: none are, and to
	// nobody.
	Mail   weekly.Mail
	Weekly *weekly.Kept
	// SSO is by whom people sign in; nil: by tokens alone.
	SSO *access.SSO
	// Cluster says whose a token of a Kubernetes cluster is; nil: these let nobody in.
	Cluster access.TokenReview
	// RequestRate is how many requests each who asks may send by the second; 0: any
	// number.
	RequestRate float64
}

// Server serves the API.
type Server struct {
	*reader.Reader
	guard    *access.Guard
	version  api.Version
	status   api.ServerStatus
	sealer   Sealer
	builds   string // directory of the logs of image builds
	tasks    string // socket
	reported *reported.Store
	shares   *sharelink.Kept
	weekly   *weekmail.Service
	metrics  *metrics
	api      huma.API
	mux      *access.Mux
	guarded  http.HandlerFunc // serve, without its panics
	behalf   http.HandlerFunc // answer, without its panics, of who is known already
	closing  chan struct{}
	once     sync.Once
}

// New returns a server over a control plane.
func New(c Config) *Server {
	s := &Server{
		Reader: reader.New(c.Control, c.Clock, c.Log), version: c.Version, status: c.Status, sealer: c.Sealer, builds: c.BuildLogs, tasks: c.TaskSocket,
		reported: c.Reported, shares: c.Shares, closing: make(chan struct{}),
	}
	if s.reported == nil {
		s.reported, _ = reported.Open("") // without a folder nothing can fail
	}
	s.guard = access.New(access.Config{
		Version: c.Version.Version, Token: c.Token, TaskSocket: c.TaskSocket, MAC: c.MAC, LoggedOut: c.LoggedOut, Address: c.Address, Hosts: c.Hosts, Clock: c.Clock, Log: c.Log,
		Rules: s.rules(), Accounts: c.Accounts, SSO: c.SSO, Cluster: c.Cluster, Rate: c.RequestRate,
	})
	s.weekly = weekmail.New(s.Reader, s.guard, c.Mail, c.Weekly)
	s.mux = s.guard.NewMux()
	s.metrics = newMetrics(s)
	s.metrics.registry.MustRegister(c.Collectors...)
	s.guarded = guarded(s.serve, s.Log, s.metrics.panics)
	s.behalf = guarded(s.answer, s.Log, s.metrics.panics)
	s.routes()
	return s
}

// Weekly mails reports on Mondays until ctx is done.
func (s *Server) Weekly(ctx context.Context) { s.weekly.Run(ctx) }

// Close ends the streams, so that http.Server.Shutdown need not wait for them.
func (s *Server) Close() { s.once.Do(func() { close(s.closing) }) }

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.guarded(w, r) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	in, done, p := s.guard.Admit(r)
	if wait := s.guard.TooFast(r, in); wait > 0 {
		if done != nil {
			done()
		}
		problem.Write(w, s.guard.Slower(w, wait))
		return
	}
	if p != nil {
		problem.Write(w, p)
		return
	}
	defer done()
	s.answer(w, in)
}

// answer answers a request of somebody who has been let in.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		// What curl -d says unless told otherwise. There are no forms here, and
		// nothing of a page of somebody else gets this far, so it can only mean JSON.
		r.Header.Set("Content-Type", "application/json")
	}
	r, p := request.WithCondition(r)
	if p != nil {
		problem.Write(w, p)
		return
	}
	if r.Method == http.MethodHead {
		ctx, end := context.WithCancel(r.Context())
		defer end()
		w, r = &headOnly{w, end}, r.WithContext(ctx)
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
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
		ConnContext:       s.guard.WithPeer,
		ConnState:         access.Track,
	}
}

// Bound is a listener of this server with a bound on its connections.
func (s *Server) Bound(l net.Listener) net.Listener { return access.Bound(l, s.tasks) }

// rules are what access control asks of the control plane.
func (s *Server) rules() access.Rules {
	return access.Rules{
		Rights: s.Control.Rights, Find: s.FindAny, Missing: reader.Missing,
		Record: func(ctx context.Context, all []core.AuditEntry) error {
			return s.Control.Apply(ctx, engineaccess.Record(all))
		},
		Used: func(ctx context.Context, at map[string]time.Time) error {
			return s.Control.Apply(ctx, engineaccess.Used(at))
		},
		Enter: func(ctx context.Context, r engineaccess.SignIn) (core.Token, error) {
			return control.Do(ctx, s.Control, engineaccess.Enter(r))
		},
		End: func(ctx context.Context, token string) error {
			return s.Control.Apply(ctx, engineaccess.RevokeToken(token))
		},
		Delegated: func(ctx context.Context, name string, project core.ProjectID) bool {
			yes, err := control.Do(ctx, s.Control, review.Delegated(name, project))
			return err == nil && yes
		},
	}
}

func (s *Server) routes() {
	frameworkErrors.Do(func() { huma.NewError = problem.Framework })
	cfg := huma.DefaultConfig("Muster", s.version.API)
	cfg.Info.Description = "AI workload orchestrator. Every state carries a reason (token), a message (sentence) and since when."
	cfg.DocsPath, cfg.SchemasPath, cfg.OpenAPIPath = "", "", "/openapi"
	cfg.CreateHooks = nil // no $schema links in bodies
	s.api = humago.New(s.mux, cfg)
	s.schemas()
	workloads.Register(s.Reader, s.api, s.reported, s.closing)
	curves.Register(s.Reader, s.api, s.reported)
	share.Register(s.Reader, s.api, s.mux, s.guard, s.reported, s.shares)
	schedules.Register(s.Reader, s.api)
	logs.Register(s.Reader, s.api, s.builds, s.closing)
	watch.Register(s.Reader, s.api, s.version.Version, s.closing)
	s.guard.Register(s.api)
	s.pages()
	s.utilRoutes()
	organisation.Register(s.Reader, s.api)
	reviews.Register(s.Reader, s.api)
	s.secretRoutes()
	s.sharedSecretRoutes()
	s.notificationRoutes()
	usage.Register(s.Reader, s.api)
	s.weekly.Register(s.api)
	enter.Register(s.Reader, s.api, s.mux, s.closing)
	rights.Register(s.Reader, s.api, s.guard)
	s.serverRoutes()
	s.docs()
}

// Routes are all routes, with what each needs.
func (s *Server) Routes() []access.Route { return s.mux.Routes() }

// frameworkErrors guards the framework's one global.
var frameworkErrors sync.Once

// OpenAPI is the description of the API, as JSON.
func (s *Server) OpenAPI() ([]byte, error) { return s.api.OpenAPI().MarshalJSON() }

// schemas describes what the framework cannot see: how an instant is written,
// and what only streams carry.
func (s *Server) schemas() {
	all := s.api.OpenAPI().Components.Schemas
	all.Schema(reflect.TypeFor[api.Time](), true, "Time")
	*all.Map()["Time"] = huma.Schema{Type: huma.TypeString, Format: "date-time", Description: "RFC 3339, in UTC, with microseconds"}
	all.Schema(reflect.TypeFor[api.Greeting](), true, "Greeting")
	all.Schema(reflect.TypeFor[api.Overview](), true, "Overview")
	all.Schema(reflect.TypeFor[api.OverviewChange](), true, "OverviewChange")
	all.Schema(reflect.TypeFor[api.LogPage](), true, "LogPage")
}
