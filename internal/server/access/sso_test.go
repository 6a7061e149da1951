package access

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/signin"
)

// asked is a directory that knows one password.
type asked int

func (a *asked) Name() string { return "the staff" }

func (a *asked) Check(_ context.Context, name, password string) (core.Profile, error) {
	*a++
	if password != "right" {
		return core.Profile{}, &signin.Error{Message: "wrong"}
	}
	return core.Profile{Name: name}, nil
}

// TestPasswordsOfOneNameAreNotTriedForEver tries them as if each came from another address.
func TestPasswordsOfOneNameAreNotTriedForEver(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var d asked
	s := newSSO(SSO{Directory: &d}, func(p string) string { return p }, func() time.Time { return now })
	for i := range failuresMost {
		if _, err := s.check(t.Context(), []string{"ann", "ANN"}[i%2], fmt.Sprint(i)); err == nil {
			t.Fatal("a wrong password lets in")
		}
	}
	if _, err := s.check(t.Context(), "Ann", "right"); !errors.As(err, new(*signin.Error)) || d != failuresMost {
		t.Errorf("after %d questions: %v", d, err)
	}
	if _, err := s.check(t.Context(), "bob", "right"); err != nil {
		t.Errorf("another name waits, too: %v", err)
	}
	now = now.Add(failuresFor)
	if _, err := s.check(t.Context(), "ann", "right"); err != nil {
		t.Errorf("a minute later: %v", err)
	}
}

// TestSignedIsReadAsItWas: what was given away comes back unchanged, and as what it was.
func TestSignedIsReadAsItWas(t *testing.T) {
	s := newSSO(SSO{}, func(p string) string { return encoded("key" + p) }, time.Now)
	text := s.signed("flow", "1", "seed", encoded("http://127.0.0.1/"))
	if parts, ok := s.unsigned("flow", text); !ok || len(parts) != 3 || decoded(parts[2]) != "http://127.0.0.1/" {
		t.Errorf("%v %v", parts, ok)
	}
	for _, other := range []string{"", ".", "1.seed." + encoded("http://127.0.0.1/"), "2" + text[1:], text + "x", text[:len(text)-1]} {
		if _, ok := s.unsigned("flow", other); ok {
			t.Errorf("%q is believed", other)
		}
	}
	if _, ok := s.unsigned("device", text); ok {
		t.Error("a flow is believed as a device")
	}
}
