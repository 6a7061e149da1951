package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/musterhq/muster/api"
)

// TestAConditionIsMetOrNothingIsDone: whoever says what a workload must be like
// changes nothing where it is not.
func TestAConditionIsMetOrNothingIsDone(t *testing.T) {
	w := newWorld(t)
	w.submit(`{"name":"first","command":["fake","run=forever"],"resources":{"gpu":{"count":2}}}`)
	w.await("first", "Running")
	w.submit(`{"name":"a","command":["fake"],"resources":{"gpu":{"count":2}}}`) // waits, and stays as it is
	const a = "/v1/projects/default/workloads/a"
	patch := []string{"Content-Type", "application/merge-patch+json"}
	seen := w.call("GET", a, "", nil).Header.Get("ETag")
	var changed api.Workload
	r := w.call("PATCH", a, `{"priority": 7}`, &changed, append(patch, "If-Match", seen)...)
	if r.StatusCode != http.StatusOK || changed.Priority != 7 {
		t.Fatalf("with its own tag: %s", r.Status)
	}
	now := r.Header.Get("ETag")
	if now == seen || now == "" {
		t.Fatalf("the tag after the change is %q, before it was %q", now, seen)
	}
	for _, tag := range []string{seen, "garbage", `"999"`, "W/" + now, now[1:]} {
		for _, c := range [][3]string{
			{"PATCH", a, `{"priority": 9}`}, {"PATCH", a + "/metadata", `{"k": 1}`}, {"DELETE", a, ""}, {"POST", a + ":stop", ""}, {"POST", a + ":hold", ""},
		} {
			header := []string{"If-Match", tag}
			if c[0] == "PATCH" {
				header = append(header, patch...)
			}
			w.refused(c[0], c[1], c[2], http.StatusPreconditionFailed, "stale", header...)
		}
	}
	if p := w.refused("DELETE", a, "", http.StatusPreconditionFailed, "stale", "If-Match", "garbage"); p.Detail != "garbage is no tag of a, which is at version "+strings.Trim(now, `"`) || !strings.Contains(p.Hint, now) {
		t.Errorf("of what is no tag it says %q, %q", p.Detail, p.Hint)
	}
	if p := w.refused("DELETE", a, "", http.StatusPreconditionFailed, "stale", "If-Match", seen); p.Detail != "a has changed: it is at version "+strings.Trim(now, `"`) {
		t.Errorf("of an old tag it says %q", p.Detail)
	}
	var same api.Workload
	if r := w.call("GET", a, "", &same); r.Header.Get("ETag") != now || same.Priority != 7 || same.Phase != "Queued" {
		t.Errorf("after refused changes it is %s with priority %d and tag %s", same.Phase, same.Priority, r.Header.Get("ETag"))
	}
	for _, tags := range []string{seen + ", " + now, "*"} {
		r := w.call("PATCH", a, `{"priority": 8}`, nil, append(patch, "If-Match", tags)...)
		if now = r.Header.Get("ETag"); r.StatusCode != http.StatusOK {
			t.Errorf("If-Match: %s: %s", tags, r.Status)
		}
	}
	if r := w.call("POST", a+":stop", "", nil, "If-Match", now); r.StatusCode != http.StatusOK {
		t.Errorf("a stop with its own tag: %s", r.Status)
	}
	// What has no tags is not changed under a condition that nobody looks at.
	w.refused("POST", "/v1/pools", `{"name":"p"}`, http.StatusPreconditionFailed, "stale", "If-Match", `"1"`)
}

// TestWhatIsKnownIsNotSentAgain: but for what changes without being changed.
func TestWhatIsKnownIsNotSentAgain(t *testing.T) {
	w := newWorld(t)
	w.submit(`{"name":"a","command":["fake"]}`)
	w.await("a", "Completed")
	const a = "/v1/projects/default/workloads/a"
	tag := w.call("GET", a, "", nil).Header.Get("ETag")
	for _, known := range []string{tag, "W/" + tag, `"0", ` + tag} {
		var body string
		if r := w.call("GET", a, "", &body, "If-None-Match", known); r.StatusCode != http.StatusNotModified || body != "" || r.Header.Get("ETag") != tag {
			t.Errorf("If-None-Match: %s: %s with %q", known, r.Status, body)
		}
	}
	if r := w.call("GET", a, "", nil, "If-None-Match", `"0"`); r.StatusCode != http.StatusOK {
		t.Errorf("with another tag: %s", r.Status)
	}
	w.submit(`{"name":"b","command":["fake","run=forever"],"resources":{"gpu":{"count":2}}}`)
	w.await("b", "Running")
	w.submit(`{"name":"c","command":["fake"],"resources":{"gpu":{"count":2}}}`)
	w.await("c", "Queued")
	for _, name := range []string{"b", "c"} { // GPU seconds pass, and explanations change
		path := "/v1/projects/default/workloads/" + name
		if r := w.call("GET", path, "", nil, "If-None-Match", w.call("GET", path, "", nil).Header.Get("ETag")); r.StatusCode != http.StatusOK {
			t.Errorf("%s: %s, want the present answer", name, r.Status)
		}
	}
}
