package server_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestPagesAreServedWhereverTheyAre(t *testing.T) {
	w := newWorld(t)
	for path, base := range map[string]string{"/ui/": "./", "/ui/workloads": "./", "/ui/workloads/default/x": "../../"} {
		resp, text := w.visit("GET", path, "", nil)
		if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") || !strings.Contains(text, `<base href="`+base+`"`) || strings.Contains(text, "{{") {
			t.Errorf("%s: %s %.300s", path, resp.Status, text)
		}
		csp := resp.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'self'", "object-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: the policy %q lacks %q", path, csp, want)
			}
		}
		if strings.Contains(csp, "unsafe") || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, resp.Header)
		}
	}
	if resp, _ := w.visit("GET", "/", "", nil, "Accept", "text/html"); resp.StatusCode != http.StatusFound || resp.Header.Get("Location") != "ui/" && resp.Header.Get("Location") != "/ui/" {
		t.Errorf("the root: %s %v", resp.Status, resp.Header)
	}
	if resp, text := w.visit("GET", "/v1/nothing", "", nil, "Authorization", "Bearer secret"); resp.StatusCode != http.StatusNotFound || !strings.Contains(text, "not_found") {
		t.Errorf("below /v1: %s %s", resp.Status, text)
	}
}

func TestFilesOfPagesAreLoadedOnce(t *testing.T) {
	w := newWorld(t)
	_, page := w.visit("GET", "/ui/", "", nil)
	m := regexp.MustCompile(`src="(app\.js\?v=[0-9a-f]+)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal(page)
	}
	resp, _ := w.visit("GET", "/ui/"+m[1], "", nil, "Accept-Encoding", "gzip")
	if resp.Header.Get("Content-Encoding") != "gzip" || !strings.Contains(resp.Header.Get("Cache-Control"), "immutable") || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/javascript") {
		t.Errorf("%v", resp.Header)
	}
	tag := resp.Header.Get("ETag")
	if resp, _ := w.visit("GET", "/ui/app.js", "", nil, "If-None-Match", tag); resp.StatusCode != http.StatusNotModified || resp.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("again: %s %v", resp.Status, resp.Header)
	}
	if resp, text := w.visit("GET", "/ui/app.js", "", nil, "Accept-Encoding", "identity"); resp.Header.Get("Content-Encoding") != "" || !strings.Contains(text, "createElement") {
		t.Errorf("uncompressed: %v %.100s", resp.Header, text)
	}
}
