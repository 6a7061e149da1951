package main

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/musterhq/muster/internal/testing/kubetest"
)

// TestAnArrayInACluster: each of its tasks is a pod that knows its number, and
// there are no more of them than may be at once.
func TestAnArrayInACluster(t *testing.T) {
	t.Parallel()
	const size, atOnce = 6, 2
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	c.Kwok(t, 2, kubetest.NodeShape{GPUs: 4})
	w := newWorld(t, "--backend", "kube", "--kubeconfig", c.Kubeconfig)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events, err := c.Client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{LabelSelector: "muster.dev/name=many"})
	if err != nil {
		t.Fatal(err)
	}
	w.muster("run", "--name", "many", "--image", "busybox", "--gpus", "1", "--set", "array={completions: 6, parallelism: 2}", "--set", "annotations={sim/duration: 2s}", "--", "work")
	got := w.is("many", "completed", phase("Completed"))
	if got.Tasks.Succeeded != size {
		t.Errorf("its tasks: %+v", got.Tasks)
	}
	kubetest.Eventually(t, "its pods are gone", func() error {
		if n := len(pods(t, c, "many")); n > 0 {
			return errf("%d are there", n)
		}
		return nil
	})

	live, names, most := map[types.UID]bool{}, map[string]string{}, 0
	gone := 0
	for e := range events.ResultChan() {
		pod, ok := e.Object.(*corev1.Pod)
		if !ok {
			t.Fatalf("%s: %+v", e.Type, e.Object)
		}
		if e.Type == watch.Deleted || pod.Status.Phase == corev1.PodSucceeded {
			delete(live, pod.UID)
		} else {
			live[pod.UID] = true
		}
		most = max(most, len(live))
		index := pod.Labels["muster.dev/task"]
		if was, seen := names[index]; seen && was != pod.Name {
			t.Errorf("task %s is both %s and %s", index, was, pod.Name)
		}
		names[index] = pod.Name
		if !slices.ContainsFunc(pod.Spec.Containers[0].Env, func(v corev1.EnvVar) bool { return v.Name == "POD_INDEX" && v.Value == index }) {
			t.Errorf("pod %s does not know its number %s", pod.Name, index)
		}
		if e.Type == watch.Deleted {
			if gone++; gone == size {
				cancel()
				break
			}
		}
	}
	if len(names) != size || most > atOnce {
		t.Errorf("%d tasks, %d at once; want %d and %d", len(names), most, size, atOnce)
	}
}
