package system

import (
	"context"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// TestWhatOthersMakeHasGPUsByClaims is on a real kubelet with a driver of
// devices: who asks by a claim has what the driver prepares for it, also beyond
// the end of a server, and gives it back at its end.
func TestWhatOthersMakeHasGPUsByClaims(t *testing.T) {
	k := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	node := k.Node(t, "alpha", 0, "gpu.nvidia.com=3")
	image := k.Busybox(t)
	args := []string{"--backend", "kube", "--kubeconfig", k.Kubeconfig}
	f := &field{&cluster{start(t, args...), k}, t}
	f.space("ml", "default")
	f.apply(`apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.nvidia.com}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: two, namespace: ml}
spec: {spec: {devices: {requests: [{name: gpus, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}]}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: all, namespace: ml}
spec: {devices: {requests: [{name: gpus, exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All}}]}}
`)
	pod := func(claim, rest string) string {
		return fmt.Sprintf(`{schedulerName: muster, restartPolicy: Never, terminationGracePeriodSeconds: 1, resourceClaims: [{name: gpus, %s}], containers: [{name: c, image: %q, command: [%s], resources: {claims: [{name: gpus}]}}]}`, claim, image, rest)
	}
	jobOf := func(name string) string {
		return fmt.Sprintf("apiVersion: batch/v1\nkind: Job\nmetadata: {name: %s, namespace: ml}\nspec: {template: {spec: %s}}\n", name, pod("resourceClaimTemplateName: two", `sleep, "1000"`))
	}
	prepared := func(of string, gpus int) {
		t.Helper()
		kubetest.Eventually(t, "what "+of+" has", func() error {
			pods := f.pods("job-name=" + of)
			if len(pods) != 1 || len(pods[0].Status.ResourceClaimStatuses) != 1 {
				return fmt.Errorf("its pods are %+v", pods)
			}
			c, err := k.Client.ResourceV1().ResourceClaims("ml").Get(context.Background(), *pods[0].Status.ResourceClaimStatuses[0].ResourceClaimName, metav1.GetOptions{})
			if err != nil {
				return err
			}
			var names []string
			for _, r := range c.Status.Allocation.Devices.Results {
				names = append(names, r.Device)
			}
			slices.Sort(names)
			if got := node.Prepared(t); len(got) != 1 || len(names) != gpus || !slices.Equal(got[c.UID], names) {
				return fmt.Errorf("%q are prepared, its claim has %q", got, names)
			}
			return nil
		})
	}
	f.apply(jobOf("first"))
	if w := f.phase("first", "Running"); w.GPUs != 2 || w.Attempts[0].Tasks[0].Node != node.Name {
		t.Errorf("it has %v GPUs, tasks %+v", w.GPUs, w.Attempts[0].Tasks)
	}
	prepared("first", 2)
	f.apply("apiVersion: v1\nkind: Pod\nmetadata: {name: greedy, namespace: ml}\nspec: " + pod("resourceClaimName: all", `"true"`) + "\n")
	f.says("greedy", "its resource claim ml/all cannot be met: spec.devices.requests[gpus].exactly.allocationMode is All; understood is ExactCount")
	f.apply(jobOf("next"))
	f.is("default", "next", "waits", func(w *api.Workload) bool { return w.Phase == "Queued" || w.Phase == "Pending" })

	f.kill()
	f.server = startIn(t, f.dir, args...)
	f.phase("first", "Running")
	nodes, err := f.conn.Nodes.List(context.Background())
	if err != nil || len(nodes.Items) != 1 || nodes.Items[0].GPU != (api.Amount{Total: 3000, Used: 2000}) {
		t.Errorf("its GPUs are counted as %+v, %v", nodes, err)
	}
	f.k.Kubectl(t, "-n", "ml", "delete", "job", "first")
	f.phase("next", "Running")
	prepared("next", 2)
}
