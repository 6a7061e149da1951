package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/musterhq/muster/api"
)

// visit sends a request over TCP as a browser would, and decodes the answer.
func (w *world) visit(method, path, body string, cookie *http.Cookie, header ...string) (*http.Response, string) {
	w.t.Helper()
	req, err := http.NewRequest(method, w.tcp+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if cookie != nil {
		req.AddCookie(cookie)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp, string(text)
}

// logIn lets a browser in with what a body says.
func (w *world) logIn(body string) (*http.Cookie, int) {
	w.t.Helper()
	resp, _ := w.visit("POST", "/v1/session", body, nil, "Content-Type", "application/json", "Sec-Fetch-Site", "same-origin")
	if len(resp.Cookies()) == 0 {
		return nil, resp.StatusCode
	}
	return resp.Cookies()[0], resp.StatusCode
}

func (w *world) code() string {
	w.t.Helper()
	var c api.LoginCode
	w.ok("POST", "/v1/session/codes", "", http.StatusOK, &c)
	if !strings.HasSuffix(c.Path, "#code="+c.Code) || len(c.Code) < 20 {
		w.t.Fatalf("%+v", c)
	}
	return c.Code
}

func TestACodeLetsOneBrowserInOnce(t *testing.T) {
	w := newWorld(t)
	code := w.code()
	cookie, status := w.logIn(`{"code":"` + code + `"}`)
	if status != http.StatusOK || cookie == nil || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" {
		t.Fatalf("%d, %+v", status, cookie)
	}
	resp, text := w.visit("GET", "/v1/session", "", cookie)
	var s, own api.Session
	if err := json.Unmarshal([]byte(text), &s); err != nil || resp.StatusCode != http.StatusOK || s.By != "browser" || s.ExpiresAt == nil {
		t.Errorf("%s %s", resp.Status, text)
	}
	w.ok("GET", "/v1/session", "", http.StatusOK, &own)
	if own.By != "socket" || s.User != own.User {
		t.Errorf("the browser is %q, who asked for its code %+v", s.User, own)
	}
	if _, status := w.logIn(`{"code":"` + code + `"}`); status != http.StatusUnauthorized {
		t.Errorf("a second time: %d", status)
	}
	if resp, _ := w.visit("POST", "/v1/session/codes", "", cookie, "Sec-Fetch-Site", "same-origin"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a browser lets others in: %s", resp.Status)
	}
	if resp, _ := w.visit("DELETE", "/v1/session", "", cookie, "Sec-Fetch-Site", "same-origin"); resp.StatusCode != http.StatusNoContent {
		t.Errorf("logging out: %s", resp.Status)
	}
	if resp, _ := w.visit("GET", "/v1/session", "", cookie); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("the cookie is good after logging out: %s", resp.Status)
	}
}

// TestLoggingOutEndsWhatIsFollowed logs out while three things are followed, none
// of which would end.
func TestLoggingOutEndsWhatIsFollowed(t *testing.T) {
	w := newWorld(t)
	w.submit(`{"name":"long","command":["fake","run=forever","log=hello"]}`)
	w.await("long", "Running")
	cookie, _ := w.logIn(`{"token":"secret"}`)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var bodies []io.ReadCloser
	for _, path := range []string{"/v1/stream", "/v1/watch", "/v1/projects/default/workloads/long/logs?follow=true", "/v1/projects/default/workloads/long/logs/merged?follow=true&after=0@0"} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.tcp+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.AddCookie(cookie)
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(path, resp, err)
		}
		defer resp.Body.Close()
		bodies = append(bodies, resp.Body)
	}
	if resp, _ := w.visit("DELETE", "/v1/session", "", cookie, "Sec-Fetch-Site", "same-origin"); resp.StatusCode != http.StatusNoContent {
		t.Fatalf("logging out: %s", resp.Status)
	}
	for i, body := range bodies {
		if _, err := io.Copy(io.Discard, body); ctx.Err() != nil {
			t.Errorf("%d goes on: %v", i, err)
		}
	}
}

func TestTheTokenLetsABrowserIn(t *testing.T) {
	w := newWorld(t)
	if _, status := w.logIn(`{"token":"wrong"}`); status != http.StatusUnauthorized {
		t.Errorf("a wrong token: %d", status)
	}
	if _, status := w.logIn(`{}`); status != http.StatusUnauthorized {
		t.Errorf("nothing: %d", status)
	}
	cookie, status := w.logIn(`{"token":"secret"}`)
	if status != http.StatusOK {
		t.Fatal(status)
	}
	if resp, text := w.visit("GET", "/v1/nodes", "", cookie); resp.StatusCode != http.StatusOK {
		t.Errorf("%s %s", resp.Status, text)
	}
	forged := *cookie
	forged.Value = strings.Replace(cookie.Value, ".", "1.", 1) // ten times as long
	if resp, _ := w.visit("GET", "/v1/nodes", "", &forged); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a changed cookie: %s", resp.Status)
	}
}

// What pages of others make a browser send gets nowhere, cookie or not.
func TestPagesOfOthersGetNowhere(t *testing.T) {
	w := newWorld(t)
	cookie, _ := w.logIn(`{"token":"secret"}`)
	const doc = `{"name":"x","command":"true"}`
	for _, c := range []struct {
		what, method, path, body string
		header                   []string
		want                     int
	}{
		{"its own page", "GET", "/v1/nodes", "", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"its own page submits", "POST", "/v1/projects/-/workloads", doc, []string{"Sec-Fetch-Site", "same-origin"}, 201},
		{"no browser", "GET", "/v1/nodes", "", nil, 200},
		{"another site submits", "POST", "/v1/projects/-/workloads", doc, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"another port submits", "POST", "/v1/projects/-/workloads", doc, []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"another port reads", "GET", "/v1/nodes", "", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"an old browser", "POST", "/v1/projects/-/workloads", doc, []string{"Origin", "http://evil.example"}, 403},
		{"a form", "POST", "/v1/projects/-/workloads", doc, []string{"Origin", "null", "Content-Type", "application/x-www-form-urlencoded"}, 403},
		{"another name for this address", "GET", "/v1/nodes", "", []string{"Host", "evil.example:80"}, 421},
		{"another name for the page", "GET", "/ui/", "", []string{"Host", "evil.example"}, 421},
		{"another name logs in", "POST", "/v1/session", `{"token":"secret"}`, []string{"Host", "evil.example"}, 421},
		{"localhost", "GET", "/v1/nodes", "", []string{"Host", "localhost:1234"}, 200},
		{"an address", "GET", "/v1/nodes", "", []string{"Host", "[::1]:1234"}, 200},
		{"a link on another site", "GET", "/ui/workloads", "", []string{"Sec-Fetch-Site", "cross-site"}, 200},
	} {
		if resp, text := w.visit(c.method, c.path, c.body, cookie, c.header...); resp.StatusCode != c.want {
			t.Errorf("%s: %s, want %d: %.200s", c.what, resp.Status, c.want, text)
		}
	}
	// Whoever has the token itself is nobody's victim, whatever name they use.
	if resp, _ := w.visit("GET", "/v1/nodes", "", nil, "Authorization", "Bearer secret", "Host", "muster.example"); resp.StatusCode != http.StatusOK {
		t.Errorf("with the token: %s", resp.Status)
	}
}
