package kube

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// TestExtendedResourcesOnARealKubelet: a node tells of what a device plugin
// offers beside GPUs, tasks of ours get it, pods of others count, and a kubelet
// that has none left says so.
func TestExtendedResourcesOnARealKubelet(t *testing.T) {
	t.Parallel()
	const hca = "rdma/hca"
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	node := c.Node(t, "adapters", 0, hca+"=3")
	p, err := Open(cluster.Options{Config: c.Config, LogDir: t.TempDir(), Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	nodeIs(t, p, node.Name, func(n core.Node) bool { return n.Extra[hca] == 3 && n.Others.Extra[hca] == 0 })

	begin := func(name string, n int) core.TaskID {
		a := backend.Assignment{
			ID: core.TaskID{Workload: core.WorkloadID(name)}, Node: core.NodeID(node.Name), Image: c.Busybox(t), Argv: []string{"sleep", "100000"},
			Extended: map[string]int{hca: n}, Grace: time.Second, About: backend.About{Project: "adapters", Name: name},
		}
		kubetest.Eventually(t, name+" is taken on", func() error { return p.Start(t.Context(), []backend.Assignment{a}) })
		return a.ID
	}
	awaits := func(id core.TaskID, state core.TaskState) backend.Observation {
		t.Helper()
		var x tasks.Task
		kubetest.Eventually(t, id.String()+" is "+string(state), func() error {
			if x, _ = p.pods.Tasks.Get(id); x.Seen.State != state {
				return fmt.Errorf("it is %+v", x.Seen)
			}
			return nil
		})
		return x.Seen
	}
	two := begin("two", 2)
	awaits(two, core.TaskRunning)
	x, _ := p.pods.Tasks.Get(two)
	pod, err := c.Client.CoreV1().Pods(x.Space).Get(t.Context(), x.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r := pod.Spec.Containers[0].Resources; r.Limits.Name(hca, "").Value() != 2 || r.Requests.Name(hca, "").Value() != 2 {
		t.Errorf("its container asks for %+v", r)
	}

	// A pod of others has the last one.
	other := kubetest.Pod("other", c.Busybox(t), 0, "sleep", "100000")
	other.Namespace, other.Spec.NodeName = x.Space, node.Name
	other.Spec.Containers[0].Resources.Limits = amounts(hca, "1")
	if _, err := c.Client.CoreV1().Pods(x.Space).Create(t.Context(), other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.AwaitPhase(t, other, corev1.PodRunning)
	nodeIs(t, p, node.Name, func(n core.Node) bool { return n.Extra[hca] == 3 && n.Others.Extra[hca] == 1 })

	// What was counted wrongly the kubelet refuses; that is no fault of the task.
	late := awaits(begin("late", 1), core.TaskFailed)
	if late.Reason != string(lifecycle.ReasonSystem) || !strings.Contains(late.Message, "did not take it") || !strings.Contains(late.Message, hca) {
		t.Errorf("it ended as %+v", late)
	}
}
