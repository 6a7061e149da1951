package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/fraction"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// reserved are the reservations of a node that are not on their way out.
func reserved(k *kubetest.Cluster, node string) ([]string, error) {
	list, err := k.Client.CoreV1().Pods(naming.Reservations).List(context.Background(), metav1.ListOptions{})
	var out []string
	if err == nil {
		for _, p := range list.Items {
			if p.Spec.NodeName == node && p.DeletionTimestamp == nil {
				out = append(out, p.Name)
			}
		}
	}
	return out, err
}

func awaitHeld(t *testing.T, k *kubetest.Cluster, node string, n int) {
	t.Helper()
	kubetest.Eventually(t, fmt.Sprintf("%d reservations on %s", n, node), func() error {
		all, err := reserved(k, node)
		if err == nil && len(all) != n {
			err = fmt.Errorf("there are %q", all)
		}
		return err
	})
}

func awaitSeen(t *testing.T, p *Backend, id core.TaskID, what string, ok func(backend.Observation) bool) {
	t.Helper()
	kubetest.Eventually(t, id.String()+" "+what, func() error {
		if x, _ := p.pods.Tasks.Get(id); !ok(x.Seen) {
			return fmt.Errorf("it is %+v", x.Seen)
		}
		return nil
	})
}

// fakes is a backend over nodes that are not there, whose GPUs tasks share.
type fakes struct {
	*Backend
	k *kubetest.Cluster
}

func (f *fakes) task(name, node string, milli, gang, index int) backend.Assignment {
	return backend.Assignment{
		ID: core.TaskID{Workload: core.WorkloadID(name), Index: index}, Node: core.NodeID(node), Image: "sim:1", Argv: []string{"sleep"}, Gang: gang,
		Devices: []core.Share{{Device: naming.DeviceID(0), Milli: milli}}, About: backend.About{Project: "parts", Name: name},
	}
}

func (f *fakes) begin(t *testing.T, all ...backend.Assignment) {
	t.Helper()
	if err := f.Start(t.Context(), all); err != nil {
		t.Fatal(err)
	}
}

// TestReservationsThatNobodyNeedsGo tries how reservations end: after crashes,
// with their nodes, and with tasks that never came to run.
func TestReservationsThatNobodyNeedsGo(t *testing.T) {
	f := &fakes{k: kubetest.Start(t, kubetest.Options{NoControllers: true, NoScheduler: true})}
	nodes := f.k.Kwok(t, 3, kubetest.NodeShape{Prefix: "share", GPUs: 2})
	f.orphan(t, nodes[0])
	gone := f.nodeGoes(t, nodes[1])
	f.refusedGang(t, nodes[2])
	f.endedWaiting(t)
	kubetest.Eventually(t, "nothing is remembered", func() error {
		f.pods.Fractions.Mu.Lock()
		defer f.pods.Fractions.Mu.Unlock()
		delete(f.pods.Fractions.Slots, fraction.Slot{Node: nodes[1], Index: 0}) // its task's pod stays: there is no controller that collects such
		delete(f.pods.Fractions.Uses, gone)
		if len(f.pods.Fractions.Slots)+len(f.pods.Fractions.Pending)+len(f.pods.Fractions.On)+len(f.pods.Fractions.Uses) > 0 {
			return fmt.Errorf("slots %v, pending %v, uses %v", f.pods.Fractions.Slots, f.pods.Fractions.Pending, f.pods.Fractions.Uses)
		}
		return nil
	})
}

// orphan: what a server that crashed has left goes when the next begins.
func (f *fakes) orphan(t *testing.T, node string) {
	t.Helper()
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: naming.Reservations, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	if _, err := f.k.Client.CoreV1().Namespaces().Create(t.Context(), space, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	orphan := fraction.New(cluster.New(cluster.Options{ReservationImage: "sim:1"}, nil), nil).ReservationPod(fraction.Slot{Node: node, Index: 1}, 0)
	f.k.Run(t, naming.Reservations, orphan)
	p, err := Open(cluster.Options{Config: f.k.Config, LogDir: t.TempDir(), Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	f.Backend = p
	t.Cleanup(func() { _ = p.Close() })
	awaitHeld(t, f.k, node, 0)
}

// nodeGoes: a node goes, and what ran there.
func (f *fakes) nodeGoes(t *testing.T, node string) core.TaskID {
	t.Helper()
	gone := f.task("gone", node, 500, 0, 0)
	f.begin(t, gone)
	awaitSeen(t, f.Backend, gone.ID, "runs", func(o backend.Observation) bool {
		return o.State == core.TaskRunning && strings.Contains(o.Message, "fake")
	})
	awaitHeld(t, f.k, node, 1)
	if err := f.k.Client.CoreV1().Nodes().Delete(t.Context(), node, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitHeld(t, f.k, node, 0)
	return gone.ID
}

// refusedGang: a gang one part of which cannot be had is not there at all, be it
// that the node knows no GPUs, or that its device plugin shares them.
func (f *fakes) refusedGang(t *testing.T, node string) {
	t.Helper()
	f.k.Kwok(t, 1, kubetest.NodeShape{Prefix: "bare"})
	nodeIs(t, f.Backend, "bare-0", func(n core.Node) bool { return n.Ready })
	f.begin(t, f.task("gang", node, 500, 2, 0), f.task("gang", "bare-0", 500, 2, 1))
	for i := range 2 {
		awaitSeen(t, f.Backend, core.TaskID{Workload: "gang", Index: i}, "is refused", func(o backend.Observation) bool {
			return o.State == core.TaskFailed && strings.Contains(o.Message, "node bare-0 can be shared: it has no resource nvidia.com/gpu")
		})
	}
	awaitHeld(t, f.k, node, 0)

	f.k.Kwok(t, 1, kubetest.NodeShape{Prefix: "sliced", GPUs: 2, Labels: map[string]string{resources.LabelReplicas: "2"}})
	nodeIs(t, f.Backend, "sliced-0", func(n core.Node) bool { return n.Ready })
	sliced := f.task("sliced", "sliced-0", 500, 0, 0)
	f.begin(t, sliced)
	awaitSeen(t, f.Backend, sliced.ID, "is refused", func(o backend.Observation) bool {
		return o.State == core.TaskFailed && strings.Contains(o.Message, "label nvidia.com/gpu.replicas=2")
	})
}

// endedWaiting: one waits for its device and says so, and is ended before it has
// one. Who wants the whole device then waits for the reservation to go.
func (f *fakes) endedWaiting(t *testing.T) {
	t.Helper()
	dumb := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "dumb"}} // nobody is there who would start anything
	dumb.Status.Capacity = corev1.ResourceList{resources.GpuResources[0]: resource.MustParse("1"), corev1.ResourcePods: resource.MustParse("10")}
	dumb.Status.Allocatable = dumb.Status.Capacity
	if _, err := f.k.Client.CoreV1().Nodes().Create(t.Context(), dumb, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	nodeIs(t, f.Backend, "dumb", func(core.Node) bool { return true })
	waits := f.task("waits", "dumb", 500, 0, 0)
	f.begin(t, waits)
	awaitSeen(t, f.Backend, waits.ID, "waits", func(o backend.Observation) bool {
		return o.State == core.TaskStarting && strings.Contains(o.Message, "reservation pod muster-reservations/dumb-gpu-0 is starting")
	})
	f.begin(t, waits) // asked again while it waits
	if err := f.Stop(t.Context(), []core.TaskID{waits.ID}, time.Second); err != nil {
		t.Fatal(err)
	}
	awaitSeen(t, f.Backend, waits.ID, "was ended", func(o backend.Observation) bool {
		return o.State == core.TaskFailed && o.Reason == string(lifecycle.ReasonKilled)
	})
	awaitHeld(t, f.k, "dumb", 0)
	whole := f.task("whole", "dumb", 1000, 0, 0)
	f.begin(t, whole)
	awaitSeen(t, f.Backend, whole.ID, "waits", func(o backend.Observation) bool { return strings.Contains(o.Message, "is on its way out") })
	now := int64(0)
	if err := f.k.Client.CoreV1().Pods(naming.Reservations).Delete(t.Context(), "dumb-gpu-0", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "the whole device is asked for", func() error {
		if x, _ := f.pods.Tasks.Get(whole.ID); !x.There {
			return errors.New("there is no pod")
		}
		return nil
	})
}
