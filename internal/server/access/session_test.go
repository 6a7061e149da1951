package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
)

func TestSessionsEnd(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	mac := func(p string) string { sum := sha256.Sum256([]byte("key" + p)); return hex.EncodeToString(sum[:]) }
	clock := func() time.Time { return now }
	path := filepath.Join(t.TempDir(), "logged-out")
	out := func() *loggedOut { return newLoggedOut(path, slog.New(slog.DiscardHandler), clock) }
	c := newSessions(mac, "token", clock, out())
	cookie, _ := c.issue(identity{user: "ann"}, sessionLife, true)
	show := func(c *sessions) *visit {
		r, err := http.NewRequest("GET", "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.AddCookie(cookie)
		return c.read(r)
	}
	if v := show(c); v == nil || v.user != "ann" || !cookie.Secure {
		t.Fatalf("%+v", v)
	}
	if v := show(newSessions(mac, "token", clock, out())); v == nil {
		t.Error("a session does not outlive the server")
	}
	if v := show(newSessions(mac, "another token", clock, out())); v != nil {
		t.Error("a session outlives the token that was exchanged")
	}
	now = now.Add(sessionLife - time.Second)
	if show(c) == nil {
		t.Error("it ended early")
	}
	now = now.Add(time.Second)
	if show(c) != nil {
		t.Error("it did not end")
	}
}

// TestLoggingOutIsForEver ends more sessions than are remembered by their names.
func TestLoggingOutIsForEver(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	clock := func() time.Time { return now }
	path := filepath.Join(t.TempDir(), "logged-out")
	l := newLoggedOut(path, slog.New(slog.DiscardHandler), clock)
	first, other := &visit{nonce: "first", until: now.Add(time.Hour)}, &visit{nonce: "other", until: now.Add(2 * time.Hour)}
	ctx, done := l.during(context.Background(), first)
	defer done()
	l.add(first)
	if ctx.Err() == nil {
		t.Error("what it followed goes on")
	}
	l = newLoggedOut(path, slog.New(slog.DiscardHandler), clock)
	if l.stands(first) || !l.stands(other) {
		t.Error("a restart has changed who is logged out")
	}
	if ctx, done := l.during(context.Background(), first); ctx.Err() == nil {
		t.Error("it follows something anew")
	} else {
		done()
	}
	l.path = "" // as many writes prove nothing
	for i := range endedMost {
		l.add(&visit{nonce: strconv.Itoa(i), until: now.Add(2 * time.Hour)})
	}
	if n := len(l.kept.Ended); n > endedMost {
		t.Errorf("%d are remembered", n)
	}
	if l.stands(first) || !l.stands(other) {
		t.Error("the one that is not remembered by its name is good again, or one that was never ended is not")
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newSessions(func(string) string { return "" }, "", clock, newLoggedOut(path, slog.New(slog.DiscardHandler), clock))
	if c.ended.stands(other) {
		t.Error("nobody knows who was logged out, and all are let in")
	}
	if _, v := c.issue(identity{user: "ann"}, sessionLife, true); !c.ended.stands(&v) {
		t.Error("who logs in anew is not let in")
	}
}

func TestCodesEnd(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	clock := func() time.Time { return now }
	c := newSessions(func(string) string { return "" }, "", clock, newLoggedOut("", slog.New(slog.DiscardHandler), clock))
	code, _ := c.invite(identity{user: "ann"})
	now = now.Add(codeLife)
	if _, ok := c.redeem(api.Login{Code: code}); ok {
		t.Error("a code is good after its time")
	}
	if _, ok := c.redeem(api.Login{Token: ""}); ok {
		t.Error("nothing lets in where there is no token")
	}
	for range 3 * codesMost {
		c.invite(identity{user: "ann"})
	}
	if len(c.codes) > codesMost {
		t.Errorf("%d codes are kept", len(c.codes))
	}
}
