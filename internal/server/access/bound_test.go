package access

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestSilentConnectionsMakeRoom: as many as there may be say nothing, or nothing
// more, and whoever asks is answered all the same.
func TestSilentConnectionsMakeRoom(t *testing.T) {
	const most = 4
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := newBound(inner, most)
	answering, going := make(chan struct{}), make(chan struct{})
	hs := &http.Server{ConnState: Track, ReadHeaderTimeout: time.Hour, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(answering)
			<-going
		}
		_, _ = io.WriteString(w, r.URL.Path)
	})}
	go hs.Serve(b) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { _ = hs.Close() })
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		return c
	}
	ask := func(c net.Conn, path string) {
		t.Helper()
		if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	heard := func(c net.Conn, path string) {
		t.Helper()
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%s is not answered: %v", path, err)
		}
		body, _ := io.ReadAll(r.Body)
		if string(body) != path {
			t.Fatalf("%s is answered with %q", path, body)
		}
	}
	slow := dial() // it is at work, and stays
	ask(slow, "/slow")
	<-answering
	for range 5 * most {
		dial() // and not a word
		c := dial()
		ask(c, "/quick")
		heard(c, "/quick") // and not a word more
	}
	b.mu.Lock()
	open := b.open
	b.mu.Unlock()
	if open > most {
		t.Errorf("%d connections are open, want at most %d", open, most)
	}
	close(going)
	heard(slow, "/slow")
}
