package oidc

import (
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// over are the claims of a logout that is believed, but for some; nil: without it.
func (f *forger) over(pairs ...any) map[string]any {
	c := map[string]any{"iss": f.URL, "aud": "muster", "sub": "0-ann", "sid": "s1", "jti": "one", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(), "events": map[string]any{loggedOutEvent: map[string]any{}}}
	c["aud"] = f.good()["aud"]
	for i := 0; i+1 < len(pairs); i += 2 {
		if c[pairs[i].(string)] = pairs[i+1]; pairs[i+1] == nil {
			delete(c, pairs[i].(string))
		}
	}
	return c
}

// TestOnlyTheProviderSaysWhatIsOver believes a logout token that the provider has signed
// for this client, and nothing else.
func TestOnlyTheProviderSaysWhatIsOver(t *testing.T) {
	f := newForger(t)
	p := f.provider(t)
	out, err := p.LoggedOut(t.Context(), f.token(f.over()))
	if err != nil || out.Subject != "0-ann" || out.Session != "s1" || out.At.Before(time.Now()) {
		t.Fatalf("what is right is refused: %+v (%v)", out, err)
	}
	if out, err := p.LoggedOut(t.Context(), f.token(f.over("sub", nil))); err != nil || out.Subject != "" || out.Session != "s1" {
		t.Errorf("of a session alone: %+v (%v)", out, err)
	}
	for name, c := range map[string]struct {
		token, says string
	}{
		"an ID token":         {f.token(f.with("nonce", nil)), "events"},
		"with a nonce":        {f.token(f.over("nonce", "x")), "nonce"},
		"of nobody":           {f.token(f.over("sub", nil, "sid", nil)), "neither"},
		"of something else":   {f.token(f.over("events", map[string]any{"http://example.com/other": map[string]any{}})), "events"},
		"of an event of null": {f.token(f.over("events", map[string]any{loggedOutEvent: nil})), "events"},
		"for another client":  {f.token(f.over("aud", "another")), "audience"},
		"of another issuer":   {f.token(f.over("iss", "https://login.example.com")), "different provider"},
		"that is over":        {f.token(f.over("exp", time.Now().Add(-time.Hour).Unix())), "expired"},
		"of the future":       {f.token(f.over("iat", time.Now().Add(time.Hour).Unix())), "iat"},
		"without a time":      {f.token(f.over("iat", nil)), "iat"},
		"of a stranger":       {sign(t, jose.RS256, newKey(t), f.kid, f.over()), "not believed"},
		"by a shared secret":  {sign(t, jose.HS256, []byte(strings.Repeat("x", 40)), f.kid, f.over()), "not believed"},
		"of no form":          {"a.b.c", "not believed"},
	} {
		if out, err := p.LoggedOut(t.Context(), c.token); !refused(err) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("a logout token %s: %+v (%v), want something of %q", name, out, err, c.says)
		}
	}
	f.claims = f.with("sid", "s9")
	if who, err := finish(t, p); err != nil || who.Session != "s9" {
		t.Errorf("the session of a sign-in: %+v (%v)", who, err)
	}
}
