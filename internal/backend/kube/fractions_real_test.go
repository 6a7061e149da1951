package kube

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/fraction"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// sharing is a backend over a real kubelet whose GPUs tasks share.
type sharing struct {
	*Backend
	c    *kubetest.Cluster
	node *kubetest.Node
}

func (s *sharing) open(t *testing.T) {
	t.Helper()
	p, err := Open(cluster.Options{Config: s.c.Config, LogDir: t.TempDir(), ReservationImage: s.c.Busybox(t), Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	s.Backend = p
	t.Cleanup(func() { _ = p.Close() })
}

// begin starts a task with so much of some devices.
func (s *sharing) begin(t *testing.T, name string, milli int, devices ...int) core.TaskID {
	t.Helper()
	a := s.assign(t, name, milli, devices...)
	if err := s.Start(t.Context(), []backend.Assignment{a}); err != nil {
		t.Fatal(err)
	}
	return a.ID
}

func (s *sharing) assign(t *testing.T, name string, milli int, devices ...int) backend.Assignment {
	a := backend.Assignment{
		ID: core.TaskID{Workload: core.WorkloadID(name)}, Node: core.NodeID(s.node.Name), Image: s.c.Busybox(t), Grace: time.Second,
		Argv:  []string{"/bin/sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES; trap 'exit 0' TERM; sleep 100000 & wait"},
		About: backend.About{Project: "parts", Name: name},
	}
	for _, i := range devices {
		a.Devices = append(a.Devices, core.Share{Device: naming.DeviceID(i), Index: i, Milli: milli})
	}
	return a
}

func (s *sharing) await(t *testing.T, id core.TaskID, state core.TaskState) backend.Observation {
	t.Helper()
	var seen backend.Observation
	kubetest.Eventually(t, id.String()+" is "+string(state), func() error {
		x, _ := s.pods.Tasks.Get(id)
		if seen = x.Seen; seen.State != state {
			if seen.State.Ended() {
				t.Fatalf("%s ended: %+v", id, seen)
			}
			return fmt.Errorf("it is %+v", seen)
		}
		return nil
	})
	return seen
}

// gpus are those that a task has, as it says itself.
func (s *sharing) gpus(t *testing.T, id core.TaskID) string {
	t.Helper()
	s.await(t, id, core.TaskRunning)
	x, _ := s.pods.Tasks.Get(id)
	out := ""
	kubetest.Eventually(t, id.String()+" says what it has", func() error {
		raw, err := s.c.Client.CoreV1().Pods(x.Space).GetLogs(x.Name, &corev1.PodLogOptions{Container: naming.Container}).DoRaw(context.Background())
		if out = strings.TrimSpace(string(raw)); err == nil && out == "" {
			err = fmt.Errorf("nothing yet")
		}
		return err
	})
	return out
}

func (s *sharing) end(t *testing.T, ids ...core.TaskID) {
	t.Helper()
	if err := s.Stop(t.Context(), ids, time.Second); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		kubetest.Eventually(t, id.String()+" has ended", func() error {
			if x, _ := s.pods.Tasks.Get(id); !x.Seen.State.Ended() {
				return fmt.Errorf("it is %+v", x.Seen)
			}
			return nil
		})
	}
}

// reservations waits until there are so many, all of which hold something.
func (s *sharing) reservations(t *testing.T, n int) []corev1.Pod {
	t.Helper()
	var all []corev1.Pod
	kubetest.Eventually(t, fmt.Sprintf("%d reservations", n), func() error {
		list, err := s.c.Client.CoreV1().Pods(naming.Reservations).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		if all = list.Items; len(all) != n {
			return fmt.Errorf("there are %d", len(all))
		}
		for _, p := range all {
			if p.Annotations[fraction.NoteGPU] == "" || p.DeletionTimestamp != nil {
				return fmt.Errorf("%s has %v", p.Name, p.Annotations)
			}
		}
		return nil
	})
	return all
}

// TestTasksShareGPUsOfARealNode goes through the life of devices that are
// shared, on a kubelet that knows whole ones only.
func TestTasksShareGPUsOfARealNode(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{NoControllers: true, NoScheduler: true})
	s := &sharing{c: c, node: c.Node(t, "parts", 2)}
	s.open(t)
	one, two, shared := s.halves(t)
	s.refused(t)
	s.deleted(t, one, shared)
	s.last(t, two, s.anew(t, one, shared))
	s.gang(t)
	s.brief(t)
}

// halves: two of them are on one device, and a whole one is another.
func (s *sharing) halves(t *testing.T) (one, two core.TaskID, shared string) {
	t.Helper()
	one, two = s.begin(t, "one", 500, 0), s.begin(t, "two", 500, 0)
	shared = s.gpus(t, one)
	if also := s.gpus(t, two); also != shared || !strings.HasPrefix(shared, "GPU-parts-") {
		t.Errorf("two halves of a device are of %q and %q", shared, also)
	}
	if o := s.await(t, one, core.TaskRunning); !strings.HasPrefix(o.Message, "share not enforced: ") {
		t.Errorf("of a share that nobody enforces it says %q", o.Message)
	}
	all := s.reservations(t, 1)
	if all[0].Annotations[fraction.NoteGPU] != shared {
		t.Errorf("the reservation holds %q", all[0].Annotations[fraction.NoteGPU])
	}
	whole := s.begin(t, "whole", 1000, 1)
	if other := s.gpus(t, whole); other == shared {
		t.Errorf("a whole device is %q, which is shared", other)
	}
	nodes, err := s.Inventory(t.Context())
	if err != nil || len(nodes) != 1 {
		t.Fatalf("nodes %+v, %v", nodes, err)
	}
	if n := nodes[0]; !n.Others.None() || n.Tasks >= 110 {
		t.Errorf("a reservation counts as others' %+v, or as nothing: %d tasks", n.Others, n.Tasks)
	}
	return one, two, shared
}

// refused: of a device that others hold no part can be had, and that is said.
func (s *sharing) refused(t *testing.T) {
	t.Helper()
	refused := s.begin(t, "refused", 300, 1)
	kubetest.Eventually(t, "the third device is refused", func() error {
		x, _ := s.pods.Tasks.Get(refused)
		if x.Seen.State != core.TaskFailed || !strings.Contains(x.Seen.Message, "no GPU of node parts can be shared: ") {
			return fmt.Errorf("it is %+v", x.Seen)
		}
		return nil
	})
	s.reservations(t, 1)
	s.end(t, core.TaskID{Workload: "whole"})
}

// deleted: someone deletes the reservation, and there is another, of the same
// device.
func (s *sharing) deleted(t *testing.T, one core.TaskID, shared string) {
	t.Helper()
	all, now := s.reservations(t, 1), int64(0)
	if err := s.c.Client.CoreV1().Pods(naming.Reservations).Delete(t.Context(), all[0].Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "another reservation", func() error {
		if again := s.reservations(t, 1); again[0].UID == all[0].UID || again[0].Annotations[fraction.NoteGPU] != shared {
			return fmt.Errorf("it is %s of %s", again[0].UID, again[0].Annotations[fraction.NoteGPU])
		} else {
			t.Logf("the one that holds %s again is %s", shared, again[0].Name)
		}
		return nil
	})
	s.await(t, one, core.TaskRunning)
}

// anew: the server begins anew, one task leaves and another comes.
func (s *sharing) anew(t *testing.T, one core.TaskID, shared string) (three core.TaskID) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.open(t)
	if err := s.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.end(t, one)
	three = s.begin(t, "three", 250, 0)
	if has := s.gpus(t, three); has != shared {
		t.Errorf("who comes later has %q, not %q", has, shared)
	}
	s.reservations(t, 1)
	return three
}

// last: the last leaves, and at once the whole device is wanted: it waits for the
// reservation to go, so that the node does not refuse it.
func (s *sharing) last(t *testing.T, two, three core.TaskID) {
	t.Helper()
	s.end(t, two, three)
	both := s.begin(t, "both", 1000, 0, 1)
	if has := s.gpus(t, both); strings.Count(has, "GPU-parts-") != 2 {
		t.Errorf("two whole devices are %q", has)
	}
	s.reservations(t, 0)
	s.end(t, both)
}

// gang: parts of two devices belong together.
func (s *sharing) gang(t *testing.T) {
	t.Helper()
	g1, g2 := s.assign(t, "gang", 400, 0), s.assign(t, "gang", 400, 1)
	g2.ID.Index, g1.Gang, g2.Gang = 1, 2, 2
	if err := s.Start(t.Context(), []backend.Assignment{g1, g2}); err != nil {
		t.Fatal(err)
	}
	if a, b := s.gpus(t, g1.ID), s.gpus(t, g2.ID); a == b {
		t.Errorf("parts of two devices are both of %q", a)
	}
	s.reservations(t, 2)
	s.end(t, g1.ID, g2.ID)
	if err := s.Forget(t.Context(), []core.TaskID{g1.ID, g2.ID}); err != nil {
		t.Fatal(err)
	}
	s.reservations(t, 0)
}

// brief: one that is not wanted any more while it waits leaves nothing.
func (s *sharing) brief(t *testing.T) {
	t.Helper()
	s.c.StopServer(t)
	s.c.StartServer(t)
	brief := s.begin(t, "brief", 500, 0)
	s.end(t, brief)
	s.reservations(t, 0)
	kubetest.Eventually(t, "nothing is remembered", func() error {
		s.pods.Fractions.Mu.Lock()
		defer s.pods.Fractions.Mu.Unlock()
		if len(s.pods.Fractions.Slots)+len(s.pods.Fractions.Pending)+len(s.pods.Fractions.On)+len(s.pods.Fractions.Uses) > 0 {
			return fmt.Errorf("slots %v, pending %v, uses %v", s.pods.Fractions.Slots, s.pods.Fractions.Pending, s.pods.Fractions.Uses)
		}
		return nil
	})
}
