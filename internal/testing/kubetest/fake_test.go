package kubetest_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/testing/kubetest"
)

func TestAControlPlaneIsWhole(t *testing.T) {
	t.Parallel()
	c := shared(t)
	version, err := c.Client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version.GitVersion != "v1.35.4" {
		t.Errorf("the API server is %s", version.GitVersion)
	}
	// Dynamic resource allocation is what GPUs are asked for with today.
	groups, err := c.Client.Discovery().ServerResourcesForGroupVersion("resource.k8s.io/v1")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(groups.APIResources, func(r metav1.APIResource) bool { return r.Name == "resourceclaims" }) {
		t.Errorf("no resource claims among %v", groups.APIResources)
	}
	if out := c.Kubectl(t, "get", "namespace", "default", "-o", "name"); strings.TrimSpace(out) != "namespace/default" {
		t.Errorf("kubectl says %q", out)
	}
}

func TestPodsOnFakeNodesRunAndEndAsTold(t *testing.T) {
	t.Parallel()
	c := shared(t)
	taint := corev1.Taint{Key: "only", Value: "mine", Effect: corev1.TaintEffectNoSchedule}
	nodes := c.Kwok(t, 3, kubetest.NodeShape{Prefix: "told", GPUs: 8, Resources: map[string]string{"nvidia.com/mig-1g.10gb": "7"},
		Labels: map[string]string{"pool": "a"}, Taints: []corev1.Taint{taint}})
	n, err := c.Client.CoreV1().Nodes().Get(context.Background(), nodes[2], metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if gpus, slices := n.Status.Allocatable[kubetest.GPU], n.Status.Allocatable["nvidia.com/mig-1g.10gb"]; gpus.Value() != 8 || slices.Value() != 7 {
		t.Errorf("%s has %v", n.Name, n.Status.Allocatable)
	}
	if n.Labels["pool"] != "a" || len(n.Spec.Taints) != 1 || n.Spec.Taints[0] != taint {
		t.Errorf("%s has labels %v and taints %v", n.Name, n.Labels, n.Spec.Taints)
	}

	ns := c.Namespace(t)
	for i, tc := range []struct {
		name   string
		told   map[string]string
		phase  corev1.PodPhase
		code   int32
		reason string
	}{
		{"ok", map[string]string{"sim/duration": "100ms"}, corev1.PodSucceeded, 0, "Completed"},
		{"late", map[string]string{"sim/start": "300ms", "sim/duration": "100ms"}, corev1.PodSucceeded, 0, "Completed"},
		{"bad", map[string]string{"sim/duration": "100ms", "sim/exit-code": "3"}, corev1.PodFailed, 3, "Error"},
		{"oom", map[string]string{"sim/duration": "100ms", "sim/exit-code": "137", "sim/reason": "OOMKilled"}, corev1.PodFailed, 137, "OOMKilled"},
	} {
		pod := kubetest.Pod(tc.name, "any", 1)
		pod.Annotations, pod.Spec.SchedulerName = tc.told, "nobody"
		pod = c.Run(t, ns, pod)
		c.Bind(t, pod, nodes[i%3])
		pod = c.AwaitPhase(t, pod, tc.phase)
		end := pod.Status.ContainerStatuses[0].State.Terminated
		if end == nil || end.ExitCode != tc.code || end.Reason != tc.reason || end.FinishedAt.Before(&end.StartedAt) {
			t.Errorf("%s ended with %+v", tc.name, end)
		}
	}

	stays := kubetest.Pod("stays", "any", 1)
	stays.Spec.NodeName = nodes[0]
	stays = c.AwaitPhase(t, c.Run(t, ns, stays), corev1.PodRunning)
	if stays.Status.PodIP == "" || stays.Status.ContainerStatuses[0].State.Running == nil {
		t.Errorf("it runs with %+v", stays.Status)
	}
	if err := c.Client.CoreV1().Pods(ns).Delete(context.Background(), stays.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "the deleted pod gone", func() error {
		_, err := c.Client.CoreV1().Pods(ns).Get(context.Background(), stays.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("%w: %v", errStill, err)
	})
}

func TestTheSchedulerKnowsFakeGPUs(t *testing.T) {
	t.Parallel()
	c := shared(t)
	c.Kwok(t, 1, kubetest.NodeShape{Prefix: "scheduled", GPUs: 2, Labels: map[string]string{"pool": "scheduled"}})
	ns := c.Namespace(t)
	run := func(name string, gpus int) *corev1.Pod {
		p := kubetest.Pod(name, "any", gpus)
		p.Spec.NodeSelector = map[string]string{"pool": "scheduled"}
		return c.Run(t, ns, p)
	}
	c.AwaitPhase(t, run("fits", 2), corev1.PodRunning)
	c.AwaitPod(t, run("waits", 1), "unschedulable", func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Reason == corev1.PodReasonUnschedulable && strings.Contains(c.Message, "Insufficient nvidia.com/gpu")
		})
	})
}

func TestWithoutControllersPodsAreBoundByHand(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{NoControllers: true, NoScheduler: true})
	nodes := c.Kwok(t, 1, kubetest.NodeShape{GPUs: 1})
	pod := c.Run(t, c.Namespace(t), kubetest.Pod("p", "any", 1))
	c.Bind(t, pod, nodes[0])
	c.AwaitPhase(t, pod, corev1.PodRunning)
}

func TestAnAPIServerThatWasGoneKnowsWhatItKnew(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{})
	nodes := c.Kwok(t, 1, kubetest.NodeShape{GPUs: 4})
	ns := c.Namespace(t)
	before := kubetest.Pod("before", "any", 1)
	before.Spec.NodeName = nodes[0]
	before = c.AwaitPhase(t, c.Run(t, ns, before), corev1.PodRunning)

	c.StopServer(t)
	if _, err := c.Client.CoreV1().Pods(ns).Get(context.Background(), before.Name, metav1.GetOptions{}); err == nil {
		t.Fatal("it was stopped, and still answers")
	}
	c.StartServer(t)
	same, err := c.Client.CoreV1().Pods(ns).Get(context.Background(), before.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if same.UID != before.UID {
		t.Errorf("the pod was %s and is %s", before.UID, same.UID)
	}
	// Kwok, scheduler and controllers have found it again.
	c.AwaitPhase(t, c.Run(t, ns, kubetest.Pod("after", "any", 1)), corev1.PodRunning)
	c.AwaitPhase(t, c.Run(t, c.Namespace(t), kubetest.Pod("elsewhere", "any", 1)), corev1.PodRunning)
}

func TestAFakeNodeThatFallsSilentIsLostUntilItIsFound(t *testing.T) {
	t.Parallel()
	c := shared(t)
	nodes := c.Kwok(t, 2, kubetest.NodeShape{Prefix: "silent", GPUs: 1})
	c.Lose(t, nodes[0])
	c.AwaitReady(t, nodes[0], corev1.ConditionUnknown)
	if other := c.AwaitReady(t, nodes[1], corev1.ConditionTrue); len(other.Spec.Taints) > 0 {
		t.Errorf("the other one has taints %v", other.Spec.Taints)
	}
	c.Find(t, nodes[0])
	c.AwaitReady(t, nodes[0], corev1.ConditionTrue)
}

func TestAComponentThatDiesIsNamed(t *testing.T) {
	t.Parallel()
	c, err := kubetest.Open(kubetest.Options{NoControllers: true, NoScheduler: true})
	if err != nil {
		kubetest.Fail(t, err)
	}
	for pid := range processes(t, filepath.Join(filepath.Dir(c.Kubeconfig), "etcd")) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	kubetest.Eventually(t, "the API server gone with it", func() error {
		if n := len(processes(t, filepath.Dir(c.Kubeconfig))); n > 0 {
			return fmt.Errorf("%d processes are %w", n, errStill)
		}
		return nil
	})
	if err := c.Close(); err == nil || !strings.Contains(err.Error(), "etcd ended by itself, with killed") {
		t.Errorf("it ended with %v", err)
	}
}
