package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
)

// open opens a link as a stranger does: over TCP, with nothing to show.
func (w *world) open(path string, header ...string) (*http.Response, string) {
	w.t.Helper()
	req, err := http.NewRequest("GET", w.tcp+"/"+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
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

const shares = "/v1/shares"

// A link shows the state of one workload and nothing that could be a secret; with
// another key, once it is revoked or has expired, nothing.
func TestALinkShowsOneWorkload(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit(`{"name":"moons","command":["fake","run=forever","log=hunter2"],"env":{"API_KEY":"hunter3"},"resources":{"gpu":1,"cpu":1}}`)
	w.await("moons", "Running")
	var made, other api.Share
	if resp := w.call("POST", shares, `{"project":"default","workload":"moons","expires":"2h"}`, &made); resp.StatusCode != 201 || !strings.HasPrefix(made.Path, "share/") || len(made.Path) < 40 {
		t.Fatalf("%s: %+v", resp.Status, made)
	}
	w.call("POST", shares, `{"project":"default","workload":"moons","chart":"loss"}`, &other)
	resp, text := w.open(made.Path)
	if resp.StatusCode != 200 || !strings.Contains(text, "<h1>moons</h1>") || !strings.Contains(text, "Running") {
		t.Errorf("%s %s", resp.Status, text)
	}
	for _, secret := range []string{"hunter", "API_KEY", "node-1", "<script"} {
		if strings.Contains(text, secret) {
			t.Errorf("the page has %q in it", secret)
		}
	}
	for name, want := range map[string]string{"X-Robots-Tag": "noindex", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff"} {
		if !strings.Contains(resp.Header.Get(name), want) {
			t.Errorf("%s: %q", name, resp.Header.Get(name))
		}
	}
	if resp, text := w.open(made.Path, "Accept-Language", "de-CH,fr;q=0.5"); !strings.Contains(text, `lang="de"`) || !strings.Contains(text, "Geteilt") && !strings.Contains(text, "geteilt") {
		t.Errorf("%s %s", resp.Status, text)
	}
	// The key opens this, and no more of the API than nothing does.
	if resp, _ := w.open("v1/projects/default/workloads/moons", "Authorization", "Bearer "+strings.TrimPrefix(made.Path, "share/")); resp.StatusCode != 401 {
		t.Errorf("the key of a link opens the API: %s", resp.Status)
	}
	if resp, text := w.open("share/" + strings.Repeat("A", 43)); resp.StatusCode != 404 || strings.Contains(text, "moons") {
		t.Errorf("%s %s", resp.Status, text)
	}
	var list api.ShareList
	w.call("GET", shares, "", &list)
	if len(list.Items) != 2 || list.Items[1].ID != made.ID || list.Items[1].Opened != 2 || list.Items[1].Path != "" || list.Items[0].Chart != "loss" {
		t.Errorf("%+v", list.Items)
	}
	if left := time.Until(time.Time(made.Expires)); left > 2*time.Hour || left < 100*time.Minute {
		t.Errorf("it expires in %s", left)
	}
	// Every opening is in the audit log.
	var log struct{ Items []api.AuditEntry }
	w.call("GET", "/v1/audit?limit=100", "", &log)
	opened := 0
	for _, e := range log.Items {
		if e.Actor == "anonymous" && strings.Contains(e.Object, "default/moons "+made.ID) && e.Address != "" {
			opened++
		}
	}
	if opened != 2 {
		t.Errorf("%d openings are in the audit log: %+v", opened, log.Items)
	}
	if resp := w.call("DELETE", shares+"/"+other.ID, "", nil); resp.StatusCode != 204 {
		t.Errorf("%s", resp.Status)
	}
	if resp, _ := w.open(other.Path); resp.StatusCode != 404 {
		t.Errorf("what was revoked opens: %s", resp.Status)
	}
	w.refused("DELETE", shares+"/"+other.ID, "", 404, "not_found")
	w.refused("POST", shares, `{"project":"default","workload":"moons","expires":"1s"}`, 422, "invalid")
	w.ahead.Store(int64(3 * time.Hour))
	if resp, _ := w.open(made.Path); resp.StatusCode != 404 {
		t.Errorf("what has expired opens: %s", resp.Status)
	}
}

// Only whose it is makes a link to it; who opens too many in a minute waits.
func TestLinksAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit(`{"name":"moons","command":["fake","run=forever"],"resources":{"cpu":1}}`)
	req, err := http.NewRequest("POST", w.tcp+shares, strings.NewReader(`{"project":"default","workload":"moons"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer secret") // who has the server's token is another user
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 403 {
		t.Errorf("another shares it: %s", resp.Status)
	}
	var last *http.Response
	for range 100 {
		if last, _ = w.open("share/none"); last.StatusCode != 404 {
			break
		}
	}
	if last.StatusCode != 429 || last.Header.Get("Retry-After") == "" {
		t.Errorf("after a hundred: %s", last.Status)
	}
}

// The end of the output is shown where whoever shares has chosen so, as text.
func TestALinkShowsTheOutputIfThatWasChosen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit(`{"name":"moons","command":["fake","run=forever","log=\u001b[31mred <b>&"],"resources":{"gpu":1,"cpu":1}}`)
	w.await("moons", "Running")
	var with, without api.Share
	w.ok("POST", shares, `{"project":"default","workload":"moons","logs":true}`, 201, &with)
	w.ok("POST", shares, `{"project":"default","workload":"moons"}`, 201, &without)
	await(t, "the output to be shown", func() bool {
		_, text := w.open(with.Path)
		return strings.Contains(text, "red &lt;b&gt;&amp;") && !strings.Contains(text, "\x1b") && !strings.Contains(text, "[31m")
	})
	if _, text := w.open(without.Path); strings.Contains(text, "red &lt;") || strings.Contains(text, "<pre") {
		t.Errorf("a link without the output shows %s", text)
	}
	if !with.Logs || without.Logs {
		t.Errorf("%+v, %+v", with, without)
	}
	w.refused("POST", shares, `{"project":"default","workload":"moons","logs":true,"chart":"loss"}`, http.StatusUnprocessableEntity, "invalid")
}
