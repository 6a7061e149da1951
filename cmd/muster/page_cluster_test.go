package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/musterhq/muster/internal/testing/kubetest"
	"github.com/musterhq/muster/internal/testing/ocitest"
)

// site is what a person has who begins docs/several-machines.md: a cluster with a node
// and a GPU, kubectl and helm that lead to it, the chart of a release, its image in a
// registry, and values for both. How k3s or kubeadm make such a cluster is not tried
// here: neither can be had where the tests run. The cluster is a real control plane with
// a real kubelet, from the sources of Kubernetes.
func site(t *testing.T, ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: site")
	}
	c := kubetest.Start(t, kubetest.Options{})
	c.Node(t, "gpu-1", 1)
	registry, home := c.Registry(t), ts.Getenv("HOME")
	binary, err := kubetest.Program()
	ts.Check(err)
	program, err := os.ReadFile(binary)
	ts.Check(err)
	layer := ocitest.NewLayer(ocitest.Tar(ocitest.File{Path: "muster", Mode: 0o755, Body: string(program)}), ocitest.Plain)
	registry.Push(t, "muster:1.2.3", ocitest.Image(t, v1.Config{Entrypoint: []string{"/muster"}, User: "65532:65532"}, layer))
	out := filepath.Join(t.TempDir(), "release")
	cmd := exec.Command("go", "run", ".", "--root", "../..", "--out", out, "--only", "chart", "--version", "v1.2.3")
	cmd.Dir = filepath.Join("..", "..", "tools", "release")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		ts.Fatalf("no release: %v: %s", err, text)
	}
	ts.Check(os.Rename(filepath.Join(out, "muster-1.2.3.tgz"), filepath.Join(home, "muster-1.2.3.tgz")))
	_, port, _ := strings.Cut(strings.TrimPrefix(c.Server, "https://"), ":")
	values := fmt.Sprintf("image: {repository: '%s'}\npersistence: {enabled: false}\nserver:\n  extraEnv: # nodes for tests have no services\n"+
		"    - {name: KUBERNETES_SERVICE_HOST, value: '%s'}\n    - {name: KUBERNETES_SERVICE_PORT, value: '%s'}\n", registry.Ref("muster"), kubetest.Outside, port)
	ts.Check(os.WriteFile(filepath.Join(home, "values.yaml"), []byte(values), 0o600))
	tools := filepath.Join(t.TempDir(), "bin")
	ts.Check(os.Mkdir(tools, 0o755))
	c.Tools(t, tools)
	ts.Setenv("PATH", tools+string(filepath.ListSeparator)+ts.Getenv("PATH"))
	ts.Setenv("IMAGE", c.Busybox(t))
	ts.Defer(func() { // what the page leaves in the background
		text, _ := os.ReadFile(filepath.Join(home, "forward.pid"))
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGTERM)
		}
	})
}
