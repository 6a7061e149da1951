package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/testing/kubetest"
)

// TestTwoServersOnOneCluster: neither ends what the other runs, and a server
// that has lost its records ends nothing at all.
func TestTwoServersOnOneCluster(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	c.Kwok(t, 2, kubetest.NodeShape{GPUs: 2})
	drive := []string{"--backend", "kube", "--kubeconfig", c.Kubeconfig}
	one := newWorld(t, drive...)
	run := func(w *world, name string) {
		w.muster("run", "--name", name, "--image", "busybox", "--gpus", "1", "--", "sleep", "1h")
		w.is(name, "running", phase("Running"))
	}
	run(one, "first")
	uids := map[string]types.UID{}
	note := func(name string) {
		for _, pod := range pods(t, c, name) {
			uids[name] = pod.UID
		}
	}
	stay := func() {
		t.Helper()
		for _, name := range slices.Sorted(maps.Keys(uids)) {
			all := pods(t, c, name)
			if len(all) != 1 {
				t.Fatalf("%s has %d pods", name, len(all))
			}
			for _, pod := range all {
				if pod.UID != uids[name] || pod.DeletionTimestamp != nil {
					t.Fatalf("pod %s was touched", pod.Name)
				}
			}
		}
	}
	note("first")

	two := newWorld(t, drive...)
	barred := func(w *world) {
		t.Helper()
		kubetest.Eventually(t, "it may not drive the cluster", func() error {
			if k := w.clusters()["kube"]; k.Reachable || !strings.Contains(k.Message, "driven by another server") || !strings.Contains(k.Message, "--take-over kube") {
				return errf("%+v", k)
			}
			return nil
		})
	}
	barred(two)
	two.muster("run", "--name", "waits", "--image", "busybox", "--", "sleep", "1h")
	stay()

	two.kill()
	two.args = append(slices.Clone(drive), "--take-over", "kube")
	two.begin()
	two.is("waits", "running", phase("Running"))
	note("waits")
	barred(one)
	kubetest.Eventually(t, "what the first holds is counted", func() error {
		if k := two.clusters()["kube"]; k.GPU.Total != 4000 || k.GPU.Free != 3000 {
			return errf("%+v", k.GPU)
		}
		return nil
	})
	stay()

	// The first comes back without its records.
	one.kill()
	lost := newWorld(t, drive...)
	barred(lost)
	two.kill()
	barred(lost)
	lost.kill()
	lost.args = append(slices.Clone(drive), "--take-over", "kube")
	lost.begin()
	run(lost, "third")
	stay()

	// The records that drove it may have it back.
	lost.kill()
	two.begin()
	run(two, "fourth")
	two.muster("stop", "waits", "--wait")
	delete(uids, "waits")
	stay()
}
