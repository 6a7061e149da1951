package kubetest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// GPU is the resource that GPUs are.
const GPU = "nvidia.com/gpu"

// NodeShape says what each fake node is like.
type NodeShape struct {
	Prefix    string            // of the names: fake-0, fake-1, ...; empty: fake
	GPUs      int               // nvidia.com/gpu
	Resources map[string]string // anything else, or other: cpu is 64, memory 512Gi and pods 250 without
	Labels    map[string]string // beside the host name
	Taints    []corev1.Taint
}

// Kwok makes n nodes that are not there and waits until they are ready. They go
// with the test. Their pods run as soon as they are bound and end as their
// annotations say: see tools/kubernetes/kwok/kwok.yaml.
func (c *Cluster) Kwok(tb testing.TB, n int, shape NodeShape) (names []string) {
	tb.Helper()
	c.startKwok(tb)
	if shape.Prefix == "" {
		shape.Prefix = "fake"
	}
	c.mu.Lock()
	first := c.names[shape.Prefix]
	c.names[shape.Prefix] += n
	c.mu.Unlock()
	for i := range n {
		names = append(names, fmt.Sprintf("%s-%d", shape.Prefix, first+i))
	}
	ctx := context.Background()
	nodes := c.Client.CoreV1().Nodes()
	list, err := shape.resources()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		c.each(n, func(i int) error { return nodes.Delete(ctx, names[i], metav1.DeleteOptions{}) }) // with the cluster they go anyway
	})
	if err := c.each(n, func(i int) error {
		_, err := nodes.Create(ctx, shape.node(names[i], list), metav1.CreateOptions{})
		return err
	}); err != nil {
		tb.Fatalf("make fake nodes: %v", err)
	}
	for _, name := range names {
		c.awaitUsable(tb, name)
	}
	return names
}

// Lose lets fake nodes fall silent: in time they count as lost, with
// Options.QuickLoss after 10 s. Nothing happens to their pods any more.
func (c *Cluster) Lose(tb testing.TB, names ...string) {
	tb.Helper()
	// Kwok leaves a node alone whose lease somebody else holds; this holder will
	// not renew it.
	now := time.Now().UTC().Format(metav1.RFC3339Micro)
	c.lend(tb, names, `{"spec":{"holderIdentity":"lost","leaseDurationSeconds":100000000,"renewTime":"`+now+`"}}`)
}

// Find lets fake nodes speak again after Lose.
func (c *Cluster) Find(tb testing.TB, names ...string) {
	tb.Helper()
	c.lend(tb, names, `{"spec":{"holderIdentity":null}}`)
}

// lend changes the leases of nodes.
func (c *Cluster) lend(tb testing.TB, names []string, patch string) {
	tb.Helper()
	if err := c.each(len(names), func(i int) error {
		_, err := c.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Patch(context.Background(), names[i], types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}); err != nil {
		tb.Fatalf("change the leases of fake nodes: %v", err)
	}
}

// startKwok starts it once.
func (c *Cluster) startKwok(tb testing.TB) {
	tb.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kwok {
		return
	}
	c.order(tb, order{Do: "start", Name: "kwok", Command: []string{c.program("kwok"),
		"--kubeconfig", c.Kubeconfig, "--config", c.program("kwok.yaml"),
		"--server-address", net.JoinHostPort(c.host(), "20247"),
		"--node-lease-duration-seconds", strconv.Itoa(int(c.lease().Seconds()))}})
	c.kwok = true
}

// awaitUsable waits until a node is ready and pods may come.
func (c *Cluster) awaitUsable(tb testing.TB, name string) *corev1.Node {
	tb.Helper()
	var n *corev1.Node
	Eventually(tb, "node "+name+" ready for pods", func() (err error) {
		n, err = c.Client.CoreV1().Nodes().Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if is := readiness(n); is != corev1.ConditionTrue {
			return fmt.Errorf("its condition Ready is %q", is)
		}
		for _, t := range n.Spec.Taints {
			if t.Key == corev1.TaintNodeNotReady {
				return fmt.Errorf("it still has the taint %s", t.Key)
			}
		}
		return nil
	})
	return n
}

func (s NodeShape) resources() (corev1.ResourceList, error) {
	amounts := map[string]string{"cpu": "64", "memory": "512Gi", "pods": "250", "ephemeral-storage": "1Ti"}
	if s.GPUs > 0 {
		amounts[GPU] = strconv.Itoa(s.GPUs)
	}
	maps.Copy(amounts, s.Resources)
	list := corev1.ResourceList{}
	for name, amount := range amounts {
		q, err := resource.ParseQuantity(amount)
		if err != nil {
			return nil, fmt.Errorf("resource %s of a fake node is %q: %w", name, amount, err)
		}
		list[corev1.ResourceName(name)] = q
	}
	return list, nil
}

func (s NodeShape) node(name string, list corev1.ResourceList) *corev1.Node {
	labels := map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}
	maps.Copy(labels, s.Labels)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}},
		Spec:       corev1.NodeSpec{Taints: s.Taints},
		Status:     corev1.NodeStatus{Capacity: list, Allocatable: list},
	}
}

// each calls do for 0 to n-1, 16 at once, and returns the first error.
func (c *Cluster) each(n int, do func(int) error) error {
	next, failed := make(chan int), make(chan error, n)
	var all sync.WaitGroup
	for range min(n, 16) {
		all.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					failed <- err
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
	close(failed)
	return <-failed
}
