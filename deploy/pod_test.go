package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/musterhq/muster/internal/testing/kubetest"
	"github.com/musterhq/muster/internal/testing/ocitest"
)

// TestTheChartRunsAsItIs has a real kubelet run the chart's own pod, from an
// image that holds the program and nothing else, and that pod run a workload.
func TestTheChartRunsAsItIs(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{})
	c.Node(t, "real", 1)
	registry := c.Registry(t)
	binary, err := kubetest.Program()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	layer := ocitest.NewLayer(ocitest.Tar(ocitest.File{Path: "muster", Mode: 0o755, Body: string(program)}), ocitest.Plain)
	registry.Push(t, "muster:1", ocitest.Image(t, v1.Config{Entrypoint: []string{"/muster"}, User: "65532:65532"}, layer))
	host, port, _ := strings.Cut(strings.TrimPrefix(c.Server, "https://"), ":")
	if host == "" || port == "" {
		t.Fatalf("the API server is at %s", c.Server)
	}
	i := install(t, c, map[string]any{
		"image.repository": registry.Ref("muster"), "image.tag": "1", "persistence.enabled": false, "leaderElection.enabled": true,
		// There are no services on nodes for tests: the API server is named by its address.
		"server.extraEnv": []any{
			map[string]any{"name": "KUBERNETES_SERVICE_HOST", "value": kubetest.Outside}, map[string]any{"name": "KUBERNETES_SERVICE_PORT", "value": port},
		},
	})
	c.Kubectl(t, "-n", i.namespace, "wait", "--for=condition=Available", "--timeout=180s", "deployment/muster")

	ns := c.Namespace(t)
	c.Kubectl(t, "label", "namespace", ns, "muster.dev/project=default")
	path := filepath.Join(t.TempDir(), "w.yaml")
	write(t, path, "apiVersion: muster.dev/v1alpha1\nkind: Workload\nmetadata: {name: real}\nspec: {image: '"+c.Busybox(t)+"', command: 'echo done', resources: {gpu: 1, cpu: 100m}}\n")
	c.Kubectl(t, "-n", ns, "apply", "-f", path)
	c.Kubectl(t, "-n", ns, "wait", "--for=condition=Completed", "--timeout=180s", "workload/real")
	got := c.Kubectl(t, "-n", ns, "get", "workload", "real", "-o", "jsonpath={.status.where} {.status.exitCode} {.status.gpus}")
	if got != "real 0 1" {
		t.Errorf("where, exit code and GPUs are %q", got)
	}
}
