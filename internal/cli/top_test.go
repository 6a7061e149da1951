//go:build linux

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/terminal"
	"github.com/musterhq/muster/internal/cli/top"
)

// glass is what a terminal shows, as far as top uses one.
type glass struct {
	mu         sync.Mutex
	lines      [][]rune
	other      bool // its other screen
	row, col   int
	unfinished string
}

func (g *glass) write(data string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	data = g.unfinished + data
	g.unfinished = ""
	for data != "" {
		if data[0] == '\x1b' {
			end := strings.IndexFunc(data[1:], func(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' })
			if end < 0 {
				g.unfinished = data
				return
			}
			g.control(data[2:end+1], data[end+1])
			data = data[end+2:]
			continue
		}
		r := []rune(data[:1])[0]
		n := 1
		if data[0] >= 0x80 {
			full := []rune(data)
			if r = full[0]; r == '\uFFFD' && len(data) < 4 { // cut in the middle
				g.unfinished = data
				return
			}
			n = len(string(r))
		}
		switch r {
		case '\n':
			g.row++
		case '\r':
			g.col = 0
		default:
			g.put(r)
		}
		data = data[n:]
	}
}

func (g *glass) put(r rune) {
	for len(g.lines) <= g.row {
		g.lines = append(g.lines, nil)
	}
	for len(g.lines[g.row]) <= g.col {
		g.lines[g.row] = append(g.lines[g.row], ' ')
	}
	g.lines[g.row][g.col] = r
	g.col++
}

func (g *glass) control(args string, what byte) {
	switch what {
	case 'H':
		g.row, g.col = 0, 0
		if r, c, ok := strings.Cut(args, ";"); ok {
			g.row, _ = strconv.Atoi(r)
			g.col, _ = strconv.Atoi(c)
			g.row, g.col = g.row-1, g.col-1
		}
	case 'K':
		if g.row < len(g.lines) {
			g.lines[g.row] = g.lines[g.row][:min(g.col, len(g.lines[g.row]))]
		}
	case 'J':
		if args == "2" {
			g.lines = nil
		} else if g.row < len(g.lines) {
			g.lines = g.lines[:g.row]
		}
	case 'h', 'l':
		if args == "?1049" {
			g.other, g.lines = what == 'h', nil
		}
	}
}

func (g *glass) text() (string, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var b strings.Builder
	for _, l := range g.lines {
		b.WriteString(strings.TrimRight(string(l), " ") + "\n")
	}
	return b.String(), g.other
}

// watched runs muster top on a terminal of that size.
type watched struct {
	t        *testing.T
	keyboard *os.File
	screen   *os.File
	glass    *glass
	code     chan int
}

func watch(t *testing.T, h http.Handler, rows, columns uint16) *watched {
	t.Helper()
	keyboard, screen := pseudoTerminal(t)
	x := &watched{t: t, keyboard: keyboard, screen: screen, glass: &glass{}, code: make(chan int, 1)}
	x.size(rows, columns)
	go func() {
		buf := make([]byte, 1<<16)
		for {
			n, err := keyboard.Read(buf)
			if err != nil {
				return
			}
			x.glass.write(string(buf[:n]))
		}
	}()
	w := newWorld(t, h)
	w.s.IO = terminal.Streams{In: screen, Out: screen, Err: screen, InTerminal: true, OutTerminal: true, ErrTerminal: true, Width: int(columns)}
	w.env["TERM"] = "xterm"
	go func() { x.code <- execute(t.Context(), w.s, Hooks{}, []string{"top", "--every", "200ms"}) }()
	return x
}

func (x *watched) size(rows, columns uint16) {
	x.t.Helper()
	if err := unix.IoctlSetWinsize(int(x.keyboard.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err != nil {
		x.t.Fatal(err)
	}
}

func (x *watched) press(keys string) {
	x.t.Helper()
	if _, err := x.keyboard.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// shows waits until the screen has all the texts on it, and none that is
// written with a ! before it.
func (x *watched) shows(texts ...string) {
	x.t.Helper()
	x.until(func(now string) string {
		for _, t := range texts {
			if not, negative := strings.CutPrefix(t, "!"); negative == strings.Contains(now, not) {
				return fmt.Sprintf("the screen does not show %q", t)
			}
		}
		return ""
	})
}

// until waits until nothing is wrong with what the screen shows.
func (x *watched) until(wrong func(now string) string) {
	x.t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		now, _ := x.glass.text()
		what := wrong(now)
		if what == "" {
			return
		}
		if time.Now().After(deadline) {
			x.t.Fatalf("%s:\n%s", what, now)
		}
	}
}

// topAPI is a server with two GPUs of which one is held.
type topAPI struct {
	mu      sync.Mutex
	stopped []string
	execs   int
}

func (a *topAPI) handler(t *testing.T) http.Handler {
	one := func(v float64) *float64 { return &v }
	train := api.Workload{
		ID: "06gztkgw2k9wbq795g3my95h34", Name: "train", Project: "default", User: "ana", Kind: "training", Phase: "Running", GPUs: 1, AllowedActions: []string{"stop"},
		Attempts: []api.Attempt{{Tasks: []api.Task{{Role: "task", State: "running", Node: "n1", Devices: []string{"GPU-a"}}}}},
	}
	waits := api.Workload{ID: "06gztkgw2k9wbq795g3my95h35", Name: "waits", Project: "default", User: "bob", Kind: "training", Phase: "Queued", GPUs: 2, AllowedActions: []string{"stop"},
		Pending: &api.Pending{Position: 1, Waiting: 1}}
	evil := api.Workload{ID: "06gztkgw2k9wbq795g3my95h36", Name: "evil", Project: "default", User: "\x1b[2J\x1b]0;x\amallory", Kind: "training", Phase: "Running"}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/cluster", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, api.Cluster{Running: 2, Waiting: 1, Nodes: []api.Node{{Name: "n1", Devices: []api.Device{
			{ID: "GPU-a", Index: 0, Product: "H100", Healthy: true, Used: 1000}, {ID: "GPU-b", Index: 1, Product: "H100", Healthy: false},
		}}}})
	})
	mux.HandleFunc("GET /v1/projects/{project}/workloads", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, api.WorkloadList{Items: []api.Workload{evil, waits, train}})
	})
	mux.HandleFunc("GET /v1/metrics", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, api.Metrics{Series: []api.MetricSeries{{Metric: "gpus_busy", Values: []*float64{one(0), nil, one(1)}, Last: one(0.5)}}})
	})
	mux.HandleFunc("GET /v1/nodes/n1/metrics", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, api.Metrics{Series: []api.MetricSeries{
			{Metric: "gpu_utilization_ratio", Node: "n1", Index: ptr(0), Last: one(0.7)}, {Metric: "gpu_power_watts", Node: "n1", Index: ptr(0), Last: one(512)},
			{Metric: "gpu_memory_bytes", Node: "n1", Index: ptr(0), Last: one(40 << 30)}, {Metric: "gpu_memory_total_bytes", Node: "n1", Index: ptr(0), Last: one(80 << 30)},
		}})
	})
	const path = "/v1/projects/{project}/workloads/{name}"
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, train) })
	mux.HandleFunc("GET "+path+"/why", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, api.Why{Name: "waits", Phase: "Queued", Project: "default", Waits: true, Forecast: api.Forecast{
			Position: 1, Reasons: []api.PendingReason{{Token: "WaitingForCapacity", Message: "2 GPUs are needed and 1 is free"}}}})
	})
	mux.HandleFunc("GET "+path+"/logs", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "step 1\nstep 2\n\x1b[31mred\x1b[0m step 3\n")
	})
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.stopped = append(a.stopped, r.PathValue("name"))
		answer(w, 200, train)
	})
	mux.HandleFunc("GET "+path+"/exec", func(rw http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(rw, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer ws.CloseNow() //nolint:errcheck // the test is over
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		_ = ws.Write(ctx, websocket.MessageBinary, append([]byte{api.ChannelStdout}, "shell> "...))
		typed := ""
		for !strings.Contains(typed, "q") {
			channel, data, err := receive(ctx, ws)
			if err != nil {
				t.Error(err)
				return
			}
			if channel == api.ChannelStdin {
				typed += string(data)
			}
		}
		a.mu.Lock()
		a.execs++
		a.mu.Unlock()
		end, _ := json.Marshal(api.ExecEnd{ExitCode: 3})
		_ = ws.Write(ctx, websocket.MessageBinary, append([]byte{api.ChannelEnd}, end...))
	})
	return mux
}

// TestTop goes through everything that top can do.
func TestTop(t *testing.T) {
	t.Parallel()
	a := &topAPI{}
	x := watch(t, a.handler(t), 24, 110)
	x.shows("GPUs 1 of 2 held, 0.5 busy", "NAME", "train", "waits", "mallory", "2 hold resources", "q quit")
	if !isRaw(t, x.screen) {
		t.Error("the terminal is not raw")
	}
	x.press("jj") // train is the last
	x.press("2")
	x.shows("PRODUCT", "H100", " 70 %", "512 W", "40Gi/80Gi", "train", "broken", "■■■■■■■□□□")
	x.press("3")
	x.shows("POS", "waits", "!train")
	x.press("w")
	x.shows("waits is Queued", "1st of 1 in queue", "WaitingForCapacity  2 GPUs are needed and 1 is free", "any key: back")
	x.press("x")
	x.shows("POS", "!any key: back")
	x.press("1/tra\r")
	x.shows("only /tra", "train", "!waits")
	x.press("\r")
	x.shows("Log of train")
	x.press("\x1b") // the filter is about the log, too
	x.shows("step 1", "red step 3", "!\x1b[31m")
	x.press("1s")
	x.shows("evil is Running and cannot be stopped")
	x.press("Gs")
	x.shows("stop train of ana? y: yes")
	x.press("n")
	x.shows("train goes on")
	x.press("sy")
	x.shows("train is being stopped")
	a.mu.Lock()
	if !slices.Equal(a.stopped, []string{"06gztkgw2k9wbq795g3my95h34:stop"}) {
		t.Errorf("stopped %q", a.stopped)
	}
	a.mu.Unlock()
	x.press("?")
	x.shows("a shell beside it")
	x.press("x")
	x.size(9, 60)
	x.unwind()
	x.until(func(now string) string { // what was there before the size changed may still be on the screen
		if lines := strings.Split(strings.TrimRight(now, "\n"), "\n"); len(lines) > 9 || slices.ContainsFunc(lines, func(l string) bool { return len([]rune(l)) > 60 }) {
			return "it does not fit in 9 lines of 60"
		}
		return ""
	})
	x.shows("train", "NAME")
	x.press("e")
	x.shows("shell>")
	if _, other := x.glass.text(); other {
		t.Error("the shell has top's screen")
	}
	x.press("exit q") // all of it is the shell's
	x.shows("3 Queue", "TIME/ETA")
	x.press("q")
	select {
	case code := <-x.code:
		if code != 0 {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(limit):
		t.Fatal("q does not end it")
	}
	for deadline := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		_, other := x.glass.text()
		if !other && !isRaw(t, x.screen) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the terminal is not as it was")
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.execs != 1 {
		t.Errorf("%d shells", a.execs)
	}
}

// unwind tells the process what the kernel tells whoever has the terminal.
func (x *watched) unwind() {
	x.t.Helper()
	if err := unix.Kill(os.Getpid(), unix.SIGWINCH); err != nil {
		x.t.Fatal(err)
	}
}

func TestTopSaysWhenItIsNotUpToDate(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	fail := false
	inner := (&topAPI{}).handler(t)
	x := watch(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if fail {
			answer(w, 503, api.Problem{Title: "t", Status: 503, Code: "unavailable", Detail: "the disk is full"})
			return
		}
		inner.ServeHTTP(w, r)
	}), 24, 100)
	x.shows("GPUs 1 of 2 held")
	mu.Lock()
	fail = true
	mu.Unlock()
	x.shows("not up to date: the disk is full", "train")
	x.press("\x03")
	if code := <-x.code; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestTopInAPipe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, (&topAPI{}).handler(t))
	if code := w.run("top", "-o", "json"); code != 0 || !strings.Contains(w.out.String(), `"nodes"`) || strings.Contains(w.out.String(), "\x1b") {
		t.Errorf("exit code %d: %s %s", code, w.out.String(), w.err.String())
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	got := top.KeysOf([]byte("a\x1b[A\x1b[5~ü\x1bOB\r\x7f\x1b"))
	if want := []string{"a", "up", "pageup", "ü", "down", "enter", "backspace", "esc"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := top.KeysOf([]byte("\xff\x1b[999")); len(got) > 0 {
		t.Errorf("%q", got)
	}
}
