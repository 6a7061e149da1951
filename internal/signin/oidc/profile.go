package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/signin"
)

// deviceGrant is the grant of RFC 8628.
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// Poll asks once whether a sign-in by a device code is done. The library only offers to
// wait until it is, which would keep a request open for minutes.
func (p *Provider) Poll(ctx context.Context, code string) (core.Profile, error) {
	e, err := p.discover(ctx)
	if err != nil {
		return core.Profile{}, err
	}
	c, err := p.client(e, "")
	if err != nil {
		return core.Profile{}, err
	}
	// An exchange is the same request but for what it is for.
	t, err := c.Exchange(p.with(ctx), "", oauth2.SetAuthURLParam("grant_type", deviceGrant), oauth2.SetAuthURLParam("device_code", code), oauth2.SetAuthURLParam("code", ""))
	if err != nil {
		var answer *oauth2.RetrieveError
		if errors.As(err, &answer) {
			switch answer.ErrorCode {
			case "authorization_pending":
				return core.Profile{}, signin.ErrPending
			case "slow_down":
				return core.Profile{}, signin.ErrSlowDown
			}
		}
		return core.Profile{}, p.exchanged(err)
	}
	return p.profile(ctx, e, t, "")
}

// profile is who has signed in, as the token says that the provider has signed.
func (p *Provider) profile(ctx context.Context, e *endpoints, t *oauth2.Token, nonce string) (core.Profile, error) {
	raw, _ := t.Extra("id_token").(string)
	if raw == "" {
		return core.Profile{}, refuse("an administrator looks whether the client may ask for the scope openid", "%s has sent no ID token", p.settings.Name)
	}
	id, err := e.provider.Verifier(&oidc.Config{ClientID: p.settings.ClientID, SupportedSigningAlgs: algorithms, Now: func() time.Time { return p.clock().Add(-skew) }}).Verify(p.with(ctx), raw)
	if err != nil {
		return core.Profile{}, refuse("sign in again; an administrator looks at the clocks and the settings of single sign-on", "what %s has sent is not believed: %s", p.settings.Name, shorten(err.Error()))
	}
	claims := map[string]json.RawMessage{}
	if err := id.Claims(&claims); err != nil {
		return core.Profile{}, refuse("", "what %s has sent is not believed: %s", p.settings.Name, shorten(err.Error()))
	}
	if err := p.meant(id, claims, nonce); err != nil {
		return core.Profile{}, err
	}
	if t.AccessToken != "" && id.AccessTokenHash != "" {
		if err := id.VerifyAccessToken(t.AccessToken); err != nil {
			return core.Profile{}, refuse("sign in again", "what %s has sent is not believed: %s", p.settings.Name, shorten(err.Error()))
		}
	}
	if err := p.complete(ctx, e, t, id.Subject, claims); err != nil {
		return core.Profile{}, err
	}
	name, err := p.name(claims)
	if err != nil {
		return core.Profile{}, err
	}
	groups, err := p.groups(claims)
	if err != nil {
		return core.Profile{}, err
	}
	session, err := text(claims, "sid")
	if err != nil || len(session) > 255 {
		session = "" // the provider then ends all sessions of the account at once
	}
	return core.Profile{Provider: p.settings.Issuer, Subject: id.Subject, Name: name, Groups: groups, Session: session}, nil
}

// meant reports whether a token is for this server and this sign-in, beyond what the
// library looks at.
func (p *Provider) meant(id *oidc.IDToken, claims map[string]json.RawMessage, nonce string) error {
	const hint = "sign in again"
	azp, err := text(claims, "azp")
	switch {
	case err != nil:
		return err
	case id.Subject == "" || len(id.Subject) > 255:
		return refuse(hint, "%s does not say whose account it is (claim sub)", p.settings.Name)
	case azp != "" && azp != p.settings.ClientID:
		return refuse(hint, "what %s has sent was made for the client %.100q (claim azp), not for this server", p.settings.Name, azp)
	case azp == "" && len(id.Audience) > 1:
		return refuse(hint, "what %s has sent is for several clients and does not say for which it was made (claim azp)", p.settings.Name)
	case nonce != "" && id.Nonce != nonce:
		return refuse(hint, "what %s has sent belongs to another sign-in (claim nonce)", p.settings.Name)
	case id.IssuedAt.After(p.clock().Add(skew)):
		return refuse("an administrator looks at the clocks", "what %s has sent is of the future (claim iat)", p.settings.Name)
	}
	return nil
}

// complete asks the provider for claims that are not in the token: some put only who
// it is into it.
func (p *Provider) complete(ctx context.Context, e *endpoints, t *oauth2.Token, subject string, claims map[string]json.RawMessage) error {
	need := []string{p.settings.NameClaim, p.settings.GroupsClaim}
	if len(p.settings.Domains) > 0 {
		need = append(need, "email")
	}
	if !e.userInfo || t.AccessToken == "" || !slices.ContainsFunc(need, func(c string) bool { return claims[c] == nil }) {
		return nil
	}
	info, err := e.provider.UserInfo(p.with(ctx), oauth2.StaticTokenSource(t))
	if err != nil {
		return p.down("who it is", err)
	}
	if info.Subject != subject {
		return refuse("sign in again", "%s tells of somebody else than has signed in", p.settings.Name)
	}
	more := map[string]json.RawMessage{}
	if err := info.Claims(&more); err != nil {
		return p.down("who it is", err)
	}
	for name, value := range more {
		if claims[name] == nil {
			claims[name] = value
		}
	}
	return nil
}

// name is what the provider calls somebody, who has to be in a domain that is let in.
func (p *Provider) name(claims map[string]json.RawMessage) (string, error) {
	name, err := text(claims, p.settings.NameClaim)
	if err != nil {
		return "", err
	}
	if name == "" {
		return "", refuse("an administrator chooses another claim: nameClaim in the settings of single sign-on", "%s sends no claim %s, which names are taken from", p.settings.Name, p.settings.NameClaim)
	}
	if p.settings.NameClaim != "email" && len(p.settings.Domains) == 0 {
		return name, nil
	}
	mail, err := text(claims, "email")
	if err != nil {
		return "", err
	}
	if !verified(claims["email_verified"]) {
		return "", refuse("verify it at the provider", "%s has not verified the mail address %.100q (claim email_verified)", p.settings.Name, mail)
	}
	if len(p.settings.Domains) > 0 {
		_, domain, _ := strings.Cut(mail, "@")
		if strings.Contains(domain, "@") || !slices.ContainsFunc(p.settings.Domains, func(d string) bool { return strings.EqualFold(d, domain) }) {
			return "", refuse("an administrator says which are: domains in the settings of single sign-on", "mail addresses like %.100q are not let in", mail)
		}
	}
	return name, nil
}

func verified(raw json.RawMessage) bool {
	return string(raw) == "true" || string(raw) == `"true"` // some providers write it so
}

// groups are those that somebody is in, as they are called here.
func (p *Provider) groups(claims map[string]json.RawMessage) ([]string, error) {
	claim := p.settings.GroupsClaim
	raw := claims[claim]
	if elsewhere := claims["_claim_names"]; raw == nil && elsewhere != nil {
		var names map[string]any
		if json.Unmarshal(elsewhere, &names) == nil && names[claim] != nil {
			return nil, refuse("an administrator has the provider send only groups that matter here", "%s does not send the groups of somebody who is in so many (claim _claim_names)", p.settings.Name)
		}
	}
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	var all []string
	if json.Unmarshal(raw, &all) != nil {
		var one string
		if json.Unmarshal(raw, &one) != nil {
			return nil, refuse("an administrator names the claim with a list of names: groupsClaim in the settings of single sign-on", "the claim %s is not a list of names", claim)
		}
		all = []string{one}
	}
	return signin.Called(all, p.settings.Groups, p.settings.GroupPrefix), nil
}

// text is a claim that has to be a text where it is there.
func text(claims map[string]json.RawMessage, name string) (string, error) {
	raw := claims[name]
	if raw == nil {
		return "", nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", refuse("an administrator looks at the settings of single sign-on", "the claim %s is not a text", name)
	}
	return s, nil
}

// withQuery is an address with one more parameter.
func withQuery(address, name, value string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}
