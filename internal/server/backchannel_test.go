package server_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
)

// TestWhatIsOverAtTheProviderIsOverHere ends sessions as a provider says that they are
// over, and no others.
func TestWhatIsOverAtTheProviderIsOverHere(t *testing.T) {
	r, p := newSSORealm(t)
	enter := func(name, session string) string {
		t.Helper()
		who := profile(name, "team")
		who.Session = session
		p.set(who, nil)
		return r.enters().Text
	}
	lives := func(token string) bool {
		t.Helper()
		r.tokens["someone"] = token
		status, _ := r.as("someone", "GET", "/v1/auth/whoami", "")
		return status == http.StatusOK
	}
	over := func(subject, session string, at time.Time, want int) {
		t.Helper()
		body := url.Values{"logout_token": {subject + "/" + session + "/" + at.Format(time.RFC3339Nano)}}.Encode()
		status, text := r.as("", "POST", "/v1/sign-in/logout", body, "Content-Type", "application/x-www-form-urlencoded")
		if status != want {
			t.Fatalf("%s: %d %s, want %d", body, status, text, want)
		}
	}
	first, second, unknown, other := enter("ann", "s1"), enter("ann", "s2"), enter("ann", ""), enter("bob", "s3")
	var own api.MadeToken
	r.must("POST", "/v1/tokens", `{"user":"ann"}`, &own)
	made := own.Text
	later := time.Now().Add(time.Hour)

	over("0-ann", "s1", time.Now().Add(-time.Hour), http.StatusOK) // what began later goes on
	if !lives(first) {
		t.Error("a session ends that began after what is over")
	}
	over("0-ann", "s1", later, http.StatusOK)
	if lives(first) || !lives(second) || !lives(other) {
		t.Error("another session than the one that is over has ended, or that has not")
	}
	if lives(unknown) {
		t.Error("a session goes on of which nobody can tell whether it is the one that is over")
	}
	over("0-bob", "s2", later, http.StatusOK) // a session of somebody else
	if !lives(second) || !lives(other) {
		t.Error("bob's account ends ann's session")
	}
	over("0-ann", "", later, http.StatusOK)
	if lives(second) || !lives(other) {
		t.Error("not all of ann's sessions have ended, or bob's has")
	}
	if !lives(made) {
		t.Error("a token that was made ends with sessions")
	}
	over("", "s3", later, http.StatusOK)
	if lives(other) {
		t.Error("a session that is named alone goes on")
	}
	over("0-nobody", "", later, http.StatusOK)
	if status, text := r.as("", "POST", "/v1/sign-in/logout", "logout_token=forged", "Content-Type", "application/x-www-form-urlencoded"); status != http.StatusBadRequest || !strings.Contains(text, "not believed") {
		t.Errorf("what is forged: %d %s", status, text)
	}
	if status, _ := r.as("", "POST", "/v1/sign-in/logout", "", "Content-Type", "application/x-www-form-urlencoded"); status != http.StatusBadRequest {
		t.Errorf("nothing: %d", status)
	}
}
