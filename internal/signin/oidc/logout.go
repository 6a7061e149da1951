package oidc

import (
	"context"
	"encoding/json"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/musterhq/muster/internal/signin"
)

// loggedOutEvent is what a logout token tells (OpenID Connect Back-Channel Logout 1.0, 2.4).
const loggedOutEvent = "http://schemas.openid.net/event/backchannel-logout"

// LoggedOut implements signin.Provider. An ID token is none: it has no such event, and a
// logout token has no nonce.
func (p *Provider) LoggedOut(ctx context.Context, raw string) (signin.Logout, error) {
	e, err := p.discover(ctx)
	if err != nil {
		return signin.Logout{}, err
	}
	t, err := e.provider.Verifier(&oidc.Config{ClientID: p.settings.ClientID, SupportedSigningAlgs: algorithms, Now: func() time.Time { return p.clock().Add(-skew) }}).Verify(p.with(ctx), raw)
	if err != nil {
		return signin.Logout{}, refuse("", "the logout token is not believed: %s", shorten(err.Error()))
	}
	var claims struct {
		Session string                     `json:"sid"`
		Nonce   *string                    `json:"nonce"`
		Events  map[string]json.RawMessage `json:"events"`
	}
	if err := t.Claims(&claims); err != nil {
		return signin.Logout{}, refuse("", "the logout token is not believed: %s", shorten(err.Error()))
	}
	var event map[string]json.RawMessage
	switch {
	case json.Unmarshal(claims.Events[loggedOutEvent], &event) != nil || event == nil:
		return signin.Logout{}, refuse("", "the token tells of no logout (claim events)")
	case claims.Nonce != nil:
		return signin.Logout{}, refuse("", "the token has a nonce, which a logout token must not")
	case t.Subject == "" && claims.Session == "":
		return signin.Logout{}, refuse("", "the logout token names neither an account (claim sub) nor a session (claim sid)")
	case t.IssuedAt.IsZero() || t.IssuedAt.After(p.clock().Add(skew)):
		return signin.Logout{}, refuse("", "the logout token does not say when it was made, or is of the future (claim iat)")
	}
	return signin.Logout{Subject: t.Subject, Session: claims.Session, At: t.IssuedAt.Add(skew)}, nil
}
