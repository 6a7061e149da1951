package kubetest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	ociv1 "github.com/google/go-containerregistry/pkg/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/testing/ocitest"
)

// Node is a real one. Its GPUs are none, but kubelet hands them out as if.
type Node struct {
	Name string
	IP   string

	cluster   *Cluster
	dir       string
	process   *process
	resources []string // NAME=COUNT; see isDriver
}

// Node starts a real node and waits until it is ready with all its GPUs. It
// goes with the test. Further resources are given as NAME=COUNT:
// nvidia.com/mig-1g.10gb=7. A name without a slash is that of a driver, such as
// gpu.nvidia.com, whose GPUs are had by resource claims; see Prepared. Images
// come from the cluster's registry, and its pods find services by name.
func (c *Cluster) Node(tb testing.TB, name string, gpus int, resources ...string) *Node {
	tb.Helper()
	if err := canNode(); err != nil {
		Fail(tb, err)
	}
	c.Registry(tb)
	c.order(tb, order{Do: "dns"})
	c.mu.Lock()
	number := c.nodes
	c.nodes++
	c.mu.Unlock()
	n := &Node{Name: name, IP: fmt.Sprintf("10.89.%d.%d", 1+number/250, 1+number%250), cluster: c}
	n.dir = filepath.Join(c.dir, "node-"+strconv.Itoa(number))
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	n.resources = append([]string{GPU + "=" + strconv.Itoa(gpus)}, resources...)
	args := []string{"node", "--dir", n.dir, "--cluster", c.dir, "--network", c.network, "--name", name, "--ip", n.IP,
		"--cgroup", "/muster-kube-" + strings.ToLower(rand.Text()[:10]),
		"--pause", c.registry.Ref("pause:1"), "--lease", strconv.Itoa(int(c.lease().Seconds()))}
	for _, r := range n.resources {
		if isDriver(r) {
			args = append(args, "--claims", r)
		} else {
			args = append(args, "--resource", r)
		}
	}
	var err error
	if n.process, err = launch(n.dir, &struct{}{}, c.program("kube"), args...); err != nil {
		tb.Fatalf("start node %s: %v", name, err)
	}
	tb.Cleanup(func() {
		n.Stop(tb)
		// Where the API server is gone, and at the end of the cluster, it does not matter.
		_ = c.Client.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	n.await(tb)
	return n
}

// await waits until the node is ready with all its resources.
func (n *Node) await(tb testing.TB) {
	tb.Helper()
	n.cluster.awaitUsable(tb, n.Name)
	for _, r := range n.resources {
		if isDriver(r) {
			n.awaitDriver(tb, r)
		} else {
			n.awaitResource(tb, r)
		}
	}
}

// isDriver reports whether NAME=COUNT is about devices that are had by claims.
func isDriver(r string) bool { return !strings.Contains(r, "/") }

// awaitResource waits until kubelet knows of NAME=COUNT, broken ones included.
func (n *Node) awaitResource(tb testing.TB, r string) {
	tb.Helper()
	name, count, _ := strings.Cut(r, "=")
	want, err := resource.ParseQuantity(count)
	if err != nil {
		tb.Fatalf("resource %q of node %s: %v", r, n.Name, err)
	}
	Eventually(tb, "node "+n.Name+" with "+r, func() error {
		now, err := n.cluster.Client.CoreV1().Nodes().Get(context.Background(), n.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if is := now.Status.Capacity[corev1.ResourceName(name)]; is.Cmp(want) != 0 {
			return fmt.Errorf("it has %s", is.String())
		}
		return nil
	})
}

// awaitDriver waits until a driver has said what it offers on the node.
func (n *Node) awaitDriver(tb testing.TB, r string) {
	tb.Helper()
	driver, count, _ := strings.Cut(r, "=")
	Eventually(tb, "node "+n.Name+" with "+r, func() error {
		list, err := n.cluster.Client.ResourceV1().ResourceSlices().List(context.Background(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + n.Name + ",spec.driver=" + driver})
		if err != nil {
			return err
		}
		devices := 0
		for _, s := range list.Items {
			devices += len(s.Spec.Devices)
		}
		if strconv.Itoa(devices) != count {
			return fmt.Errorf("it offers %d", devices)
		}
		return nil
	})
}

// Prepared is what the node's drivers have prepared for kubelet: the devices of
// each claim, by its UID.
func (n *Node) Prepared(tb testing.TB) map[types.UID][]string {
	tb.Helper()
	dir := filepath.Join(n.dir, "prepared")
	files, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatal(err)
	}
	out := map[types.UID][]string{}
	for _, f := range files {
		if text, err := os.ReadFile(filepath.Join(dir, f.Name())); err == nil { // else it is just taken back
			out[types.UID(f.Name())] = strings.Fields(string(text))
		}
	}
	return out
}

// Kill kills kubelet. Containers live on, but nobody hears of them; in time the
// node counts as lost.
func (n *Node) Kill(tb testing.TB) {
	tb.Helper()
	if err := n.process.order(order{Do: "kill", Name: "kubelet"}); err != nil {
		tb.Fatalf("kill kubelet of %s: %v", n.Name, err)
	}
}

// Restart starts kubelet after Kill and waits until the node is ready with all
// its GPUs: for a moment it has none.
func (n *Node) Restart(tb testing.TB) {
	tb.Helper()
	if err := n.process.order(order{Do: "start", Name: "kubelet"}); err != nil {
		tb.Fatalf("start kubelet of %s: %v", n.Name, err)
	}
	n.await(tb)
}

// Squeeze lets the node run short of disk, or not any more: its kubelet is
// started anew with another idea of how much is to be free.
func (n *Node) Squeeze(tb testing.TB, short bool) {
	tb.Helper()
	n.Kill(tb)
	path := filepath.Join(n.dir, "kubelet.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	from, to := "nodefs.available: 1%", "nodefs.available: 99.9%"
	if !short {
		from, to = to, from
	}
	next := strings.ReplaceAll(string(text), from, to)
	if next == string(text) {
		tb.Fatalf("node %s: its kubelet's settings do not say %q", n.Name, from)
	}
	if err := os.WriteFile(path, []byte(next), 0o644); err != nil {
		tb.Fatal(err)
	}
	n.Restart(tb)
}

// Stop takes the node's power: all that runs there is gone at once, and nobody
// says so to the API server. It cannot be started again.
func (n *Node) Stop(tb testing.TB) {
	tb.Helper()
	if err := n.process.close(); err != nil {
		tb.Errorf("the end of node %s: %v", n.Name, err)
	}
}

// Break makes devices of the node unhealthy, by ID such as GPU-NODE-0, and all
// others healthy. Kubelet hears of it within a second.
func (n *Node) Break(tb testing.TB, ids ...string) {
	tb.Helper()
	next := filepath.Join(n.dir, "unhealthy.next")
	if err := os.WriteFile(next, []byte(strings.Join(ids, "\n")), 0o644); err != nil {
		tb.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(n.dir, "unhealthy")); err != nil {
		tb.Fatal(err)
	}
}

// Label gives the node labels and takes those away whose value is empty.
func (n *Node) Label(tb testing.TB, labels map[string]string) {
	tb.Helper()
	changes := map[string]any{}
	for k, v := range labels {
		changes[k] = v
		if v == "" {
			changes[k] = nil
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": changes}})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := n.cluster.Client.CoreV1().Nodes().Patch(context.Background(), n.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		tb.Fatalf("label node %s: %v", n.Name, err)
	}
}

// Registry is where the cluster's real nodes get images: Push puts more there.
// It starts with busybox:1, a shell and the usual programs, and pause:1.
func (c *Cluster) Registry(tb testing.TB) *ocitest.Registry {
	tb.Helper()
	if err := canNode(); err != nil {
		Fail(tb, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.registry != nil {
		return c.registry
	}
	r := ocitest.Start()
	shell := ocitest.Busybox(tb)
	path := []string{"PATH=/bin"}
	r.Push(tb, "busybox:1", ocitest.Image(tb, ociv1.Config{Env: path, Cmd: []string{"/bin/sh"}}, shell))
	// wait takes leave of whoever is left to it, where a pod shares its processes.
	r.Push(tb, "pause:1", ocitest.Image(tb, ociv1.Config{Env: path, Entrypoint: []string{"/bin/sh", "-c", "trap 'exit 0' TERM INT; while :; do sleep 1000000 & wait; done"}}, shell))
	c.Forward(tb, r.Host)
	c.registry = r
	return r
}

// Busybox is the name of an image for real nodes that has a shell.
func (c *Cluster) Busybox(tb testing.TB) string {
	tb.Helper()
	return c.Registry(tb).Ref("busybox:1")
}

// Pod describes one with one container that runs a command once, with some GPUs.
func Pod(name, image string, gpus int, command ...string) *corev1.Pod {
	grace := int64(1) // with 0 it would be forgotten before it has ended
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		TerminationGracePeriodSeconds: &grace,
		Containers:                    []corev1.Container{{Name: "main", Image: image, Command: slices.Clone(command)}},
	}}
	if gpus > 0 {
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{GPU: *resource.NewQuantity(int64(gpus), resource.DecimalSI)}
	}
	return p
}
