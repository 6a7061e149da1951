package kube

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/dra"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// TestClaimsOnARealKubelet: a real kubelet has a driver prepare what the claims
// of our pods say, and nothing else.
func TestClaimsOnARealKubelet(t *testing.T) {
	t.Parallel()
	k := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	node := k.Node(t, "driver", 0, dra.Driver+"=3")
	p, err := Open(cluster.Options{Config: k.Config, LogDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	nodeIs(t, p, node.Name, func(n core.Node) bool { return slices.Equal(healthy(n), []int{0, 1, 2}) })
	want := map[string][]core.Share{"one": {{Index: 1, Milli: 1000}}, "two": {{Index: 0, Milli: 1000}, {Index: 2, Milli: 1000}}}
	for name, devices := range want {
		a := backend.Assignment{
			ID: core.TaskID{Workload: core.WorkloadID(name)}, Node: core.NodeID(node.Name), Image: k.Busybox(t), Argv: []string{"sleep", "1000"},
			Devices: devices, Grace: time.Second, About: backend.About{Project: "claims", Name: name},
		}
		if err := p.Start(t.Context(), []backend.Assignment{a}); err != nil {
			t.Fatal(err)
		}
	}
	claims := k.Client.ResourceV1().ResourceClaims("muster-claims")
	claimOf := map[string]types.UID{}
	for name, devices := range want {
		id := core.TaskID{Workload: core.WorkloadID(name)}
		kubetest.Eventually(t, name+" runs", func() error {
			if x, _ := p.pods.Tasks.Get(id); x.Seen.State != core.TaskRunning {
				return fmt.Errorf("it is %+v", x.Seen)
			}
			return nil
		})
		x, _ := p.pods.Tasks.Get(id)
		c, err := claims.Get(t.Context(), x.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		claimOf[name] = c.UID
		var names []string
		for _, d := range devices {
			names = append(names, fmt.Sprintf("gpu-%d", d.Index))
		}
		if got := node.Prepared(t)[c.UID]; !slices.Equal(got, names) {
			t.Errorf("%s has %q, want %q", name, got, names)
		}
	}
	one := core.TaskID{Workload: "one"}
	if err := p.Stop(t.Context(), []core.TaskID{one}, time.Second); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "what it had is given back", func() error {
		if err := p.Forget(t.Context(), []core.TaskID{one}); err != nil {
			return err
		}
		all := node.Prepared(t)
		if all[claimOf["one"]] != nil || len(all) != 1 {
			return fmt.Errorf("there is %q", all)
		}
		list, err := claims.List(t.Context(), metav1.ListOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if len(list.Items) != 1 || !strings.HasPrefix(list.Items[0].Name, "two-") {
			return fmt.Errorf("%d claims", len(list.Items))
		}
		return nil
	})
}
