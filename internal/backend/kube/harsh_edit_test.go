package kube_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

func nodesLie(t *testing.T, h *harsh) {
	liar := h.c.Kwok(t, 1, kubetest.NodeShape{Prefix: "liar", GPUs: 1, Resources: map[string]string{
		kubetest.GPU: "1000000000000", "cpu": "9E", "memory": "9E", "pods": "9E", "nvidia.com/mig-1g.10gb": "9E", "nvidia.com/mig-": "3",
	}})[0]
	p := h.open()
	nodes, err := p.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(nodes, func(n core.Node) bool { return string(n.ID) == liar })
	if i < 0 {
		t.Fatalf("%s is not among %v", liar, nodes)
	}
	if n := nodes[i]; n.CPU <= 0 || n.CPU > 1<<50 || n.Memory <= 0 || n.Memory > 1<<50 || len(n.Devices) > 256 || n.Tasks <= 0 || n.MIG["1g.10gb"] > 256 {
		t.Errorf("it is taken at its word: %d devices, CPU %d, memory %d, %d tasks, MIG %v", len(n.Devices), n.CPU, n.Memory, n.Tasks, n.MIG)
	}
	honest := h.task("honest", 0)
	h.start(p, honest)
	h.runs(p, honest.ID)
}

func labelsEdited(t *testing.T, h *harsh) {
	p, a := h.open(), h.task("edited", 0)
	h.start(p, a)
	h.runs(p, a.ID)
	pod := h.pod(a.ID)
	patch := `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null,"muster.dev/workload":"other"},"annotations":{"muster.dev/task-id":"x/1/2"}}}`
	pods := h.c.Client.CoreV1().Pods(h.space())
	if _, err := pods.Patch(t.Context(), pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "the labels put back", func() error {
		now, err := pods.Get(t.Context(), pod.Name, metav1.GetOptions{})
		if err == nil && (now.Labels["muster.dev/workload"] != string(a.ID.Workload) || now.Labels["app.kubernetes.io/managed-by"] != "muster" || now.Annotations["muster.dev/task-id"] != a.ID.String()) {
			err = fmt.Errorf("they are %v, %v", now.Labels, now.Annotations)
		}
		return err
	})
	h.runs(h.open(), a.ID) // a server that begins anew finds it
	h.runs(p, a.ID)
}

func podCopied(t *testing.T, h *harsh) {
	p, a := h.open(), h.task("original", 0)
	h.start(p, a)
	h.runs(p, a.ID)
	twin := h.pod(a.ID).DeepCopy()
	twin.ObjectMeta = metav1.ObjectMeta{Name: "a-twin", Namespace: twin.Namespace, Labels: twin.Labels, Annotations: twin.Annotations}
	twin = h.c.AwaitPhase(t, h.c.Run(t, twin.Namespace, twin), corev1.PodRunning)
	p2 := h.open()
	h.runs(p2, a.ID)
	if err := h.c.Client.CoreV1().Pods(h.space()).Delete(t.Context(), twin.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b := h.task("after", 0) // what is seen of it is seen after the twin's end
	h.start(p, b)
	for _, backend := range []*kube.Backend{p, p2} {
		h.runs(backend, b.ID)
		h.runs(backend, a.ID)
	}
}

func deletedByOthers(t *testing.T, h *harsh) {
	p, a := h.open(), h.task("unlucky", 0)
	h.start(p, a)
	h.runs(p, a.ID)
	if err := h.c.Client.CoreV1().Pods(h.space()).Delete(t.Context(), h.pod(a.ID).Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.fails(p, a.ID, lifecycle.ReasonSystem, "deleted by someone else")
	b := h.task("forced", 0)
	h.start(p, b)
	h.runs(p, b.ID)
	now := int64(0)
	if err := h.c.Client.CoreV1().Pods(h.space()).Delete(t.Context(), h.pod(b.ID).Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	h.fails(p, b.ID, lifecycle.ReasonSystem, "deleted by someone else")
}

func evicted(t *testing.T, h *harsh) {
	p, a := h.open(), h.task("drained", 0)
	h.start(p, a)
	h.runs(p, a.ID)
	name := h.pod(a.ID).Name
	if err := h.c.Client.CoreV1().Pods(h.space()).EvictV1(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: h.space()}}); err != nil {
		t.Fatal(err)
	}
	h.fails(p, a.ID, lifecycle.ReasonSystem, "kubectl drain")

	tainted := h.c.Kwok(t, 1, kubetest.NodeShape{Prefix: "tainted"})[0]
	b := h.task("expelled", 0)
	b.Node = core.NodeID(tainted)
	h.start(p, b)
	h.runs(p, b.ID)
	h.c.Kubectl(t, "taint", "node", tainted, "go=away:NoExecute")
	h.fails(p, b.ID, lifecycle.ReasonSystem, "a taint of node "+tainted)
}

func deadlineSet(t *testing.T, h *harsh) {
	p, a := h.open(), h.task("hurried", 0)
	h.start(p, a)
	h.runs(p, a.ID)
	pods := h.c.Client.CoreV1().Pods(h.space())
	name := h.pod(a.ID).Name
	status := `{"status":{"phase":"Failed","reason":"DeadlineExceeded","message":"Pod was active on the node longer than the specified deadline"}}`
	if _, err := pods.Patch(t.Context(), name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	h.fails(p, a.ID, lifecycle.ReasonMaxDuration, "activeDeadlineSeconds")
}

func requestsChanged(t *testing.T, h *harsh) {
	h.apply("{apiVersion: v1, kind: LimitRange, metadata: {name: default, namespace: %s}, spec: {limits: [{type: Container, defaultRequest: {memory: 3Gi}, default: {memory: 3Gi}}]}}", h.namespace())
	own := h.c.Kwok(t, 1, kubetest.NodeShape{Prefix: "changed"})[0]
	p, a := h.open(), h.task("swollen", 0)
	a.Node = core.NodeID(own)
	h.start(p, a)
	h.runs(p, a.ID)
	for _, backend := range []*kube.Backend{p, h.open()} {
		kubetest.Eventually(t, "what it takes beyond its share counted", func() error {
			nodes, err := backend.Inventory(t.Context())
			if err != nil {
				return err
			}
			i := slices.IndexFunc(nodes, func(n core.Node) bool { return string(n.ID) == own })
			if i < 0 || nodes[i].Others.Memory != 3<<30 || nodes[i].Others.CPU != 0 {
				return fmt.Errorf("it is %+v", nodes)
			}
			return nil
		})
	}
	pods := h.c.Client.CoreV1().Pods(h.space())
	status := `{"status":{"phase":"Failed","reason":"OutOfmemory","message":"Node didn't have enough resource: memory"}}`
	if _, err := pods.Patch(t.Context(), h.pod(a.ID).Name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	h.fails(p, a.ID, lifecycle.ReasonSystem, "OutOfmemory", "the cluster had changed its pod when it was made: memory 0 → 3Gi")
}

// budgetHolds: a pod of others that is to go stays for as long as its
// PodDisruptionBudget wants, but not for ever.
func budgetHolds(t *testing.T, h *harsh) {
	space := h.namespace()
	p, ids := h.open(), []core.TaskID{h.task("freed", 0).ID, h.task("kept", 0).ID}
	for i, name := range []string{"freed", "kept"} {
		h.apply(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: %[2]s, namespace: %[1]s}
spec: {minAvailable: 1, selector: {matchLabels: {app: %[2]s}}}
---
apiVersion: v1
kind: Pod
metadata: {name: %[2]s, namespace: %[1]s, labels: {app: %[2]s}, annotations: {muster.dev/task-id: %[3]s}}
spec: {schedulerName: muster, nodeName: %[4]s, terminationGracePeriodSeconds: 1, containers: [{name: c, image: any}]}
`, space, name, ids[i], h.node)
		h.runs(p, ids[i])
	}
	kubetest.Eventually(t, "the budgets counted", func() error {
		all, err := h.c.Client.PolicyV1().PodDisruptionBudgets(space).List(t.Context(), metav1.ListOptions{})
		for _, b := range all.Items {
			if b.Status.CurrentHealthy != 1 {
				return fmt.Errorf("%s: %+v", b.Name, b.Status)
			}
		}
		return err
	})
	if err := p.Stop(t.Context(), ids, time.Second); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"freed", "kept"} {
		h.until(p, ids[i], "held", func(o backend.Observation) bool { return strings.Contains(o.Message, "disruption budget") })
		if pod, err := h.c.Client.CoreV1().Pods(space).Get(t.Context(), name, metav1.GetOptions{}); err != nil || pod.DeletionTimestamp != nil {
			t.Errorf("%s was ended at once: %v", name, err)
		}
	}
	h.c.Kubectl(t, "-n", space, "delete", "pdb", "freed")
	h.fails(p, ids[0], lifecycle.ReasonKilled)
	if o := h.until(p, ids[1], "there", func(backend.Observation) bool { return true }); o.State.Ended() {
		t.Error("the other ended with it")
	}
	h.fails(p, ids[1], lifecycle.ReasonKilled)
}
