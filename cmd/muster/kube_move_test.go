package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// freeAddress is one of the loopback network at which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// newcomer is a server without records that awaits those of another machine.
func newcomer(t *testing.T, args ...string) (w *world, to []string) {
	t.Helper()
	at, token := freeAddress(t), filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(strings.Repeat("0123456789abcdef", 3)), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "muster-")
	if err != nil {
		t.Fatal(err)
	}
	w = &world{t: t, data: filepath.Join(dir, "d"), log: filepath.Join(dir, "log"), args: append([]string{"--await-move", "--listen", at, "--token-file", token}, args...)}
	t.Cleanup(func() {
		w.kill()
		if t.Failed() {
			text, _ := os.ReadFile(w.log)
			t.Logf("the server that awaits said:\n%s", text[max(0, len(text)-8000):])
		}
		_ = os.RemoveAll(dir)
	})
	w.start()
	kubetest.Eventually(t, "it listens", func() error {
		c, err := net.Dial("tcp", at)
		if err == nil {
			err = c.Close()
		}
		return err
	})
	return w, []string{"--to", "http://" + at, "--token-file", token}
}

// ask decodes what a command says with -o json.
func ask[T any](w *world, args ...string) (v T) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(w.muster(append(args, "-o", "json")...)), &v); err != nil {
		w.t.Fatalf("%v: %v", args, err)
	}
	return v
}

// TestEverythingMovesToACluster takes one person's machine, with all that a server keeps,
// to a server over Kubernetes, and compares what is said of it before and after.
func TestEverythingMovesToACluster(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	c.Kwok(t, 1, kubetest.NodeShape{GPUs: 2})
	one := newWorld(t, "--fake-gpus", "2")
	one.muster("access", "audit", "on")
	one.muster("department", "create", "lab")
	one.muster("project", "create", "vision", "--parent", "lab")
	if out, err := one.tryWith("s3cret", "secret", "create", "env", "HF_TOKEN=-"); err != nil {
		t.Fatalf("%s %v", out, err)
	}
	one.muster("run", "--name", "over", "--gpus", "1", "--cpu", "100m", "--", "echo", "a line of the log")
	one.muster("wait", "over", "--timeout", "60s")
	if _, err := one.try("run", "--name", "broken", "--cpu", "100m", "--wait", "--", "sh", "-c", "echo no >&2; exit 3"); err == nil {
		t.Error("exit 3 is a success")
	}
	one.muster("run", "--name", "runs", "--cpu", "100m", "--gpus", "2", "--", "sleep", "600")
	one.is("runs", "running", phase("Running"))
	waiting := []string{"first", "second", "third"}
	for _, name := range waiting {
		one.muster("run", "--name", name, "--image", "busybox", "--gpus", "2", "--secret", "hf-token", "--", "sleep", "600")
	}
	node := ask[api.NodeList](one, "node", "list").Items[0].Name
	// The cluster has a node of the same name, as where k3s is installed on this very machine.
	if _, err := c.Client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	two, to := newcomer(t, "--backend", "kube", "--kubeconfig", c.Kubeconfig)
	move := append([]string{"server", "move"}, to...)
	refused := func(want string, args ...string) {
		t.Helper()
		if out, err := one.try(args...); err == nil || !strings.Contains(out+err.Error(), want) {
			t.Errorf("%v: %v %s; want %s", args, err, out, want)
		}
	}
	refused("muster server stop", move...) // it runs
	one.muster("server", "stop")
	refused("workload default/runs runs on this machine", move...)
	if _, err := os.Stat(filepath.Join(one.data, "moved.json")); err == nil {
		t.Fatal("a move that was refused has shut the directory")
	}
	one.begin()
	one.muster("node", "drain", node)
	one.is("runs", "off the node", phase("Reserved"))
	was := seen(one, append(waiting, "over", "broken")...)
	line := placesOf(one, waiting)
	one.muster("server", "stop")

	dry := one.muster(append(move, "--dry-run")...)
	for _, want := range []string{
		"2  workloads that have ended", "4  workloads that wait", "1  departments", "1  projects", "1  secrets",
		"workload default/runs: it has no image",
	} {
		if !strings.Contains(dry, want) {
			t.Errorf("the dry run does not say %q:\n%s", want, dry)
		}
	}
	one.muster(move...)
	two.answers()
	for what, text := range seen(two, append(waiting, "over", "broken")...) {
		if was[what] != text {
			t.Errorf("%s was\n%s\nand is\n%s", what, was[what], text)
		}
	}
	two.is("first", "running as a pod", phase("Running"))
	if got := len(pods(t, c, "first")); got != 1 {
		t.Errorf("first has %d pods", got)
	}
	// Who was first is first: what ran stood before the others, and cannot run there.
	if got := placesOf(two, waiting); len(line) != 3 || len(got) != 2 || !slices.Equal(got, line[1:]) {
		t.Errorf("they stood in line as %v, and now as %v", line, got)
	}
	two.muster("audit", "verify")
	if status := two.muster("server", "status"); !strings.Contains(status, "Moved here\tfrom ") {
		t.Errorf("it does not say that it was moved:\n%s", status)
	}
	for _, n := range ask[api.NodeList](two, "node", "list").Items {
		if n.Cordoned || n.Draining {
			t.Errorf("the cluster's node %s is drained, as the machine of that name was", n.Name)
		}
	}

	// Said again it is done already; a server is not started there, and says where to go.
	again := one.muster(append(move, "-o", "json")...)
	if !strings.Contains(again, `"moved": true`) {
		t.Errorf("said again it says %s", again)
	}
	refused("was moved to http://", "server")
	refused("has the records, and works on", append(move, "--take-back")...)
	// Where it broke off before this machine learnt of it, it finds out.
	left := filepath.Join(one.data, "moved.json")
	if err := os.Remove(left); err != nil {
		t.Fatal(err)
	}
	one.muster(move...)
	if text, err := os.ReadFile(left); err != nil || !strings.Contains(string(text), `"complete": true`) {
		t.Errorf("%s: %v", text, err)
	}
	// A third machine's records are not merged.
	three := newWorld(t)
	three.muster("server", "stop")
	if _, err := three.try(move...); err == nil || !strings.Contains(err.Error(), "has records of its own, and nothing is merged") {
		t.Errorf("a second move to the same server: %v", err)
	}
	// It starts again on what came, whatever the flag.
	two.kill()
	two.begin()
	two.is("first", "running still", phase("Running"))
}

// seen is what a server says of what must not change by a move.
func seen(w *world, names ...string) map[string]string {
	w.t.Helper()
	out := map[string]string{
		"projects": w.muster("get", "projects", "-o", "json"), "secrets": w.muster("secret", "list", "-o", "json"),
	}
	for _, name := range names {
		got := ask[api.Workload](w, "get", name)
		same := []any{got.ID, got.Number, got.CreatedAt, got.EndedAt, got.User}
		if got.EndedAt != nil {
			same = append(same, got.Phase, got.StartedAt, got.GPUSeconds, got.Attempts)
		}
		text, err := json.Marshal(same)
		if err != nil {
			w.t.Fatal(err)
		}
		out[name] = string(text)
		if got.EndedAt != nil {
			out[name] += w.muster("logs", name) + w.muster("events", name, "-o", "json")
		}
	}
	return out
}

// placesOf are those of names that wait, in the order in which they are served.
func placesOf(w *world, names []string) (line []string) {
	w.t.Helper()
	at := map[int]string{}
	for _, name := range names {
		if got := ask[api.Workload](w, "get", name); got.Pending != nil {
			at[got.Pending.Position] = name
		}
	}
	for i := range len(at) + 10 {
		if at[i] != "" {
			line = append(line, at[i])
		}
	}
	return line
}

// TestPodsGoOnWhenTheirServerMoves: what a machine runs in a cluster is not touched by
// a move to a server in that cluster, which has the same identity there.
func TestPodsGoOnWhenTheirServerMoves(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	c.Kwok(t, 1, kubetest.NodeShape{GPUs: 2})
	one := newWorld(t, "--backend", "local,kube", "--kubeconfig", c.Kubeconfig)
	one.muster("run", "--name", "goes-on", "--image", "busybox", "--gpus", "2", "--", "sleep", "1h")
	one.is("goes-on", "running", phase("Running"))
	before := pods(t, c, "goes-on")
	one.muster("server", "stop")
	two, to := newcomer(t, "--backend", "kube", "--kubeconfig", c.Kubeconfig)
	one.muster(append([]string{"server", "move"}, to...)...)
	two.answers()
	two.muster("run", "--name", "next", "--image", "busybox", "--gpus", "1", "--", "sleep", "1h")
	two.is("next", "waiting for what goes on", phase("Queued"))
	two.is("goes-on", "running still", func(w *api.Workload) bool { return w.Phase == "Running" && w.Attempt == 0 })
	after := pods(t, c, "goes-on")
	if len(before) != 1 || len(after) != 1 {
		t.Fatalf("it had %d pods, and has %d", len(before), len(after))
	}
	for name, pod := range after {
		if was := before[name]; was == nil || was.UID != pod.UID || pod.DeletionTimestamp != nil {
			t.Errorf("pod %s was touched", name)
		}
	}
	two.muster("stop", "goes-on", "--yes")
	two.is("next", "running once that has left", phase("Running"))
}
