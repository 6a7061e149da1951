// Package access says who may come in, by which way, and who it is that asks: by
// sockets, tokens, and sessions of browsers; and how many may hold a connection.
package access

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/osuser"
	"github.com/musterhq/muster/internal/core/rbac"
	use "github.com/musterhq/muster/internal/engine/access"
	"github.com/musterhq/muster/internal/server/problem"
)

// Guard lets requests in, or says why not.
type Guard struct {
	version  string // told with sessions
	token    string
	tasks    string // socket
	mac      func(purpose string) string
	sessions *sessions
	address  func(context.Context) (string, error)
	hosts    map[string]bool
	origins  *http.CrossOriginProtection
	clock    func() time.Time
	log      *slog.Logger
	rules    Rules
	uid      int // whose the server is
	failures failures
	rates    rates
	uses     uses
	accounts osuser.Accounts // nil: tasks do not run as who submits them
	sso      *sso            // nil: nobody signs in by an identity provider
	cluster  serviceAccounts
}

// Rules are what access control asks of the control plane; without Rights there is
// no access control.
type Rules struct {
	Rights func() *rbac.Policy
	// Find finds the workload that a path names, whoever asks; Missing is what is
	// said where there is none.
	Find    func(ctx context.Context, project, name string) (*core.Workload, error)
	Missing func(project, name string) *api.Problem
	// Record writes entries to the audit log; Used notes when tokens were shown.
	Record func(context.Context, []core.AuditEntry) error
	Used   func(context.Context, map[string]time.Time) error
	// Enter lets somebody in whom an identity provider has proven, End ends their session.
	Enter func(context.Context, use.SignIn) (core.Token, error)
	End   func(ctx context.Context, token string) error
	// Delegated says whether somebody decides checks in a project in another's place; nil:
	// nobody does.
	Delegated func(ctx context.Context, name string, project core.ProjectID) bool
}

// Config is what a Guard needs.
type Config struct {
	Version    string
	Token      string                                // must be shown by whoever comes over TCP; empty: TCP is refused
	TaskSocket string                                // at which only tasks with their tokens are heard; empty: there is none
	MAC        func(purpose string) string           // makes the tokens of tasks and signs sessions; nil: there are none
	LoggedOut  string                                // file of the browsers that have logged out; empty: nowhere
	Address    func(context.Context) (string, error) // at which browsers of this machine reach the server; nil: none but what is served anyway
	Hosts      []string                              // names by which browsers may call the server
	Clock      func() time.Time
	Log        *slog.Logger
	Rules      Rules
	Accounts   osuser.Accounts // of the machine, where tasks run as who submits them; nil: they do not
	SSO        *SSO            // nil: nobody signs in by an identity provider
	Cluster    TokenReview     // of service accounts of a cluster; nil: they do not come in by it
	Rate       float64         // requests that each who asks may send by the second; 0: any number
}

// New returns a guard.
func New(c Config) *Guard {
	g := &Guard{version: c.Version, token: c.Token, tasks: c.TaskSocket, mac: c.MAC, address: c.Address, hosts: map[string]bool{}, origins: http.NewCrossOriginProtection(),
		clock: c.Clock, log: c.Log, rules: c.Rules, uid: os.Geteuid(), accounts: c.Accounts}
	g.cluster.review = c.Cluster
	g.sessions = newSessions(c.MAC, c.Token, c.Clock, newLoggedOut(c.LoggedOut, c.Log, c.Clock))
	if c.SSO != nil && c.MAC != nil {
		g.sso = newSSO(*c.SSO, c.MAC, c.Clock)
	}
	g.rates.perSecond = c.Rate
	for _, h := range c.Hosts {
		g.hosts[strings.ToLower(h)] = true
	}
	return g
}

// Admit lets a request in, with who asks in its context, or says why not. done is
// called when it has been answered.
func (s *Guard) Admit(r *http.Request) (in *http.Request, done func(), p *api.Problem) {
	task, p := s.taskOf(r)
	var v *visit
	if p == nil && task == nil {
		v, p = s.authenticate(r)
	}
	if p != nil {
		return nil, nil, p
	}
	done = func() {}
	if task == nil && s.enforced() {
		sub, refused := s.subject(r, v)
		if refused != nil {
			return nil, nil, refused
		}
		r = r.WithContext(context.WithValue(r.Context(), subjectKey{}, sub))
	}
	if task != nil {
		r = r.WithContext(context.WithValue(r.Context(), callerKey{}, task))
	}
	if v != nil { // what it follows ends when it logs out
		var ctx context.Context
		ctx, done = s.sessions.ended.during(r.Context(), v)
		r = r.WithContext(context.WithValue(ctx, visitKey{}, v))
	}
	return r, done, nil
}

// peer is who is at the other end of a connection.
type peer struct {
	uid  int
	unix bool
	tls  bool
}

type peerKey struct{}

// WithPeer notes who opened a connection: on a unix socket the kernel says so.
// Nobody is known at the socket for tasks, which anyone may open.
func (s *Guard) WithPeer(ctx context.Context, c net.Conn) context.Context {
	c = plainConn(c)
	p := peer{uid: -1}
	_, p.tls = c.(*tls.Conn)
	if uc, ok := c.(*net.UnixConn); ok && (s.tasks == "" || uc.LocalAddr().String() != s.tasks) {
		p.unix = true
		if raw, err := uc.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) {
				if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
					p.uid = int(cred.Uid)
				}
			})
		}
	}
	return context.WithValue(ctx, peerKey{}, p)
}

// open are the paths that anyone who reaches the server may read.
var open = map[string]bool{"/healthz": true, "/livez": true, "/readyz": true, "/version": true}

// authenticate refuses whoever comes over TCP without the token or a browser's
// session. The unix socket's file mode is its guard.
func (s *Guard) authenticate(r *http.Request) (*visit, *api.Problem) {
	p, ok := r.Context().Value(peerKey{}).(peer)
	if ok && p.unix || open[r.URL.Path] || strings.HasPrefix(r.URL.Path, SharedAt) {
		return nil, nil
	}
	given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if s.enforced() {
		if given != "" { // it is looked at below
			return nil, nil
		}
	} else if s.token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) == 1 {
		return nil, nil
	}
	logsIn := r.URL.Path == sessionPath && r.Method == http.MethodPost || r.URL.Path == signInPath || strings.HasPrefix(r.URL.Path, signInPath+"/")
	v := s.sessions.read(r)
	if v == nil && !logsIn && !isPage(r.URL.Path) {
		if s.enforced() {
			return nil, problem.New(http.StatusUnauthorized, "unauthenticated", "this address needs the token of a user or service account", "sign in with muster login; programs send Authorization: Bearer; an administrator makes tokens with muster token create")
		}
		return nil, problem.New(http.StatusUnauthorized, "unauthenticated", "this address needs a token", "send Authorization: Bearer with the content of the file 'token' in the server's data directory; browsers are let in by muster ui")
	}
	// From here on it is a browser, or may as well be one.
	if refused := s.browses(r); refused != nil {
		return nil, refused
	}
	return v, nil
}

// browses refuses what a page of somebody else has a browser send: under a name
// that is not ours, as after DNS rebinding, or from another origin. That the
// cookie is SameSite is not enough: to that rule all ports of a machine are one
// site.
func (s *Guard) browses(r *http.Request) *api.Problem {
	if !s.named(r.Host) {
		return problem.New(http.StatusMisdirectedRequest, "forbidden", "this server is not known as "+strconv.Quote(r.Host), "open it by its address, or start it with --ui-host NAME")
	}
	foreign := problem.New(http.StatusForbidden, "forbidden", "the request comes from a page of another origin", "only the server's own pages may send it")
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case isPage(r.URL.Path) && r.Method == http.MethodGet: // links to pages may be anywhere; without a cookie they say nothing
	case site != "" && site != "same-origin" && site != "none":
		return foreign
	case s.origins.Check(r) != nil, opensSocket(r) && !fromHere(r):
		return foreign
	}
	return nil
}

// opensSocket reports whether a request asks for a web socket, which is a GET
// that can do anything.
func opensSocket(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// fromHere reports whether a request comes from a page of this server, or from
// no page at all: browsers always say from which when they open a web socket.
func fromHere(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// named reports whether a Host header means this server: an address, which
// nobody can rebind, this machine, or a name that the operator has given.
func (s *Guard) named(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	return net.ParseIP(host) != nil || host == "localhost" || strings.HasSuffix(host, ".localhost") || s.hosts[host]
}

// users are the names of those who have come over a socket, by uid.
var users sync.Map

// Owns reports whether who asks is the owner of the server, by its socket: rules do not
// bind them, whether they decide now or later.
func Owns(ctx context.Context) bool {
	if s := subjectOf(ctx); s != nil {
		return s.owner
	}
	p, ok := ctx.Value(peerKey{}).(peer)
	return ok && p.unix && p.uid >= 0 && (p.uid == os.Getuid() || p.uid == 0)
}

// User names who sent a request; over TCP the token stands for the owner.
func User(ctx context.Context) string {
	if s := subjectOf(ctx); s != nil {
		return s.name
	}
	if v, ok := ctx.Value(visitKey{}).(*visit); ok {
		return v.user
	}
	p, ok := ctx.Value(peerKey{}).(peer)
	if !ok || p.uid < 0 {
		return "token"
	}
	return userName(p.uid)
}

// userName is the name of a user of the operating system.
func userName(uid int) string {
	if name, ok := users.Load(uid); ok {
		return name.(string)
	}
	name := strconv.Itoa(uid)
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	users.Store(uid, name)
	return name
}

// Actor is who sent a request, as the history of workloads has it.
func Actor(ctx context.Context) string { return "user:" + User(ctx) }

// PagesAt is where the pages are. Any path below it that is no file is the page
// itself, which looks at the address.
const PagesAt = "/ui/"

// SharedAt is where links show workloads to people without an account: the rest of the
// path is the key.
const SharedAt = "/share/"

// Address is where a request comes from, as the audit log has it.
func Address(r *http.Request) string {
	p, _ := r.Context().Value(peerKey{}).(peer)
	return addressOf(r, p)
}

// Note adds an entry to the audit log of what no rule decides about, whether or not
// access control is on.
func (s *Guard) Note(ctx context.Context, e core.AuditEntry) { s.write(ctx, e) }

func isPage(p string) bool { return p == "/" || p == "/ui" || strings.HasPrefix(p, PagesAt) }
