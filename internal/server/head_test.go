package server_test

import (
	"net/http"
	"testing"
	"time"
)

// Who asks for the head of a stream has their answer, and the next one comes over the
// same connection.
func TestHeadOfAStreamEnds(t *testing.T) {
	w := newWorld(t)
	defer w.http.CloseIdleConnections()
	client := *w.http
	client.Timeout = time.Minute
	for _, path := range []string{"/v1/stream", "/v1/watch", "/v1/projects"} {
		for _, method := range []string{http.MethodHead, http.MethodGet} {
			if method == http.MethodGet {
				path = "/v1/projects"
			}
			r, err := http.NewRequest(method, "http://muster"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(r)
			if err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("%s %s: %s, %v", method, path, resp.Status, err)
			}
		}
	}
}
