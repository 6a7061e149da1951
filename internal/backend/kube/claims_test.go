package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/dra"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// drivers make objects of dynamic resource allocation as drivers and schedulers
// of others do.
type drivers struct {
	*kubetest.Cluster
	space string
}

// suggestion says which GPUs, by number, a node has.
func (d drivers) suggestion(t *testing.T, node string, generation int64, gpus ...int) {
	t.Helper()
	product, kind, mig, parent := "H200", "gpu", "mig", "GPU-"+node+"-3"
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", node, generation)}, Spec: resourcev1.ResourceSliceSpec{
		Driver: dra.Driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: generation, ResourceSliceCount: 1},
	}}
	for _, n := range gpus {
		uuid := fmt.Sprintf("GPU-%s-%d", node, n)
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{
			Name:       fmt.Sprintf("gpu-%d", n),
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"type": {StringValue: &kind}, "uuid": {StringValue: &uuid}, "productName": {StringValue: &product}},
			Capacity:   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("140Gi")}},
		})
	}
	s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: "gpu-3-mig-1", Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"type": {StringValue: &mig}, "parentUUID": {StringValue: &parent}}})
	if _, err := d.Client.ResourceV1().ResourceSlices().Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// take makes a claim that has devices of a node.
func (d drivers) take(t *testing.T, name, node string, admin bool, devices ...string) {
	t.Helper()
	ctx := t.Context()
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
		{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: dra.Driver, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: int64(len(devices))}},
	}}}}
	if admin {
		c.Spec.Devices.Requests[0].Exactly.AdminAccess = &admin
	}
	c, err := d.Client.ResourceV1().ResourceClaims(d.space).Create(ctx, c, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Status.Allocation = &resourcev1.AllocationResult{}
	for _, device := range devices {
		r := resourcev1.DeviceRequestAllocationResult{Request: "r", Driver: dra.Driver, Pool: node, Device: device}
		if admin {
			r.AdminAccess = &admin
		}
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results, r)
	}
	if _, err := d.Client.ResourceV1().ResourceClaims(d.space).UpdateStatus(ctx, c, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// nodeIs waits until a node of the backend is as it should be.
func nodeIs(t *testing.T, p *Backend, name string, ok func(core.Node) bool) {
	t.Helper()
	kubetest.Eventually(t, "node "+name, func() error {
		all, err := p.Inventory(context.Background())
		if err != nil {
			return err
		}
		for _, n := range all {
			if string(n.ID) == name && ok(n) {
				return nil
			}
		}
		return fmt.Errorf("nodes are %+v", all)
	})
}

func healthy(n core.Node) (out []int) {
	for _, d := range n.Devices {
		if d.Healthy {
			out = append(out, d.Index)
		}
	}
	return out
}

// TestClaimsAreCounted: what is given by claims is seen, both of nodes whose
// device plugin has the GPUs and of such as have them by claims only, on which
// our own pods ask by claims too.
func TestClaimsAreCounted(t *testing.T) {
	k := kubetest.Start(t, kubetest.Options{NoControllers: true, NoScheduler: true})
	d := drivers{k, k.Namespace(t)}
	k.Kwok(t, 1, kubetest.NodeShape{Prefix: "plugin", GPUs: 4})
	k.Kwok(t, 1, kubetest.NodeShape{Prefix: "driver"})
	const plugin, driver = "plugin-0", "driver-0"
	d.suggestion(t, plugin, 1, 0, 1, 2, 3)
	d.suggestion(t, driver, 1, 0, 1, 2, 3)
	d.take(t, "before", plugin, false, "gpu-0")

	p, err := Open(cluster.Options{Config: k.Config, LogDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	nodes, err := p.Inventory(t.Context()) // the first that is said counts claims already
	if err != nil || len(nodes) != 2 {
		t.Fatalf("nodes %+v, %v", nodes, err)
	}
	nodeIs(t, p, plugin, func(n core.Node) bool {
		return len(n.Devices) == 4 && slices.Equal(n.Others.Milli, []int{0, 0, 0, 1000})
	})
	nodeIs(t, p, driver, func(n core.Node) bool {
		return slices.Equal(healthy(n), []int{0, 1, 2, 3}) && n.Devices[1].Product == "H200" && n.Devices[1].Memory == 140<<30 && n.Others.None()
	})

	// Which device of a driver is taken is known; who only looks takes nothing.
	d.take(t, "two", driver, false, "gpu-1", "gpu-2")
	space, err := k.Client.CoreV1().Namespaces().Get(t.Context(), d.space, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	space.Labels["resource.kubernetes.io/admin-access"] = "true"
	if _, err := k.Client.CoreV1().Namespaces().Update(t.Context(), space, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	d.take(t, "monitor", driver, true, "gpu-0")
	nodeIs(t, p, driver, func(n core.Node) bool { return slices.Equal(n.Others.Milli, []int{0, 1000, 1000, 0}) })

	d.ours(t, p, driver)

	// A claim that goes gives back, and one of a partition has its whole GPU; a newer generation takes over, and a device
	// that it lacks leaves the others where they were.
	if err := k.Client.ResourceV1().ResourceClaims(d.space).Delete(t.Context(), "two", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	nodeIs(t, p, driver, func(n core.Node) bool { return n.Others.None() })
	d.take(t, "partition", plugin, false, "gpu-3-mig-1")
	nodeIs(t, p, plugin, func(n core.Node) bool { return slices.Equal(n.Others.Milli, []int{0, 0, 1000, 1000}) })
	d.suggestion(t, driver, 2, 0, 1, 3)
	nodeIs(t, p, driver, func(n core.Node) bool {
		return len(n.Devices) == 4 && slices.Equal(healthy(n), []int{0, 1, 3}) && n.Others.None()
	})
	if err := k.Client.ResourceV1().ResourceClaims(d.space).Delete(t.Context(), "before", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	nodeIs(t, p, plugin, func(n core.Node) bool { return slices.Equal(n.Others.Milli, []int{0, 0, 0, 1000}) })
}

// ours: a task of ours has what is left, by a claim of its own; a part of what
// only claims give cannot be had.
func (d drivers) ours(t *testing.T, p *Backend, driver string) {
	t.Helper()
	a := backend.Assignment{
		ID: core.TaskID{Workload: "ours"}, Node: core.NodeID(driver), Image: "sim:1", Argv: []string{"sleep"},
		Devices: []core.Share{{Index: 0, Milli: 1000}, {Index: 3, Milli: 1000}}, About: backend.About{Project: "claims", Name: "ours"},
	}
	if err := p.Start(t.Context(), []backend.Assignment{a}); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "it runs", func() error {
		if x, _ := p.pods.Tasks.Get(a.ID); x.Seen.State != core.TaskRunning || !x.Bound {
			return fmt.Errorf("it is %+v", x.Seen)
		}
		return nil
	})
	x, _ := p.pods.Tasks.Get(a.ID)
	pod, err := d.Client.CoreV1().Pods(x.Space).Get(t.Context(), x.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c := pod.Spec.Containers[0].Resources; len(c.Claims) != 1 || len(c.Limits) != 0 || len(pod.Spec.ResourceClaims) != 1 {
		t.Errorf("it asks for %+v by %+v", c, pod.Spec.ResourceClaims)
	}
	claim, err := d.Client.ResourceV1().ResourceClaims(x.Space).Get(t.Context(), *pod.Spec.ResourceClaims[0].ResourceClaimName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s := claim.Status; s.Allocation == nil || len(s.Allocation.Devices.Results) != 2 || s.Allocation.Devices.Results[1].Device != "gpu-3" ||
		len(s.ReservedFor) != 1 || s.ReservedFor[0].UID != pod.UID || claim.OwnerReferences[0].UID != pod.UID {
		t.Errorf("its claim has %+v", s)
	}
	nodeIs(t, p, driver, func(n core.Node) bool { return slices.Equal(n.Others.Milli, []int{0, 1000, 1000, 0}) })
	a.ID.Workload, a.About.Name, a.Devices = "part", "part", []core.Share{{Index: 1, Milli: 500}}
	if err := p.Start(t.Context(), []backend.Assignment{a}); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "a part is refused", func() error {
		if x, _ := p.pods.Tasks.Get(a.ID); x.Seen.State != core.TaskFailed || !strings.Contains(x.Seen.Message, "device plugin") {
			return fmt.Errorf("it is %+v", x.Seen)
		}
		return nil
	})
}

// Names of devices are the driver's business; places on a node are ours.
func TestADriverMayOfferOddNames(t *testing.T) {
	t.Parallel()
	names := func(all []dra.Offered) (out []string) {
		for _, o := range all {
			out = append(out, o.Name.Device)
		}
		return out
	}
	gpus := func(all ...string) (out []dra.Offered) {
		for _, n := range all {
			out = append(out, dra.Offered{Name: dra.Device{Device: n}, Product: "p", Healthy: true})
		}
		return out
	}
	for _, c := range []struct{ offered, want []string }{
		{nil, nil},
		{[]string{"gpu-0", "gpu-2"}, []string{"gpu-0", "", "gpu-2"}},
		{[]string{"a", "b"}, []string{"a", "b"}},
		{[]string{"gpu-1", "gpu-1"}, []string{"gpu-1", "gpu-1"}},
		{[]string{"gpu-1", "gpu-99999999"}, []string{"gpu-1", "gpu-99999999"}},
	} {
		if got := names(dra.Numbered(gpus(c.offered...))); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.offered, got, c.want)
		}
	}
}
