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

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/kubetest"
	"github.com/musterhq/muster/internal/plane"
)

// reserved are the reservations of a node that are not on their way out.
func reserved(k *kubetest.Cluster, node string) ([]string, error) {
	list, err := k.Client.CoreV1().Pods(Reservations).List(context.Background(), metav1.ListOptions{})
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

func awaitSeen(t *testing.T, p *Plane, id core.TaskID, what string, ok func(plane.Observation) bool) {
	t.Helper()
	kubetest.Eventually(t, id.String()+" "+what, func() error {
		if x, _ := p.tasks.get(id); !ok(x.seen) {
			return fmt.Errorf("it is %+v", x.seen)
		}
		return nil
	})
}

// TestReservationsThatNobodyNeedsGo tries how reservations end: after crashes,
// with their nodes, and with tasks that never came to run.
func TestReservationsThatNobodyNeedsGo(t *testing.T) {
	k := kubetest.Start(t, kubetest.Options{NoControllers: true, NoScheduler: true})
	nodes := k.Kwok(t, 3, kubetest.NodeShape{Prefix: "share", GPUs: 2})
	k.Kwok(t, 1, kubetest.NodeShape{Prefix: "bare"})
	ctx := t.Context()
	dumb := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "dumb"}} // nobody is there who would start anything
	dumb.Status.Capacity = corev1.ResourceList{gpuResources[0]: resource.MustParse("1"), corev1.ResourcePods: resource.MustParse("10")}
	dumb.Status.Allocatable = dumb.Status.Capacity
	if _, err := k.Client.CoreV1().Nodes().Create(ctx, dumb, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	// What a server that crashed has left.
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Reservations}}
	if _, err := k.Client.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	orphan := (&Plane{o: Options{ReservationImage: "sim:1"}}).reservationPod(slot{nodes[0], 1}, 0)
	k.Run(t, Reservations, orphan)
	p, err := Open(Options{Config: k.Config, LogDir: t.TempDir(), Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	awaitHeld(t, k, nodes[0], 0)

	task := func(name, node string, milli, gang, index int) plane.Assignment {
		return plane.Assignment{
			ID: core.TaskID{Workload: core.WorkloadID(name), Index: index}, Node: core.NodeID(node), Image: "sim:1", Argv: []string{"sleep"}, Gang: gang,
			Devices: []core.Share{{Device: deviceID(0), Milli: milli}}, About: plane.About{Project: "parts", Name: name},
		}
	}
	begin := func(all ...plane.Assignment) {
		t.Helper()
		if err := p.Start(ctx, all); err != nil {
			t.Fatal(err)
		}
	}

	// A node goes, and what ran there.
	gone := task("gone", nodes[1], 500, 0, 0)
	begin(gone)
	awaitSeen(t, p, gone.ID, "runs", func(o plane.Observation) bool {
		return o.State == core.TaskRunning && strings.Contains(o.Message, "fake")
	})
	awaitHeld(t, k, nodes[1], 1)
	if err := k.Client.CoreV1().Nodes().Delete(ctx, nodes[1], metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitHeld(t, k, nodes[1], 0)

	// A gang one part of which cannot be had is not there at all.
	begin(task("gang", nodes[2], 500, 2, 0), task("gang", "bare-0", 500, 2, 1))
	for i := range 2 {
		awaitSeen(t, p, core.TaskID{Workload: "gang", Index: i}, "is refused", func(o plane.Observation) bool {
			return o.State == core.TaskFailed && strings.Contains(o.Message, "node bare-0 can be shared: it has no resource nvidia.com/gpu")
		})
	}
	awaitHeld(t, k, nodes[2], 0)

	// One waits for its device and says so, and is ended before it has one. Who
	// wants the whole device then waits for the reservation to go.
	waits := task("waits", "dumb", 500, 0, 0)
	begin(waits)
	awaitSeen(t, p, waits.ID, "waits", func(o plane.Observation) bool {
		return o.State == core.TaskStarting && strings.Contains(o.Message, "reservation pod muster-reservations/dumb-gpu-0 is starting")
	})
	begin(waits) // asked again while it waits
	if err := p.Stop(ctx, []core.TaskID{waits.ID}, time.Second); err != nil {
		t.Fatal(err)
	}
	awaitSeen(t, p, waits.ID, "was ended", func(o plane.Observation) bool {
		return o.State == core.TaskFailed && o.Reason == string(lifecycle.ReasonKilled)
	})
	awaitHeld(t, k, "dumb", 0)
	whole := task("whole", "dumb", 1000, 0, 0)
	begin(whole)
	awaitSeen(t, p, whole.ID, "waits", func(o plane.Observation) bool { return strings.Contains(o.Message, "is on its way out") })
	now := int64(0)
	if err := k.Client.CoreV1().Pods(Reservations).Delete(ctx, "dumb-gpu-0", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "the whole device is asked for", func() error {
		if x, _ := p.tasks.get(whole.ID); !x.there {
			return errors.New("there is no pod")
		}
		return nil
	})
	kubetest.Eventually(t, "nothing is remembered", func() error {
		p.parts.mu.Lock()
		defer p.parts.mu.Unlock()
		delete(p.parts.slots, slot{nodes[1], 0}) // its task's pod stays: there is no controller that collects such
		if len(p.parts.slots)+len(p.parts.pending)+len(p.parts.on) > 0 {
			return fmt.Errorf("slots %v, pending %v", p.parts.slots, p.parts.pending)
		}
		return nil
	})
}
