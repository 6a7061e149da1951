package system

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// TestPartsOfAGPUInACluster: who fits shares, who does not waits, also beyond
// the end of a server, and in the end nothing is held.
func TestPartsOfAGPUInACluster(t *testing.T) {
	k := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	k.Kwok(t, 1, kubetest.NodeShape{Prefix: "node", GPUs: 1, Labels: map[string]string{"nvidia.com/gpu.memory": "81920", "nvidia.com/mps.capable": "true"}})
	args := []string{"--backend", "kube", "--kubeconfig", k.Kubeconfig}
	c := &cluster{start(t, args...), k}
	submit := func(name string, gpu any) {
		t.Helper()
		c.submitJSON(t, map[string]any{"name": name, "image": "sim:1", "command": []string{"sleep"}, "resources": map[string]any{"gpu": gpu}})
	}
	submit("half", 0.5)
	submit("bytes", map[string]any{"memory": "20Gi", "memoryLimit": "30Gi"})
	c.await(t, "half", "Running")
	c.await(t, "bytes", "Running")
	submit("third", 0.5)

	// A share in bytes is one of this GPU's: a quarter, up to three eighths.
	pods, err := k.Client.CoreV1().Pods("muster-default").List(t.Context(), metav1.ListOptions{LabelSelector: "muster.dev/name=bytes"})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("pods of bytes: %v, %v", pods, err)
	}
	env := map[string]string{}
	for _, e := range pods.Items[0].Spec.Containers[0].Env {
		env[e.Name] = e.Value
	}
	if env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] != "37" || env["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] != "0=30720M" || env["NVIDIA_VISIBLE_DEVICES"] != "fake-0" {
		t.Errorf("bytes has the environment %v", env)
	}
	if got := reservations(t, k); len(got) != 1 || got[0].Annotations["muster.dev/gpu"] != "fake-0" {
		t.Errorf("reservations are %+v", got)
	}

	c.kill()
	c.server = startIn(t, c.dir, args...)
	w, err := c.conn.Workload(context.Background(), "default", "third")
	if err != nil || w.Phase != "Queued" && w.Phase != "Pending" {
		t.Errorf("the third is %+v, %v", w, err)
	}
	stop := func(name string) {
		t.Helper()
		if _, err := c.conn.Stop(context.Background(), "default", name, api.StopOptions{}); err != nil {
			t.Fatal(err)
		}
		c.await(t, name, "Stopped")
	}
	stop("half")
	third := c.await(t, "third", "Running")
	if len(third.Attempts) > 1 {
		t.Errorf("the third took more than one attempt: %+v", third)
	}
	stop("third")
	stop("bytes")
	submit("whole", 1)
	c.await(t, "whole", "Running")
	kubetest.Eventually(t, "nothing is reserved", func() error {
		if got := reservations(t, k); len(got) > 0 {
			return &left{got}
		}
		return nil
	})
}

type left struct{ pods []corev1.Pod }

func (l *left) Error() string {
	var names []string
	for _, p := range l.pods {
		names = append(names, p.Name)
	}
	return "left: " + strings.Join(names, ", ")
}

func reservations(t *testing.T, k *kubetest.Cluster) []corev1.Pod {
	t.Helper()
	all, err := k.Client.CoreV1().Pods("muster-reservations").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return all.Items
}
