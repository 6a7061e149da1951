package server

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"os/user"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/api"
)

// peer is who is at the other end of a connection.
type peer struct {
	uid  int
	unix bool
}

type peerKey struct{}

// withPeer notes who opened a connection: on a unix socket the kernel says so.
// Nobody is known at the socket for tasks, which anyone may open.
func withPeer(ctx context.Context, c net.Conn, tasks string) context.Context {
	p := peer{uid: -1}
	if uc, ok := c.(*net.UnixConn); ok && (tasks == "" || uc.LocalAddr().String() != tasks) {
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
func (s *Server) authenticate(r *http.Request) (*visit, *api.Problem) {
	p, ok := r.Context().Value(peerKey{}).(peer)
	if ok && p.unix || open[r.URL.Path] {
		return nil, nil
	}
	given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if s.token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) == 1 {
		return nil, nil
	}
	logsIn := r.URL.Path == sessionPath && r.Method == http.MethodPost
	v := s.sessions.read(r)
	if v == nil && !logsIn && !isPage(r.URL.Path) {
		return nil, newProblem(http.StatusUnauthorized, "unauthenticated", "this address needs a token", "send Authorization: Bearer with the content of the file 'token' in the server's data directory; browsers are let in by muster ui")
	}
	// From here on it is a browser, or may as well be one.
	if problem := s.browses(r); problem != nil {
		return nil, problem
	}
	return v, nil
}

// browses refuses what a page of somebody else has a browser send: under a name
// that is not ours, as after DNS rebinding, or from another origin. That the
// cookie is SameSite is not enough: to that rule all ports of a machine are one
// site.
func (s *Server) browses(r *http.Request) *api.Problem {
	if !s.named(r.Host) {
		return newProblem(http.StatusMisdirectedRequest, "forbidden", "this server is not known as "+strconv.Quote(r.Host), "open it by its address, or start it with --ui-host NAME")
	}
	foreign := newProblem(http.StatusForbidden, "forbidden", "the request comes from a page of another origin", "only the server's own pages may send it")
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
func (s *Server) named(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	return net.ParseIP(host) != nil || host == "localhost" || strings.HasSuffix(host, ".localhost") || s.hosts[host]
}

// user names who sent a request; over TCP the token stands for the owner.
func (s *Server) user(ctx context.Context) string {
	if v, ok := ctx.Value(visitKey{}).(*visit); ok {
		return v.user
	}
	p, ok := ctx.Value(peerKey{}).(peer)
	if !ok || p.uid < 0 {
		return "token"
	}
	if name, ok := s.users.Load(p.uid); ok {
		return name.(string)
	}
	name := strconv.Itoa(p.uid)
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	s.users.Store(p.uid, name)
	return name
}

func (s *Server) actor(ctx context.Context) string { return "user:" + s.user(ctx) }

func writeProblem(w http.ResponseWriter, p *api.Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client may have gone
}
