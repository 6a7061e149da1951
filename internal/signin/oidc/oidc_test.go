package oidc

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/signin"
	"github.com/musterhq/muster/internal/testing/oidctest"
)

var (
	ann = oidctest.User{ID: "0-ann", Name: "ann", Password: "pw of ann", Email: "ann@acme.com", Verified: true, Groups: []string{"vision", "staff"}}
	bob = oidctest.User{ID: "0-bob", Name: "bob", Password: "pw of bob", Email: "bob@other.com"}
)

// settings are those of a provider for tests.
func settings(t testing.TB, issuer string) signin.OIDC {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(oidctest.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return signin.OIDC{Name: "Test", Issuer: issuer, ClientID: oidctest.ClientID, ClientSecretFile: secret, NameClaim: "preferred_username", GroupsClaim: "groups"}
}

func real(t testing.TB) *oidctest.Provider {
	t.Helper()
	p, err := oidctest.Start(ann, bob)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

const back = "http://127.0.0.1:9/ui/login"

func attempt() signin.Attempt {
	return signin.Attempt{Redirect: back, State: "the state", Nonce: "the nonce", Verifier: "0123456789012345678901234567890123456789abcdef"}
}

// signsIn has somebody sign in in a browser.
func signsIn(t testing.TB, p *Provider, u oidctest.User) (core.Profile, error) {
	t.Helper()
	address, err := p.Begin(t.Context(), attempt())
	if err != nil {
		t.Fatal(err)
	}
	came, err := oidctest.SignIn(address, back, u.Name, u.Password)
	if err != nil {
		t.Fatal(err)
	}
	if came.Query().Get("state") != "the state" {
		t.Fatalf("the browser comes back to %s", came)
	}
	return p.Finish(t.Context(), attempt(), came.Query().Get("code"))
}

func TestPeopleSignInInABrowser(t *testing.T) {
	at := real(t)
	for _, thin := range []bool{false, true} {
		at.Thin.Store(thin)
		p, err := New(settings(t, at.URL), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		who, err := signsIn(t, p, ann)
		if want := (core.Profile{Provider: at.URL, Subject: "0-ann", Name: "ann", Groups: []string{"vision", "staff"}}); err != nil || !reflect.DeepEqual(who, want) {
			t.Errorf("thin tokens %v: %+v (%v), want %+v", thin, who, err, want)
		}
		if out := p.SignOut(); out != at.URL+"end_session?client_id=muster" {
			t.Errorf("one signs out at %s", out)
		}
	}
}

func TestOneSignsInForAnotherMachine(t *testing.T) {
	at := real(t)
	p, err := New(settings(t, at.URL), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.Device(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d.UserCode == "" || d.Interval != time.Second || time.Until(d.ExpiresAt) < time.Minute {
		t.Errorf("%+v", d)
	}
	if _, err := p.Poll(t.Context(), d.Code); !errors.Is(err, signin.ErrPending) && !errors.Is(err, signin.ErrSlowDown) {
		t.Errorf("before anybody has signed in: %v", err)
	}
	if _, err := p.Poll(t.Context(), "another code"); !refused(err) {
		t.Errorf("with a code that nobody has: %v", err)
	}
	if _, err := oidctest.SignIn(d.Complete, "", ann.Name, ann.Password); err != nil {
		t.Fatal(err)
	}
	who, err := p.Poll(t.Context(), d.Code)
	if err != nil || who.Subject != "0-ann" || who.Name != "ann" {
		t.Errorf("%+v (%v)", who, err)
	}
}

// refused reports whether an error says that somebody is not let in.
func refused(err error) bool {
	var e *signin.Error
	return errors.As(err, &e) && !e.Down
}
