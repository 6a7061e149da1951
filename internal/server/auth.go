package server

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"net"
	"net/http"
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

// authenticate refuses whoever comes over TCP without the token. The unix
// socket's file mode is its guard.
func (s *Server) authenticate(r *http.Request) *api.Problem {
	p, ok := r.Context().Value(peerKey{}).(peer)
	if ok && p.unix || open[r.URL.Path] {
		return nil
	}
	given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if s.token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) == 1 {
		return nil
	}
	return newProblem(http.StatusUnauthorized, "unauthenticated", "this address needs a token", "send Authorization: Bearer with the content of the file 'token' in the server's data directory")
}

// user names who sent a request; over TCP the token stands for the owner.
func (s *Server) user(ctx context.Context) string {
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
