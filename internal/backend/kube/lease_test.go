package kube_test

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

const labelInstallation = "muster.dev/installation"

// openAs opens a backend of a control plane; change may change its options.
func (h *harsh) openAs(installation string, change ...func(*cluster.Options)) *kube.Backend {
	h.t.Helper()
	o := cluster.Options{Config: h.c.Config, LogDir: h.t.TempDir(), Installation: installation}
	for _, f := range change {
		f(&o)
	}
	p, err := kube.Open(o)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { p.Close() })
	return p
}

// refused waits until a backend says why it does not drive its cluster.
func (h *harsh) refused(p *kube.Backend, words string) {
	h.t.Helper()
	kubetest.Eventually(h.t, "refused: "+words, func() error {
		_, err := p.Observe(h.t.Context())
		if !errors.Is(err, backend.ErrUnreachable) || !strings.Contains(err.Error(), words) || p.Drives() {
			return errors.Join(errors.New("it is not"), err)
		}
		return nil
	})
}

// knows are the tasks of this test's project that a backend calls its own.
func (h *harsh) knows(p *kube.Backend, a backend.Assignment) bool {
	h.t.Helper()
	all, err := p.Observe(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	for _, o := range all {
		if o.ID == a.ID {
			return true
		}
	}
	return false
}

// severalServers: a cluster has one server that drives it, and what another made
// is not touched by it.
func severalServers(t *testing.T, h *harsh) {
	unmarked, a := h.open(), h.task("unmarked", 0)
	h.start(unmarked, a)
	h.runs(unmarked, a.ID)
	_ = unmarked.Close()

	first := h.openAs("first", func(o *cluster.Options) { o.Seasoned = true })
	h.runs(first, a.ID) // it was made before installations had names
	kubetest.Eventually(t, "it bears the name", func() error {
		if got := h.pod(a.ID).Labels[labelInstallation]; got != "first" {
			return errors.New("it bears " + got)
		}
		return nil
	})
	b := h.task("marked", 0)
	b.Ports = []int{80}
	h.start(first, b)
	h.runs(first, b.ID)
	service, err := h.c.Client.CoreV1().Services(h.space()).List(t.Context(), metav1.ListOptions{LabelSelector: labelInstallation + "=first"})
	if err != nil || len(service.Items) != 1 {
		t.Errorf("its services: %d, %v", len(service.Items), err)
	}

	second := h.openAs("second")
	h.refused(second, "driven by another server (installation first")
	if _, err := second.Inventory(t.Context()); !errors.Is(err, backend.ErrUnreachable) {
		t.Errorf("its nodes: %v", err)
	}
	if err := second.Start(t.Context(), []backend.Assignment{h.task("barred", 0)}); !errors.Is(err, backend.ErrUnreachable) {
		t.Errorf("it starts: %v", err)
	}

	third := h.openAs("third", func(o *cluster.Options) { o.TakeOver, o.Seasoned = true, true })
	if h.knows(third, a) || h.knows(third, b) {
		t.Error("it calls tasks of another its own")
	}
	c := h.task("after", 0)
	h.start(third, c)
	h.runs(third, c.ID)
	h.refused(first, "driven by another server (installation third")
	if err := third.Stop(t.Context(), []core.TaskID{a.ID, b.ID}, 0); err != nil {
		t.Error(err)
	}
	for _, x := range []backend.Assignment{a, b} {
		if pod := h.pod(x.ID); pod.DeletionTimestamp != nil {
			t.Errorf("pod %s of another was touched", pod.Name)
		}
	}
	if left, err := h.c.Client.CoreV1().Services(h.space()).List(t.Context(), metav1.ListOptions{LabelSelector: labelInstallation + "=first"}); err != nil || len(left.Items) != 1 {
		t.Errorf("services of another: %d, %v", len(left.Items), err)
	}

	// Deleted, the record is whose comes first.
	_ = third.Close()
	if err := h.c.Client.CoordinationV1().Leases(naming.Reservations).Delete(t.Context(), cluster.Lease, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.runs(first, b.ID)
	if h.knows(first, c) {
		t.Error("it calls the task of another its own")
	}
}

// oneClusterTwice: two backends that lead to one cluster do not both drive it.
func oneClusterTwice(_ *testing.T, h *harsh) {
	var known cluster.Register
	named := func(name string) func(*cluster.Options) {
		return func(o *cluster.Options) { o.Name, o.Register = name, &known }
	}
	east, west := h.openAs("", named("east")), h.openAs("", named("west"))
	a := h.task("once", 0)
	h.start(east, a)
	h.runs(east, a.ID)
	h.refused(west, "it is cluster east under another name")
	h.runs(east, a.ID)
}
