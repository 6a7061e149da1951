package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/testing/kubetest"
)

// TestLimitsOfProjectsAreInTheirNamespaces: what comes around Muster cannot take more
// than the project may, what Muster starts is let in, and what others have made stays.
func TestLimitsOfProjectsAreInTheirNamespaces(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	c.Kwok(t, 1, kubetest.NodeShape{GPUs: 4})
	theirs := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "muster-speech"}}
	if _, err := c.Client.CoreV1().Namespaces().Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, "--backend", "kube", "--kubeconfig", c.Kubeconfig, "--kube-mirror-quotas")
	w.muster("project", "create", "vision", "--limit", "default.gpu=2", "--limit", "default.cpu=3", "--quota", "default.gpu=1")
	w.muster("project", "create", "speech", "--limit", "default.gpu=1")
	w.muster("project", "create", "free")
	hard := func(namespace string) string {
		q, err := c.Client.CoreV1().ResourceQuotas(namespace).Get(t.Context(), "muster-project", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "none"
		}
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, r := range []corev1.ResourceName{"requests.nvidia.com/gpu", "requests.amd.com/gpu", "requests.cpu", "requests.memory"} {
			if n, there := q.Spec.Hard[r]; there {
				out = append(out, string(r)+" "+n.String())
			}
		}
		return strings.Join(out, ", ")
	}
	becomes := func(namespace, want string) {
		t.Helper()
		kubetest.Eventually(t, "the quota of "+namespace+" is "+want, func() error {
			if got := hard(namespace); got != want {
				return errf("it is %s", got)
			}
			return nil
		})
	}
	// A pod that comes in the moment in which the quota does may be counted by the cluster
	// minutes later: one without GPUs comes first.
	w.muster("run", "-p", "vision", "--name", "first", "--set", "resources.cpu=10m", "--image", "busybox", "--", "sleep", "1h")
	becomes("muster-vision", "requests.nvidia.com/gpu 2, requests.amd.com/gpu 2, requests.cpu 4")
	// Over its quota, within its limit: all of it runs.
	for _, name := range []string{"a", "b"} {
		w.muster("run", "-p", "vision", "--name", name, "--gpus", "1", "--image", "busybox", "--", "sleep", "1h")
		w.muster("wait", name, "-p", "vision", "--for", "Running", "--timeout", "5m")
	}
	w.muster("run", "-p", "free", "--name", "d", "--image", "busybox", "--", "sleep", "1h")
	w.muster("run", "-p", "speech", "--name", "e", "--image", "busybox", "--", "sleep", "1h")
	w.muster("wait", "d", "-p", "free", "--for", "Running", "--timeout", "5m")
	w.muster("wait", "e", "-p", "speech", "--for", "Running", "--timeout", "5m")
	for _, namespace := range []string{"muster-free", "muster-speech"} {
		if got := hard(namespace); got != "none" {
			t.Errorf("the quota of %s is %s", namespace, got)
		}
	}
	// Somebody with kubectl.
	around := func(namespace string, gpus string) error {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "around-"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "busybox"}}}}
		if gpus != "" {
			p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)}
		}
		_, err := c.Client.CoreV1().Pods(namespace).Create(t.Context(), p, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	kubetest.Eventually(t, "a third GPU around Muster is refused", func() error { // once the cluster has counted
		if err := around("muster-vision", "1"); err == nil || !strings.Contains(err.Error(), "exceeded quota: muster-project") {
			return errf("it says %v", err)
		}
		return nil
	})
	if err := around("muster-vision", ""); err != nil {
		t.Errorf("a pod that asks for nothing: %v", err)
	}
	if err := around("muster-speech", "3"); err != nil {
		t.Errorf("in a namespace of somebody else: %v", err)
	}
	// What ends makes room for what waits at once.
	w.muster("run", "-p", "vision", "--name", "next", "--gpus", "1", "--image", "busybox", "--", "sleep", "1h")
	w.muster("stop", "a", "-p", "vision", "--yes")
	w.muster("wait", "next", "-p", "vision", "--for", "Running", "--timeout", "5m")
	if out := w.muster("get", "next", "-p", "vision", "-o", "template={{.attempt}}"); strings.TrimSpace(out) != "0" {
		t.Errorf("it took the attempt %s", out)
	}
	// Limits change.
	w.muster("project", "update", "vision", "--limit", "default.gpu=3")
	becomes("muster-vision", "requests.nvidia.com/gpu 3, requests.amd.com/gpu 3, requests.cpu 4")
	kubetest.Eventually(t, "with a higher limit it is let in", func() error { return around("muster-vision", "1") })
	w.muster("project", "update", "vision", "--limit", "default.gpu=none", "--limit", "default.cpu=none")
	becomes("muster-vision", "")
}
