package system

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/testing/ocitest"
)

// dialects are the platforms whose words are collected.
var dialects = []string{"runai-job", "runai-workload", "jobq", "mcli", "modelarts"}

// collector remembers every word that the server has said of a live workload,
// in the states that its watch shows and in histories.
type collector struct {
	mu   sync.Mutex
	said map[string]map[string]string // dialect, word, first workload that it was said of
}

var initCount = regexp.MustCompile(`^Init:\d+/\d+$`)

func (c *collector) hear(dialect, word, of string) {
	if initCount.MatchString(word) {
		word = "Init:A/B"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.said[dialect] == nil {
		c.said[dialect] = map[string]string{}
	}
	if _, ok := c.said[dialect][word]; !ok {
		c.said[dialect][word] = of
	}
}

// watch hears until ctx is done, over restarts of the server.
func (c *collector) watch(ctx context.Context, conn *client.Client) {
	for ctx.Err() == nil {
		for e, err := range conn.Watch(ctx, client.WatchOptions{}) {
			if err != nil {
				break
			}
			if e.Workload == nil {
				continue
			}
			for d, s := range e.Workload.Statuses {
				c.hear(d, s.Status, e.Workload.Name)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// history hears what each step of every workload led to.
func (c *collector) history(t *testing.T, conn *client.Client) {
	t.Helper()
	for _, d := range dialects {
		for after := int64(0); ; {
			page, err := conn.Transitions(t.Context(), "", "", after, 10000, d)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range page.Items {
				c.hear(d, x.Word, x.Workload)
				after = x.Seq
			}
			if page.Next == "" {
				break
			}
		}
	}
}

// missing is what the server's own vocabularies have and nobody has heard.
func (c *collector) missing(t *testing.T, conn *client.Client) []string {
	t.Helper()
	var out []string
	for _, d := range dialects {
		raw, err := conn.Lifecycle(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		var l api.Lifecycle
		if err := json.Unmarshal(raw, &l); err != nil {
			t.Fatal(err)
		}
		if len(l.Words) < 6 {
			t.Fatalf("%s has %d words", d, len(l.Words))
		}
		c.mu.Lock()
		for _, w := range l.Words {
			if _, ok := c.said[d][w.Status]; !ok {
				out = append(out, d+": "+w.Status)
			}
		}
		c.mu.Unlock()
	}
	return out
}

// stage is what the workloads of the test are played on.
type stage struct {
	t   *testing.T
	s   *server
	reg *ocitest.Registry
	dir string
}

func (st *stage) submit(doc string, args ...any) {
	st.t.Helper()
	text := fmt.Sprintf(doc, args...)
	if _, err := st.s.conn.Submit(st.t.Context(), []byte(text), client.SubmitOptions{YAML: true}); err != nil {
		st.t.Fatalf("submit %s: %v", text, err)
	}
}

// until waits for a state of a workload.
func (st *stage) until(name, what string, cond func(*api.Workload) bool) *api.Workload {
	st.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		w, err := st.s.conn.Workload(context.Background(), "-", st.id(name))
		if err == nil && cond(w) {
			return w
		}
		if time.Now().After(deadline) {
			st.t.Fatalf("%s: still not %s: %+v, %v", name, what, w, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (st *stage) id(name string) string {
	page, err := st.s.conn.Workloads(context.Background(), client.ListOptions{Prefix: name, Summary: true, Limit: 50})
	if err == nil {
		for _, w := range page.Items {
			if w.Name == name {
				return w.ID
			}
		}
	}
	return name
}

func (st *stage) phase(name, phase string) *api.Workload {
	st.t.Helper()
	return st.until(name, phase, func(w *api.Workload) bool { return w.Phase == phase })
}

func (st *stage) do(_ *api.Workload, err error) {
	st.t.Helper()
	if err != nil {
		st.t.Fatal(err)
	}
}

// TestEveryWord drives real workloads through the real server until every word
// of every platform has been said of one. What can only be reached under
// faults is reached by making them.
func TestEveryWord(t *testing.T) {
	needContainers(t)
	if testing.Short() {
		t.Skip("-short leaves it out: it drives real workloads for a minute")
	}
	dir := t.TempDir()
	// A GPU tool that fails until it is told to say that there are none.
	tools := filepath.Join(dir, "tools")
	if err := os.Mkdir(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	tool := "#!/bin/sh\n[ -e " + dir + "/gpus-known ] && exit 0\necho no driver yet >&2; exit 9\n"
	if err := os.WriteFile(filepath.Join(tools, "nvidia-smi"), []byte(tool), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", tools+":"+os.Getenv("PATH"))
	reg := ocitest.New(t)
	reg.Push(t, "busybox:1", ocitest.Image(t, v1.Config{Env: []string{"PATH=/bin"}}, ocitest.Busybox(t)))
	data := filepath.Join(root, "words")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	st := &stage{t: t, s: startIn(t, data, "--registry", reg.Host+"/made"), reg: reg, dir: dir}
	c := &collector{said: map[string]map[string]string{}}
	ctx, cancel := context.WithCancel(context.Background())
	watched := make(chan struct{})
	go func() { defer close(watched); c.watch(ctx, st.s.conn) }()
	defer func() { cancel(); <-watched }()

	st.beforeTheNodesAreKnown()
	st.submitLongOnes() // that only have to be waited for
	st.simpleEnds()
	st.reviewed()
	st.made()
	st.services()
	st.removalThatFails()
	st.waitForLongOnes()
	st.silentBackend(c)
	st = st.lost()

	c.history(t, st.s.conn)
	if missing := c.missing(t, st.s.conn); len(missing) > 0 {
		t.Errorf("never said of any workload: %s", strings.Join(missing, "; "))
	}
	n := 0
	for _, d := range dialects {
		n += len(c.said[d])
	}
	t.Logf("%d words of %d platforms", n, len(dialects))
}

func (st *stage) beforeTheNodesAreKnown() {
	st.submit("{name: no-gpus, command: [\"true\"], resources: {gpu: 1}}")
	st.until("no-gpus", "handed over", func(w *api.Workload) bool { return w.Phase == "Submitted" && w.Reason == "HandedOver" })
	if err := os.WriteFile(filepath.Join(st.dir, "gpus-known"), nil, 0o600); err != nil {
		st.t.Fatal(err)
	}
	w := st.phase("no-gpus", "Failed")
	if w.Reason != "SubmitFailed" {
		st.t.Errorf("what no node can ever run failed with %s", w.Reason)
	}
}

// submitLongOnes starts what takes its time by itself.
func (st *stage) submitLongOnes() {
	busybox := st.reg.Ref("busybox:1")
	st.submit("{name: crashes, kind: workspace, command: [sh, -c, exit 1], resources: {cpu: 10m}}")
	st.submit("{name: no-image, image: %q, command: [\"true\"], resources: {cpu: 10m}, retry: {pull: 1}}", st.reg.Ref("nowhere:1"))
	st.submit("{name: steps, image: %q, command: [sleep, '1'], resources: {cpu: 10m}, init: [{command: \"[ -e /again ] || { touch /again; exit 1; }\", retries: 2}]}", busybox)
	st.submit("{name: retried, command: [sh, -c, exit 3], resources: {cpu: 10m}, retry: {limit: 1, backoff: 1s}}")
	st.submit("{name: limited, command: [sleep, '1000'], resources: {cpu: 10m}, maxDuration: 2s, gracePeriod: 1s}")
}

func (st *stage) waitForLongOnes() {
	st.until("crashes", "restarted twice", func(w *api.Workload) bool {
		return len(w.Attempts[0].Tasks) > 0 && w.Attempts[0].Tasks[0].Restarts > 0 && w.Phase == "Restarting"
	})
	st.do(st.s.conn.Stop(st.t.Context(), "default", "crashes", api.StopOptions{}))
	st.phase("no-image", "Failed")
	st.phase("steps", "Completed")
	st.phase("retried", "Failed")
	st.phase("limited", "TimedOut")
}

func (st *stage) simpleEnds() {
	t, conn := st.t, st.s.conn
	st.submit("{name: fine, command: [\"true\"], resources: {cpu: 10m}}")
	st.phase("fine", "Completed")
	st.submit("{name: no-command, command: [no-such-program], resources: {cpu: 10m}}")
	st.phase("no-command", "Failed")
	st.submit("{name: no-mount, image: %q, command: [\"true\"], resources: {cpu: 10m}, volumes: [{path: /data, hostPath: %q}]}", st.reg.Ref("busybox:1"), filepath.Join(st.dir, "nothing"))
	st.phase("no-mount", "Failed")

	st.submit("{name: stopped, command: \"trap 'sleep 1; exit 0' TERM; sleep 1000 & wait\", resources: {cpu: 10m}, gracePeriod: 20s}")
	st.phase("stopped", "Running")
	st.do(conn.Stop(t.Context(), "default", "stopped", api.StopOptions{}))
	st.phase("stopped", "Stopped")
	st.submit("{name: deleted, command: \"trap 'sleep 1; exit 0' TERM; sleep 1000 & wait\", resources: {cpu: 10m}, gracePeriod: 20s}")
	st.phase("deleted", "Running")
	st.do(conn.Delete(t.Context(), "default", "deleted"))

	st.submit("{name: ghost, project: ghost, command: [\"true\"]}")
	st.phase("ghost", "Inadmissible")
	st.do(conn.Stop(t.Context(), "ghost", "ghost", api.StopOptions{}))

	st.submit("{name: evicted, kind: workspace, preemptible: true, command: [sleep, '1000'], resources: {cpu: 10m}, gracePeriod: 1s}")
	st.phase("evicted", "Running")
	st.do(conn.Preempt(t.Context(), "default", "evicted", api.PreemptOptions{}))
	st.phase("evicted", "Preempted")
	st.submit("{name: requeued, command: [sleep, '1000'], resources: {cpu: 10m}, gracePeriod: 1s}")
	st.phase("requeued", "Running")
	st.do(conn.Preempt(t.Context(), "default", "requeued", api.PreemptOptions{}))
	st.until("requeued", "its next attempt", func(w *api.Workload) bool { return w.Attempt == 1 && w.Phase == "Running" })
	st.do(conn.Move(t.Context(), "default", "requeued", api.PreemptOptions{}))
	st.until("requeued", "its last attempt", func(w *api.Workload) bool { return w.Attempt == 2 && w.Phase == "Running" })
	st.do(conn.Stop(t.Context(), "default", "requeued", api.StopOptions{}))
}

func (st *stage) reviewed() {
	t, conn := st.t, st.s.conn
	const doc = "{name: %s, command: [\"true\"], resources: {cpu: 10m}, checks: [{name: one, type: approval%s}, {name: two, type: approval%s}]}"
	st.submit(doc, "reviewed", "", "")
	for range 2 { // run again, it is reviewed again
		st.phase("reviewed", "Reviewing")
		for _, check := range []string{"one", "two"} {
			st.do(conn.Approve(t.Context(), "default", "reviewed", api.DecisionOptions{Check: check}))
		}
		st.phase("reviewed", "Completed")
		if w := st.until("reviewed", "there", func(*api.Workload) bool { return true }); w.Attempt == 0 {
			st.do(conn.Restart(t.Context(), "default", "reviewed", api.RestartOptions{}))
		}
	}
	st.submit(doc, "rejected", "", "")
	st.do(conn.Reject(t.Context(), "default", "rejected", api.DecisionOptions{Check: "one", Message: "no"}))
	st.phase("rejected", "Failed")
	st.submit(doc, "reserved", ", when: reservation", ", when: reservation")
	st.phase("reserved", "Reserved")
	st.do(conn.Stop(t.Context(), "default", "reserved", api.StopOptions{}))
	st.phase("reserved", "Canceled")
}

// made is what is built and published.
func (st *stage) made() {
	st.submit("{name: built, command: [\"true\"], resources: {cpu: 10m}, build: {base: %q, run: [\"sleep 1\"]}}", st.reg.Ref("busybox:1"))
	st.submit("{name: not-built, command: [\"true\"], resources: {cpu: 10m}, build: {base: %q}}", st.reg.Ref("nowhere:1"))
	st.phase("not-built", "Failed")
	st.phase("built", "Completed")

	model := "mkdir -p model && echo weights > model/weights"
	st.submit("{name: published, workdir: %q, command: %q, resources: {cpu: 10m}, publish: {model: model}}", st.dir, model)
	st.phase("published", "Completed")
	st.submit("{name: no-model, workdir: %q, command: [\"true\"], resources: {cpu: 10m}, publish: {model: nothing}}", st.dir)
	st.phase("no-model", "Failed")
	st.submit("{name: no-service, workdir: %q, command: %q, resources: {cpu: 10m}, publish: {model: model, serve: {command: [no-such-program], port: 80, resources: {cpu: 10m}}}}", st.dir, model)
	st.phase("no-service", "Failed")
}

func (st *stage) services() {
	t, conn := st.t, st.s.conn
	ready := httptest.NewServer(http.NotFoundHandler())
	ready.Close() // a port on which nothing listens
	serve := "exec python3 -m http.server $PORT --bind 127.0.0.1"
	doc := "{name: web, kind: inference, workdir: " + strconv.Quote(st.dir) + ", command: %q, ports: [80], replicas: 1, resources: {cpu: 10m}, gracePeriod: 1s}"
	st.submit(doc, serve)
	st.phase("web", "Running")
	st.do(conn.Scale(t.Context(), "default", "web", api.ScaleOptions{Replicas: 2}))
	st.until("web", "two ready", func(w *api.Workload) bool { return w.Replicas.Ready == 2 })
	st.do(conn.Update(t.Context(), "default", "web", fmt.Appendf(nil, doc, "sleep 1; "+serve)))
	st.until("web", "updated", func(w *api.Workload) bool {
		return w.Replicas.Generation == 1 && w.Replicas.Updated == w.Replicas.Wanted && w.Replicas.Running == w.Replicas.Wanted
	})
	st.do(conn.Stop(t.Context(), "default", "web", api.StopOptions{}))
	st.phase("web", "Stopped")
}

// removalThatFails has something mounted among the logs of a workload.
func (st *stage) removalThatFails() {
	t := st.t
	st.submit("{name: clings, command: [echo, hi], resources: {cpu: 10m}}")
	w := st.phase("clings", "Completed")
	at := filepath.Join(st.s.dir, "logs", w.ID, "mounted")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", at, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	st.do(st.s.conn.Delete(t.Context(), "default", "clings"))
	st.until("clings", "in trouble", func(w *api.Workload) bool { return w.Reason == "DeleteFailed" })
	if err := syscall.Unmount(at, 0); err != nil {
		t.Fatal(err)
	}
}

// supervisor is the pid of the local backend's helper.
func (st *stage) supervisor() int {
	text, err := os.ReadFile(filepath.Join(st.s.dir, "local", "supervisor.lock"))
	if err != nil {
		st.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		st.t.Fatalf("supervisor %q, %v", text, err)
	}
	return pid
}

// silentBackend stops the supervisor for a while.
func (st *stage) silentBackend(c *collector) {
	st.submit("{name: unseen, command: [sleep, '1000'], resources: {cpu: 10m}, gracePeriod: 1s}")
	st.phase("unseen", "Running")
	pid := st.supervisor()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		st.t.Fatal(err)
	}
	w := st.until("unseen", "unreachable", func(w *api.Workload) bool {
		return slices.ContainsFunc(w.Conditions, func(c api.Condition) bool { return c.Type == "Unreachable" })
	})
	for d, s := range w.Statuses {
		c.hear(d, s.Status, w.Name)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		st.t.Fatal(err)
	}
	st.until("unseen", "seen again", func(w *api.Workload) bool { return len(w.Conditions) == 0 && w.Phase == "Running" })
}

// lost ends server, supervisor and task at once: nobody sees how the task ended.
func (st *stage) lost() *stage {
	t := st.t
	w := st.until("unseen", "there", func(*api.Workload) bool { return true })
	task := st.pidOf(w)
	supervisor := st.supervisor()
	st.s.kill()
	for _, pid := range []int{supervisor, task} {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	// Until it is buried, a dead process still has its exit code for whoever looks.
	for begun := time.Now(); syscall.Kill(supervisor, 0) == nil || syscall.Kill(task, 0) == nil; time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatal("the dead are not buried on this machine")
		}
	}
	next := *st
	next.s = startIn(t, st.s.dir)
	next.phase("unseen", "Lost")
	return &next
}

// pidOf finds the process of a workload's only task.
func (st *stage) pidOf(w *api.Workload) int {
	st.t.Helper()
	mark := "MUSTER_WORKLOAD_ID=" + w.ID
	dirs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range dirs {
		text, err := os.ReadFile(path)
		if err == nil && slices.Contains(strings.Split(string(text), "\x00"), mark) {
			pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
			return pid
		}
	}
	st.t.Fatalf("no process of %s", w.Name)
	return 0
}
