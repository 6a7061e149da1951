// Package oidc lets people sign in by an identity provider that speaks OpenID Connect:
// by the authorization code with PKCE, and by device authorization (RFC 8628).
package oidc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/signin"
)

const (
	// knownFor is how long a provider's configuration and keys are believed: a key that
	// it has taken back is not believed for longer.
	knownFor = time.Hour
	// askAgain is after how long one that could not be asked anew is.
	askAgain = time.Minute
	// skew is by how much the clocks of provider and server may differ.
	skew = 30 * time.Second
)

// algorithms are those by which a token may be signed: with the provider's own key, and
// never with the client's secret, or not at all.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}

// Provider is an identity provider, as its settings have it.
type Provider struct {
	settings signin.OIDC
	http     *http.Client
	clock    func() time.Time

	asking sync.Mutex                // of who asks the provider about itself
	known  atomic.Pointer[endpoints] // nil: it has not answered yet
}

// endpoints are what a provider says of itself.
type endpoints struct {
	provider *oidc.Provider
	until    time.Time
	signOut  string
	userInfo bool
}

var _ signin.Provider = (*Provider)(nil)

// New returns a provider, which is asked when somebody first signs in: one that is down
// keeps no server from starting.
func New(s signin.OIDC, clock func() time.Time) (*Provider, error) {
	c, err := newClient(s.CAFile)
	if err != nil {
		return nil, err
	}
	return &Provider{settings: s, http: c, clock: clock}, nil
}

// Name is what the provider is called on the sign-in page.
func (p *Provider) Name() string { return p.settings.Name }

// Issuer is the provider's URL.
func (p *Provider) Issuer() string { return p.settings.Issuer }

// discover is what the provider says of itself. What it has said before holds while it
// cannot be asked.
func (p *Provider) discover(ctx context.Context) (*endpoints, error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	known := p.known.Load()
	if known != nil && p.clock().Before(known.until) {
		return known, nil
	}
	found, err := p.ask(ctx)
	switch {
	case err == nil:
		p.known.Store(found)
		return found, nil
	case known == nil || errors.As(err, new(*oidc.IssuerMismatchError)):
		return nil, p.down("its configuration", err)
	}
	later := *known
	later.until = p.clock().Add(askAgain)
	p.known.Store(&later)
	return &later, nil
}

func (p *Provider) ask(ctx context.Context) (*endpoints, error) {
	found, err := oidc.NewProvider(p.with(ctx), p.settings.Issuer)
	if err != nil {
		return nil, err
	}
	var more struct {
		EndSession string `json:"end_session_endpoint"`
		UserInfo   string `json:"userinfo_endpoint"`
	}
	if err := found.Claims(&more); err != nil {
		return nil, err
	}
	if signin.Endpoint(more.EndSession) != "" {
		more.EndSession = ""
	}
	return &endpoints{provider: found, until: p.clock().Add(knownFor), signOut: more.EndSession, userInfo: more.UserInfo != ""}, nil
}

// Reach asks the provider about itself, so that it is known before somebody signs in.
func (p *Provider) Reach(ctx context.Context) error {
	_, err := p.discover(ctx)
	return err
}

// with is a context in which the libraries use the provider's own client.
func (p *Provider) with(ctx context.Context) context.Context {
	return context.WithValue(oidc.ClientContext(ctx, p.http), oauth2.HTTPClient, p.http)
}

func (p *Provider) down(what string, err error) error {
	return &signin.Error{Down: true, Message: fmt.Sprintf("%s (%s) does not say %s: %s", p.settings.Name, p.settings.Issuer, what, shorten(err.Error())), Hint: "try again; an administrator looks whether the server reaches the provider"}
}

func refuse(hint, format string, args ...any) error {
	return &signin.Error{Message: fmt.Sprintf(format, args...), Hint: hint}
}

// shorten is what another server has said, which may be anything.
func shorten(text string) string {
	const most = 300
	text = string(bytes.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, []byte(text)))
	if len(text) > most {
		text = text[:most] + "…"
	}
	return text
}

// client is this server as the provider knows it.
func (p *Provider) client(e *endpoints, redirect string) (*oauth2.Config, error) {
	secret := ""
	if p.settings.ClientSecretFile != "" {
		text, err := os.ReadFile(p.settings.ClientSecretFile)
		if err != nil {
			return nil, &signin.Error{Down: true, Message: "the secret by which the provider knows this server cannot be read", Hint: "an administrator looks at clientSecretFile in the settings of single sign-on"}
		}
		secret = string(bytes.TrimSpace(text))
	}
	scopes := p.settings.Scopes
	if len(scopes) == 0 {
		scopes = []string{"profile", "email"}
	}
	if !slices.Contains(scopes, oidc.ScopeOpenID) {
		scopes = append([]string{oidc.ScopeOpenID}, scopes...)
	}
	return &oauth2.Config{ClientID: p.settings.ClientID, ClientSecret: secret, Endpoint: e.provider.Endpoint(), RedirectURL: redirect, Scopes: scopes}, nil
}

// Begin is the address at which a browser signs in.
func (p *Provider) Begin(ctx context.Context, a signin.Attempt) (string, error) {
	e, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	if problem := signin.Endpoint(e.provider.Endpoint().AuthURL); problem != "" {
		return "", refuse("", "the provider's address for signing in %s", problem)
	}
	c, err := p.client(e, a.Redirect)
	if err != nil {
		return "", err
	}
	return c.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), nil
}

// Finish asks whose a code is.
func (p *Provider) Finish(ctx context.Context, a signin.Attempt, code string) (core.Profile, error) {
	e, err := p.discover(ctx)
	if err != nil {
		return core.Profile{}, err
	}
	c, err := p.client(e, a.Redirect)
	if err != nil {
		return core.Profile{}, err
	}
	t, err := c.Exchange(p.with(ctx), code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return core.Profile{}, p.exchanged(err)
	}
	return p.profile(ctx, e, t, a.Nonce)
}

// exchanged is what an error of the token endpoint means.
func (p *Provider) exchanged(err error) error {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) || answer.ErrorCode == "" {
		return p.down("who it is", err)
	}
	detail := answer.ErrorCode
	if answer.ErrorDescription != "" {
		detail += ": " + answer.ErrorDescription
	}
	switch answer.ErrorCode {
	case "invalid_client", "unauthorized_client":
		return &signin.Error{Down: true, Message: p.settings.Name + " does not know this server (" + shorten(detail) + ")", Hint: "an administrator looks at clientId and clientSecretFile in the settings of single sign-on"}
	}
	return refuse("sign in again", "%s lets nobody in: %s", p.settings.Name, shorten(detail))
}

// Device begins a sign-in with a browser that may be elsewhere.
func (p *Provider) Device(ctx context.Context) (signin.Device, error) {
	e, err := p.discover(ctx)
	if err != nil {
		return signin.Device{}, err
	}
	if e.provider.Endpoint().DeviceAuthURL == "" {
		return signin.Device{}, signin.ErrNoDevice
	}
	c, err := p.client(e, "")
	if err != nil {
		return signin.Device{}, err
	}
	var asked []oauth2.AuthCodeOption
	if c.ClientSecret != "" { // the library sends none there
		asked = append(asked, oauth2.SetAuthURLParam("client_secret", c.ClientSecret))
	}
	d, err := c.DeviceAuth(p.with(ctx), asked...)
	if err != nil {
		return signin.Device{}, p.exchanged(err)
	}
	interval := time.Duration(d.Interval) * time.Second
	if interval <= 0 {
		interval = 5 * time.Second // as RFC 8628 has it
	}
	for _, address := range []string{d.VerificationURI, cmp.Or(d.VerificationURIComplete, d.VerificationURI)} {
		if problem := signin.Endpoint(address); problem != "" {
			return signin.Device{}, refuse("", "the provider's address for signing in %s", problem)
		}
	}
	expires := d.Expiry
	if expires.IsZero() {
		expires = p.clock().Add(10 * time.Minute)
	}
	return signin.Device{Code: d.DeviceCode, UserCode: d.UserCode, Address: d.VerificationURI, Complete: d.VerificationURIComplete, ExpiresAt: expires, Interval: interval}, nil
}

// SignOut is the address at which a browser ends its session at the provider, as far as
// that is known: nobody waits for it.
func (p *Provider) SignOut() string {
	e := p.known.Load()
	if e == nil || e.signOut == "" {
		return ""
	}
	return withQuery(e.signOut, "client_id", p.settings.ClientID)
}
