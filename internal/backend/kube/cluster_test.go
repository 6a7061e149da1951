package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/dra"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core"
)

func TestNodesThatAreGoneAreForgotten(t *testing.T) {
	c := newCluster("", nil)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	id := core.TaskID{Workload: "01a"}
	c.node(n)
	c.hold("n", id, nil)
	c.exceed("n", id, resources.Usage{Cpu: 1})
	c.news()
	c.nodeGone("n")
	if _, gone := c.news(); len(gone) != 1 || len(c.sites) != 1 {
		t.Errorf("%v is gone, and %d sites are known, with a task on one", gone, len(c.sites))
	}
	c.release("n", id)
	c.news()
	if len(c.sites)+len(c.told)+len(c.changed) > 0 {
		t.Errorf("%v, %v, %v are kept", c.sites, c.told, c.changed)
	}
	c.node(n)
	if changed, _ := c.news(); len(changed) != 1 {
		t.Errorf("once it is back %v is told", changed)
	}
}

func TestASliceThatIsWrittenAgainLeavesNothingOfTheFormer(t *testing.T) {
	c := newCluster("", nil)
	c.node(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	node := "n"
	suggestion := func(pool string) {
		c.sliceSeen(&resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{
			Driver: dra.Driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: pool}, Devices: []resourcev1.Device{{Name: "gpu-0"}},
		}})
	}
	suggestion("one")
	if n := c.nodes()[0]; !n.Whole {
		t.Error("GPUs that drivers offer can be had in parts")
	}
	suggestion("two")
	if len(c.claims.Owner) != 1 || c.claims.Owner[dra.Pool{Driver: dra.Driver, Name: "two"}] != "n" {
		t.Errorf("pools are of %v", c.claims.Owner)
	}
	c.sliceGone("s")
	if len(c.claims.Owner)+len(c.claims.Nodes)+len(c.claims.Slices) > 0 {
		t.Errorf("%+v is kept", c.claims)
	}
}

func TestVolumesThatComeWithAPodAreKnown(t *testing.T) {
	pod := outsiderPod("a", nil)
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "datasets"}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}},
	}
	kept, err := slim(pod)
	if err != nil {
		t.Fatal(err)
	}
	if got := claimsOf(kept.(*corev1.Pod)); len(got) != 2 || got[0] != "datasets" || got[1] != "a-scratch" {
		t.Errorf("its claims are %v", got)
	}
}

// TestAVolumeIsAskedForWhereItsFirstPodGoes, also when its claim comes late.
func TestAVolumeIsAskedForWhereItsFirstPodGoes(t *testing.T) {
	p, a := testBackend(t)
	pod := outsiderPod("a", nil)
	pod.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
	p.podSeen(pod, false)
	id := core.TaskID{Workload: "01a"}
	p.expect(backend.Assignment{ID: id, Node: "n", Claim: string(pod.UID)}, pod)
	p.reserve(t.Context(), id, pod, "n")
	class, claim := "local", "/api/v1/namespaces/ml/persistentvolumeclaims/a-scratch"
	mode := "WaitForFirstConsumer"
	a.put("/apis/storage.k8s.io/v1/storageclasses/local", map[string]any{"kind": "StorageClass", "apiVersion": "storage.k8s.io/v1", "volumeBindingMode": mode})
	a.put(claim, &corev1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{Kind: "PersistentVolumeClaim", APIVersion: "v1"}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class}})
	soon(t, "it is asked for", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.done["PATCH "+claim] == 1
	})
	a.put("/apis/storage.k8s.io/v1/storageclasses/local", map[string]any{"kind": "StorageClass", "apiVersion": "storage.k8s.io/v1", "volumeBindingMode": "Immediate"})
	if err := p.choose(t.Context(), "ml", "a-scratch", "n"); err != nil || a.done["PATCH "+claim] != 1 {
		t.Errorf("one that does not wait: %v, %v", err, a.done)
	}
}

func TestALateWordOfAFormerMemberReleasesNothing(t *testing.T) {
	p, _ := testBackend(t)
	id := core.TaskID{Workload: "01a"}
	member := outsiderPod("a", nil)
	member.UID, member.Spec.NodeName = "new", "n"
	member.Annotations = map[string]string{naming.NoteTask: id.String(), naming.NoteDevices: "0"}
	p.podSeen(member, false)
	former := member.DeepCopy()
	former.UID = "old"
	p.memberGone(id, former)
	if x, _ := p.tasks.get(id); !x.there || len(p.cluster.sites["n"].ours) != 1 {
		t.Errorf("the task is %+v, its node has %v", x, p.cluster.sites["n"].ours)
	}
}

// TestWhoseANamespaceIsHasOneAnswer, for its pods and for those who ask.
func TestNodesThatAreNoLinuxTakeOnlyWhoAsksForThem(t *testing.T) {
	c := newCluster("", nil)
	for name, os := range map[string]string{"a": "linux", "b": "windows", "c": ""} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
		if os != "" {
			n.Labels[corev1.LabelOSStable] = os
		}
		c.node(n)
	}
	for _, n := range c.nodes() {
		if marked := len(n.Taints) > 0; marked != (n.ID == "b") {
			t.Errorf("%s has taints %v", n.ID, n.Taints)
		}
	}
}

func TestTheTasksOfAProjectStayWhereTheyAre(t *testing.T) {
	n := newNamespaces("muster-")
	see := func(name string, notes map[string]string) {
		n.seen(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{naming.LabelProject: "vision"}, Annotations: notes}})
	}
	is := func(want string) {
		t.Helper()
		if got := n.of("vision"); got != want {
			t.Errorf("its tasks are in %s, want %s", got, want)
		}
	}
	is("muster-vision")
	see("ml", nil)
	is("ml")
	see("muster-vision", nil) // as we make it
	is("muster-vision")
	see("a-further-one", nil)
	is("muster-vision")
	see("ml", map[string]string{naming.NoteHome: "yes"})
	is("ml")
	see("ml", nil)
	is("muster-vision")
	n.gone("muster-vision")
	is("a-further-one")
}

func TestWhoseANamespaceIsHasOneAnswer(t *testing.T) {
	n := newNamespaces("muster-")
	space := func(name, project string) *corev1.Namespace {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if project != "" {
			ns.Labels = map[string]string{naming.LabelProject: project}
		}
		return ns
	}
	is := func(name string, want core.ProjectID) {
		t.Helper()
		pod := outsiderPod("a", nil)
		pod.Namespace = name
		project, _ := projectIn(n, pod, nil)
		if whose, ok := n.whose(name); project != want || whose != want || ok != (want != "") {
			t.Errorf("%s: its pods are of %q, it is of %q, %v; want %q", name, project, whose, ok, want)
		}
	}
	n.seen(space("muster-vision", ""))
	n.seen(space("default", ""))
	is("muster-vision", "vision")
	is("default", "")
	if again := n.seen(space("ml", "vision")); len(again) != 3 || again[2] != "muster-vision" {
		t.Errorf("to look at again are %v", again)
	}
	is("ml", "vision")
	is("muster-vision", "")
	if again := n.gone("ml"); len(again) != 1 || again[0] != "muster-vision" {
		t.Errorf("to look at again are %v", again)
	}
	is("muster-vision", "vision")
}
