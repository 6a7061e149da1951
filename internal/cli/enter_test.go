//go:build linux

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/cli/terminal"
)

// pseudoTerminal is a terminal of which the test holds the other end.
func pseudoTerminal(t *testing.T) (keyboard, screen *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this takes a pseudo-terminal (/dev/ptmx): %v", err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

func isRaw(t *testing.T, f *os.File) bool {
	t.Helper()
	s, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return s.Lflag&unix.ICANON == 0
}

// socketAPI has one running workload; serve speaks over its web sockets.
func socketAPI(t *testing.T, w api.Workload, serve func(r *http.Request, ws *websocket.Conn)) http.Handler {
	mux := http.NewServeMux()
	const one = "/v1/projects/{project}/workloads/{name}"
	mux.HandleFunc("GET "+one, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		json.NewEncoder(rw).Encode(w) //nolint:errcheck // a test's own server
	})
	for _, what := range []string{"exec", "attach", "portforward"} {
		mux.HandleFunc("GET "+one+"/"+what, func(rw http.ResponseWriter, r *http.Request) {
			ws, err := websocket.Accept(rw, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer ws.CloseNow() //nolint:errcheck // the test is over
			serve(r, ws)
		})
	}
	return mux
}

func runningWorkload() api.Workload {
	return api.Workload{
		ID: "06gztkgw2k9wbq795g3my95h34", Name: "it", Project: "default", Kind: "workspace", Phase: "Running", Tasks: api.TaskCounts{Total: 1, Running: 1},
		Attempts: []api.Attempt{{Tasks: []api.Task{{Role: "task", State: "running"}}}}, Spec: json.RawMessage(`{"command":["sh"],"tty":true}`),
	}
}

// receive returns the next message of a channel, or the end.
func receive(ctx context.Context, ws *websocket.Conn) (channel byte, data []byte, err error) {
	_, m, err := ws.Read(ctx)
	if err != nil || len(m) == 0 {
		return 255, nil, err
	}
	return m[0], m[1:], nil
}

func send(ctx context.Context, ws *websocket.Conn, channel byte, data string) error {
	return ws.Write(ctx, websocket.MessageBinary, append([]byte{channel}, data...))
}

// TestExecOnATerminal: every key goes to the command, the size of the terminal
// too, and the terminal is given back as it was.
func TestExecOnATerminal(t *testing.T) {
	t.Parallel()
	keyboard, screen := pseudoTerminal(t)
	if err := unix.IoctlSetWinsize(int(keyboard.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 33, Col: 77}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	sized, typed := make(chan string, 1), make(chan string, 1)
	w := newWorld(t, socketAPI(t, runningWorkload(), func(r *http.Request, ws *websocket.Conn) {
		q := r.URL.Query()
		if q.Get("tty") != "true" || q.Get("stdin") != "true" || strings.Join(q["command"], " ") != "bash" || q.Get("env") != "TERM=xterm" {
			t.Errorf("asked for %v", q)
		}
		text := ""
		for !strings.HasSuffix(text, "\r") {
			channel, data, err := receive(ctx, ws)
			if err != nil {
				t.Error(err)
				return
			}
			switch channel {
			case api.ChannelResize:
				sized <- string(data)
			case api.ChannelStdin:
				text += string(data)
			}
		}
		typed <- text
		_ = send(ctx, ws, api.ChannelStdout, "bye")
		_ = send(ctx, ws, api.ChannelEnd, `{"exitCode":42}`)
	}))
	w.terminal()
	w.s.IO.In = screen
	code := make(chan int, 1)
	go func() { code <- w.run("exec", "it", "--", "bash") }()
	if got := <-sized; got != `{"columns":77,"rows":33}` {
		t.Errorf("size %s", got)
	}
	if !isRaw(t, screen) {
		t.Error("the terminal is not raw")
	}
	if _, err := keyboard.WriteString("\x03\x10\x11q\r"); err != nil {
		t.Fatal(err)
	}
	if got := <-typed; got != "\x03\x10\x11q\r" {
		t.Errorf("typed %q", got)
	}
	if got := <-code; got != 42 {
		t.Errorf("exit code %d: %s", got, w.err.String())
	}
	if isRaw(t, screen) || w.out.String() != "bye" {
		t.Errorf("raw %v, output %q", isRaw(t, screen), w.out.String())
	}
}

func TestTheTerminalIsGivenBack(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(ctx context.Context, ws *websocket.Conn, interrupt func()){
		"after a signal":       func(_ context.Context, _ *websocket.Conn, interrupt func()) { interrupt() },
		"when the server goes": func(_ context.Context, ws *websocket.Conn, _ func()) { _ = ws.CloseNow() },
		"after a problem": func(ctx context.Context, ws *websocket.Conn, _ func()) {
			_ = send(ctx, ws, api.ChannelEnd, `{"exitCode":0,"problem":{"title":"t","status":422,"code":"unsupported","detail":"no"}}`)
		},
	} {
		_, screen := pseudoTerminal(t)
		ctx, interrupt := context.WithCancel(t.Context())
		began, done := make(chan struct{}), make(chan struct{})
		w := newWorld(t, socketAPI(t, runningWorkload(), func(r *http.Request, ws *websocket.Conn) {
			close(began)
			end(r.Context(), ws, interrupt)
			<-done
		}))
		w.terminal()
		w.s.IO.In = screen
		code := execute(ctx, w.s, Hooks{}, []string{"exec", "it"})
		<-began
		close(done)
		want := map[string]int{"after a signal": session.ExitInterrupted, "when the server goes": session.ExitUnreachable, "after a problem": session.ExitConflict}[name]
		if code != want || isRaw(t, screen) {
			t.Errorf("%s: exit code %d, want %d; raw %v: %s", name, code, want, isRaw(t, screen), w.err.String())
		}
		interrupt()
	}
}

// TestAPanicGivesTheTerminalBack, also one in the goroutine that reads keys.
func TestAPanicGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	for name, reader := range map[string]func(raw *terminal.Raw) io.Reader{
		"keys":    func(raw *terminal.Raw) io.Reader { return &terminal.Keys{From: panicking{}, Raw: raw} },
		"guarded": func(raw *terminal.Raw) io.Reader { return terminal.Guarded{Reader: panicking{}, Raw: raw} },
	} {
		_, screen := pseudoTerminal(t)
		w := newWorld(t, nil)
		w.terminal()
		w.s.IO.In = screen
		raw, err := w.s.IO.Raw()
		if err != nil || raw == nil || !isRaw(t, screen) {
			t.Fatalf("%v", err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: the panic is lost", name)
				}
			}()
			_, _ = reader(raw).Read(make([]byte, 10))
		}()
		if isRaw(t, screen) {
			t.Errorf("%s: the terminal is left raw", name)
		}
	}
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("broken") }

func TestDetaching(t *testing.T) {
	t.Parallel()
	keyboard, screen := pseudoTerminal(t)
	began := make(chan struct{})
	w := newWorld(t, socketAPI(t, runningWorkload(), func(r *http.Request, ws *websocket.Conn) {
		close(began)
		for {
			if _, _, err := receive(r.Context(), ws); err != nil {
				return
			}
		}
	}))
	w.terminal()
	w.s.IO.In = screen
	code := make(chan int, 1)
	go func() { code <- w.run("attach", "it") }()
	<-began
	if _, err := keyboard.WriteString("ls\r\x10\x11"); err != nil {
		t.Fatal(err)
	}
	if got := <-code; got != session.ExitOK || isRaw(t, screen) || !strings.Contains(w.err.String(), "Detached — still running. muster attach it") {
		t.Errorf("exit code %d, raw %v: %s", got, isRaw(t, screen), w.err.String())
	}
}

func TestExecWithoutATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, socketAPI(t, runningWorkload(), func(r *http.Request, ws *websocket.Conn) {
		if q := r.URL.Query(); q.Get("tty") != "" || q.Get("task") != "0" || strings.Join(q["command"], "|") != "cat|-" {
			t.Errorf("asked for %v", q)
		}
		got := ""
		for {
			channel, data, err := receive(r.Context(), ws)
			if err != nil || channel == api.ChannelEOF {
				break
			}
			got += string(data)
		}
		_ = send(r.Context(), ws, api.ChannelStdout, got)
		_ = send(r.Context(), ws, api.ChannelStderr, "warned")
		_ = send(r.Context(), ws, api.ChannelEnd, `{"exitCode":3}`)
	}))
	w.s.IO.In = strings.NewReader("input")
	if code := w.run("exec", "it", "--task", "0", "-i", "--", "cat", "-"); code != 3 || w.out.String() != "input" || w.err.String() != "warned" {
		t.Errorf("exit code %d, %q, %q", code, w.out.String(), w.err.String())
	}
	if code := w.run("exec", "it"); code != session.ExitUsage {
		t.Errorf("without a command: exit code %d", code)
	}
}

func TestPortForward(t *testing.T) {
	t.Parallel()
	wl := runningWorkload()
	wl.Spec = json.RawMessage(`{"command":["sh"],"ports":[8000]}`)
	mux := socketAPI(t, wl, func(r *http.Request, ws *websocket.Conn) {
		port := r.URL.Query().Get("port")
		for {
			channel, data, err := receive(r.Context(), ws)
			if err != nil {
				return
			}
			if channel == api.ChannelEOF {
				_ = send(r.Context(), ws, api.ChannelEnd, `{"exitCode":0}`)
				return
			}
			if err := send(r.Context(), ws, api.ChannelStdout, port+":"+string(data)); err != nil {
				return
			}
		}
	}).(*http.ServeMux)
	mux.HandleFunc("GET /v1/watch", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		rw.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	for args, ports := range map[string][]string{"0:80 :81": {"80", "81"}, "": {"8000"}} {
		srv := httptest.NewServer(mux)
		w := newWorld(t, nil)
		w.env["MUSTER_SERVER"] = srv.URL
		ctx, interrupt := context.WithCancel(t.Context())
		code := make(chan int, 1)
		go func() {
			code <- execute(ctx, w.s, Hooks{}, append([]string{"port-forward", "it"}, strings.Fields(args)...))
		}()
		until(t, &w.out, " -> "+ports[len(ports)-1]+"\n")
		for i, line := range strings.Split(strings.TrimSpace(w.out.String()), "\n") {
			address, _, _ := strings.Cut(line, " ")
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(limit))
			_, _ = conn.Write([]byte("ping"))
			_ = conn.(*net.TCPConn).CloseWrite()
			got, err := io.ReadAll(conn)
			if want := ports[i] + ":ping"; string(got) != want || err != nil {
				t.Errorf("%s: %q %v, want %q", line, got, err, want)
			}
			conn.Close()
		}
		interrupt()
		if got := <-code; got != session.ExitInterrupted {
			t.Errorf("exit code %d: %s", got, w.err.String())
		}
		srv.CloseClientConnections()
		srv.Close()
	}
	for _, args := range []string{"x", "0:0", "70000", "1:2:3"} {
		w := newWorld(t, mux)
		if code := w.run("port-forward", "it", args); code != session.ExitUsage {
			t.Errorf("%s: exit code %d", args, code)
		}
	}
}
