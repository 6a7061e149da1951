package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/signin"
	"github.com/musterhq/muster/internal/testing/fakebackend"
)

// says is a provider that proves whomever a test wants. How real ones are spoken with is
// tested where that is done.
type says struct {
	mu       sync.Mutex
	who      core.Profile
	err      error
	attempts []signin.Attempt
	polls    int
}

func (s *says) set(who core.Profile, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.who, s.err = who, err
}

func (s *says) Name() string { return "Acme" }

func (s *says) Issuer() string { return issuer }

func (s *says) Begin(_ context.Context, a signin.Attempt) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts = append(s.attempts, a)
	return "https://login.acme.com/?state=" + a.State, nil
}

func (s *says) Finish(_ context.Context, a signin.Attempt, code string) (core.Profile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if begun := s.attempts[len(s.attempts)-1]; a != begun || code != "the code" {
		return core.Profile{}, errors.New("it is asked about another sign-in than was begun")
	}
	return s.who, s.err
}

func (s *says) Device(context.Context) (signin.Device, error) {
	return signin.Device{Code: "device.code", UserCode: "ABCD", Address: "https://login.acme.com/device", ExpiresAt: time.Now().Add(time.Minute), Interval: 1500 * time.Millisecond}, nil
}

func (s *says) Poll(_ context.Context, code string) (core.Profile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if code != "device.code" {
		return core.Profile{}, errors.New("another code than was given")
	}
	s.polls++
	switch s.polls {
	case 1:
		return core.Profile{}, signin.ErrPending
	case 2:
		return core.Profile{}, signin.ErrSlowDown
	}
	return s.who, s.err
}

// LoggedOut believes SUBJECT, SESSION and the instant at which that was said.
func (s *says) LoggedOut(_ context.Context, token string) (signin.Logout, error) {
	parts := strings.Split(token, "/")
	if len(parts) != 3 {
		return signin.Logout{}, &signin.Error{Message: "the logout token is not believed"}
	}
	at, err := time.Parse(time.RFC3339Nano, parts[2])
	return signin.Logout{Subject: parts[0], Session: parts[1], At: at}, err
}

func (s *says) SignOut() string { return "https://login.acme.com/out" }

const issuer = "https://login.acme.com/"

func profile(name string, groups ...string) core.Profile {
	return core.Profile{Provider: issuer, Subject: "0-" + name, Name: name, Groups: groups}
}

// newSSORealm is a realm whose people sign in by a provider.
func newSSORealm(t *testing.T) (*realm, *says) {
	t.Helper()
	p := &says{}
	w := newWorldWith(t, &access.SSO{Provider: p, Session: time.Hour}, fakebackend.Node("node-1", 64000, 64<<30, 4, "Fake A100"))
	r := &realm{world: w, tokens: map[string]string{}, plain: &http.Client{}}
	r.must("POST", "/v1/projects", `{"name":"vision"}`, nil)
	r.must("POST", "/v1/access-rules", `{"subject":"group:team","role":"l1-researcher","scope":"vision"}`, nil)
	r.must("PUT", "/v1/access", `{"enabled":true}`, nil)
	return r, p
}

// begins begins a sign-in.
func (r *realm) begins() (begun api.StartedSignIn) {
	r.t.Helper()
	status, text := r.as("", "POST", "/v1/sign-in", `{"redirect":"`+r.tcp+`/ui/login"}`)
	if err := json.Unmarshal([]byte(text), &begun); status != http.StatusOK || err != nil {
		r.t.Fatalf("%d %s %v", status, text, err)
	}
	return begun
}

func (r *realm) finishes(begun api.StartedSignIn) (int, string) {
	r.t.Helper()
	return r.as("", "POST", "/v1/sign-in/token", fmt.Sprintf(`{"flow":%q,"state":%q,"code":"the code"}`, begun.Flow, begun.State))
}

// enters signs in, and keeps the token under the name that the server has given.
func (r *realm) enters() (made api.MadeToken) {
	r.t.Helper()
	status, text := r.finishes(r.begins())
	var in api.SignedIn
	if err := json.Unmarshal([]byte(text), &in); status != http.StatusOK || err != nil || in.Token == nil {
		r.t.Fatalf("%d %s %v", status, text, err)
	}
	r.tokens[in.Token.User] = in.Token.Text
	return *in.Token
}

func TestWhomAProviderProvesIsLetIn(t *testing.T) {
	r, p := newSSORealm(t)
	if _, text := r.as("", "GET", "/v1/sign-in", ""); !strings.Contains(text, `"provider":"Acme"`) {
		t.Errorf("the ways are %s", text)
	}
	p.set(profile("ann", "team", "no name of ours!", "team"), nil)
	made := r.enters()
	if made.Provider != issuer || made.Browser || made.ExpiresAt == nil || time.Until(time.Time(*made.ExpiresAt)) > time.Hour {
		t.Errorf("%+v", made)
	}
	var me api.Identity
	status, text := r.as("ann", "GET", "/v1/auth/whoami", "")
	if err := json.Unmarshal([]byte(text), &me); status != http.StatusOK || err != nil {
		t.Fatal(status, text, err)
	}
	if me.User != "ann" || strings.Join(me.Groups, " ") != "team" || me.Provider != issuer || me.ExpiresAt == nil || len(me.Rules) != 1 {
		t.Errorf("%+v", me)
	}
	// Groups are those of the last sign-in, and a name that was changed is the old one.
	p.set(core.Profile{Provider: issuer, Subject: "0-ann", Name: "anne"}, nil)
	if made := r.enters(); made.User != "ann" {
		t.Errorf("after another name: %s", made.User)
	}
	if _, text := r.as("ann", "GET", "/v1/auth/whoami", ""); strings.Contains(text, "team") {
		t.Errorf("groups that the provider names no more: %s", text)
	}
	// A session ends with its user, and with what is given in their name.
	r.must("PATCH", "/v1/users/ann", `{"disabled":true}`, nil)
	if status, _ := r.as("ann", "GET", "/v1/auth/whoami", ""); status != http.StatusUnauthorized {
		t.Errorf("who is disabled goes on: %d", status)
	}
	if status, text := r.finishes(r.begins()); status != http.StatusForbidden || !strings.Contains(text, "disabled") {
		t.Errorf("who is disabled signs in: %d %s", status, text)
	}
	r.must("PATCH", "/v1/users/ann", `{"disabled":false,"sso":false}`, nil)
	if status, _ := r.as("ann", "GET", "/v1/auth/whoami", ""); status != http.StatusUnauthorized {
		t.Errorf("who does not sign in by it any more goes on: %d", status)
	}
}

// TestANameIsNotTakenOver: what a provider calls somebody is not who they are here.
func TestANameIsNotTakenOver(t *testing.T) {
	r, p := newSSORealm(t)
	r.person("lea", "system-administrator", "-")
	r.must("POST", "/v1/service-accounts", `{"name":"robot"}`, nil)
	r.must("POST", "/v1/users", `{"name":"zoe","sso":true}`, nil)
	p.set(profile("ann"), nil)
	r.enters()
	stranger := func(name string) core.Profile {
		return core.Profile{Provider: issuer, Subject: "0-stranger", Name: name}
	}
	for name, want := range map[string]string{
		"lea": "who does not sign in by an identity provider", "LEA": "who does not sign in", "robot": "service account", "ann": "bound to another account", "Ann": "bound to another account",
		"root": "the server's owner", "token": "the server's owner", "Anonymous": "the server's owner", "daemon": "account of the server's machine", "a b": "no name of a user", "": "no name of a user", "-x": "no name of a user", "ZOE": "bound to another",
	} {
		p.set(stranger(name), nil)
		status, text := r.finishes(r.begins())
		if status != http.StatusForbidden || !strings.Contains(text, want) {
			t.Errorf("a stranger as %q: %d %s, want %s", name, status, text, want)
		}
		r.forgives()
	}
	// One whom an administrator expects is bound to the first, and to no other.
	p.set(profile("zoe"), nil)
	if made := r.enters(); made.User != "zoe" {
		t.Errorf("%+v", made)
	}
	p.set(stranger("zoe"), nil)
	if status, text := r.finishes(r.begins()); status != http.StatusForbidden || !strings.Contains(text, "muster user update zoe --sso") {
		t.Errorf("the second zoe: %d %s", status, text)
	}
	// The same subject of another provider is somebody else.
	p.set(core.Profile{Provider: "https://login.example.com", Subject: "0-ann", Name: "ann"}, nil)
	if status, text := r.finishes(r.begins()); status != http.StatusForbidden {
		t.Errorf("ann of another provider: %d %s", status, text)
	}
}

// forgives has a test go on that has failed on purpose: in a minute the server would.
func (r *realm) forgives() { r.ahead.Add(int64(61 * time.Second)) }

func TestASignInIsFinishedOnceByWhoBegan(t *testing.T) {
	r, p := newSSORealm(t)
	p.set(profile("ann"), nil)
	begun := r.begins()
	other := r.begins()
	for name, body := range map[string]string{
		"another's state":    fmt.Sprintf(`{"flow":%q,"state":%q,"code":"the code"}`, begun.Flow, other.State),
		"no state":           fmt.Sprintf(`{"flow":%q,"code":"the code"}`, begun.Flow),
		"no code":            fmt.Sprintf(`{"flow":%q,"state":%q}`, begun.Flow, begun.State),
		"a changed flow":     fmt.Sprintf(`{"flow":%q,"state":%q,"code":"the code"}`, "9"+begun.Flow, begun.State),
		"nothing":            `{}`,
		"a flow as a device": fmt.Sprintf(`{"device":%q}`, begun.Flow),
	} {
		if status, text := r.as("", "POST", "/v1/sign-in/token", body); status != http.StatusUnauthorized || !strings.Contains(text, "not begun here") {
			t.Errorf("with %s: %d %s", name, status, text)
		}
	}
	r.forgives()
	if status, text := r.finishes(other); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	if status, text := r.finishes(other); status != http.StatusUnauthorized {
		t.Errorf("once more: %d %s", status, text)
	}
	for redirect, want := range map[string]string{
		"https://evil.example.com/ui/login": "another server", "http://evil.example.com/": "another server", "javascript:alert(1)": "not the address", r.tcp + "/ui/login?x=1": "not the address", "https://user@127.0.0.1/": "not the address",
	} {
		if status, text := r.as("", "POST", "/v1/sign-in", fmt.Sprintf(`{"redirect":%q}`, redirect)); status != http.StatusUnprocessableEntity || !strings.Contains(text, want) {
			t.Errorf("back to %s: %d %s", redirect, status, text)
		}
	}
	// No page of somebody else begins or finishes one.
	if status, _ := r.as("", "POST", "/v1/sign-in", `{"redirect":"`+r.tcp+`/ui/login"}`, "Origin", "https://evil.example.com", "Sec-Fetch-Site", "cross-site"); status != http.StatusForbidden {
		t.Errorf("from another origin: %d", status)
	}
}

func TestWhoFailsToSignInTooOftenWaits(t *testing.T) {
	r, p := newSSORealm(t)
	p.set(core.Profile{}, &signin.Error{Message: "not believed", Hint: "sign in again"})
	last := 0
	for range 12 {
		status, text := r.finishes(func() api.StartedSignIn {
			status, text := r.as("", "POST", "/v1/sign-in", `{"redirect":"`+r.tcp+`/ui/login"}`)
			var b api.StartedSignIn
			if status == http.StatusOK {
				_ = json.Unmarshal([]byte(text), &b)
			}
			return b
		}())
		if last = status; status != http.StatusUnauthorized && status != http.StatusTooManyRequests {
			t.Fatalf("%d %s", status, text)
		}
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the twelfth is answered %d", last)
	}
	// A provider that is down is nobody's failure.
	r.forgives()
	p.set(core.Profile{}, &signin.Error{Down: true, Message: "down", Hint: "later"})
	for range 12 {
		if status, text := r.finishes(r.begins()); status != http.StatusServiceUnavailable {
			t.Fatalf("%d %s", status, text)
		}
	}
}

func TestABrowserSignsInAndOut(t *testing.T) {
	r, p := newSSORealm(t)
	p.set(profile("ann", "team"), nil)
	enter := func(cookie string) (string, int) {
		begun := r.begins()
		req, err := http.NewRequestWithContext(t.Context(), "POST", r.tcp+"/v1/session", strings.NewReader(fmt.Sprintf(`{"answer":{"flow":%q,"state":%q,"code":"the code"}}`, begun.Flow, begun.State)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Cookie", cookie)
		resp, err := r.plain.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if all := resp.Cookies(); len(all) == 1 {
			c := all[0]
			if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.MaxAge > 3600 || c.MaxAge < 3000 {
				t.Errorf("the cookie is %+v", c)
			}
			return c.Name + "=" + c.Value, resp.StatusCode
		}
		return "", resp.StatusCode
	}
	first, status := enter("")
	if status != http.StatusOK {
		t.Fatal(status)
	}
	if status, text := r.as("", "GET", "/v1/session", "", "Cookie", first); status != http.StatusOK || !strings.Contains(text, `"signOut":"https://login.acme.com/out"`) {
		t.Errorf("%d %s", status, text)
	}
	if status, text := r.as("", "GET", "/v1/projects/vision/workloads", "", "Cookie", first); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
	// Signing in again takes the place of the session before.
	second, _ := enter(first)
	if status, _ := r.as("", "GET", "/v1/session", "", "Cookie", first); status != http.StatusUnauthorized {
		t.Errorf("the session before is good: %d", status)
	}
	var all api.TokenList
	r.must("GET", "/v1/tokens", "", &all)
	if len(all.Items) != 1 || !all.Items[0].Browser || all.Items[0].Provider != issuer {
		t.Errorf("%+v", all.Items)
	}
	if status, _ := r.as("", "DELETE", "/v1/session", "", "Cookie", second); status != http.StatusNoContent {
		t.Error(status)
	}
	if status, _ := r.as("", "GET", "/v1/session", "", "Cookie", second); status != http.StatusUnauthorized {
		t.Errorf("who has signed out is let in: %d", status)
	}
	r.must("GET", "/v1/tokens", "", &all)
	if len(all.Items) != 0 {
		t.Errorf("%+v", all.Items)
	}
	var log api.AuditList
	r.must("GET", "/v1/audit?limit=100", "", &log)
	verbs := map[string]int{}
	for _, e := range log.Items {
		if e.Actor == "user:ann" {
			verbs[e.Verb]++
		}
	}
	if verbs["sign-in"] != 2 || verbs["sign-out"] != 1 {
		t.Errorf("the audit log has %v", verbs)
	}
}

func TestADeviceIsAskedUntilItIsDone(t *testing.T) {
	r, p := newSSORealm(t)
	p.set(profile("ann"), nil)
	status, text := r.as("", "POST", "/v1/sign-in/device", `{}`)
	var d api.StartedDevice
	if err := json.Unmarshal([]byte(text), &d); status != http.StatusOK || err != nil || d.IntervalSeconds != 2 || d.UserCode != "ABCD" {
		t.Fatalf("%d %s", status, text)
	}
	ask := func() (in api.SignedIn) {
		status, text := r.as("", "POST", "/v1/sign-in/token", fmt.Sprintf(`{"device":%q}`, d.Device))
		if err := json.Unmarshal([]byte(text), &in); status != http.StatusOK || err != nil {
			t.Fatalf("%d %s", status, text)
		}
		return in
	}
	if in := ask(); !in.Pending || in.IntervalSeconds != 0 {
		t.Errorf("%+v", in)
	}
	if in := ask(); !in.Pending || in.IntervalSeconds != 5 {
		t.Errorf("%+v", in)
	}
	if in := ask(); in.Pending || in.Token == nil || in.Token.User != "ann" {
		t.Errorf("%+v", in)
	}
	last := 0
	for range 11 {
		last, _ = r.as("", "POST", "/v1/sign-in/device", `{}`)
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("who begins without end is answered %d", last)
	}
}

func TestSessionsOfOneUserAreBounded(t *testing.T) {
	r, p := newSSORealm(t)
	p.set(profile("ann"), nil)
	first := r.enters()
	for range 20 {
		r.enters()
	}
	var all api.TokenList
	r.must("GET", "/v1/tokens?user=ann", "", &all)
	if len(all.Items) != 20 {
		t.Errorf("there are %d", len(all.Items))
	}
	for _, x := range all.Items {
		if x.ID == first.ID {
			t.Error("the oldest has not made room")
		}
	}
	p.set(profile("bob", make([]string, 501)...), nil)
	if status, text := r.finishes(r.begins()); status != http.StatusForbidden || !strings.Contains(text, "501 groups") {
		t.Errorf("%d %s", status, text)
	}
}

func TestWithoutAccessControlNobodySignsInByAProvider(t *testing.T) {
	r, p := newSSORealm(t)
	p.set(profile("ann"), nil)
	begun := r.begins()
	r.must("PUT", "/v1/access", `{"enabled":false}`, nil)
	if status, text := r.finishes(begun); status != http.StatusConflict || !strings.Contains(text, "access control is off") {
		t.Errorf("%d %s", status, text)
	}
	if _, text := r.as("", "GET", "/v1/sign-in", ""); strings.Contains(text, "Acme") {
		t.Errorf("%s", text)
	}
	bare := newRealm(t)
	if status, text := bare.as("", "POST", "/v1/sign-in", `{"redirect":"`+bare.tcp+`/"}`); status != http.StatusUnprocessableEntity || !strings.Contains(text, "--sso") {
		t.Errorf("%d %s", status, text)
	}
}
