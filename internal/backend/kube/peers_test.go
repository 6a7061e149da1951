package kube

import (
	"log/slog"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// TestOnlyThoseWhoAreLookedForHaveNames: the service of a gang whose tasks know
// of the first only leads to that one, so that the cluster has no list to keep
// of all that come.
func TestOnlyThoseWhoAreLookedForHaveNames(t *testing.T) {
	k := kubetest.Start(t, kubetest.Options{NoControllers: true, NoScheduler: true})
	node := k.Kwok(t, 1, kubetest.NodeShape{Prefix: "peers"})[0]
	p, err := Open(cluster.Options{Config: k.Config, LogDir: t.TempDir(), Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	nodeIs(t, p, node, func(n core.Node) bool { return n.Ready })
	for name, c := range map[string]struct {
		peers bool
		ports []int
		first bool // is all that it leads to
	}{"one": {first: true}, "all": {peers: true}, "ports": {ports: []int{8000}}} {
		var gang []backend.Assignment
		for i := range 2 {
			gang = append(gang, backend.Assignment{
				ID: core.TaskID{Workload: core.WorkloadID(name), Index: i}, Node: core.NodeID(node), Image: "sim:1", Argv: []string{"sleep"},
				Gang: 2, Peers: c.peers, Ports: c.ports, About: backend.About{Project: "peers", Name: name},
			})
		}
		if err := p.Start(t.Context(), gang); err != nil {
			t.Fatal(err)
		}
		s, err := k.Client.CoreV1().Services(p.Namespaces.Of("peers")).Get(t.Context(), naming.ServiceName(gang[0].ID), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if index, first := s.Spec.Selector[naming.LabelIndex]; first != c.first || first && index != "0" {
			t.Errorf("%s: its service leads to %v", name, s.Spec.Selector)
		}
	}
}
