package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// TestExtendedResourcesInACluster: workloads ask for what device plugins offer,
// wait where it is short, and hold it over a start of the server.
func TestExtendedResourcesInACluster(t *testing.T) {
	t.Parallel()
	const hca = "rdma/hca_shared_devices_a"
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	with := c.Kwok(t, 1, kubetest.NodeShape{Prefix: "with", GPUs: 2, Resources: map[string]string{hca: "4"}})[0]
	c.Kwok(t, 1, kubetest.NodeShape{Prefix: "without", GPUs: 2})
	w := newWorld(t, "--backend", "kube", "--kubeconfig", c.Kubeconfig)
	held := func(want int64) {
		t.Helper()
		kubetest.Eventually(t, "the node says what is held", func() error {
			text, err := w.try("node", "describe", with, "-o", "json")
			if err != nil {
				return err
			}
			var n api.Node
			if err := json.Unmarshal([]byte(text), &n); err != nil || n.Extended[hca] != (api.Amount{Total: 4, Used: want}) {
				return errf("it has %+v, %w", n.Extended, err)
			}
			return nil
		})
	}
	held(0)
	w.muster("run", "--name", "holder", "--image", "busybox", "--extended", hca+"=3", "--set", "annotations={sim/duration: 1000s}", "--", "work")
	w.is("holder", "running", phase("Running"))
	for _, pod := range pods(t, c, "holder") {
		if l := pod.Spec.Containers[0].Resources.Limits; pod.Spec.NodeName != with || l.Name(hca, "").Value() != 3 {
			t.Errorf("its pod is on %s with %v", pod.Spec.NodeName, l)
		}
	}
	held(3)
	if got := w.muster("describe", "holder"); !strings.Contains(got, "3 "+hca+" each") {
		t.Errorf("describe says\n%s", got)
	}
	w.muster("run", "--name", "late", "--image", "busybox", "--gpus", "1", "--extended", hca+"=2", "--set", "annotations={sim/duration: 1s}", "--", "work")
	waits := func() {
		t.Helper()
		const want = "waits for " + hca + ": needs 2 " + hca + ", free 1 of 4 (2 of 2 nodes lack it, 1 has none at all)"
		if got := w.muster("why", "late"); !strings.Contains(got, want) {
			t.Errorf("why says\n%s\nnot %s", got, want)
		}
	}
	waits()
	if _, err := w.try("run", "--image", "busybox", "--extended", hca+"=5", "--", "work"); err == nil || !strings.Contains(err.Error(), "the largest of 2 nodes has 4 "+hca+" in all") {
		t.Errorf("what no node has: %v", err)
	}
	w.kill()
	w.begin()
	held(3)
	waits()
	w.muster("stop", "holder", "--wait")
	w.is("late", "completed", phase("Completed"))
	held(0)
}
