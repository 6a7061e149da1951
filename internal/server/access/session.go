package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/wire"
)

const (
	// sessionLife is for how long a browser stays logged in, from when it logged
	// in: coming back does not lengthen it.
	sessionLife = 7 * 24 * time.Hour
	// codeLife is for how long a login code is good.
	codeLife = 2 * time.Minute
	// codesMost bounds the codes that nobody has used yet.
	codesMost = 1000
)

// sessions lets browsers in. A session is a cookie that this server has signed,
// so that it outlives a restart; what is kept is only who has logged out.
type sessions struct {
	mac   func(purpose string) string // nil: nobody can log in
	token string
	clock func() time.Time

	ended *loggedOut

	mu    sync.Mutex
	codes map[string]ticket
}

// ticket is what a login code is good for.
type ticket struct {
	identity
	until time.Time
}

// identity is who a session is of: with the token by which they came in, which ends
// it when it is revoked, or as the owner of the server.
type identity struct {
	user  string
	token string
	owner bool
	uid   int // of the machine, of who came by its socket and is no owner; 0: another
}

// String is what a cookie says.
func (i identity) String() string {
	if i.token == "" && !i.owner && i.uid == 0 {
		return i.user
	}
	text := i.user + "\n" + i.token + "\n" + strconv.FormatBool(i.owner)
	if i.uid > 0 {
		text += "\n" + strconv.Itoa(i.uid)
	}
	return text
}

func identityOf(text string) identity {
	f := strings.Split(text, "\n")
	if len(f) != 3 && len(f) != 4 {
		return identity{user: text}
	}
	who := identity{user: f[0], token: f[1], owner: f[2] == "true"}
	if len(f) == 4 {
		who.uid, _ = strconv.Atoi(f[3]) // as it was signed
	}
	return who
}

// visit is a session whose cookie a request has shown.
type visit struct {
	identity
	nonce string
	until time.Time
}

type visitKey struct{}

func newSessions(mac func(string) string, token string, clock func() time.Time, ended *loggedOut) *sessions {
	return &sessions{mac: mac, token: token, clock: clock, ended: ended, codes: map[string]ticket{}}
}

// cookie is the name of the cookie: cookies know no ports, and two servers of
// one machine must not log each other's browsers out.
func (c *sessions) cookie() string {
	sum := sha256.Sum256([]byte(c.mac("browser/cookie")))
	return "muster-" + hex.EncodeToString(sum[:4])
}

// sign is what only this server can write below a session. A token that is
// exchanged ends the sessions of everybody who came in with the old one.
func (c *sessions) sign(user, nonce string, until int64) string {
	kept := sha256.Sum256([]byte(c.token))
	return c.mac("browser/session/" + hex.EncodeToString(kept[:]) + "/" + strconv.FormatInt(until, 10) + "/" + nonce + "/" + user)
}

// issue makes the cookie of a new session, which is good for as long as life.
func (c *sessions) issue(who identity, life time.Duration, secure bool) (*http.Cookie, visit) {
	v := visit{identity: who, nonce: random(16), until: c.clock().Add(life)}
	if soonest := c.ended.soonest(); v.until.Before(soonest) {
		v.until = soonest
	}
	return c.of(v, secure), v
}

func (c *sessions) of(v visit, secure bool) *http.Cookie {
	unix := v.until.Unix()
	value := strings.Join([]string{strconv.FormatInt(unix, 10), v.nonce, base64.RawURLEncoding.EncodeToString([]byte(v.identity.String())), c.sign(v.identity.String(), v.nonce, unix)}, ".")
	return &http.Cookie{
		Name: c.cookie(), Value: value, Path: "/", Expires: v.until, MaxAge: int(v.until.Sub(c.clock()) / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure,
	}
}

// read is the session that a request shows; nil: none that is good.
func (c *sessions) read(r *http.Request) *visit {
	if c.mac == nil {
		return nil
	}
	ck, err := r.Cookie(c.cookie())
	if err != nil {
		return nil
	}
	f := strings.Split(ck.Value, ".")
	if len(f) != 4 {
		return nil
	}
	unix, err := strconv.ParseInt(f[0], 10, 64)
	user, uerr := base64.RawURLEncoding.DecodeString(f[2])
	if err != nil || uerr != nil || subtle.ConstantTimeCompare([]byte(f[3]), []byte(c.sign(string(user), f[1], unix))) != 1 {
		return nil
	}
	v := &visit{identity: identityOf(string(user)), nonce: f[1], until: time.Unix(unix, 0)}
	if !c.ended.stands(v) {
		return nil
	}
	return v
}

// invite makes a code that lets one browser in as user.
func (c *sessions) invite(who identity) (string, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock()
	for code, t := range c.codes {
		if now.After(t.until) || len(c.codes) >= codesMost {
			delete(c.codes, code)
		}
	}
	code, until := random(20), now.Add(codeLife)
	c.codes[code] = ticket{who, until}
	return code, until
}

// redeem is whom a code or the server's token lets in; each code once.
func (c *sessions) redeem(l api.Login) (identity, bool) {
	if l.Token != "" {
		return identity{user: "token"}, c.token != "" && subtle.ConstantTimeCompare([]byte(l.Token), []byte(c.token)) == 1
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.codes[l.Code]
	delete(c.codes, l.Code)
	return t.identity, ok && c.clock().Before(t.until)
}

// random is n bytes of chance, to be written in URLs and cookies.
func random(n int) string {
	b := make([]byte, n)
	rand.Read(b) //nolint:errcheck // it never fails; without chance the program ends
	return base64.RawURLEncoding.EncodeToString(b)
}

const sessionPath = "/v1/session"

type sessionOutput struct {
	Cookie http.Cookie `header:"Set-Cookie"`
	Body   api.Session
}

type whoOutput struct{ Body api.Session }

// Register adds the routes of sessions to an API.
func (s *Guard) Register(a huma.API) {
	tags := []string{"session"}
	huma.Register(a, huma.Operation{
		OperationID: "session", Method: http.MethodGet, Path: sessionPath, Summary: "Who asks", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*whoOutput, error) {
		out := &whoOutput{api.Session{User: User(ctx), By: "token", Version: s.version}}
		if v, ok := ctx.Value(visitKey{}).(*visit); ok {
			out.Body.By, out.Body.ExpiresAt = "browser", wire.At(v.until)
			if p := s.provider(); p != nil && s.provenBy(subjectOf(ctx)) == p.Issuer() {
				out.Body.SignOut = p.SignOut()
			}
		} else if p, ok := ctx.Value(peerKey{}).(peer); ok && p.unix {
			out.Body.By = "socket"
		}
		return out, nil
	})
	huma.Register(a, huma.Operation{
		OperationID: "log-in", Method: http.MethodPost, Path: sessionPath, Summary: "Let a browser in: a code or the token for a cookie", Tags: tags, Middlewares: huma.Middlewares{keepRequest},
	}, func(ctx context.Context, in *struct{ Body api.Login }) (*sessionOutput, error) {
		if s.sessions.mac == nil {
			return nil, problem.New(http.StatusServiceUnavailable, "unsupported", "this server has no key to sign sessions with", "use the token with each request")
		}
		if in.Body.Answer != nil {
			return s.answered(ctx, *in.Body.Answer)
		}
		who, p := s.signIn(ctx, in.Body)
		if p != nil {
			return nil, p
		}
		ck, v := s.sessions.issue(who, sessionLife, encrypted(ctx))
		return &sessionOutput{Cookie: *ck, Body: api.Session{User: who.user, By: "browser", ExpiresAt: wire.At(v.until), Version: s.version}}, nil
	})
	huma.Register(a, huma.Operation{
		OperationID: "log-out", Method: http.MethodDelete, Path: sessionPath, Summary: "End the session of a browser", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, _ *struct{}) (*struct {
		Cookie http.Cookie `header:"Set-Cookie"`
	}, error) {
		v, ok := ctx.Value(visitKey{}).(*visit)
		if !ok {
			return nil, problem.New(http.StatusUnprocessableEntity, "invalid", "the request has no session, so there is none to end", "sockets and tokens need none")
		}
		s.sessions.ended.add(v)
		s.signedOut(ctx)
		out := &struct {
			Cookie http.Cookie `header:"Set-Cookie"`
		}{http.Cookie{Name: s.sessions.cookie(), Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode}}
		return out, nil
	})
	huma.Register(a, huma.Operation{
		OperationID: "invite", Method: http.MethodPost, Path: sessionPath + "/codes", Summary: "Make a code that lets one browser in, once", Tags: tags,
	}, s.invite)
	s.signInRoutes(a)
}

func (s *Guard) invite(ctx context.Context, _ *struct{}) (*struct{ Body api.LoginCode }, error) {
	if _, ok := ctx.Value(visitKey{}).(*visit); ok || s.sessions.mac == nil {
		return nil, problem.New(http.StatusForbidden, "forbidden", "the session of a browser may not make codes for other browsers", "use muster ui where the server's socket or token is")
	}
	out := &struct{ Body api.LoginCode }{}
	if p, ok := ctx.Value(peerKey{}).(peer); ok && p.unix && s.address != nil {
		address, err := s.address(ctx)
		if err != nil {
			return nil, problem.New(http.StatusServiceUnavailable, "unavailable", "no address for browsers could be opened: "+err.Error(), "serve one with muster server --listen 127.0.0.1:8080")
		}
		out.Body.Address = address
	}
	who := identity{user: User(ctx)}
	if sub := subjectOf(ctx); sub != nil {
		who = identity{user: sub.name, token: sub.token, owner: sub.owner}
		if sub.socket && !sub.owner && s.accounts != nil {
			who.uid = sub.uid
		}
	} else if p, ok := ctx.Value(peerKey{}).(peer); ok && p.unix {
		who.owner = s.owns(p)
	}
	code, until := s.sessions.invite(who)
	out.Body.Code, out.Body.ExpiresAt, out.Body.Path = code, api.Time(until), "ui/login#code="+code
	return out, nil
}

type requestKey struct{}

// keepRequest lets a use case see the request itself.
func keepRequest(hc huma.Context, next func(huma.Context)) {
	r, _ := humago.Unwrap(hc)
	next(huma.WithValue(hc, requestKey{}, r))
}

// encrypted reports whether a request came over TLS, be it to a proxy.
func encrypted(ctx context.Context) bool {
	if p, ok := ctx.Value(peerKey{}).(peer); ok && p.tls {
		return true
	}
	r, ok := ctx.Value(requestKey{}).(*http.Request)
	return ok && (r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https")
}
