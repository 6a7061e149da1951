package operator_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/musterhq/muster/internal/testing/kubetest"
)

// server is the binary as users run it, on a cluster of its own.
type server struct {
	c           *kubetest.Cluster
	binary, dir string
	cmd         *exec.Cmd
}

func TestMain(m *testing.M) { os.Exit(kubetest.Main(m)) }

// open starts a cluster with nodes that are not there, the resource in it, and a
// server.
func open(t *testing.T) *server {
	t.Helper()
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	binary, err := kubetest.Program()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{c: c, binary: binary}
	if s.dir, err = os.MkdirTemp("", "d-"); err != nil { // short, for the socket
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.stop()
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(s.dir, "server.log"))
			t.Logf("the server said:\n%s", log)
		}
		os.RemoveAll(s.dir)
	})
	c.Kwok(t, 2, kubetest.NodeShape{GPUs: 4})
	c.Kubectl(t, "apply", "--server-side", "-f", filepath.Join("..", "..", "deploy", "helm", "muster", "crds"))
	c.Kubectl(t, "wait", "--for=condition=Established", "--timeout=120s", "crd/workloads.muster.dev")
	s.start(t)
	return s
}

func (s *server) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "server.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.cmd = exec.Command(s.binary, "server", "--data-dir", s.dir, "--backend", "kube", "--kubeconfig", s.c.Kubeconfig)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "the server ready", func() error { return s.try("server", "status") })
}

func (s *server) stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
	s.cmd = nil
}

func (s *server) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.binary, args...)
	cmd.Env = append(os.Environ(), "MUSTER_DATA_DIR="+s.dir, "MUSTER_NO_AUTOSTART=1", "MUSTER_SERVER=")
	return cmd
}

func (s *server) try(args ...string) error {
	out, err := s.command(args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("muster %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return err
}

func (s *server) muster(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.command(args...).Output()
	if err != nil {
		var e *exec.ExitError
		if errors.As(err, &e) {
			err = fmt.Errorf("%w: %s", err, e.Stderr)
		}
		t.Fatalf("muster %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// project makes one with a namespace of its own.
func (s *server) project(t *testing.T, name string) (namespace string) {
	t.Helper()
	namespace = s.c.Namespace(t)
	s.c.Kubectl(t, "label", "namespace", namespace, "muster.dev/project="+name)
	s.muster(t, "project", "create", name)
	return namespace
}

// apply is kubectl apply of a workload with this spec, as JSON.
func (s *server) apply(t *testing.T, namespace, name, spec string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "w.json")
	text := fmt.Sprintf(`{"apiVersion":"muster.dev/v1alpha1","kind":"Workload","metadata":{"name":%q},"spec":%s}`, name, spec)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.c.Kubectl(t, "-n", namespace, "apply", "-f", path)
}

// is waits until a path of an object has a value.
func (s *server) is(t *testing.T, namespace, name, path, want string) {
	t.Helper()
	kubetest.Eventually(t, name+" with "+path+" "+want, func() error {
		got := s.c.Kubectl(t, "-n", namespace, "get", "workload", name, "--ignore-not-found", "-o", "jsonpath={"+path+"}")
		if got != want {
			all := s.c.Kubectl(t, "-n", namespace, "get", "workload", name, "--ignore-not-found", "-o", "yaml")
			return fmt.Errorf("it is %q in\n%s", got, all)
		}
		return nil
	})
}

// gone waits until an object is not there.
func (s *server) gone(t *testing.T, namespace, name string) {
	t.Helper()
	kubetest.Eventually(t, name+" gone", func() error {
		if got := s.c.Kubectl(t, "-n", namespace, "get", "workload", name, "--ignore-not-found", "-o", "name"); got != "" {
			return errors.New("it is there")
		}
		return nil
	})
}

// deleted waits until the server has no workload of the name.
func (s *server) deleted(t *testing.T, project, name string) {
	t.Helper()
	kubetest.Eventually(t, "workload "+name+" deleted", func() error {
		var l struct {
			Items []struct{ Name, Phase string }
		}
		if err := json.Unmarshal([]byte(s.muster(t, "get", "-A", "-p", project, "-o", "json")), &l); err != nil {
			return err
		}
		for _, w := range l.Items {
			if w.Name == name {
				return fmt.Errorf("it is %s", w.Phase)
			}
		}
		return nil
	})
}

const ends = `{"image":"any","command":"true","resources":{"gpu":1},"annotations":{"sim/duration":"500ms"},"ttlAfterEnd":"1h"}`

// run submits a workload with one GPU by the command line.
func (s *server) run(t *testing.T, name, command string) {
	t.Helper()
	s.muster(t, "run", "--name", name, "--image", "any", "--gpus", "1", "--", "sh", "-c", command)
}

func TestWhatKubectlAppliesRunsAndIsWaitedFor(t *testing.T) {
	s := open(t)
	ns := s.project(t, "apes")

	t.Run("a life", func(t *testing.T) { aLife(t, s, ns) })
	t.Run("what is wrong", func(t *testing.T) { whatIsWrong(t, s, ns) })
	t.Run("a change", func(t *testing.T) { aChange(t, s, ns) })
	t.Run("a deletion", func(t *testing.T) { aDeletion(t, s, ns) })
	t.Run("nobody's namespace", func(t *testing.T) { nobodysNamespace(t, s, ns) })
	t.Run("deleted while the server is away", func(t *testing.T) { deletedMeanwhile(t, s, ns) })
}

func TestWhatTheCommandLineSubmitsIsSeenInTheCluster(t *testing.T) {
	s := open(t)
	const ns = "muster-default"
	s.run(t, "seen", "sleep 1000")
	s.is(t, ns, "seen", ".status.phase", "Running")
	s.is(t, ns, "seen", ".spec.resources.gpu", "1")
	s.muster(t, "update", "seen", "--priority", "77", "--max-duration", "2h")
	s.is(t, ns, "seen", ".spec.priority", "77")
	s.is(t, ns, "seen", ".spec.maxDuration", "2h")
	if by := s.c.Kubectl(t, "-n", ns, "get", "wl", "seen", "-o", "jsonpath={.metadata.finalizers}"); by != "" {
		t.Errorf("it has finalizers: %s", by)
	}

	t.Run("its end", func(t *testing.T) { itsEnd(t, s, ns) })
	t.Run("deleted by kubectl", func(t *testing.T) { deletedByKubectl(t, s, ns) })
	t.Run("a copy is another's wish", func(t *testing.T) { aCopy(t, s, ns) })
	t.Run("without the API server for a while", func(t *testing.T) { withoutServer(t, s, ns) })
	t.Run("without the resource", func(t *testing.T) { withoutResource(t, s, ns) })
}

func aLife(t *testing.T, s *server, ns string) {
	s.apply(t, ns, "once", ends)
	s.c.Kubectl(t, "-n", ns, "wait", "--for=condition=Completed", "--timeout=180s", "workload/once")
	s.apply(t, ns, "once", ends) // the same again is nothing
	got := strings.Fields(s.c.Kubectl(t, "-n", ns, "get", "wl", "once", "--no-headers"))
	if len(got) < 5 || got[0] != "once" || got[1] != "Completed" || got[2] != "training" || got[3] != "1" || !strings.HasPrefix(got[4], "fake-") {
		t.Errorf("kubectl get prints %q", got)
	}
	kubetest.Eventually(t, "Events of its life", func() error {
		reasons := s.c.Kubectl(t, "-n", ns, "get", "events", "--field-selector", "involvedObject.name=once,involvedObject.kind=Workload", "-o", "jsonpath={.items[*].reason}")
		for _, want := range []string{"Queued", "Starting", "Running", "Completed"} {
			if !strings.Contains(reasons, want) {
				return fmt.Errorf("no %s among %s", want, reasons)
			}
		}
		return nil
	})
	var l struct{ Items []struct{ Name string } }
	if err := json.Unmarshal([]byte(s.muster(t, "get", "-A", "-p", "apes", "-o", "json")), &l); err != nil || len(l.Items) != 1 {
		t.Errorf("applied twice it became %v (%v)", l.Items, err)
	}
}

func whatIsWrong(t *testing.T, s *server, ns string) {
	s.apply(t, ns, "wrong", `{"image":"any","command":"true","resources":{"gpu":"lots"}}`)
	s.is(t, ns, "wrong", `.status.conditions[?(@.type=="Invalid")].status`, "True")
	s.is(t, ns, "wrong", `.status.conditions[?(@.type=="Invalid")].reason`, "Refused")
	message := s.c.Kubectl(t, "-n", ns, "get", "wl", "wrong", "-o", "jsonpath={.status.message}")
	if !strings.Contains(message, "resources.gpu") {
		t.Errorf("the message names no field: %q", message)
	}
	kubetest.Eventually(t, "an Event", func() error {
		if got := s.c.Kubectl(t, "-n", ns, "get", "events", "--field-selector", "involvedObject.name=wrong,reason=Refused", "-o", "name"); got == "" {
			return errors.New("none")
		}
		return nil
	})
	s.apply(t, ns, "wrong", ends)
	s.is(t, ns, "wrong", `.status.phase`, "Completed")
	s.is(t, ns, "wrong", `.status.conditions[?(@.type=="Invalid")].status`, "False")
}

func aChange(t *testing.T, s *server, ns string) {
	long := `{"image":"any","command":"sleep 1000"%s}`
	s.apply(t, ns, "stays", fmt.Sprintf(long, ""))
	s.is(t, ns, "stays", ".status.phase", "Running")
	s.apply(t, ns, "stays", fmt.Sprintf(long, `,"env":{"A":"1"}`))
	s.is(t, ns, "stays", `.status.conditions[?(@.type=="Invalid")].reason`, "SpecChanged")
	s.is(t, ns, "stays", ".status.phase", "Running")
	s.apply(t, ns, "stays", fmt.Sprintf(long, ""))
	s.is(t, ns, "stays", `.status.conditions[?(@.type=="Invalid")].status`, "False")

	// What may change while it lives does, and an object that says what is so
	// already is not wrong.
	s.apply(t, ns, "stays", fmt.Sprintf(long, `,"priority":"high","maxDuration":"2h"`))
	s.is(t, ns, "stays", ".status.observedGeneration", "4")
	s.is(t, ns, "stays", `.status.conditions[?(@.type=="Invalid")].status`, "False")
	if got := s.muster(t, "describe", "stays", "-p", "apes", "-o", "json"); !strings.Contains(got, `"priority": "high"`) || !strings.Contains(got, `"maxDuration": "2h"`) {
		t.Errorf("the workload is %s", got)
	}
	s.muster(t, "update", "stays", "-p", "apes", "--set", "priority=low")
	s.apply(t, ns, "stays", fmt.Sprintf(long, `,"priority":"low","maxDuration":"2h"`))
	s.is(t, ns, "stays", ".status.observedGeneration", "5")
	s.is(t, ns, "stays", `.status.conditions[?(@.type=="Invalid")].status`, "False")
	s.is(t, ns, "stays", ".status.phase", "Running")

	service := `{"kind":"inference","image":"any","command":"serve","ports":[8000],"replicas":%d}`
	s.apply(t, ns, "serves", fmt.Sprintf(service, 1))
	s.is(t, ns, "serves", ".status.replicas.running", "1")
	s.apply(t, ns, "serves", fmt.Sprintf(service, 2))
	s.is(t, ns, "serves", ".status.replicas.wanted", "2")
	s.is(t, ns, "serves", ".status.observedGeneration", "2")
}

func aDeletion(t *testing.T, s *server, ns string) {
	s.c.Kubectl(t, "-n", ns, "delete", "workload", "stays", "serves", "once")
	for _, name := range []string{"stays", "serves", "once"} {
		s.deleted(t, "apes", name)
	}
	s.apply(t, ns, "stays", ends) // the name is free again, sooner or later
	s.is(t, ns, "stays", ".status.phase", "Completed")
	s.muster(t, "delete", "stays", "-p", "apes", "-y")
	s.gone(t, ns, "stays")
}

func nobodysNamespace(t *testing.T, s *server, ns string) {
	other := s.c.Namespace(t)
	s.apply(t, other, "lost", ends)
	s.is(t, other, "lost", ".status.reason", "NoProject")
}

func deletedMeanwhile(t *testing.T, s *server, ns string) {
	s.apply(t, ns, "away", `{"image":"any","command":"sleep 1000"}`)
	s.is(t, ns, "away", ".status.phase", "Running")
	s.stop()
	s.c.Kubectl(t, "-n", ns, "delete", "workload", "away")
	s.apply(t, ns, "meanwhile", ends)
	s.start(t)
	s.deleted(t, "apes", "away")
	s.is(t, ns, "meanwhile", ".status.phase", "Completed")
}

func itsEnd(t *testing.T, s *server, ns string) {
	s.muster(t, "stop", "seen", "--wait")
	s.is(t, ns, "seen", ".status.phase", "Stopped")
	s.is(t, ns, "seen", `.status.conditions[?(@.type=="Ended")].status`, "True")
	s.muster(t, "delete", "seen", "-y")
	s.gone(t, ns, "seen")
}

func deletedByKubectl(t *testing.T, s *server, ns string) {
	s.run(t, "victim", "sleep 1000")
	s.is(t, ns, "victim", ".status.phase", "Running")
	s.c.Kubectl(t, "-n", ns, "delete", "workload", "victim")
	s.deleted(t, "default", "victim")
	s.gone(t, ns, "victim")
}

func aCopy(t *testing.T, s *server, ns string) {
	s.run(t, "pattern", "sleep 1000")
	s.is(t, ns, "pattern", ".status.phase", "Running")
	other := s.project(t, "copies")
	var o map[string]any
	if err := json.Unmarshal([]byte(s.c.Kubectl(t, "-n", ns, "get", "wl", "pattern", "-o", "json")), &o); err != nil {
		t.Fatal(err)
	}
	meta := o["metadata"].(map[string]any)
	delete(meta, "namespace")
	delete(meta, "resourceVersion")
	delete(meta, "uid")
	path := filepath.Join(t.TempDir(), "copy.json")
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s.c.Kubectl(t, "-n", other, "apply", "-f", path)
	s.is(t, other, "pattern", ".status.phase", "Running")
	ids := s.c.Kubectl(t, "get", "wl", "-A", "--field-selector", "metadata.name=pattern", "-o", "jsonpath={.items[*].status.id}")
	if f := strings.Fields(ids); len(f) != 2 || f[0] == f[1] {
		t.Errorf("the copy and its pattern are workloads %q", ids)
	}
}

func withoutServer(t *testing.T, s *server, ns string) {
	s.run(t, "held", "sleep 1000")
	s.is(t, ns, "held", ".status.phase", "Running")
	s.c.StopServer(t)
	s.muster(t, "stop", "held")
	s.c.StartServer(t)
	s.is(t, ns, "held", ".status.phase", "Stopped")
	s.muster(t, "delete", "held", "-y")
	s.gone(t, ns, "held")
}

func withoutResource(t *testing.T, s *server, ns string) {
	crds := filepath.Join("..", "..", "deploy", "helm", "muster", "crds")
	s.c.Kubectl(t, "delete", "-f", crds)
	s.run(t, "unseen", "sleep 1000")
	s.muster(t, "wait", "unseen", "--for", "Running", "--timeout", "3m")
	if got := s.muster(t, "get", "pattern", "-o", "json"); !strings.Contains(got, `"Running"`) {
		t.Errorf("a workload did not outlive the resource: %s", got)
	}
	s.c.Kubectl(t, "apply", "--server-side", "-f", crds)
	s.is(t, ns, "unseen", ".status.phase", "Running")
	s.is(t, ns, "pattern", ".status.phase", "Running")
}
