package podexec

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	gorilla "github.com/gorilla/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	protocol "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
)

// far is the other end of sockets: it does with each connection what do says and
// closes it then, as an API server does: with whatever is still on its way.
func far(t *testing.T, quiet, dead time.Duration, do func(*gorilla.Conn)) *socket {
	var all sync.WaitGroup
	upgrade := gorilla.Upgrader{Subprotocols: []string{protocol.StreamProtocolV5Name}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all.Add(1)
		defer all.Done()
		c, err := upgrade.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		do(c)
		_ = c.Close()
	}))
	t.Cleanup(all.Wait)
	t.Cleanup(s.Close)
	return &socket{config: &rest.Config{Host: s.URL}, url: s.URL, quiet: quiet, dead: dead}
}

// tell says how the command ended.
func tell(t *testing.T, c *gorilla.Conn, s metav1.Status) {
	b, err := json.Marshal(s)
	if err != nil {
		t.Error(err)
	}
	put(t, c, protocol.StreamErr, b)
}

func put(t *testing.T, c *gorilla.Conn, channel byte, b []byte) {
	if err := c.WriteMessage(gorilla.BinaryMessage, append([]byte{channel}, b...)); err != nil {
		t.Error(err)
	}
}

var well = metav1.Status{Status: metav1.StatusSuccess}

// slow is a reader that rests after its first bytes.
type slow struct {
	bytes.Buffer
	rest time.Duration
}

func (s *slow) Write(b []byte) (int, error) {
	time.Sleep(s.rest)
	s.rest = 0
	return s.Buffer.Write(b)
}

// TestASlowReaderGetsEverything is output that is still on its way when the other
// end has closed, to a reader that rests for much longer than a quiet connection
// is left unasked, and than an answer may take.
func TestASlowReaderGetsEverything(t *testing.T) {
	t.Parallel()
	const n = 100
	line := bytes.Repeat([]byte("0123456789abcdef"), 64)
	s := far(t, 5*time.Millisecond, 20*time.Millisecond, func(c *gorilla.Conn) {
		for range n {
			put(t, c, protocol.StreamStdOut, line)
		}
		tell(t, c, well)
	})
	got := &slow{rest: 300 * time.Millisecond}
	if err := s.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: got}); err != nil {
		t.Error(err)
	}
	if want := n * len(line); got.Len() != want {
		t.Errorf("%d bytes of %d", got.Len(), want)
	}
}

// TestAQuietConnectionIsAskedAbout is a command that says nothing for long: its
// connection lives as long as the other end answers, and no longer.
func TestAQuietConnectionIsAskedAbout(t *testing.T) {
	t.Parallel()
	// A microsecond is over before a question is written, as five seconds can be on a
	// connection that is slow: it is asked again all the same.
	for _, quiet := range []time.Duration{time.Millisecond, time.Microsecond} {
		enough, asked := make(chan struct{}), 0
		s := far(t, quiet, time.Minute, func(c *gorilla.Conn) {
			c.SetPingHandler(func(what string) error {
				if asked++; asked == 3 {
					close(enough)
				}
				return c.WriteControl(gorilla.PongMessage, []byte(what), time.Now().Add(time.Minute))
			})
			go func() { _, _, _ = c.ReadMessage() }()
			select {
			case <-enough:
			case <-time.After(time.Minute):
				t.Errorf("quiet for %v: nobody asks", quiet)
			}
			tell(t, c, well)
		})
		if err := s.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: io.Discard}); err != nil {
			t.Error(err)
		}
	}

	s := far(t, time.Millisecond, 50*time.Millisecond, func(c *gorilla.Conn) {
		c.SetPingHandler(func(string) error { return nil })
		_, _, _ = c.ReadMessage()
	})
	err := s.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "the connection to the container was lost") {
		t.Errorf("of one that does not answer: %v", err)
	}
}

// TestWhatACommandIsToldAndTells are its input with the input's end, the sizes of
// its terminal, both outputs and the ways to end.
func TestWhatACommandIsToldAndTells(t *testing.T) {
	t.Parallel()
	heard := make(chan string, 10)
	s := far(t, time.Minute, time.Minute, func(c *gorilla.Conn) {
		for {
			_, m, err := c.ReadMessage()
			if err != nil {
				t.Error(err)
				return
			}
			heard <- string(m)
			if m[0] == protocol.StreamClose {
				break
			}
		}
		put(t, c, protocol.StreamStdOut, nil)
		put(t, c, protocol.StreamStdOut, []byte("out"))
		put(t, c, protocol.StreamStdErr, []byte("err"))
		tell(t, c, metav1.Status{
			Status: metav1.StatusFailure, Reason: protocol.NonZeroExitCodeReason,
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: protocol.ExitCodeCauseType, Message: "42"}}},
		})
	})
	var out, errs bytes.Buffer
	err := s.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: strings.NewReader("in"), Stdout: &out, Stderr: &errs})
	var exit exec.CodeExitError
	if !errors.As(err, &exit) || exit.Code != 42 {
		t.Errorf("ends with %v", err)
	}
	if a, b := <-heard, <-heard; a != "\x00in" || b != "\xff\x00" {
		t.Errorf("was told %q and %q", a, b)
	}
	if out.String() != "out" || errs.String() != "err" {
		t.Errorf("said %q and %q", out.String(), errs.String())
	}

	s = far(t, time.Minute, time.Minute, func(c *gorilla.Conn) {
		_, m, _ := c.ReadMessage()
		heard <- string(m)
		tell(t, c, metav1.Status{Status: metav1.StatusFailure, Message: "no such container"})
	})
	sizes := &once{&remotecommand.TerminalSize{Width: 80, Height: 24}}
	err = s.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: &out, Tty: true, TerminalSizeQueue: sizes})
	if err == nil || err.Error() != "no such container" {
		t.Errorf("ends with %v", err)
	}
	if size := <-heard; size != "\x04"+`{"Width":80,"Height":24}` {
		t.Errorf("the size is told as %q", size)
	}

	s = far(t, time.Minute, time.Minute, func(c *gorilla.Conn) { put(t, c, protocol.StreamStdOut, []byte("and")) })
	if err := s.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: &out}); err == nil {
		t.Error("an end that nobody told of is no error")
	}
}

// once is a terminal with one size.
type once struct{ size *remotecommand.TerminalSize }

func (o *once) Next() *remotecommand.TerminalSize {
	defer func() { o.size = nil }()
	return o.size
}
