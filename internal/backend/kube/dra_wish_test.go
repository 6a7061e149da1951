package kube

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/dra"
)

// gpuClass is a class of GPUs as NVIDIA's driver makes it.
func gpuClass() *resourcev1.DeviceClass {
	return &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: dra.Driver}, Spec: resourcev1.DeviceClassSpec{Selectors: selectors(`device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'`)}}
}

func selectors(all ...string) (out []resourcev1.DeviceSelector) {
	for _, s := range all {
		out = append(out, resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: s}})
	}
	return out
}

// wishFor is a claim for GPUs.
func wishFor(name string, gpus int64) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ml", UID: types.UID("uid-claim-" + name)}, Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
		Requests: []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: dra.Driver, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: gpus}}},
	}}}
}

// wishing is a pod that names claims.
func wishing(name string, claims ...string) *corev1.Pod {
	pod := outsiderPod(name, nil)
	for _, c := range claims {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: "r-" + c, ResourceClaimName: &c})
	}
	return pod
}

func given(c *resourcev1.ResourceClaim, node string) {
	c.Status.Allocation = dra.NewAllocation(node)
	c.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{dra.ResultOf("gpu", dra.Device{Pool: dra.Pool{Driver: dra.Driver, Name: node}, Device: "gpu-0"})}
}

func TestWhatClaimsOfOthersAskFor(t *testing.T) {
	yes := true
	for name, c := range map[string]struct {
		change func(c *resourcev1.ResourceClaim)
		gpus   int
		bars   string
	}{
		"as it is": {func(*resourcev1.ResourceClaim) {}, 2, ""},
		"two requests": {func(c *resourcev1.ResourceClaim) {
			r := c.Spec.Devices.Requests
			more := r[0]
			more.Name = "b"
			c.Spec.Devices.Requests = append(r, more)
		}, 4, ""},
		"what the class says": {func(c *resourcev1.ResourceClaim) {
			c.Spec.Devices.Requests[0].Exactly.Selectors = selectors("( device.driver==\"gpu.nvidia.com\" )")
		}, 2, ""},
		"none":            {func(c *resourcev1.ResourceClaim) { c.Spec.Devices.Requests = nil }, 0, "spec.devices.requests is empty"},
		"first available": {func(c *resourcev1.ResourceClaim) { c.Spec.Devices.Requests[0].Exactly = nil }, 0, "ml/c cannot be met: spec.devices.requests[gpu] has no exactly"},
		"all":             {func(c *resourcev1.ResourceClaim) { c.Spec.Devices.Requests[0].Exactly.AllocationMode = "All" }, 0, "spec.devices.requests[gpu].exactly.allocationMode is All; understood is ExactCount"},
		"to look":         {func(c *resourcev1.ResourceClaim) { c.Spec.Devices.Requests[0].Exactly.AdminAccess = &yes }, 0, "spec.devices.requests[gpu].exactly.adminAccess"},
		"a part": {func(c *resourcev1.ResourceClaim) {
			c.Spec.Devices.Requests[0].Exactly.Capacity = &resourcev1.CapacityRequirements{}
		}, 0, "spec.devices.requests[gpu].exactly.capacity"},
		"alike":    {func(c *resourcev1.ResourceClaim) { c.Spec.Devices.Constraints = make([]resourcev1.DeviceConstraint, 1) }, 0, "spec.devices.constraints"},
		"too many": {func(c *resourcev1.ResourceClaim) { c.Spec.Devices.Requests[0].Exactly.Count = 33 }, 0, "for 33 devices together; a claim has room for 32"},
		"a product": {func(c *resourcev1.ResourceClaim) {
			c.Spec.Devices.Requests[0].Exactly.Selectors = selectors(`device.attributes["gpu.nvidia.com"].productName == "X"`)
		}, 0, `spec.devices.requests[gpu].exactly.selectors[0] is "device.attributes[\"gpu.nvidia.com\"].productName == \"X\""; understood are`},
		"not what the class says": {func(c *resourcev1.ResourceClaim) {
			c.Spec.Devices.Requests[0].Exactly.Selectors = selectors(`!(device.driver == "gpu.nvidia.com")`)
		}, 0, "exactly.selectors[0] is"},
		"of a class not there": {func(c *resourcev1.ResourceClaim) { c.Spec.Devices.Requests[0].Exactly.DeviceClassName = "x" }, 0, "deviceClassName is x, and there is no such DeviceClass"},
		"of partitions":        {func(c *resourcev1.ResourceClaim) { c.Spec.Devices.Requests[0].Exactly.DeviceClassName = "mig" }, 0, "deviceClassName is mig, in which spec.selectors[0] is"},
		"of anything":          {func(c *resourcev1.ResourceClaim) { c.Spec.Devices.Requests[0].Exactly.DeviceClassName = "any" }, 0, "deviceClassName is any, which may be any device"},
		"on its way out":       {func(c *resourcev1.ResourceClaim) { c.DeletionTimestamp = &metav1.Time{} }, 0, "is being deleted"},
		"had on a node":        {func(c *resourcev1.ResourceClaim) { given(c, "n") }, 0, ""},
		"had on no node": {func(c *resourcev1.ResourceClaim) {
			given(c, "n")
			c.Status.Allocation.NodeSelector.NodeSelectorTerms = nil
		}, 0, "status.allocation.nodeSelector"},
		"had by many": {func(c *resourcev1.ResourceClaim) {
			given(c, "n")
			c.Status.ReservedFor = make([]resourcev1.ResourceClaimConsumerReference, 256)
		}, 0, "has 256 users"},
		"had by itself, of us": {func(c *resourcev1.ResourceClaim) {
			given(c, "n")
			c.Annotations = map[string]string{dra.NoteAllocated: "uid-a"}
		}, 2, ""},
	} {
		w := dra.NewClaims()
		any := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "any"}}
		mig := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "mig"}, Spec: resourcev1.DeviceClassSpec{Selectors: selectors(`device.attributes['gpu.nvidia.com'].type == 'mig'`)}}
		for _, class := range []*resourcev1.DeviceClass{gpuClass(), any, mig} {
			w.Classes[class.Name] = class
		}
		claim := wishFor("c", 2)
		c.change(claim)
		w.Claims["ml/c"] = claim
		var n backend.Needs
		var at backend.Where
		bars := w.Requirements(wishing("a", "c"), &n, &at)
		where := "[]"
		switch {
		case c.gpus > 0:
			where = "[{muster.dev/gpu-driver In [gpu.nvidia.com]}]"
		case c.bars == "":
			where = "[{muster.dev/node In [n]}]"
		}
		if n.GPU.Count != c.gpus || (bars == "") != (c.bars == "") || !strings.Contains(bars, c.bars) || fmt.Sprint(at.Terms) != where {
			t.Errorf("%s: %d GPUs at %v, %q; want %d, %q", name, n.GPU.Count, at.Terms, bars, c.gpus, c.bars)
		}
	}
}

// TestClaimsOfOthersThatAreNotKnown: what is missing is named.
func TestClaimsOfOthersThatAreNotKnown(t *testing.T) {
	w := dra.NewClaims()
	w.Classes[dra.Driver], w.Claims["ml/c"] = gpuClass(), wishFor("c", 1)
	made := outsiderPod("a", nil)
	template, name := "of", "made"
	made.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "r", ResourceClaimTemplateName: &template}}
	why := func(pod *corev1.Pod, want string) {
		t.Helper()
		if bars := w.Requirements(pod, &backend.Needs{}, &backend.Where{}); bars == "" != (want == "") || !strings.Contains(bars, want) {
			t.Errorf("%q, want %q", bars, want)
		}
	}
	why(wishing("a", "b"), "resource claim ml/b is not there")
	why(made, "resource claim r has not been made yet, which the cluster does from a ResourceClaimTemplate (ml/of)")
	made.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "r"}}
	why(made, "")
	made.Status.ResourceClaimStatuses[0].ResourceClaimName = &name
	w.Claims["ml/made"] = wishFor("made", 1)
	why(made, "was made for another pod")
	yes := true
	w.Claims["ml/made"].OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: "a", UID: made.UID, Controller: &yes}}
	why(made, "")

	both := wishing("a", "c")
	if bars := w.Requirements(both, &backend.Needs{}, &backend.Where{}); bars != "" {
		t.Error(bars)
	}
	n := backend.Needs{}
	n.GPU.Count = 1
	if bars := w.Requirements(both, &n, &backend.Where{}); !strings.Contains(bars, "at once") {
		t.Errorf("of both sorts: %q", bars)
	}
	w.SetUnavailable("", "no right")
	w.Claims["ml/c"].Spec.Devices.Requests[0].Exactly.DeviceClassName = "x"
	why(both, "deviceClassName x means cannot be read: no right")
	w.SetUnavailable("nobody can tell", "")
	why(both, "nobody can tell")
}

// TestPodsShareAClaim: the first is placed, the others follow it, and all of
// them are told when that changes.
func TestPodsShareAClaim(t *testing.T) {
	p, _ := testBackend(t)
	x := p.pods.Groups
	claim := wishFor("c", 1)
	x.ClassSeen(dra.Driver, gpuClass())
	x.ClaimSeen(claim)
	for _, name := range []string{"a", "b"} {
		p.pods.Seen(wishing(name, "c"), false)
	}
	is := func(name string, gpus int, bars string) {
		t.Helper()
		m := p.claims(t)[name].Members
		if len(m) != 1 || m[0].Needs.GPU.Count != gpus || (m[0].Barred == "") != (bars == "") || !strings.Contains(m[0].Barred, bars) {
			t.Errorf("%s is %+v; want %d GPUs, %q", name, m, gpus, bars)
		}
	}
	is("a", 1, "")
	is("b", 0, "is pod a's too")
	held := claim.DeepCopy()
	given(held, "n")
	held.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "other", UID: "other"}}
	x.News(false)
	x.ClaimSeen(held)
	x.Look(t.Context())
	x.Busy = false
	news, _ := x.News(false)
	if len(news.Changed) != 2 {
		t.Errorf("told are %+v", news.Changed)
	}
	is("a", 0, "")
	is("b", 0, "")
	x.ClaimSeen(claim)
	p.pods.Gone(wishing("a", "c"), false)
	is("b", 1, "")
	x.ClaimGone(claim)
	is("b", 0, "is not there")
	x.ClaimSeen(claim)
	is("b", 1, "")
}
