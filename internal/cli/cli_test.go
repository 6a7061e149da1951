package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/cli/terminal"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	time.Local = time.UTC // golden files hold times of day
	os.Exit(m.Run())
}

// noon is the present of every test.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) api.Time { return api.Time(noon.Add(-d)) }

func ptr[T any](v T) *T { return &v }

// buffer is safe for the goroutines of a follower.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// world is a command line with an API that answers from a few workloads.
type world struct {
	s        *session.Session
	out, err buffer
	env      map[string]string
}

func newWorld(t *testing.T, h http.Handler) *world {
	t.Helper()
	w := &world{env: map[string]string{"MUSTER_NO_AUTOSTART": "1", "TERM": "xterm"}}
	if h != nil {
		srv := httptest.NewServer(h)
		t.Cleanup(srv.Close)
		w.env["MUSTER_SERVER"] = srv.URL
	}
	w.s = &session.Session{
		IO: terminal.Streams{In: strings.NewReader(""), Out: &w.out, Err: &w.err}, Env: func(k string) string { return w.env[k] },
		Now: func() time.Time { return noon }, Program: session.Program{Version: api.Version{Version: "v1", Go: "go1"}},
	}
	return w
}

func (w *world) terminal() {
	w.s.IO.OutTerminal, w.s.IO.ErrTerminal, w.s.IO.InTerminal = true, true, true
}

func (w *world) run(args ...string) int { return execute(context.Background(), w.s, Hooks{}, args) }

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\ngot\n%s\nwant\n%s", path, got, want)
	}
}

// inBoth compares what a command shows in a pipe and on a terminal with what
// it should.
func inBoth(t *testing.T, name string, args []string, h http.Handler, shown func(*world) string) {
	t.Helper()
	for _, terminal := range []bool{false, true} {
		w := newWorld(t, h)
		where := "-pipe"
		if terminal {
			w.terminal()
			where = "-tty"
		}
		if code := w.run(args...); code != 0 {
			t.Fatalf("%s: exit code %d: %s", name, code, w.err.String())
		}
		golden(t, name+where, strings.ReplaceAll(shown(w), "\x1b", "␛"))
	}
}

func output(w *world) string         { return w.out.String() }
func outputAndNotes(w *world) string { return w.out.String() + w.err.String() }

// answer is how a test's own server answers.
func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) //nolint:errcheck // a test's own server
}

// samples are a few workloads that show most of what tables can say.
func samples() []api.Workload {
	statuses := map[string]api.Status{"mcli": {Status: "RUNNING"}, "modelarts": {Status: "JOBSTAT_RUNNING", Code: ptr(8)}}
	running := api.Workload{
		ID: "06gztkgw2k9wbq795g3my95h34", Name: "llama-sft", Project: "vision", Kind: "distributed", User: "ana", Priority: 125, Preemptible: true,
		Phase: "Running", Since: before(2 * time.Hour), Attempt: 1, GPUs: 16, GPUSeconds: 115200, CreatedAt: before(26 * time.Hour), StartedAt: ptr(before(25 * time.Hour)),
		Tasks: api.TaskCounts{Total: 2, Running: 2}, Statuses: statuses, Version: 9, Revision: 40,
		Spec: json.RawMessage(`{"kind":"distributed","workers":2,"image":"ghcr.io/acme/train:1","command":["python3","train.py"],"workdir":"/w","resources":{"cpu":"32","memory":"256Gi","gpu":{"count":8,"type":"h100"}},"labels":{"team":"x"}}`),
		Attempts: []api.Attempt{
			{
				Index: 0, QueuedAt: ptr(before(26 * time.Hour)), StartedAt: ptr(before(25 * time.Hour)), RunningAt: ptr(before(25*time.Hour - time.Minute)), EndedAt: ptr(before(3 * time.Hour)),
				ExitCode: ptr(79), Reason: "Error", Message: "worker 1 exited with code 79", Culprit: ptr(1), Tasks: []api.Task{},
			},
			{
				Index: 1, QueuedAt: ptr(before(3 * time.Hour)), StartedAt: ptr(before(2*time.Hour + time.Minute)), RunningAt: ptr(before(2 * time.Hour)),
				Tasks: []api.Task{
					{Role: "master", Index: 0, Node: "gpu-a01", State: "running", StartedAt: ptr(before(2 * time.Hour)), Devices: []string{"GPU-0", "GPU-1"}},
					{Role: "worker", Index: 1, Node: "gpu-a02", State: "running", StartedAt: ptr(before(2 * time.Hour))},
				},
			},
		},
		Conditions: []api.Condition{{Type: "Degraded", Reason: "NodeSlow", Message: "gpu-a02 lags"}},
	}
	queued := api.Workload{
		ID: "06gztkgw2k9wbq795g3my95h35", Name: "eval-72b", Project: "vision", Kind: "training", User: "ben", Priority: 80, Phase: "Queued", Since: before(42 * time.Minute),
		GPUs: 32, CreatedAt: before(42 * time.Minute), Tasks: api.TaskCounts{Total: 4, Pending: 4}, Statuses: map[string]api.Status{"mcli": {Status: "QUEUED"}},
		Attempts: []api.Attempt{{QueuedAt: ptr(before(42 * time.Minute)), Tasks: []api.Task{}}}, Version: 2, Revision: 30,
		Spec: json.RawMessage(`{"array":{"completions":4},"command":"python3 eval.py\necho done","resources":{"gpu":8}}`),
		Pending: &api.Pending{
			Position: 3, Waiting: 9, Ahead: []string{"tok-3", "tok-4"}, EstimatedStart: ptr(before(-30 * time.Minute)), EvaluatedAt: before(8 * time.Second),
			Reasons: []api.PendingReason{
				{Token: "WaitingForCapacity", Message: "waits for gpu: needs 32 GPUs, free 8 GPUs of 64 GPUs (7 of 8 nodes lack it)"},
				{Token: "Fragmented", Message: "free 8 GPUs in all, but scattered"},
			},
		},
	}
	failed := api.Workload{
		ID: "06gztkgw2k9wbq795g3my95h36", Name: "sweep", Project: "default", Kind: "training", User: "ana", Phase: "Failed", Reason: "OutOfMemory",
		Message: "its task used more than 1Gi\tand was killed", Since: before(50 * time.Hour), CreatedAt: before(51 * time.Hour), EndedAt: ptr(before(50 * time.Hour)), Tasks: api.TaskCounts{Total: 1, Failed: 1},
		Statuses: map[string]api.Status{"mcli": {Status: "FAILED", End: true, Reason: "137"}}, Version: 5, Revision: 20,
		Attempts: []api.Attempt{{
			QueuedAt: ptr(before(51 * time.Hour)), StartedAt: ptr(before(51 * time.Hour)), EndedAt: ptr(before(50 * time.Hour)), ExitCode: ptr(137), Reason: "OutOfMemory", Culprit: ptr(0),
			Tasks: []api.Task{{Role: "task", State: "failed", Node: "gpu-a07", ExitCode: ptr(137), Signal: 9, Reason: "OutOfMemory", StartedAt: ptr(before(51 * time.Hour)), EndedAt: ptr(before(50 * time.Hour))}},
		}},
		Transitions: []api.Transition{
			{Seq: 1, At: before(51 * time.Hour), Event: "submit", To: "Submitted", Actor: "user:ana"},
			{Seq: 2, At: before(51 * time.Hour), From: "Submitted", Event: "queue_open", To: "Queued", Actor: "control"},
			{Seq: 3, At: before(50*time.Hour + time.Second), From: "Running", Event: "task_failed", To: "Terminating", Target: "Failed", Reason: "OutOfMemory", Actor: "backend:gpu-a07"},
			{Seq: 4, At: before(50 * time.Hour), From: "Terminating", Event: "release", To: "Failed", Reason: "OutOfMemory", Actor: "control"},
		},
	}
	return []api.Workload{queued, running, failed}
}

// sampleAPI answers from samples.
func sampleAPI() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/projects/{project}/workloads", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		list := api.WorkloadList{Items: []api.Workload{}}
		for _, item := range samples() {
			phases := q.Get("phase")
			if phases != "" && !strings.Contains(","+phases+",", ","+item.Phase+",") || !strings.HasPrefix(item.Name, q.Get("prefix")) || q.Get("live") == "true" && item.EndedAt != nil {
				continue
			}
			list.Items = append(list.Items, item)
		}
		answer(w, http.StatusOK, list)
	})
	mux.HandleFunc("GET /v1/projects/{project}/workloads/{name}", func(w http.ResponseWriter, r *http.Request) {
		for _, item := range samples() {
			if item.Name == r.PathValue("name") || item.ID == r.PathValue("name") {
				answer(w, http.StatusOK, item)
				return
			}
		}
		answer(w, http.StatusNotFound, api.Problem{Status: 404, Code: "not_found", Detail: "no"})
	})
	mux.HandleFunc("GET /v1/projects/{project}/workloads/{name}/why", func(w http.ResponseWriter, r *http.Request) {
		for _, item := range samples() {
			if item.ID == r.PathValue("name") {
				answer(w, http.StatusOK, whyOf(item))
			}
		}
	})
	mux.HandleFunc("GET /v1/cluster", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, api.Cluster{Running: 1, Waiting: 1, Pools: []api.Pool{{Name: "default"}, {Name: "h100", GPU: api.Amount{Total: 3000, Used: 2000}, IdleGPU: 500, ShutGPU: 1000}}, Nodes: []api.Node{
			{
				Name: "gpu-a01", Pool: "h100", Backend: "local", Ready: true, CPU: api.Amount{Total: 64000, Used: 32500}, Memory: api.Amount{Total: 512 << 30, Used: 3 << 29},
				GPU: api.Amount{Total: 2000, Used: 2000}, Tasks: 1, Devices: []api.Device{{ID: "GPU-0", Product: "H100"}, {ID: "GPU-1", Product: "H100"}},
			},
			{Name: "gpu-a02", Pool: "h100", Ready: false, Message: "no heartbeat", Devices: []api.Device{{Product: "Fake GPU", Fake: true}}, GPU: api.Amount{Total: 1000}},
		}})
	})
	return mux
}

// TestTexts compares what commands print, on a terminal and in a pipe.
func TestTexts(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"get":           {"get", "-A"},
		"get-wide":      {"get", "-A", "-o", "wide"},
		"get-dialect":   {"get", "-A", "--dialect", "mcli"},
		"get-utc":       {"get", "-A", "--utc", "--columns", "name,age"},
		"get-nodes":     {"get", "nodes", "-o", "wide"},
		"describe":      {"describe", "llama-sft", "-p", "vision"},
		"describe-fail": {"describe", "sweep"},
		"why":           {"why", "eval-72b"},
		"why-failed":    {"why", "sweep"},
		"util":          {"util"},
		"lifecycle":     {"lifecycle", "sweep", "--absolute"},
		"diagram":       {"lifecycle", "sweep", "--diagram"},
	} {
		inBoth(t, name, args, sampleAPI(), output)
	}
}

func TestNoColour(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		tty  bool
		want bool
	}{
		"terminal":      {nil, nil, true, true},
		"pipe":          {nil, nil, false, false},
		"NO_COLOR":      {map[string]string{"NO_COLOR": "1"}, nil, true, false},
		"dumb":          {map[string]string{"TERM": "dumb"}, nil, true, false},
		"flag":          {nil, []string{"--no-color"}, true, false},
		"forced":        {map[string]string{"MUSTER_FORCE_TTY": "1", "TERM": "dumb"}, nil, false, true},
		"forced colour": {map[string]string{"CLICOLOR_FORCE": "1"}, nil, false, true},
	} {
		w := newWorld(t, sampleAPI())
		if c.tty {
			w.terminal()
		}
		for k, v := range c.env {
			w.env[k] = v
		}
		w.run(append([]string{"get", "-A"}, c.args...)...)
		if got := strings.Contains(w.out.String(), "\x1b["); got != c.want {
			t.Errorf("%s: coloured is %v, want %v", name, got, c.want)
		}
	}
}
