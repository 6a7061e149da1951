package problem

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/musterhq/muster/api"
)

// TestABrokenHandshakeIsRefusedAsEverythingElse: the library answers by itself,
// and still in the form of all refusals; one that is right goes through.
func TestABrokenHandshakeIsRefusedAsEverythingElse(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ws, err := websocket.Accept(&Refuser{ResponseWriter: w, Hint: "a hint"}, r, nil); err == nil {
			_ = ws.Close(websocket.StatusNormalClosure, "")
		}
	}))
	defer s.Close()
	for _, c := range []struct {
		status int
		header []string
	}{
		{http.StatusUpgradeRequired, []string{"Upgrade", "websocket"}},
		{http.StatusBadRequest, []string{"Upgrade", "websocket", "Connection", "Upgrade", "Sec-WebSocket-Version", "7"}},
		{http.StatusForbidden, []string{"Upgrade", "websocket", "Connection", "Upgrade", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==", "Origin", "https://evil.example"}},
	} {
		req, err := http.NewRequest(http.MethodGet, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(c.header); i += 2 {
			req.Header.Set(c.header[i], c.header[i+1])
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var p api.Problem
		err = json.NewDecoder(resp.Body).Decode(&p)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != c.status || p.Status != c.status || p.Hint != "a hint" || p.Detail == "" || resp.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%v: %s, %s, %+v, %v", c.header, resp.Status, resp.Header.Get("Content-Type"), p, err)
		}
	}
	ws, _, err := websocket.Dial(t.Context(), strings.Replace(s.URL, "http", "ws", 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = ws.CloseNow()
}
