package server_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// reviews is the cluster of a world, which knows whose tokens are.
func (w *world) reviews(_ context.Context, token string) (*core.Profile, error) {
	w.reviewed.Add(1)
	if w.silent.Load() {
		return nil, errors.New("it is down")
	}
	switch token {
	case "eyJ.ci.x":
		return &core.Profile{Name: "system:serviceaccount:ml:ci", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:ml", "system:authenticated", "admins"}}, nil
	case "eyJ.person.x":
		return &core.Profile{Name: "lea", Groups: []string{"system:masters"}}, nil
	}
	return nil, nil
}

func TestTokensOfAClusterAreAskedAboutNowAndThen(t *testing.T) {
	r := newRealm(t)
	r.person("lea", "project-lead", "vision")
	for group, role := range map[string]string{"system:serviceaccounts:ml": "l1-researcher", "admins": "system-administrator"} {
		r.must("POST", "/v1/access-rules", `{"subject":"group:`+group+`","role":"`+role+`","scope":"vision"}`, nil)
	}
	r.tokens["ci"], r.tokens["person"], r.tokens["bad"] = "eyJ.ci.x", "eyJ.person.x", "eyJ.bad.x"
	want := func(user, path string, status int, says string) {
		t.Helper()
		if got, text := r.as(user, "GET", path, ""); got != status || !strings.Contains(text, says) {
			t.Errorf("%s: %d %s, want %d and %q", user, got, text, status, says)
		}
	}
	const all = "/v1/projects/vision/workloads"
	for range 5 {
		want("ci", all, http.StatusOK, "items")
	}
	if n := r.reviewed.Load(); n != 1 {
		t.Errorf("the cluster was asked %d times", n)
	}
	want("ci", "/v1/audit", http.StatusForbidden, "system:serviceaccount:ml:ci may not read audit") // other groups of the cluster's are none here
	want("ci", "/v1/projects/audio/workloads", http.StatusForbidden, "")
	want("person", all, http.StatusUnauthorized, "lets nobody in") // people of the cluster are nobody here
	want("bad", all, http.StatusUnauthorized, "lets nobody in")
	r.silent.Store(true)
	want("ci", all, http.StatusOK, "items")
	r.ahead.Add(int64(61 * time.Second))
	want("ci", all, http.StatusServiceUnavailable, "the cluster does not say")
	r.silent.Store(false)
	want("ci", all, http.StatusOK, "items")
	for _, group := range []string{"system:masters", "system:serviceaccounts:", "system:serviceaccount:a b"} {
		if resp := r.call("POST", "/v1/access-rules", `{"subject":"group:`+group+`","role":"viewer","scope":"vision"}`, nil, "Content-Type", "application/json"); resp.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("a rule for %s: %s", group, resp.Status)
		}
	}
	for range 10 {
		r.as("bad", "GET", all, "")
	}
	want("bad", all, http.StatusTooManyRequests, "")
}
