package main

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/testing/kubetest"
)

// TestNamespacesOfProjectsEnforceAStandard: those that the server makes, from the first
// moment on; what others have made stays as they made it.
func TestNamespacesOfProjectsEnforceAStandard(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	c.Kwok(t, 1, kubetest.NodeShape{GPUs: 2})
	theirs := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "muster-speech"}}
	if _, err := c.Client.CoreV1().Namespaces().Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, "--backend", "kube", "--kubeconfig", c.Kubeconfig, "--kube-pod-security", "baseline", "--kube-isolate-network")
	level := func(namespace string) string {
		t.Helper()
		ns, err := c.Client.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return ns.Labels["pod-security.kubernetes.io/enforce"]
	}
	w.muster("run", "--name", "plain", "--image", "busybox", "--", "sleep", "1h")
	w.is("plain", "running", phase("Running"))
	if got := level("muster-default"); got != "baseline" {
		t.Errorf("the namespace of a project enforces %q", got)
	}
	policies := func(namespace string) string {
		t.Helper()
		all, err := c.Client.NetworkingV1().NetworkPolicies(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, p := range all.Items {
			text.WriteString(p.Name + " " + p.Spec.PodSelector.String() + " " + p.Spec.Ingress[0].From[0].PodSelector.String())
		}
		return text.String()
	}
	everyPod := (&metav1.LabelSelector{}).String()
	if got, want := policies("muster-default"), "muster-project "+everyPod+" "+everyPod; got != want {
		t.Errorf("the namespace of a project has the policies %q, not %q", got, want)
	}
	w.muster("run", "--name", "reaches", "--image", "busybox", "-v", "/:/host", "--", "sleep", "1h")
	kubetest.Eventually(t, "it says what keeps it from starting", func() error {
		if out := w.muster("events", "reaches"); !strings.Contains(out, "violates PodSecurity") || !strings.Contains(out, "hostPath") {
			return errf("it says %s", out)
		}
		return nil
	})
	w.muster("project", "create", "speech")
	w.muster("run", "-p", "speech", "--name", "there", "--image", "busybox", "--", "sleep", "1h")
	w.muster("wait", "there", "-p", "speech", "--for", "Running", "--timeout", "2m")
	if got := policies("muster-speech"); got != "" {
		t.Errorf("the namespace of somebody else has the policies %s", got)
	}
	if got := level("muster-speech"); got != "" {
		t.Errorf("the namespace of somebody else enforces %q now", got)
	}
	if out, err := w.program("server", "--backend", "kube", "--kubeconfig", c.Kubeconfig, "--kube-pod-security", "some", "--data-dir", t.TempDir()).CombinedOutput(); err == nil || !strings.Contains(string(out), "privileged, baseline, restricted") {
		t.Errorf("%v %s", err, out)
	}
}
