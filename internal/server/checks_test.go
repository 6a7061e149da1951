package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
)

// TestApprovalsByRoleAndInAnothersPlace is about who is heard at all, and for whom.
func TestApprovalsByRoleAndInAnothersPlace(t *testing.T) {
	r := newRealm(t)
	r.person("lea", "project-lead", "vision")
	r.person("kim", "project-lead", "research")
	r.person("bob", "l1-researcher", "vision")
	r.person("ann", "l1-researcher", "vision")
	r.person("eve", "project-lead", "audio")
	r.must("POST", "/v1/projects/research/checks", `{"name":"big","type":"approval","role":"project-lead","approvals":2,"notSubmitter":true}`, nil)
	w := r.submits("ann", `{"project":"vision","name":"large","command":["fake","run=forever"]}`)
	if w.Phase != "Reviewing" || len(w.Checks) != 1 || w.Checks[0].Need != 2 || w.Checks[0].Scope != "research" {
		t.Fatalf("%s %+v", w.Phase, w.Checks)
	}
	const approve = "/v1/projects/vision/workloads/large:approve"
	try := func(user string, want int, says string) {
		t.Helper()
		if status, text := r.as(user, "POST", approve, `{}`); status != want || !strings.Contains(text, says) {
			t.Errorf("%s approves: %d %s; want %d and %q", user, status, text, want, says)
		}
	}
	soon := r.server.Clock().Add(time.Hour).Format(time.RFC3339)
	delegate := func(user, to, scope string, want int) {
		t.Helper()
		if status, text := r.as(user, "POST", "/v1/delegations", `{"to":"`+to+`","scope":"`+scope+`","until":"`+soon+`"}`); status != want {
			t.Errorf("%s delegates to %s in %s: %d %s, want %d", user, to, scope, status, text, want)
		}
	}
	try("ann", http.StatusForbidden, "permission approve:")
	try("bob", http.StatusForbidden, "permission approve:")
	try("eve", http.StatusNotFound, "")
	delegate("bob", "ann", "vision", http.StatusForbidden) // has nothing to give
	delegate("lea", "bob", "audio", http.StatusForbidden)  // nor lea there
	delegate("lea", "nobody", "vision", http.StatusNotFound)
	delegate("lea", "ann", "vision", http.StatusCreated)
	try("ann", http.StatusForbidden, "not decided by who submitted")
	delegate("lea", "bob", "vision", http.StatusCreated)
	delegate("bob", "eve", "vision", http.StatusForbidden) // it is not handed on

	var all api.ApprovalList
	r.must("GET", "/v1/approvals", "", &all)
	if len(all.Items) != 1 || all.Items[0].Workload != "large" {
		t.Errorf("%+v", all)
	}
	if status, text := r.as("bob", "GET", "/v1/approvals", ""); status != http.StatusOK || !strings.Contains(text, `"for":"lea"`) || !strings.Contains(text, `"may":true`) {
		t.Errorf("%d %s", status, text)
	}
	if status, text := r.as("eve", "GET", "/v1/approvals", ""); status != http.StatusOK || strings.Contains(text, "large") {
		t.Errorf("%d %s", status, text)
	}
	if status, text := r.as("bob", "GET", "/v1/projects/vision/workloads/large/why", ""); status != http.StatusOK || !strings.Contains(text, "who else may: kim, lea") {
		t.Errorf("%d %s", status, text)
	}
	try("bob", http.StatusOK, `"for":"lea"`)
	try("lea", http.StatusConflict, "already, through bob")
	try("bob", http.StatusConflict, "bob has approved")

	// Who is let in no more decides by nobody either.
	r.must("DELETE", "/v1/delegations?to=bob&scope=vision&from=lea", "", nil)
	try("bob", http.StatusForbidden, "permission approve:")
	try("kim", http.StatusOK, "")
	r.must("GET", "/v1/projects/vision/workloads/large", "", &w)
	if w.Phase == "Reviewing" || w.Checks[0].Verdict != "approved" {
		t.Errorf("%s %+v", w.Phase, w.Checks)
	}
	if status, text := r.as("bob", "DELETE", "/v1/delegations?to=ann&scope=vision&from=lea", ""); status != http.StatusForbidden {
		t.Errorf("bob ends what lea has delegated: %d %s", status, text)
	}

	// Checks are for those to change who change policies.
	for user, want := range map[string]int{"bob": http.StatusForbidden, "lea": http.StatusForbidden} {
		if status, text := r.as(user, "DELETE", "/v1/projects/research/checks/big", ""); status != want {
			t.Errorf("%s deletes a check: %d %s", user, status, text)
		}
	}
	var log api.AuditList
	r.must("GET", "/v1/audit?actor=bob&result=done", "", &log)
	if len(log.Items) == 0 || !strings.Contains(log.Items[0].Changes[0].After, "1 of 2 approvals: bob for lea") {
		t.Errorf("%+v", log.Items)
	}
}
