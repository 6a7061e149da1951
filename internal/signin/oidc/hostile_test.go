package oidc

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/signin"
	"github.com/musterhq/muster/internal/testing/oidctest"
)

// forger is a provider that says whatever a test wants.
type forger struct {
	*httptest.Server
	mu     sync.Mutex
	key    *rsa.PrivateKey
	kid    string
	token  func(claims map[string]any) string // makes the ID token of claims
	claims map[string]any
	answer http.HandlerFunc // of the token endpoint; nil: the token
	config map[string]any   // what its configuration says beside
	asked  int              // for its configuration
	down   bool
	info   map[string]any // what the provider tells of whom the access token is for
}

func newKey(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// sign is a token as providers make them.
func sign(t testing.TB, alg jose.SignatureAlgorithm, key any, kid string, claims map[string]any) string {
	t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: kid}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := s.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	out, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func newForger(t testing.TB) *forger {
	t.Helper()
	f := &forger{key: newKey(t), kid: "first"}
	f.token = func(c map[string]any) string { return sign(t, jose.RS256, f.key, f.kid, c) }
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if f.down {
			http.Error(w, "not today", http.StatusServiceUnavailable)
			return
		}
		switch r.URL.Path {
		case "/.well-known/openid-configuration":
			f.asked++
			c := map[string]any{"issuer": f.URL, "authorization_endpoint": f.URL + "/auth", "token_endpoint": f.URL + "/token", "jwks_uri": f.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256", "none", "HS256"}}
			maps.Copy(c, f.config)
			_ = json.NewEncoder(w).Encode(c)
		case "/keys":
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &f.key.PublicKey, KeyID: f.kid, Use: "sig", Algorithm: "RS256"}}})
		case "/userinfo":
			_ = json.NewEncoder(w).Encode(f.info)
		case "/token":
			if f.answer != nil {
				f.answer(w, r)
				return
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": f.token(f.claims)})
		}
	}))
	t.Cleanup(f.Close)
	f.claims = f.good()
	return f
}

// good are claims of somebody who is let in.
func (f *forger) good() map[string]any {
	now := time.Now()
	return map[string]any{"iss": f.URL, "aud": oidctest.ClientID, "sub": "0-ann", "exp": now.Add(time.Minute).Unix(), "iat": now.Unix(), "nonce": "the nonce", "preferred_username": "ann", "groups": []string{"vision"}, "email": "ann@acme.com", "email_verified": true}
}

func (f *forger) provider(t testing.TB, edit ...func(*signin.OIDC)) *Provider {
	t.Helper()
	s := settings(t, f.URL)
	for _, e := range edit {
		e(&s)
	}
	p, err := New(s, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func finish(t testing.TB, p *Provider) (core.Profile, error) {
	t.Helper()
	return p.Finish(t.Context(), attempt(), "a code")
}

// with are the claims of somebody who is let in, but for some; nil: without it.
func (f *forger) with(pairs ...any) map[string]any {
	c := f.good()
	for i := 0; i+1 < len(pairs); i += 2 {
		if c[pairs[i].(string)] = pairs[i+1]; pairs[i+1] == nil {
			delete(c, pairs[i].(string))
		}
	}
	return c
}

func TestForgedTokensLetNobodyIn(t *testing.T) {
	f := newForger(t)
	p := f.provider(t)
	if who, err := finish(t, p); err != nil || who.Name != "ann" || who.Subject != "0-ann" {
		t.Fatalf("what is right is refused: %+v (%v)", who, err)
	}
	now := time.Now()
	many := make([]string, 200_000)
	for i := range many {
		many[i] = fmt.Sprint("group-", i)
	}
	for _, c := range []struct {
		name   string
		claims map[string]any
		says   string
	}{
		{"of another issuer", f.with("iss", "https://login.example.com"), "different provider"},
		{"for another client", f.with("aud", "another"), "audience"},
		{"for several clients", f.with("aud", []string{oidctest.ClientID, "another"}), "azp"},
		{"made for another client", f.with("aud", []string{oidctest.ClientID, "another"}, "azp", "another"), `"another"`},
		{"for a client that is no text", f.with("azp", 7), "azp is not a text"},
		{"that is over", f.with("exp", now.Add(-skew-5*time.Second).Unix()), "expired"},
		{"that never ends", f.with("exp", nil), "expired"},
		{"that is not good yet", f.with("nbf", now.Add(time.Hour).Unix()), "nbf"},
		{"of the future", f.with("iat", now.Add(time.Hour).Unix()), "iat"},
		{"of another sign-in", f.with("nonce", "another"), "nonce"},
		{"of no sign-in", f.with("nonce", nil), "nonce"},
		{"of nobody", f.with("sub", nil), "sub"},
		{"without a name", f.with("preferred_username", nil), "preferred_username"},
		{"with a name that is no text", f.with("preferred_username", []string{"ann"}), "preferred_username is not a text"},
		{"with groups that are numbers", f.with("groups", []int{1}), "groups is not a list of names"},
		{"with groups that are an object", f.with("groups", map[string]any{"vision": true}), "groups is not a list of names"},
		{"with groups elsewhere", f.with("groups", nil, "_claim_names", map[string]string{"groups": "src1"}, "_claim_sources", map[string]any{"src1": map[string]string{"endpoint": f.URL}}), "so many"},
		{"with groups without end", f.with("groups", many), "does not say who it is"},
	} {
		f.claims = c.claims
		who, err := finish(t, p)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("a token %s: %v %v, want something of %q", c.name, who.Subject, err, c.says)
		}
	}
	f.claims = f.with("aud", []string{oidctest.ClientID, "another"}, "azp", oidctest.ClientID, "exp", now.Add(-skew/2).Unix(), "groups", "vision")
	if who, err := finish(t, p); err != nil || len(who.Groups) != 1 {
		t.Errorf("clocks that differ a little: %+v %v", who, err)
	}
}

func TestOnlyTheProvidersKeySigns(t *testing.T) {
	f := newForger(t)
	p := f.provider(t)
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	stranger := newKey(t)
	for name, token := range map[string]func(map[string]any) string{
		"nobody": func(c map[string]any) string {
			return part(map[string]string{"alg": "none", "typ": "JWT"}) + "." + part(c) + "."
		},
		"the client's secret": func(c map[string]any) string {
			return sign(t, jose.HS256, []byte(oidctest.Secret+strings.Repeat("x", 32)), f.kid, c)
		},
		"the public key as a secret": func(c map[string]any) string { return sign(t, jose.HS256, f.key.N.Bytes(), f.kid, c) },
		"a stranger":                 func(c map[string]any) string { return sign(t, jose.RS256, stranger, f.kid, c) },
		"a stranger by another name": func(c map[string]any) string { return sign(t, jose.RS256, stranger, "another", c) },
		"the provider, of something else": func(c map[string]any) string {
			one, other := sign(t, jose.RS256, f.key, f.kid, c), sign(t, jose.RS256, f.key, f.kid, f.with("sub", "0-boss"))
			a, b := strings.Split(one, "."), strings.Split(other, ".")
			return a[0] + "." + b[1] + "." + a[2]
		},
		"no form at all": func(map[string]any) string { return "a.b.c" },
	} {
		f.token = token
		if who, err := finish(t, p); !refused(err) {
			t.Errorf("signed by %s: %+v (%v)", name, who, err)
		}
	}
}

// TestKeysAreExchanged: a new key is believed at once, and an old one no longer than the
// provider's configuration.
func TestKeysAreExchanged(t *testing.T) {
	f := newForger(t)
	now := time.Now()
	p, err := New(settings(t, f.URL), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := finish(t, p); err != nil {
		t.Fatal(err)
	}
	old, oldKid := f.key, f.kid
	f.key, f.kid = newKey(t), "second"
	if _, err := finish(t, p); err != nil {
		t.Errorf("a new key is not believed: %v", err)
	}
	now = now.Add(knownFor)
	f.claims = f.with("exp", now.Add(time.Minute).Unix(), "iat", now.Unix())
	f.token = func(c map[string]any) string { return sign(t, jose.RS256, old, oldKid, c) }
	if _, err := finish(t, p); !refused(err) {
		t.Errorf("a key that was taken back is believed: %v", err)
	}
	if f.asked != 2 {
		t.Errorf("its configuration was read %d times", f.asked)
	}
}

// What a provider says beside the token is of whoever the token is for, and takes the
// place of nothing that it has signed.
func TestWhatIsToldBesideTheTokenIsOfTheSame(t *testing.T) {
	f := newForger(t)
	f.config = map[string]any{"userinfo_endpoint": f.URL + "/userinfo"}
	f.claims = f.with("groups", nil)
	f.info = map[string]any{"sub": "0-ann", "groups": []string{"vision"}, "preferred_username": "root"}
	who, err := finish(t, f.provider(t))
	if err != nil || who.Name != "ann" || len(who.Groups) != 1 {
		t.Errorf("%+v, %v", who, err)
	}
	f.info["sub"] = "0-ben"
	if _, err := finish(t, f.provider(t)); !refused(err) {
		t.Errorf("groups of somebody else are taken: %v", err)
	}
}

func TestAProviderThatIsDownIsNobodysFault(t *testing.T) {
	f := newForger(t)
	now := time.Now()
	p, err := New(settings(t, f.URL), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	down := func(what string, err error) {
		t.Helper()
		var e *signin.Error
		if !errors.As(err, &e) || !e.Down || e.Hint == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	f.down = true
	_, err = p.Begin(t.Context(), attempt())
	down("before it was ever up", err)
	f.down = false
	if _, err := p.Begin(t.Context(), attempt()); err != nil {
		t.Fatal(err)
	}
	f.down, now = true, now.Add(2*knownFor)
	if _, err := p.Begin(t.Context(), attempt()); err != nil {
		t.Errorf("what it has said before is forgotten: %v", err)
	}
	_, err = finish(t, p)
	down("when it is asked who it is", err)
	f.down = false
	f.answer = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1/elsewhere", http.StatusTemporaryRedirect)
	}
	_, err = finish(t, p)
	down("when it sends the server elsewhere", err)
	if !strings.Contains(err.Error(), "sends the server elsewhere") {
		t.Errorf("%v", err)
	}
	f.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_client","error_description":"who\nare you"}`))
	}
	_, err = finish(t, p)
	down("when it does not know the server", err)
	f.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
	}
	if _, err = finish(t, p); !refused(err) {
		t.Errorf("a code that was used before: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Finish(ctx, attempt(), "a code"); err == nil {
		t.Error("nobody waits, and it is asked")
	}
}

// TestAProviderIsNotBelievedAboutAddresses: what its configuration names is asked by the
// server, which reaches what others do not.
func TestAProviderIsNotBelievedAboutAddresses(t *testing.T) {
	f := newForger(t)
	for field, address := range map[string]string{"token_endpoint": "http://169.254.169.254/latest", "jwks_uri": "http://10.0.0.1/keys", "authorization_endpoint": "javascript:alert(1)"} {
		f.config = map[string]any{field: address}
		p := f.provider(t)
		_, err := p.Begin(t.Context(), attempt())
		if err == nil {
			_, err = finish(t, p)
		}
		if err == nil || !strings.Contains(err.Error(), "is not") {
			t.Errorf("%s %s: %v", field, address, err)
		}
	}
	f.config = map[string]any{"issuer": "https://login.example.com"}
	if _, err := f.provider(t).Begin(t.Context(), attempt()); err == nil || !strings.Contains(err.Error(), "login.example.com") {
		t.Errorf("it says that it is another: %v", err)
	}
}

func TestNamesAndGroupsAreMapped(t *testing.T) {
	f := newForger(t)
	byMail := func(s *signin.OIDC) { s.NameClaim = "email" }
	acme := func(s *signin.OIDC) { s.Domains = []string{"ACME.com"} }
	for _, c := range []struct {
		name   string
		claims map[string]any
		edit   func(*signin.OIDC)
		want   string // name and groups, or what the refusal says
	}{
		{"by mail", f.good(), byMail, "ann@acme.com [vision]"},
		{"by mail that nobody has verified", f.with("email_verified", false), byMail, "not verified"},
		{"by mail of which nothing is said", f.with("email_verified", nil), byMail, "not verified"},
		{"of the domain", f.good(), acme, "ann [vision]"},
		{"of another domain", f.with("email", "ann@acme.com.example.org"), acme, "are not let in"},
		{"of two domains", f.with("email", "ann@acme.com@example.org"), acme, "are not let in"},
		{"of no domain", f.with("email", nil), acme, "are not let in"},
		{"of the domain, unverified", f.with("email_verified", nil), acme, "not verified"},
		{"with a prefix", f.with("groups", []string{"muster-vision", "wheel"}), func(s *signin.OIDC) { s.GroupPrefix = "muster-" }, "ann [vision]"},
		{"with paths", f.with("groups", []string{"/ml/vision", "wheel"}), func(s *signin.OIDC) { s.Groups = map[string]string{"/ml/vision": "vision"} }, "ann [vision wheel]"},
		{"without groups", f.with("groups", nil), func(*signin.OIDC) {}, "ann []"},
	} {
		f.claims = c.claims
		who, err := finish(t, f.provider(t, c.edit))
		got := fmt.Sprint(who.Name, " ", who.Groups)
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
