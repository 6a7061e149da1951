package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// gate stands before an API server: requests are counted, and those that hold
// chooses are kept until the gate is opened, or for ever.
type gate struct {
	file string // kubeconfig that leads through it

	mu    sync.Mutex
	count int
	hold  func(*http.Request) bool
	held  chan *http.Request
}

// gateOf puts one before a cluster.
func gateOf(t *testing.T, c *kubetest.Cluster) *gate {
	t.Helper()
	config := rest.CopyConfig(c.Config)
	config.ContentConfig = rest.ContentConfig{}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(c.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	g := &gate{file: filepath.Join(t.TempDir(), "kubeconfig"), held: make(chan *http.Request, 10000)}
	ended := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.count++
		keep := g.hold != nil && g.hold(r)
		g.mu.Unlock()
		if keep {
			_, _ = io.Copy(io.Discard, r.Body) // else it does not show that its sender has gone
			g.held <- r
			select {
			case <-r.Context().Done():
			case <-ended:
			}
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { close(ended); s.CloseClientConnections(); s.Close() })
	k := clientapi.NewConfig()
	k.Clusters["c"] = &clientapi.Cluster{Server: s.URL}
	k.Contexts["c"] = &clientapi.Context{Cluster: "c"}
	k.CurrentContext = "c"
	if err := clientcmd.WriteToFile(*k, g.file); err != nil {
		t.Fatal(err)
	}
	return g
}

// keep holds the requests that which names; nil: none from now on.
func (g *gate) keep(which func(*http.Request) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hold = which
}

// requests is how many there have been since it was last asked.
func (g *gate) requests() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.count
	g.count = 0
	return n
}

// world is a server with its data directory, which may be ended and begun anew.
type world struct {
	t    *testing.T
	data string
	args []string
	log  string
	cmd  *exec.Cmd
}

func newWorld(t *testing.T, args ...string) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "muster-") // short: a socket lies below it
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, data: filepath.Join(dir, "d"), log: filepath.Join(dir, "log"), args: args}
	t.Cleanup(func() {
		w.kill()
		if t.Failed() {
			text, _ := os.ReadFile(w.log)
			t.Logf("the server said:\n%s", text[max(0, len(text)-8000):])
		}
		_ = os.RemoveAll(dir)
	})
	w.begin()
	return w
}

// selfName is the name under which this test is the muster binary.
const selfName = "exe"

// program is a command of the muster binary: the one that the tests were given,
// which without the race detector starts ten times as fast, else this test.
func (w *world) program(args ...string) *exec.Cmd {
	if bin := os.Getenv("MUSTER_BIN"); bin != "" {
		return w.run(bin, "muster", args)
	}
	return w.run(self(w.t), selfName, args)
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (w *world) run(path, name string, args []string) *exec.Cmd {
	cmd := exec.Command(path)
	cmd.Args = append([]string{name}, args...)
	cmd.Env = append(os.Environ(), "MUSTER_DATA_DIR="+w.data, "MUSTER_NO_AUTOSTART=1", "MUSTER_SERVER=", "HOME="+filepath.Dir(w.data), "KUBECONFIG=")
	return cmd
}

// begin starts the server and waits until it answers.
func (w *world) begin() {
	w.t.Helper()
	w.start()
	w.answers()
}

// answers waits until the server answers at its socket.
func (w *world) answers() {
	w.t.Helper()
	kubetest.Eventually(w.t, "the server answers", func() error { return w.program("server", "status").Run() })
}

// start starts the server.
func (w *world) start() {
	w.t.Helper()
	log, err := os.OpenFile(w.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	defer log.Close()
	w.cmd = w.run(self(w.t), selfName, append([]string{"server"}, w.args...)) // with the race detector, where the test has it
	w.cmd.Stderr, w.cmd.Stdout = log, log
	if err := w.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
}

// kill ends the server as a crash would.
func (w *world) kill() {
	if w.cmd != nil && w.cmd.ProcessState == nil {
		_ = w.cmd.Process.Kill()
		_ = w.cmd.Wait()
	}
}

// muster runs a command that succeeds.
func (w *world) muster(args ...string) string {
	w.t.Helper()
	out, err := w.try(args...)
	if err != nil {
		w.t.Fatalf("muster %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func (w *world) try(args ...string) (string, error) { return w.tryWith("", args...) }

// tryWith gives a command something to read.
func (w *world) tryWith(input string, args ...string) (string, error) {
	cmd := w.program(args...)
	cmd.Stdin = strings.NewReader(input)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, said.String())
	}
	return string(out), err
}

// clusters are what muster cluster list says.
func (w *world) clusters() map[string]api.ClusterInfo {
	w.t.Helper()
	var list api.ClusterList
	if err := json.Unmarshal([]byte(w.muster("cluster", "list", "-o", "json")), &list); err != nil {
		w.t.Fatal(err)
	}
	out := map[string]api.ClusterInfo{}
	for _, c := range list.Items {
		out[c.Name] = c
	}
	return out
}

// is waits until a workload is as check wants.
func (w *world) is(name, what string, check func(*api.Workload) bool) *api.Workload {
	w.t.Helper()
	defer func() {
		if w.t.Failed() {
			said, _ := w.try("logs", name)
			events, _ := w.try("events", name)
			w.t.Logf("%s said:\n%s\nand had the events:\n%s", name, said, events)
		}
	}()
	c, err := client.New(client.Options{Address: filepath.Join(w.data, "muster.sock")})
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	var got *api.Workload
	kubetest.Eventually(w.t, name+" is "+what, func() (err error) {
		if got, err = c.Workload(w.t.Context(), "default", name); err != nil {
			return err
		}
		if !check(got) {
			return fmt.Errorf("it is %s %s %q with %+v, tasks %+v", got.Phase, got.Reason, got.Message, got.Conditions, got.Tasks)
		}
		return nil
	})
	return got
}

func phase(p string) func(*api.Workload) bool {
	return func(w *api.Workload) bool { return w.Phase == p }
}

// pods are those of workloads of one name, by name.
func pods(t *testing.T, c *kubetest.Cluster, workload string) map[string]*corev1.Pod {
	t.Helper()
	list, err := c.Client.CoreV1().Pods("").List(context.Background(), metav1.ListOptions{LabelSelector: "muster.dev/name=" + workload})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*corev1.Pod{}
	for i := range list.Items {
		out[list.Items[i].Name] = &list.Items[i]
	}
	return out
}

func errf(format string, args ...any) error { return fmt.Errorf(format, args...) }
