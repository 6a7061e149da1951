package deploy

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/musterhq/muster/internal/testing/kubetest"
)

// The chart and the image as a release has them, installed by Helm itself. How Helm
// renders the chart is compared with how the tests beside this one do.

// released is a folder with the chart's package and the image of a release for this
// machine.
func released(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "release")
	cmd := exec.Command("go", "run", ".", "--root", "../..", "--out", out, "--only", "chart,image", "--platforms", "linux/amd64", "--version", "v9.8.7")
	cmd.Dir = filepath.Join("..", "tools", "release")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("no release: %v: %s", err, text)
	}
	return out
}

// imageOf is the one image of an OCI layout in a tar archive.
func imageOf(t *testing.T, archive string) v1.Image {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || !filepath.IsLocal(h.Name) {
			t.Fatalf("%q: %v", h.Name, err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		path := filepath.Join(dir, h.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	return imageIn(t, index)
}

// imageIn is the first image of an index, which may be in an index below it.
func imageIn(t *testing.T, index v1.ImageIndex) v1.Image {
	t.Helper()
	m, err := index.IndexManifest()
	if err != nil || len(m.Manifests) == 0 {
		t.Fatalf("an index of nothing: %v", err)
	}
	if d := m.Manifests[0]; d.MediaType.IsIndex() {
		below, err := index.ImageIndex(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		return imageIn(t, below)
	}
	image, err := index.Image(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// TestHelmRendersAsTheTestsDo: what the other tests say of the chart holds for Helm.
func TestHelmRendersAsTheTestsDo(t *testing.T) {
	path, err := kubetest.HelmProgram()
	if err != nil {
		kubetest.Fail(t, err)
	}
	given := map[string]any{"token.existingSecret": "mine"} // the other token is by chance
	for name, set := range map[string]map[string]any{"as it is": {}, "with everything": everything, "little": {"networkPolicy.enabled": false, "rbac.create": false, "serviceAccount.create": false, "persistence.enabled": false}} {
		all := map[string]any{}
		for _, from := range []map[string]any{set, given} {
			for k, v := range from {
				all[k] = v
			}
		}
		want, err := render(t, "musters", all)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "values.yaml")
		text, err := yaml.Marshal(values(t, all))
		if err != nil {
			t.Fatal(err)
		}
		write(t, file, string(text))
		out, err := exec.Command(path, "template", "muster", chart, "--namespace", "musters", "--values", file).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		var got []map[string]any
		for _, part := range strings.Split(string(out), "\n---\n") {
			o := map[string]any{}
			if err := yaml.Unmarshal([]byte(part), &o); err != nil {
				t.Fatal(err)
			}
			if len(o) > 0 {
				got = append(got, o)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: Helm makes %d objects, and the tests %d", name, len(got), len(want))
		}
		for _, o := range want {
			if !slices.ContainsFunc(got, func(g map[string]any) bool { return reflect.DeepEqual(plain(t, g), plain(t, o)) }) {
				t.Errorf("%s: Helm does not make\n%s", name, plain(t, o))
			}
		}
	}
}

// plain is an object as text: two readings of one number may be of two types.
func plain(t *testing.T, o map[string]any) string {
	t.Helper()
	text, err := yaml.MarshalWithOptions(o, yaml.JSON())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTheReleasedChartIsInstalledByHelm has Helm install the released package, the API
// server judge its objects, a real kubelet run the released image under exactly the
// rights of the chart, and that run work; then it is upgraded and removed.
func TestTheReleasedChartIsInstalledByHelm(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{})
	c.Node(t, "real", 1)
	out, registry := released(t), c.Registry(t)
	registry.Push(t, "muster:9.8.7", imageOf(t, filepath.Join(out, "muster_9.8.7_image.tar")))
	_, port, _ := strings.Cut(strings.TrimPrefix(c.Server, "https://"), ":")
	file := filepath.Join(t.TempDir(), "values.yaml")
	// There are no services on nodes for tests: the API server is named by its address.
	write(t, file, "image: {repository: '"+registry.Ref("muster")+"'}\npersistence: {enabled: false}\nserver:\n  allowAddresses: ['10.0.0.0/8']\n  extraEnv:\n"+
		"    - {name: KUBERNETES_SERVICE_HOST, value: '"+kubetest.Outside+"'}\n    - {name: KUBERNETES_SERVICE_PORT, value: '"+port+"'}\n")
	pack := filepath.Join(out, "muster-9.8.7.tgz")
	if text, err := c.TryHelm(t, "install", "muster", pack, "-n", "musters", "--create-namespace", "--set", "server.nodegrace=5m"); err == nil || !strings.Contains(err.Error(), "nodegrace") {
		t.Errorf("a value that there is not: %v %s", err, text)
	}
	notes := c.Helm(t, "install", "muster", pack, "-n", "musters", "--create-namespace", "-f", file, "--wait", "--timeout", "5m")
	if !strings.Contains(notes, "Muster runs in namespace musters") {
		t.Errorf("it says %s", notes)
	}
	image := c.Kubectl(t, "-n", "musters", "get", "pods", "-o", "jsonpath={.items[*].spec.containers[*].image}")
	if !strings.HasSuffix(image, "/muster:9.8.7") {
		t.Errorf("its image is %q", image)
	}
	ns := c.Namespace(t)
	c.Kubectl(t, "label", "namespace", ns, "muster.dev/project=default")
	work := filepath.Join(t.TempDir(), "w.yaml")
	write(t, work, "apiVersion: muster.dev/v1alpha1\nkind: Workload\nmetadata: {name: real}\nspec: {image: '"+c.Busybox(t)+"', command: 'echo done', resources: {gpu: 1, cpu: 100m}}\n")
	c.Kubectl(t, "-n", ns, "apply", "-f", work)
	c.Kubectl(t, "-n", ns, "wait", "--for=condition=Completed", "--timeout=180s", "workload/real")

	token := c.Kubectl(t, "-n", "musters", "get", "secret", "muster", "-o", "jsonpath={.data.token}")
	c.Helm(t, "upgrade", "muster", pack, "-n", "musters", "-f", file, "--set", "server.logLevel=debug", "--wait", "--timeout", "5m")
	if now := c.Kubectl(t, "-n", "musters", "get", "secret", "muster", "-o", "jsonpath={.data.token}"); now != token || token == "" {
		t.Error("an upgrade makes another token")
	}
	if args := c.Kubectl(t, "-n", "musters", "get", "deployment", "muster", "-o", "jsonpath={.spec.template.spec.containers[0].args}"); !strings.Contains(args, "--log-level=debug") {
		t.Errorf("after the upgrade its arguments are %s", args)
	}
	c.Helm(t, "uninstall", "muster", "-n", "musters", "--wait", "--timeout", "3m")
	if left := c.Kubectl(t, "get", "clusterroles,clusterrolebindings", "-l", "app.kubernetes.io/instance=muster", "-o", "name"); left != "" {
		t.Errorf("removed, it leaves %s", left)
	}
}
