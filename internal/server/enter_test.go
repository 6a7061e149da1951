package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// A page of somebody else must not get a shell because a browser that is logged
// in sends its cookie along.
func TestTerminalsAreForTheServersOwnPages(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: run, command: [fake, "run=forever"]}`)
	w.await("run", "Running")
	login := w.tcpRequest("POST", "/v1/session", `{"token":"secret"}`, "Content-Type", "application/json")
	if len(login.Cookies()) != 1 {
		t.Fatalf("logging in: %s", login.Status)
	}
	cookie := login.Cookies()[0]
	url := strings.Replace(w.tcp, "http", "ws", 1) + "/v1/projects/default/workloads/run/exec?command=true"
	dial := func(header ...string) int {
		h := http.Header{}
		for i := 0; i+1 < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		ws, resp, err := websocket.Dial(context.Background(), url, &websocket.DialOptions{HTTPHeader: h, Host: h.Get("Host")})
		if err == nil {
			_ = ws.CloseNow()
		}
		if resp == nil {
			t.Fatal(err)
		}
		return resp.StatusCode
	}
	const heard = http.StatusUnprocessableEntity // the fake backend has no terminals, which is found out last
	mine := cookie.Name + "=" + cookie.Value
	for _, c := range []struct {
		name   string
		status int
		header []string
	}{
		{"nobody", 401, nil},
		{"its own page", heard, []string{"Cookie", mine, "Origin", w.tcp, "Sec-Fetch-Site", "same-origin"}},
		{"its own page, in an old browser", heard, []string{"Cookie", mine, "Origin", w.tcp}},
		{"a page from elsewhere", 403, []string{"Cookie", mine, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}},
		{"a page from elsewhere, in an old browser", 403, []string{"Cookie", mine, "Origin", "https://evil.example"}},
		{"a page of another port", 403, []string{"Cookie", mine, "Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"}},
		{"a page of another port, in an old browser", 403, []string{"Cookie", mine, "Origin", "http://127.0.0.1:1"}},
		{"a sandboxed page", 403, []string{"Cookie", mine, "Origin", "null"}},
		{"a name that was bound to it", 421, []string{"Cookie", mine, "Origin", "http://evil.example", "Host", "evil.example"}},
	} {
		if got := dial(c.header...); got != c.status {
			t.Errorf("%s is answered with %d, want %d", c.name, got, c.status)
		}
	}
}

// tcpRequest sends a request as a browser would, and drops its body.
func (w *world) tcpRequest(method, path, body string, header ...string) *http.Response {
	w.t.Helper()
	req, err := http.NewRequest(method, w.tcp+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp
}
