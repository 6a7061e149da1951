package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/musterhq/muster/internal/testing/kubetest"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Main(m)) }

// installed is the chart in a cluster, without the pod: its server runs here,
// under the rights of the pod's account.
type installed struct {
	c                    *kubetest.Cluster
	namespace, account   string
	binary, dir, rights  string // rights: the kubeconfig of the account
	token, log, manifest string
}

func install(t *testing.T, c *kubetest.Cluster, set map[string]any) *installed {
	t.Helper()
	binary, err := kubetest.Program()
	if err != nil {
		t.Fatal(err)
	}
	i := &installed{c: c, namespace: c.Namespace(t), account: "muster", binary: binary}
	if i.dir, err = os.MkdirTemp("", "d-"); err != nil { // short, for the socket
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if text, _ := os.ReadFile(i.log); t.Failed() {
			t.Logf("the servers said:\n%s", text)
		}
		os.RemoveAll(i.dir)
	})
	i.log, i.rights, i.token = filepath.Join(i.dir, "log"), filepath.Join(i.dir, "rights"), filepath.Join(i.dir, "given")
	i.manifest = filepath.Join(i.dir, "chart.json")
	c.Kubectl(t, "apply", "--server-side", "-f", filepath.Join(chart, "crds"))
	c.Kubectl(t, "wait", "--for=condition=Established", "--timeout=120s", "crd/workloads.muster.dev")
	objects, err := render(t, i.namespace, set)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		t.Fatal(err)
	}
	write(t, i.manifest, string(text))
	c.Kubectl(t, "apply", "--server-side", "--validate=strict", "-f", i.manifest)
	write(t, i.token, strings.Repeat("0123456789abcdef", 3))
	i.adopt(t)
	return i
}

// adopt writes a kubeconfig that has the rights of the account.
func (i *installed) adopt(t *testing.T) {
	t.Helper()
	admin, err := clientcmd.LoadFromFile(i.c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(i.c.Kubectl(t, "-n", i.namespace, "create", "token", i.account, "--duration=2h"))
	own := clientcmdapi.NewConfig()
	own.Clusters["c"] = admin.Clusters[admin.Contexts[admin.CurrentContext].Cluster]
	own.AuthInfos["a"] = &clientcmdapi.AuthInfo{Token: token}
	own.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "a", Namespace: i.namespace}
	own.CurrentContext = "x"
	if err := clientcmd.WriteToFile(*own, i.rights); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// process is one server.
type process struct {
	cmd    *exec.Cmd
	ended  chan struct{}
	probes string
}

// probesAt is an address of the loopback network that no other test process has.
func probesAt(n int) string {
	pid := os.Getpid()
	return fmt.Sprintf("127.78.%d.%d:%d", pid>>8&255, max(pid&255, 1), 18080+n)
}

// serve starts the n-th server, all on the same data.
func (i *installed) serve(t *testing.T, n int, args ...string) *process {
	t.Helper()
	log, err := os.OpenFile(i.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p := &process{probes: probesAt(n), ended: make(chan struct{})}
	p.cmd = exec.Command(i.binary, append([]string{"server", "--data-dir", filepath.Join(i.dir, "d"), "--backend", "kube", "--kubeconfig", i.rights,
		"--probes", p.probes, "--token-file", i.token}, args...)...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // its status is asked where it matters
		close(p.ended)
	}()
	t.Cleanup(func() { p.end(syscall.SIGTERM) })
	return p
}

func (p *process) end(s syscall.Signal) {
	_ = p.cmd.Process.Signal(s) // it may have ended
	<-p.ended
}

// probe is what a probe answers.
func (p *process) probe(path string) (int, string) {
	client := http.Client{Timeout: 10 * time.Second}
	resp, err := client.Get("http://" + p.probes + path)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, string(body)
}

func (p *process) answers(t *testing.T, path string, want int) {
	t.Helper()
	kubetest.Eventually(t, fmt.Sprintf("%s of %s with %d", path, p.probes, want), func() error {
		select {
		case <-p.ended:
			t.Fatalf("the server has ended: %v", p.cmd.ProcessState)
		default:
		}
		if got, text := p.probe(path); got != want {
			return fmt.Errorf("it is %d: %.200s", got, text)
		}
		return nil
	})
}

func (i *installed) muster(t *testing.T, args ...string) string {
	t.Helper()
	out, err := i.try(args...)
	if err != nil {
		t.Fatalf("muster %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func (i *installed) try(args ...string) (string, error) {
	cmd := exec.Command(i.binary, args...)
	cmd.Env = append(os.Environ(), "MUSTER_DATA_DIR="+filepath.Join(i.dir, "d"), "MUSTER_NO_AUTOSTART=1", "MUSTER_SERVER=")
	out, err := cmd.Output()
	var e *exec.ExitError
	if errors.As(err, &e) {
		err = fmt.Errorf("%w: %s", err, e.Stderr)
	}
	return string(out), err
}

// said is what the servers have written to their log.
func (i *installed) said(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(i.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
