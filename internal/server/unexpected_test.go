package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/musterhq/muster/api"
)

// TestABodyOfTheWrongSortIsToldInWordsOfJSON: no type of the program's is named.
func TestABodyOfTheWrongSortIsToldInWordsOfJSON(t *testing.T) {
	w := newWorld(t)
	w.submit(`{"name":"a","command":["fake","run=forever"]}`)
	w.await("a", "Running")
	for _, c := range [][3]string{
		{":preempt", `[]`, "found array, expected a mapping"},
		{":preempt", `{"message": 3}`, "message: found number, expected a text"},
		{":stop", `{"gracePeriod": true}`, "gracePeriod: found true or false, expected a text"},
		{":stop", `{"nonsense": 1}`, `unknown field "nonsense"`},
	} {
		var p api.Problem
		if r := w.call("POST", "/v1/projects/default/workloads/a"+c[0], c[1], &p); r.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(p.Detail, c[2]) || strings.Contains(p.Detail, "api.") || strings.Contains(p.Detail, "Go ") {
			t.Errorf("%s %s: %s %q, want %q", c[0], c[1], r.Status, p.Detail, c[2])
		}
	}
}

// TestWhoDoesNotUpgradeIsToldSo in the form of all refusals.
func TestWhoDoesNotUpgradeIsToldSo(t *testing.T) {
	w := newWorld(t)
	w.submit(`{"name":"a","command":["fake","run=forever"]}`)
	w.await("a", "Running")
	var p api.Problem
	r := w.call("GET", "/v1/projects/default/workloads/a/exec?command=true", "", &p)
	if r.StatusCode != http.StatusUpgradeRequired || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/problem+json") || !strings.Contains(p.Detail, "web socket") {
		t.Errorf("%s, %s: %+v", r.Status, r.Header.Get("Content-Type"), p)
	}
}
