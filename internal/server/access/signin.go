package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/server/problem"
)

// TokenPrefix begins every token of a user or service account, so that one that leaks
// is found by those who look for such.
const TokenPrefix = "mst_"

// NewToken is a new token, and its hash.
func NewToken() (text, hash string) {
	text = TokenPrefix + random(32)
	return text, hashOf(text)
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// enforced reports whether access control is on.
func (s *Guard) enforced() bool {
	// Where tasks run as who submits them, access control is on before it has been
	// turned on: until then only the server's owner may do anything.
	return s.rules.Rights != nil && (s.accounts != nil || s.rules.Rights().Enabled())
}

// owns reports whether a peer is whom the server belongs to: its user, and root.
func (s *Guard) owns(p peer) bool { return p.unix && p.uid >= 0 && (p.uid == s.uid || p.uid == 0) }

// OwnerNames are the names under which the server's owner comes, which nobody else
// can be given.
func (s *Guard) OwnerNames() []string { return []string{userName(s.uid), "root", "token", "anonymous"} }

// addressOf is where a request comes from.
func addressOf(r *http.Request, p peer) string {
	if p.unix {
		return "socket"
	}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	return r.RemoteAddr
}

// anonymous is the actor of what somebody did whom nobody knows.
const anonymous = "anonymous"

// subject is who sends a request: by a token, a browser's session, or the socket; of
// those who show nothing a subject that may do nothing.
func (s *Guard) subject(r *http.Request, v *visit) (*subject, *api.Problem) {
	p, _ := r.Context().Value(peerKey{}).(peer)
	sub := &subject{guard: s, origin: draft.Origin{Actor: anonymous, Address: addressOf(r, p), Action: r.Method + " " + r.URL.Path}}
	given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case bearer && given != "":
		if wait := s.failures.locked(sub.origin.Address, s.clock()); wait > 0 {
			return nil, lockedOut(wait)
		}
		if s.cluster.ofCluster(given) {
			if p := s.comes(r.Context(), sub, given); p != nil {
				return nil, p
			}
			break
		}
		c, t := s.rules.Rights().Shown(hashOf(given), s.clock())
		if c == nil {
			s.failed(r.Context(), sub, "a token that lets nobody in was shown")
			return nil, problem.New(http.StatusUnauthorized, "unauthenticated", "the token lets nobody in: it is not known, was revoked, or has expired", "sign in again with muster login, with --sso where there is an identity provider; muster token create makes another token; with access control on, the file 'token' of the server's data directory lets nobody in")
		}
		sub.name, sub.token = c.Name, t.ID
		s.uses.note(s, t.ID, s.clock())
	case v != nil:
		if sub.name, sub.token, sub.owner = v.user, v.token, v.owner; v.token != "" {
			s.uses.note(s, v.token, s.clock())
		}
		if v.uid > 0 && s.accounts != nil {
			sub.socket, sub.uid = true, v.uid
		}
	case p.unix && p.uid >= 0:
		sub.name, sub.socket, sub.uid, sub.owner = s.nameOf(p.uid), true, p.uid, s.owns(p)
		if u, ok := s.rules.Rights().User(sub.name); ok && u.Kind != core.SubjectUser && !sub.owner {
			return nil, problem.New(http.StatusForbidden, "forbidden", sub.name+" is the name of a service account here, and not of a user", "an administrator has to give the service account another name")
		}
	default:
		return sub, nil
	}
	sub.origin.Actor, sub.origin.Token = "user:"+sub.name, sub.token
	return sub, nil
}

// failed counts and records that somebody could not sign in.
func (s *Guard) failed(ctx context.Context, sub *subject, why string) {
	s.failures.add(sub.origin.Address, s.clock())
	e := sub.origin.Entry(core.AuditRefused, why)
	e.Verb = "sign-in"
	s.write(ctx, e)
}

// signIn lets a browser in that shows a code or a token.
func (s *Guard) signIn(ctx context.Context, l api.Login) (identity, *api.Problem) {
	bad := problem.New(http.StatusUnauthorized, "unauthenticated", "the code or the token is not valid", "codes are good once, for two minutes: muster ui makes another; the token is in the file 'token' of the server's data directory, or where access control is on one that muster token create has made")
	sub := subjectOf(ctx)
	if sub == nil {
		who, ok := s.sessions.redeem(l)
		if !ok {
			return who, bad
		}
		return who, nil
	}
	var who identity
	if wait := s.failures.locked(sub.origin.Address, s.clock()); wait > 0 {
		return who, lockedOut(wait)
	}
	ok := false
	if l.Token != "" {
		if c, t := s.rules.Rights().Shown(hashOf(l.Token), s.clock()); c != nil {
			who, ok = identity{user: c.Name, token: t.ID}, true
			s.uses.note(s, t.ID, s.clock())
		}
	} else {
		who, ok = s.sessions.redeem(l)
	}
	if !ok {
		s.failed(ctx, sub, "a code or a token that lets nobody in was shown")
		return who, bad
	}
	o := sub.origin
	o.Actor, o.Token = "user:"+who.user, who.token
	e := o.Entry(core.AuditDone, "")
	e.Verb = "sign-in"
	s.write(ctx, e)
	return who, nil
}

const (
	failuresMost = 10          // from one address, before it has to wait
	failuresFor  = time.Minute // and for how long; they are forgotten then
	failuresKept = 10_000      // addresses that are remembered
)

// failures count those who could not sign in, by address.
type failures struct {
	mu sync.Mutex
	of map[string]failure
}

type failure struct {
	count int
	until time.Time
}

// locked is for how long an address has to wait; 0: not at all.
func (f *failures) locked(address string, now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	x, ok := f.of[address]
	if !ok || x.count < failuresMost {
		return 0
	}
	return max(x.until.Sub(now), 0)
}

func (f *failures) add(address string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string]failure{}
	}
	x := f.of[address]
	if now.After(x.until) {
		x.count = 0
	}
	f.of[address] = failure{x.count + 1, now.Add(failuresFor)}
	for a, x := range f.of {
		if len(f.of) > failuresKept || now.After(x.until) {
			delete(f.of, a)
		}
	}
}

func lockedOut(wait time.Duration) *api.Problem {
	return problem.New(http.StatusTooManyRequests, "too_often", "too many have failed to sign in from this address", "try again in "+wait.Round(time.Second).String())
}

const (
	usedEvery    = 5 * time.Minute  // how exactly it is known when a token was shown last
	usesTogether = 30 * time.Second // for how long uses are gathered that are written in one commit
)

// uses is when tokens were shown, as far as it was written or is about to be.
type uses struct {
	mu      sync.Mutex
	at      map[string]time.Time
	pending map[string]time.Time
	next    time.Time // before when nothing more is written
	waits   bool      // something is about to be
}

// note has it written that a token was shown, unless that was done a short time ago, the
// first at once and others with those that come soon after. Nobody waits for it.
func (u *uses) note(s *Guard, id string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if last, ok := u.at[id]; ok && now.Sub(last) < usedEvery || s.rules.Used == nil {
		return
	}
	if u.at == nil || len(u.at) > failuresKept {
		u.at = map[string]time.Time{}
	}
	if u.pending == nil {
		u.pending = map[string]time.Time{}
	}
	u.at[id], u.pending[id] = now, now
	if !u.waits {
		u.waits = true
		time.AfterFunc(max(u.next.Sub(now), 0), func() { u.write(s) })
	}
}

// write writes what is pending.
func (u *uses) write(s *Guard) {
	u.mu.Lock()
	all := u.pending
	u.pending, u.waits, u.next = nil, false, s.clock().Add(usesTogether)
	u.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), recordFor)
	defer cancel()
	if err := s.rules.Used(ctx, all); err != nil {
		s.log.Debug("when tokens were shown could not be written", "err", err)
	}
}

// Way is how who asks came in: socket, token or browser.
func Way(ctx context.Context) string {
	if s := subjectOf(ctx); s != nil && s.socket {
		return "socket"
	}
	if _, ok := ctx.Value(visitKey{}).(*visit); ok {
		return "browser"
	}
	if p, ok := ctx.Value(peerKey{}).(peer); ok && p.unix && subjectOf(ctx) == nil {
		return "socket"
	}
	return "token"
}
