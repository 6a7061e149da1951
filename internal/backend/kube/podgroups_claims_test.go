package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/dra"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// lender is a cluster in which others ask for GPUs by claims: node lends-0 has
// four of them.
type lender struct {
	drivers
	t *testing.T

	mu   sync.Mutex
	says map[string]backend.Member // by the pod's name
}

const lends = "lends-0"

func newLender(t *testing.T) *lender {
	t.Helper()
	k := kubetest.Start(t, kubetest.Options{NoControllers: true, NoScheduler: true})
	k.Kwok(t, 1, kubetest.NodeShape{Prefix: "lends"})
	k.Kwok(t, 1, kubetest.NodeShape{Prefix: "other"})
	l := &lender{drivers: drivers{k, k.Namespace(t)}, t: t}
	l.suggestion(t, lends, 1, 0, 1, 2, 3)
	k.Kubectl(t, "label", "namespace", l.space, naming.LabelProject+"=lent")
	class := gpuClass()
	class.Spec.Config = []resourcev1.DeviceClassConfiguration{{DeviceConfiguration: opaque(`{"class":1}`)}}
	if _, err := k.Client.ResourceV1().DeviceClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return l
}

func opaque(text string) (c resourcev1.DeviceConfiguration) {
	c.Opaque = &resourcev1.OpaqueDeviceConfiguration{Driver: dra.Driver}
	c.Opaque.Parameters.Raw = []byte(text)
	return c
}

// open begins a backend and hears what it says of pods; close ends it.
func (l *lender) open() (p *Backend, closed func()) {
	l.t.Helper()
	p, err := Open(cluster.Options{Config: l.Config, LogDir: l.t.TempDir()})
	if err != nil {
		l.t.Fatal(err)
	}
	l.mu.Lock()
	l.says = map[string]backend.Member{}
	l.mu.Unlock()
	ctx, cancel := context.WithCancel(l.t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = p.Claims(ctx, func(news backend.Claims) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, c := range news.Changed {
				for _, m := range c.Members {
					l.says[strings.TrimPrefix(m.Name, l.space+"/")] = m
				}
			}
			return nil
		})
	}()
	if _, err := p.Inventory(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	closed = sync.OnceFunc(func() { cancel(); <-over; _ = p.Close() })
	l.t.Cleanup(closed)
	return p, closed
}

// is waits until a pod is as ok wants it.
func (l *lender) is(name string, ok func(m backend.Member) bool) backend.Member {
	l.t.Helper()
	var m backend.Member
	kubetest.Eventually(l.t, "pod "+name, func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if m = l.says[name]; m.Key == "" || !ok(m) {
			return fmt.Errorf("it is %+v", m)
		}
		return nil
	})
	return m
}

func (l *lender) wants(name string, gpus int) backend.Member {
	l.t.Helper()
	return l.is(name, func(m backend.Member) bool { return m.Barred == "" && m.Needs.GPU.Count == gpus })
}

// pod makes a claim and a pod that has it.
func (l *lender) pod(name string, gpus int64) *corev1.Pod {
	l.t.Helper()
	c := wishFor(name, gpus)
	c.Namespace, c.UID = "", ""
	c.Spec.Devices.Config = []resourcev1.DeviceClaimConfiguration{{Requests: []string{"gpu"}, DeviceConfiguration: opaque(`{"claim":1}`)}}
	if _, err := l.Client.ResourceV1().ResourceClaims(l.space).Create(l.t.Context(), c, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
	return l.user(name, name)
}

// user makes a pod that names a claim.
func (l *lender) user(name, claim string) *corev1.Pod {
	l.t.Helper()
	pod := kubetest.Pod(name, "sim:1", 0)
	pod.Spec.SchedulerName = naming.SchedulerName
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim}}
	pod.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
	return l.Run(l.t, l.space, pod)
}

func (l *lender) claim(name string) *resourcev1.ResourceClaim {
	l.t.Helper()
	c, err := l.Client.ResourceV1().ResourceClaims(l.space).Get(l.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

// had are the devices of a claim.
func had(c *resourcev1.ResourceClaim) (out []string) {
	if c.Status.Allocation != nil {
		for _, r := range c.Status.Allocation.Devices.Results {
			out = append(out, r.Pool+"/"+r.Device)
		}
	}
	return out
}

// free waits until nobody has a claim and nothing of it is ours.
func (l *lender) free(name string) {
	l.t.Helper()
	kubetest.Eventually(l.t, "claim "+name+" given back", func() error {
		if c := l.claim(name); c.Status.Allocation != nil || len(c.Status.ReservedFor) > 0 || len(c.Finalizers) > 0 || c.Annotations[dra.NoteAllocated] != "" {
			return fmt.Errorf("it has %+v, finalizers %v, annotations %v", c.Status, c.Finalizers, c.Annotations)
		}
		return nil
	})
}

// seat is where a pod is placed.
func seatOf(pod *corev1.Pod, node string, devices ...int) backend.Assignment {
	a := backend.Assignment{ID: core.TaskID{Workload: core.WorkloadID(pod.Name)}, Node: core.NodeID(node), Claim: string(pod.UID)}
	for _, d := range devices {
		a.Devices = append(a.Devices, core.Share{Index: d, Milli: 1000})
	}
	return a
}

// gang has assignments start together.
func gangOfSeats(all ...backend.Assignment) []backend.Assignment {
	for i := range all {
		all[i].ID.Workload, all[i].ID.Index, all[i].Gang = all[0].ID.Workload, i, len(all)
	}
	return all
}

func (l *lender) starts(p *Backend, all ...backend.Assignment) {
	l.t.Helper()
	if err := p.Start(l.t.Context(), all); err != nil {
		l.t.Fatal(err)
	}
}

// refused waits until a task has failed, for a reason.
func (l *lender) refused(p *Backend, id core.TaskID, words string) {
	l.t.Helper()
	kubetest.Eventually(l.t, "it is refused", func() error {
		if x, _ := p.pods.Tasks.Get(id); x.Seen.State != core.TaskFailed || !strings.Contains(x.Seen.Message, words) {
			return fmt.Errorf("it is %+v", x.Seen)
		}
		return nil
	})
}

// TestClaimsOfOthersAreMet: a pod of others gets what its claim asks for, as a
// scheduler writes it, and what it has is counted once, also by the next server.
func TestClaimsOfOthersAreMet(t *testing.T) {
	l := newLender(t)
	p, closed := l.open()
	pod := l.pod("two", 2)
	if m := l.wants("two", 2); fmt.Sprint(m.Where.Terms) != "[{muster.dev/gpu-driver In [gpu.nvidia.com]}]" {
		t.Errorf("it may go to %v", m.Where.Terms)
	}
	nodeIs(t, p, lends, func(n core.Node) bool { return n.Labels[naming.LabelDriver] == dra.Driver && n.Others.None() })
	nodeIs(t, p, "other-0", func(n core.Node) bool { return n.Labels[naming.LabelDriver] == "" })
	a := seatOf(pod, lends, 1, 3)
	l.starts(p, a)
	l.AwaitPhase(t, pod, corev1.PodRunning)
	c := l.claim("two")
	if !slices.Equal(had(c), []string{lends + "/gpu-1", lends + "/gpu-3"}) || len(c.Status.ReservedFor) != 1 || c.Status.ReservedFor[0].UID != pod.UID || !slices.Contains(c.Finalizers, resourcev1.Finalizer) {
		t.Errorf("its claim is %+v", c)
	}
	if r := c.Status.Allocation; r.Devices.Results[0].Request != "gpu" || len(r.Devices.Config) != 2 || r.Devices.Config[0].Source != resourcev1.AllocationConfigSourceClass ||
		r.NodeSelector.NodeSelectorTerms[0].MatchFields[0].Values[0] != lends {
		t.Errorf("it is allocated as %+v", r)
	}
	once := func(p *Backend) {
		t.Helper()
		nodeIs(t, p, lends, func(n core.Node) bool { return n.Others.None() && len(n.Devices) == 4 })
		kubetest.Eventually(t, "it is known", func() error {
			all, err := p.Observe(t.Context())
			if err == nil && (len(all) != 1 || all[0].ID != a.ID || all[0].State != core.TaskRunning) {
				err = fmt.Errorf("there are %+v", all)
			}
			return err
		})
	}
	once(p)
	// Another that shares it goes where it is, and takes nothing more.
	second := l.user("second", "two")
	if m := l.wants("second", 0); fmt.Sprint(m.Where.Terms) != "[{muster.dev/node In [lends-0]}]" {
		t.Errorf("it may go to %v", m.Where.Terms)
	}
	misplaced := seatOf(second, "other-0")
	l.starts(p, misplaced)
	l.refused(p, misplaced.ID, "for nodes with muster.dev/node In lends-0, and other-0 is none of them")
	closed()

	p, _ = l.open()
	once(p)
	l.wants("second", 0)
	b := seatOf(second, lends)
	b.ID.Attempt = 1
	l.starts(p, b)
	l.AwaitPhase(t, second, corev1.PodRunning)
	if c := l.claim("two"); len(c.Status.ReservedFor) != 2 || len(had(c)) != 2 {
		t.Errorf("their claim has %+v", c.Status)
	}
	// Once the first has ended the devices are still the second's.
	if err := l.Client.CoreV1().Pods(l.space).Delete(t.Context(), pod.Name, *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	nodeIs(t, p, lends, func(n core.Node) bool { return slices.Equal(n.Others.Milli, []int{0, 1000, 0, 1000}) })
}

// TestClaimsOfOthersAreMetTogether: what starts together and cannot be whole has
// nothing.
func TestClaimsOfOthersAreMetTogether(t *testing.T) {
	l := newLender(t)
	p, _ := l.open()
	one, two := l.pod("one", 1), l.pod("two", 2)
	l.wants("one", 1)
	l.wants("two", 2)
	gang := gangOfSeats(seatOf(one, lends, 0), seatOf(two, lends, 1)) // it was for one GPU when it was placed
	l.starts(p, gang...)
	for _, a := range gang {
		l.refused(p, a.ID, "resource claim "+l.space+"/two asks for 2 GPUs, more than when it was placed")
	}
	for _, pod := range []*corev1.Pod{one, two} {
		l.free(pod.Name)
		l.is(pod.Name, func(m backend.Member) bool { return strings.Contains(m.Barred, "more than when it was placed") })
		if now, err := l.Client.CoreV1().Pods(l.space).Get(t.Context(), pod.Name, metav1.GetOptions{}); err != nil || now.Spec.NodeName != "" {
			t.Errorf("pod %s is on %q, %v", pod.Name, now.Spec.NodeName, err)
		}
	}
	nodeIs(t, p, lends, func(n core.Node) bool { return n.Others.None() })
	// A device that somebody else was faster to take is no good either.
	l.take(t, "rival", lends, false, "gpu-1")
	nodeIs(t, p, lends, func(n core.Node) bool { return slices.Equal(n.Others.Milli, []int{0, 1000, 0, 0}) })
	late := gangOfSeats(seatOf(one, lends, 0), seatOf(two, lends, 1, 2))
	for i := range late {
		late[i].ID.Attempt = 1
	}
	l.starts(p, late...)
	l.refused(p, late[0].ID, "device gpu-1 of node lends-0 was given to another resource claim meanwhile")
	l.free("one")
	whole := gangOfSeats(seatOf(one, lends, 0), seatOf(two, lends, 2, 3))
	for i := range whole {
		whole[i].ID.Attempt = 2
	}
	l.starts(p, whole...)
	l.AwaitPhase(t, one, corev1.PodRunning)
	l.AwaitPhase(t, two, corev1.PodRunning)
	if got := had(l.claim("two")); !slices.Equal(got, []string{lends + "/gpu-2", lends + "/gpu-3"}) {
		t.Errorf("it has %v", got)
	}
}

// TestAServerThatEndedBetween: what was allocated and never bound is given back,
// or taken over by the same start; what somebody else had allocated is kept.
func TestAServerThatEndedBetween(t *testing.T) {
	l := newLender(t)
	p, closed := l.open()
	pod, kept := l.pod("between", 2), l.pod("kept", 1)
	l.wants("between", 2)
	a := seatOf(pod, lends, 0, 1)
	p.pods.Groups.Expect(a, pod)
	if err := p.pods.Groups.AllocateForeign(t.Context(), &a, pod); err != nil {
		t.Fatal(err)
	}
	first := l.claim("between")
	if err := p.pods.Groups.AllocateForeign(t.Context(), &a, pod); err != nil {
		t.Fatal(err)
	}
	if now := l.claim("between"); len(had(now)) != 2 || now.ResourceVersion != first.ResourceVersion {
		t.Errorf("tried again it has %v", had(now))
	}
	elsewhere := seatOf(pod, lends, 1, 2) // a start that takes others than one that came to nothing replaces them
	if err := p.pods.Groups.AllocateForeign(t.Context(), &elsewhere, pod); err != nil {
		t.Fatal(err)
	}
	if got := had(l.claim("between")); !slices.Equal(got, []string{lends + "/gpu-1", lends + "/gpu-2"}) {
		t.Errorf("placed elsewhere it has %v", got)
	}
	c := l.claim("kept")
	given(c, lends)
	c.Status.Allocation.Devices.Results[0].Device = "gpu-3"
	if _, err := l.Client.ResourceV1().ResourceClaims(l.space).UpdateStatus(t.Context(), c, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	l.wants("kept", 0)
	b := seatOf(kept, lends)
	if err := p.pods.Groups.AllocateForeign(t.Context(), &b, kept); err != nil {
		t.Fatal(err)
	}
	closed()

	p, _ = l.open()
	l.free("between")
	l.wants("between", 2)
	l.wants("kept", 0)
	nodeIs(t, p, lends, func(n core.Node) bool { return slices.Equal(n.Others.Milli, []int{0, 0, 0, 1000}) })
	if got := had(l.claim("kept")); !slices.Equal(got, []string{lends + "/gpu-3"}) {
		t.Errorf("what somebody else had allocated is %v", got)
	}
	l.starts(p, a, b)
	l.AwaitPhase(t, pod, corev1.PodRunning)
	l.AwaitPhase(t, kept, corev1.PodRunning)
	if got := had(l.claim("between")); !slices.Equal(got, []string{lends + "/gpu-0", lends + "/gpu-1"}) {
		t.Errorf("it has %v", got)
	}
	nodeIs(t, p, lends, func(n core.Node) bool { return slices.Equal(n.Others.Milli, []int{0, 0, 0, 1000}) })
	// What another claim has is not taken, and who has a claim keeps it.
	again := l.pod("again", 1)
	l.wants("again", 1)
	d := seatOf(again, lends, 3)
	p.pods.Groups.Expect(d, again)
	if err := p.pods.Groups.AllocateForeign(t.Context(), &d, again); err == nil || !strings.Contains(err.Error(), "gpu-3") {
		t.Errorf("a device of another claim: %v", err)
	}
	if err := l.Client.ResourceV1().ResourceClaims(l.space).Delete(t.Context(), "between", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if c := l.claim("between"); c.DeletionTimestamp == nil {
		t.Error("a claim in use can be deleted")
	}
}
