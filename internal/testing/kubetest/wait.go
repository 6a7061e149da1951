package kubetest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// patience is how long a condition may take that on an idle machine is there in
// seconds.
const patience = 6 * time.Minute

// Eventually waits until check has nothing to say, and fails the test with what
// it said last when patience ends.
func Eventually(tb testing.TB, what string, check func() error) {
	tb.Helper()
	for deadline := time.Now().Add(patience); ; {
		began := time.Now()
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("%s: not after %s: %v", what, patience, err)
		}
		// Where a look takes long, waiting must not take the machine from what is waited for.
		time.Sleep(max(50*time.Millisecond, 2*time.Since(began)))
	}
}

// Kubectl runs kubectl as the administrator and returns what it prints.
func (c *Cluster) Kubectl(tb testing.TB, args ...string) string {
	tb.Helper()
	out, err := exec.Command(c.program("kube"), append([]string{"kubectl", "--kubeconfig", c.Kubeconfig}, args...)...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		tb.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// TryKubectl is what kubectl says, on whichever output, with the rights of a kubeconfig
// (empty: the administrator's) and something on standard input, whether it succeeds or not.
func (c *Cluster) TryKubectl(tb testing.TB, kubeconfig, stdin string, args ...string) (string, error) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), c.program("kube"), append([]string{"kubectl", "--kubeconfig", cmp.Or(kubeconfig, c.Kubeconfig)}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Apply makes or changes the objects of a manifest, as kubectl apply does.
func (c *Cluster) Apply(tb testing.TB, manifest string) {
	tb.Helper()
	cmd := exec.Command(c.program("kube"), "kubectl", "--kubeconfig", c.Kubeconfig, "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(manifest)
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("kubectl apply: %v: %s", err, out)
	}
}

// Namespace makes one of a new name, ready for pods, which is deleted at the
// end of the test.
func (c *Cluster) Namespace(tb testing.TB) string {
	tb.Helper()
	ctx := context.Background()
	ns, err := c.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		tb.Fatalf("make a namespace: %v", err)
	}
	tb.Cleanup(func() {
		// Where the API server is gone, and at the end of the cluster, it does not matter.
		_ = c.Client.CoreV1().Namespaces().Delete(ctx, ns.Name, metav1.DeleteOptions{})
	})
	if c.options.NoControllers {
		return ns.Name
	}
	Eventually(tb, "the service account of "+ns.Name, func() error {
		_, err := c.Client.CoreV1().ServiceAccounts(ns.Name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	return ns.Name
}

// Run makes a pod.
func (c *Cluster) Run(tb testing.TB, namespace string, pod *corev1.Pod) *corev1.Pod {
	tb.Helper()
	made, err := c.Client.CoreV1().Pods(namespace).Create(context.Background(), pod, metav1.CreateOptions{})
	if err != nil {
		tb.Fatalf("make pod %s: %v", pod.Name, err)
	}
	return made
}

// Bind puts a pod on a node, as a scheduler does.
func (c *Cluster) Bind(tb testing.TB, pod *corev1.Pod, node string) {
	tb.Helper()
	b := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}
	if err := c.Client.CoreV1().Pods(pod.Namespace).Bind(context.Background(), b, metav1.CreateOptions{}); err != nil {
		tb.Fatalf("bind pod %s to %s: %v", pod.Name, node, err)
	}
}

// AwaitPod waits until a pod is as ok wants it. A state that does not last may
// be missed.
func (c *Cluster) AwaitPod(tb testing.TB, pod *corev1.Pod, what string, ok func(*corev1.Pod) bool) *corev1.Pod {
	tb.Helper()
	var now *corev1.Pod
	Eventually(tb, "pod "+pod.Name+" "+what, func() (err error) {
		now, err = c.Client.CoreV1().Pods(pod.Namespace).Get(context.Background(), pod.Name, metav1.GetOptions{})
		if err != nil || ok(now) {
			return err
		}
		status, _ := json.Marshal(now.Status)
		return fmt.Errorf("it is %s", status)
	})
	return now
}

// AwaitPhase waits until a pod is in a phase; a pod that has ended otherwise
// fails the test at once.
func (c *Cluster) AwaitPhase(tb testing.TB, pod *corev1.Pod, phase corev1.PodPhase) *corev1.Pod {
	tb.Helper()
	return c.AwaitPod(tb, pod, string(phase), func(p *corev1.Pod) bool {
		if is := p.Status.Phase; is != phase && (is == corev1.PodSucceeded || is == corev1.PodFailed) {
			status, _ := json.Marshal(p.Status)
			tb.Fatalf("pod %s will never be %s, it is %s", p.Name, phase, status)
		}
		return p.Status.Phase == phase
	})
}

// AwaitReady waits until a node's Ready condition has a status.
func (c *Cluster) AwaitReady(tb testing.TB, node string, status corev1.ConditionStatus) *corev1.Node {
	tb.Helper()
	var now *corev1.Node
	Eventually(tb, "node "+node+" with Ready "+string(status), func() (err error) {
		if now, err = c.Client.CoreV1().Nodes().Get(context.Background(), node, metav1.GetOptions{}); err != nil {
			return err
		}
		if is := readiness(now); is != status {
			return fmt.Errorf("it is %q", is)
		}
		return nil
	})
	return now
}

func readiness(n *corev1.Node) corev1.ConditionStatus {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return ""
}
