package access

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/osuser"
	use "github.com/musterhq/muster/internal/engine/access"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/wire"
	"github.com/musterhq/muster/internal/signin"
)

// SSO is by whom people sign in, and for how long.
type SSO struct {
	Provider  signin.Provider  // nil: none
	Directory signin.Directory // nil: none
	Session   time.Duration
}

const (
	// flowLife is how long somebody may take to sign in at the provider.
	flowLife = 10 * time.Minute
	// askedAtOnce bounds the questions to a provider that are open.
	askedAtOnce = 16
)

// sso lets people in whom an identity provider has proven. What it has begun is not
// kept: whoever began it brings it back, signed, so that nobody can fill a memory and
// a server that was started again goes on.
type sso struct {
	SSO
	mac    func(purpose string) string
	clock  func() time.Time
	asked  chan struct{}
	begun  failures // devices, by address
	names  failures // passwords that were wrong, by the name that was typed
	mu     sync.Mutex
	redeem map[string]time.Time // flows that have come back, until when they would be good
}

func newSSO(s SSO, mac func(string) string, clock func() time.Time) *sso {
	return &sso{SSO: s, mac: mac, clock: clock, asked: make(chan struct{}, askedAtOnce), redeem: map[string]time.Time{}}
}

// asking waits for its turn to ask the provider; done must be called.
func (s *sso) asking(ctx context.Context) (done func(), p *api.Problem) {
	select {
	case s.asked <- struct{}{}:
		return func() { <-s.asked }, nil
	case <-ctx.Done():
		return nil, problem.New(http.StatusServiceUnavailable, "unavailable", "too many sign in at once", "try again")
	}
}

// attempt is the sign-in of a seed. Its secrets follow from the seed for this server
// alone.
func (s *sso) attempt(seed, redirect string) signin.Attempt {
	part := func(of string) string { return s.mac("sign-in/" + of + "/" + seed) }
	return signin.Attempt{Redirect: redirect, State: part("state"), Nonce: part("nonce"), Verifier: part("verifier")}
}

// signed is what this server gives away to have it back as it was: parts without dots.
func (s *sso) signed(kind string, parts ...string) string {
	text := strings.Join(parts, ".")
	return text + "." + s.mac("sign-in/"+kind+"/"+text)
}

// unsigned are the parts; ok is false where somebody else has written them.
func (s *sso) unsigned(kind, given string) (parts []string, ok bool) {
	i := strings.LastIndexByte(given, '.')
	if i < 0 || subtle.ConstantTimeCompare([]byte(given[i+1:]), []byte(s.mac("sign-in/"+kind+"/"+given[:i]))) != 1 {
		return nil, false
	}
	return strings.Split(given[:i], "."), true
}

func encoded(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func decoded(text string) string {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	return string(b)
}

// begin starts a sign-in that a browser goes on with.
func (s *sso) begin(ctx context.Context, redirect string) (*api.StartedSignIn, error) {
	seed, until := random(24), s.clock().Add(flowLife)
	a := s.attempt(seed, redirect)
	address, err := s.Provider.Begin(ctx, a)
	if err != nil {
		return nil, err
	}
	return &api.StartedSignIn{Address: address, Flow: s.signed("flow", strconv.FormatInt(until.Unix(), 10), seed, encoded(redirect)), State: a.State, ExpiresAt: api.Time(until)}, nil
}

var (
	errFlow   = &signin.Error{Message: "the sign-in was not begun here, or by somebody else, or came back already", Hint: "sign in again"}
	errExpire = &signin.Error{Message: "the sign-in took too long", Hint: "sign in again"}
)

// finish is who has signed in, as the provider has answered.
func (s *sso) finish(ctx context.Context, in api.SignInAnswer) (core.Profile, error) {
	f, ok := s.unsigned("flow", in.Flow)
	if !ok || len(f) != 3 {
		return core.Profile{}, errFlow
	}
	unix, err := strconv.ParseInt(f[0], 10, 64)
	a := s.attempt(f[1], decoded(f[2]))
	until := time.Unix(unix, 0)
	switch {
	case err != nil || subtle.ConstantTimeCompare([]byte(a.State), []byte(in.State)) != 1 || in.Code == "":
		return core.Profile{}, errFlow
	case !s.clock().Before(until):
		return core.Profile{}, errExpire
	case !s.first(f[1], until):
		return core.Profile{}, errFlow
	}
	return s.Provider.Finish(ctx, a, in.Code)
}

// first reports whether a flow has not come back before.
func (s *sso) first(seed string, until time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	for x, t := range s.redeem {
		if now.After(t) {
			delete(s.redeem, x)
		}
	}
	_, again := s.redeem[seed]
	s.redeem[seed] = until
	return !again
}

// device starts a sign-in with a browser that may be elsewhere.
func (s *sso) device(ctx context.Context) (*api.StartedDevice, error) {
	d, err := s.Provider.Device(ctx)
	if err != nil {
		return nil, err
	}
	return &api.StartedDevice{
		Address: d.Address, Complete: d.Complete, UserCode: d.UserCode, IntervalSeconds: int((d.Interval + time.Second - 1) / time.Second), ExpiresAt: api.Time(d.ExpiresAt),
		Device: s.signed("device", strconv.FormatInt(d.ExpiresAt.Unix(), 10), encoded(d.Code)),
	}, nil
}

// poll is who has signed in by a device.
func (s *sso) poll(ctx context.Context, device string) (core.Profile, error) {
	f, ok := s.unsigned("device", device)
	if !ok || len(f) != 2 {
		return core.Profile{}, errFlow
	}
	if unix, err := strconv.ParseInt(f[0], 10, 64); err != nil || !s.clock().Before(time.Unix(unix, 0)) {
		return core.Profile{}, errExpire
	}
	return s.Provider.Poll(ctx, decoded(f[1]))
}

// proven is who has signed in, by which way an answer has come.
func (s *sso) proven(ctx context.Context, in api.SignInAnswer, browser bool) (core.Profile, error) {
	switch {
	case in.User != "" && s.Directory != nil:
		return s.check(ctx, in.User, in.Password)
	case s.Provider == nil:
		return core.Profile{}, errFlow
	case in.Device != "" && !browser:
		return s.poll(ctx, in.Device)
	}
	return s.finish(ctx, in)
}

// check is who has typed a password. Those of one name can be tried no more often than
// from one address, wherever they come from.
func (s *sso) check(ctx context.Context, name, password string) (core.Profile, error) {
	key := strings.ToLower(name)
	if wait := s.names.locked(key, s.clock()); wait > 0 {
		return core.Profile{}, &signin.Error{Message: "too many wrong passwords were tried for this name", Hint: "try again in " + wait.Round(time.Second).String()}
	}
	who, err := s.Directory.Check(ctx, name, password)
	var e *signin.Error
	if errors.As(err, &e) && !e.Down {
		s.names.add(key, s.clock())
	}
	return who, err
}

// redirects says what is wrong with an address that a provider is to send browsers back
// to; empty: nothing. It is the page of the request's own server, or a program on the
// machine that the browser is on (RFC 8252).
func redirects(r *http.Request, address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "is not the address of a page"
	case u.Scheme == "https" && strings.EqualFold(u.Host, r.Host):
		return ""
	case u.Scheme == "http" && signin.Loopback(u.Hostname()):
		return ""
	case u.Scheme == "http" && strings.EqualFold(u.Host, r.Host):
		return "is not encrypted, and what a provider answers would be read on the way"
	}
	return "is of another server"
}

// refusedSignIn is the problem of a sign-in that did not come to an end.
func refusedSignIn(g *Guard, err error) *api.Problem {
	var e *signin.Error
	switch {
	case errors.As(err, &e) && e.Down:
		return problem.New(http.StatusServiceUnavailable, "unavailable", e.Message, e.Hint)
	case errors.As(err, &e):
		return problem.New(http.StatusUnauthorized, "unauthenticated", e.Message, e.Hint)
	case errors.Is(err, signin.ErrNoDevice):
		return problem.New(http.StatusUnprocessableEntity, "unsupported", err.Error(), "sign in with a browser on this machine: muster login --sso --browser")
	}
	return problem.Of(g.log, err)
}

// enter lets somebody in by what a provider has answered, with the text of the session's
// token. nil and no problem: not yet.
func (s *Guard) enter(ctx context.Context, in api.SignInAnswer, browser bool) (t core.Token, text string, slower bool, p *api.Problem) {
	sub := subjectOf(ctx)
	if sub == nil || s.sso == nil {
		return t, "", false, noSSO(sub != nil)
	}
	if wait := s.failures.locked(sub.origin.Address, s.clock()); wait > 0 {
		return t, "", false, lockedOut(wait)
	}
	done, p := s.sso.asking(ctx)
	if p != nil {
		return t, "", false, p
	}
	who, err := s.sso.proven(ctx, in, browser)
	done()
	if errors.Is(err, signin.ErrPending) || errors.Is(err, signin.ErrSlowDown) {
		return t, "", errors.Is(err, signin.ErrSlowDown), nil
	}
	if err != nil {
		p := refusedSignIn(s, err)
		if p.Status == http.StatusUnauthorized {
			why := p.Detail
			if in.User != "" {
				why = strconv.Quote(in.User) + ": " + why
			}
			s.failed(ctx, sub, why)
		}
		return t, "", false, p
	}
	o, r := sub.origin, use.SignIn{Profile: who, Browser: browser, Life: s.sso.Session, Reserved: s.OwnerNames(), Local: s.local}
	name := who.Name
	if u, ok := s.rules.Rights().Account(who.Provider, who.Subject); ok {
		name = u.Name
	}
	if v, ok := ctx.Value(visitKey{}).(*visit); ok && v.user == name {
		r.Ends = v.token
	}
	o.Actor, o.Verb = "user:"+name, "sign-in"
	text, r.Hash = NewToken()
	if t, err = s.rules.Enter(draft.WithOrigin(ctx, &o), r); err != nil {
		p := problem.Of(s.log, err)
		if p.Status == http.StatusForbidden {
			s.failures.add(sub.origin.Address, s.clock())
		}
		return t, "", false, p
	}
	return t, text, false, nil
}

// local reports whether a name is that of an account of this machine.
func (s *Guard) local(name string) bool {
	if s.accounts == nil {
		return local(name)
	}
	_, err := s.accounts.ByName(name)
	return !errors.Is(err, osuser.ErrNone) // where nobody can say, it may be
}

// local reports whether a name is that of an account of this machine.
func local(name string) bool {
	_, err := user.Lookup(name)
	return err == nil
}

func noSSO(enforced bool) *api.Problem {
	if !enforced {
		return problem.New(http.StatusConflict, "conflict", "access control is off: nobody signs in by an identity provider", "the owner of the server turns it on with muster access enable")
	}
	return problem.New(http.StatusUnprocessableEntity, "unsupported", "this server has no such way to sign in", "its operator names one with muster server --sso FILE; sign in with a token: muster login")
}

// answered lets a browser in.
func (s *Guard) answered(ctx context.Context, in api.SignInAnswer) (*sessionOutput, error) {
	t, _, _, p := s.enter(ctx, in, true)
	if p != nil {
		return nil, p
	}
	ck, v := s.sessions.issue(identity{user: t.User, token: t.ID}, t.ExpiresAt.Sub(s.clock()), encrypted(ctx))
	return &sessionOutput{Cookie: *ck, Body: api.Session{User: t.User, By: "browser", ExpiresAt: wire.At(v.until), Version: s.version}}, nil
}

// signedOut writes that a session was ended, and forgets one that an identity provider
// has proven.
func (s *Guard) signedOut(ctx context.Context) {
	sub := subjectOf(ctx)
	if sub == nil {
		return
	}
	o := sub.origin
	o.Verb = "sign-out"
	if s.provenBy(sub) != "" {
		// With the session ends what goes on by it, this request too.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordFor)
		defer cancel()
		if err := s.rules.End(draft.WithOrigin(ctx, &o), sub.token); err == nil {
			return
		}
	}
	s.write(ctx, o.Entry(core.AuditDone, ""))
}

// provenBy is the issuer of the provider, or the directory, that has proven who asks for
// their session; empty: none has.
func (s *Guard) provenBy(sub *subject) string {
	if sub == nil || sub.token == "" {
		return ""
	}
	t, _ := s.rules.Rights().Token(sub.token)
	return t.Provider
}

// provider is the identity provider; nil: there is none.
func (s *Guard) provider() signin.Provider {
	if s.sso == nil {
		return nil
	}
	return s.sso.Provider
}
