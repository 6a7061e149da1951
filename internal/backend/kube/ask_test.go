package kube

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/nodeinfo"
	"github.com/musterhq/muster/internal/backend/kube/podgroup"
	"github.com/musterhq/muster/internal/backend/kube/podspec"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

func amounts(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

func TestWhatAPodAsksFor(t *testing.T) {
	pod := outsiderPod("a", nil)
	pod.Spec.Containers = []corev1.Container{
		{Name: "c", Resources: corev1.ResourceRequirements{Requests: amounts("cpu", "500m", "memory", "1Gi", "ephemeral-storage", "10Gi"), Limits: amounts("nvidia.com/gpu", "2", "rdma/hca", "1")}},
		{Name: "d", Resources: corev1.ResourceRequirements{Limits: amounts("cpu", "1", "hugepages-2Mi", "4Mi")}, Ports: []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}},
	}
	n, _, bars := podgroup.Asks(pod)
	if bars != "" || n.CPU != 1500 || n.Memory != 1<<30 || n.GPU.Count != 2 {
		t.Errorf("%+v, %q", n, bars)
	}
	if got, want := fmt.Sprint(n.Counted), "map[ephemeral-storage:10240 host-port/TCP/8080:1 hugepages-2Mi:4 rdma/hca:1]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	pod.Spec.Containers[1].Resources.Limits = amounts("amd.com/gpu", "1")
	if _, _, bars := podgroup.Asks(pod); !strings.Contains(bars, "nvidia and amd") {
		t.Errorf("of two sorts: %q", bars)
	}
	pod.Spec.Containers[1].Resources.Limits = nil
	pod.Spec.Containers[0].Resources.Limits = amounts("nvidia.com/mig-1g.10gb", "2")
	if n, _, _ := podgroup.Asks(pod); n.GPU.MIG != "1g.10gb=2" {
		t.Errorf("partitions: %+v", n.GPU)
	}
}

// TestANodeTellsWhatIsAskedOfIt: extended resources always, since our own tasks
// name them, and of the rest what some pod asks for.
func TestANodeTellsWhatIsAskedOfIt(t *testing.T) {
	c := nodeinfo.New("", nil)
	c.Seen(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{Allocatable: amounts("cpu", "4", "rdma/hca", "2", "example.org/fpga", "1", "ephemeral-storage", "10Gi", "hugepages-2Mi", "4Mi", "pods", "110", "nvidia.com/gpu", "2", "nvidia.com/mig-1g.10gb", "2")}})
	if n := c.List()[0]; fmt.Sprint(n.Extra) != "map[example.org/fpga:1 rdma/hca:2]" || n.Labels[naming.LabelNode] != "n" {
		t.Errorf("unasked it says %v, %v", n.Extra, n.Labels)
	}
	c.Track(map[string]int{"rdma/hca": 1, "host-port/TCP/80": 1, "ephemeral-storage": 5})
	other := podOfOthers(1)
	other.Spec.NodeName = "n"
	other.Spec.Containers[0].Resources.Limits = amounts("rdma/hca", "1", "example.org/fpga", "1")
	other.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
	c.ForeignPod(other)
	changed, _ := c.Changes()
	if len(changed) != 1 || fmt.Sprint(changed[0].Extra, changed[0].Others.Extra) != "map[ephemeral-storage:10240 example.org/fpga:1 host-port/TCP/80:1 rdma/hca:2] map[example.org/fpga:1 host-port/TCP/80:1 rdma/hca:1]" {
		t.Errorf("asked it says %+v", changed)
	}
}

// TestWhatAPluginDoesNotOfferIsHeld: it comes back, and is waited for.
func TestWhatAPluginDoesNotOfferIsHeld(t *testing.T) {
	c := nodeinfo.New("", nil)
	c.Seen(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{
		Capacity:    amounts("cpu", "8", "rdma/hca", "4", "nvidia.com/mig-1g.10gb", "7", "ephemeral-storage", "20Gi"),
		Allocatable: amounts("cpu", "7", "rdma/hca", "0", "nvidia.com/mig-1g.10gb", "5", "ephemeral-storage", "10Gi"),
	}})
	n := c.List()[0]
	if got := fmt.Sprint(n.CPU, n.Extra, n.MIG, n.Others.Extra, n.Others.MIG); got != "7000 map[rdma/hca:4] map[1g.10gb:7] map[rdma/hca:4] map[1g.10gb:2]" {
		t.Errorf("it says %s", got)
	}
}

// TestGPUsOfEveryMakerAreAskedForByName: a node of another maker has as many,
// and they are no use.
func TestGPUsOfEveryMakerAreAskedForByName(t *testing.T) {
	c := nodeinfo.New("", nil)
	for vendor, name := range map[string]string{"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu", "intel": "gpu.intel.com/i915"} {
		c.Seen(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: vendor}, Status: corev1.NodeStatus{Allocatable: amounts(name, "4")}})
		pod := outsiderPod("a", nil)
		pod.Spec.Containers[0].Resources.Limits = amounts(name, "2")
		n, w, bars := podgroup.Asks(pod)
		if bars != "" || n.GPU.Count != 2 || fmt.Sprint(w.Terms) != "[{muster.dev/gpu-vendor In ["+vendor+"]}]" {
			t.Errorf("%s: it asks for %+v at %+v, %q", vendor, n, w, bars)
		}
		a := backend.Assignment{Devices: []core.Share{{Index: 0, Milli: 1000}, {Index: 1, Milli: 1000}}}
		if got := podspec.Requirements(&a, c.GpuResource(vendor)).Limits; len(got) != 1 || resources.Count(got, corev1.ResourceName(name)) != 2 {
			t.Errorf("%s: a task of ours asks for %v", vendor, got)
		}
	}
	for _, n := range c.List() {
		if len(n.Devices) != 4 || n.Labels[naming.LabelVendor] != string(n.ID) || n.Whole != (n.ID != "nvidia") {
			t.Errorf("%s has %d devices and says %v, whole %v", n.ID, len(n.Devices), n.Labels, n.Whole)
		}
	}
}

func TestWhereAPodMayGo(t *testing.T) {
	self := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	term := func(key, value string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: "In", Values: []string{value}}}}
	}
	nodes := func(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
	}
	apart := func(s *metav1.LabelSelector, keys ...string) *corev1.Affinity {
		a := &corev1.PodAntiAffinity{}
		for _, k := range keys {
			a.RequiredDuringSchedulingIgnoredDuringExecution = append(a.RequiredDuringSchedulingIgnoredDuringExecution, corev1.PodAffinityTerm{LabelSelector: s, TopologyKey: k})
		}
		return &corev1.Affinity{PodAntiAffinity: a}
	}
	for name, c := range map[string]struct {
		spec       corev1.PodSpec
		want, bars string
	}{
		"selector": {corev1.PodSpec{NodeSelector: map[string]string{"zone": "a"}}, "[{zone In [a]}] [] []", ""},
		"one term": {corev1.PodSpec{Affinity: nodes(term("zone", "a"))}, "[{zone In [a]}] [] []", ""},
		"several":  {corev1.PodSpec{Affinity: nodes(term("zone", "a"), term("disk", "b"))}, "[] [[{zone In [a]}] [{disk In [b]}]] []", ""},
		"a node": {corev1.PodSpec{Affinity: nodes(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"n"}}}})},
			"[{muster.dev/node In [n]}] [] []", ""},
		"linux":            {corev1.PodSpec{OS: &corev1.PodOS{Name: corev1.Linux}}, "[] [] []", ""},
		"windows":          {corev1.PodSpec{OS: &corev1.PodOS{Name: corev1.Windows}}, "[{kubernetes.io/os In [windows]}] [] [{kubernetes.io/os  }]", ""},
		"windows, by node": {corev1.PodSpec{NodeSelector: map[string]string{"kubernetes.io/os": "windows"}}, "[{kubernetes.io/os In [windows]}] [] [{kubernetes.io/os  }]", ""},
		"no term":          {corev1.PodSpec{Affinity: nodes(corev1.NodeSelectorTerm{})}, "", "no node fits"},
		"toleration":       {corev1.PodSpec{Tolerations: []corev1.Toleration{{Key: "gpu", Operator: "Exists"}, {Key: corev1.TaintNodeNotReady}}}, "[] [] [{gpu  }]", ""},
		"apart":            {corev1.PodSpec{Affinity: apart(self, "kubernetes.io/hostname")}, "[] [] []", ""},
		"apart twice":      {corev1.PodSpec{Affinity: apart(self, "kubernetes.io/hostname", "zone")}, "", "several terms"},
		"apart of others":  {corev1.PodSpec{Affinity: apart(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "b"}}, "zone")}, "[] [] []", ""},
		"spread, softly":   {corev1.PodSpec{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{TopologyKey: "zone", WhenUnsatisfiable: "ScheduleAnyway"}}}, "[] [] []", ""},
		"gated":            {corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/admission"}}}, "", "scheduling gate kueue.x-k8s.io/admission"},
	} {
		pod := outsiderPod("a", nil)
		pod.Labels, c.spec.SchedulerName = map[string]string{"app": "a"}, naming.SchedulerName
		pod.Spec = c.spec
		slimmed, err := cluster.TrimPod(pod)
		if err != nil {
			t.Fatal(err)
		}
		_, w, bars := podgroup.Asks(slimmed.(*corev1.Pod))
		if got := fmt.Sprint(w.Terms, w.Any, w.Tolerations); c.bars == "" && (got != c.want || bars != "") || (c.bars == "") != (bars == "") || !strings.Contains(bars, c.bars) {
			t.Errorf("%s: %s, %q; want %s, %q", name, got, bars, c.want, c.bars)
		}
		if name == "apart" && (w.Apart != "kubernetes.io/hostname" || w.Tag == "") {
			t.Errorf("%s: %+v", name, w)
		}
	}
	part := outsiderPod("p", nil)
	part.Annotations = map[string]string{"gpu-fraction": "0.5"}
	if _, _, bars := podgroup.Asks(part); !strings.Contains(bars, "gpu-fraction") {
		t.Errorf("a part of a GPU: %q", bars)
	}
}

func TestWhatBecomesOfAMember(t *testing.T) {
	id := core.TaskID{Workload: "w", Index: 1}
	ended := func(code int32, reason string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: "c", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}}
	}
	for name, c := range map[string]struct {
		status  corev1.PodStatus
		state   core.TaskState
		waiting string
		reason  lifecycle.Reason
		code    int
	}{
		"pulls":            {corev1.PodStatus{Phase: "Pending", ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}}, core.TaskStarting, "ImagePullBackOff", "", -1},
		"a bad image name": {corev1.PodStatus{Phase: "Pending", ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "InvalidImageName"}}}}}, core.TaskStarting, "InvalidImageName", "", -1},
		"restarts itself":  {corev1.PodStatus{Phase: "Running", ContainerStatuses: []corev1.ContainerStatus{ended(1, "Error")}}, core.TaskRunning, "", "", -1},
		"succeeded":        {corev1.PodStatus{Phase: "Succeeded"}, core.TaskSucceeded, "", "", 0},
		"failed":           {corev1.PodStatus{Phase: "Failed", ContainerStatuses: []corev1.ContainerStatus{ended(0, "Completed"), ended(7, "Error")}}, core.TaskFailed, "", lifecycle.ReasonError, 7},
		"out of memory":    {corev1.PodStatus{Phase: "Failed", ContainerStatuses: []corev1.ContainerStatus{ended(137, "OOMKilled")}}, core.TaskFailed, "", lifecycle.ReasonOutOfMemory, 137},
		"evicted":          {corev1.PodStatus{Phase: "Failed", Reason: "Evicted", Message: "The node was low on resource: memory."}, core.TaskFailed, "", lifecycle.ReasonSystem, -1},
	} {
		pod := outsiderPod("a", nil)
		pod.Status = c.status
		o := podstatus.OfForeign(id, pod)
		code := -1
		if o.ExitCode != nil {
			code = *o.ExitCode
		}
		if o.State != c.state || o.Waiting != c.waiting || o.Reason != string(c.reason) || code != c.code || o.Claim != string(pod.UID) {
			t.Errorf("%s: %+v, exit code %d", name, o, code)
		}
	}
}

func TestNamesOfTheClusterBecomeNamesOfWorkloads(t *testing.T) {
	for in, want := range map[string]string{"train": "train", "a.b.c": "a-b-c", "Train": "train", "": "w", strings.Repeat("x", 80): strings.Repeat("x", 45)} {
		if got := podgroup.WorkloadName(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
