package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/namespace"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/nodeinfo"
	"github.com/musterhq/muster/internal/backend/kube/volume"
	"github.com/musterhq/muster/internal/core"
)

func TestVolumesThatComeWithAPodAreKnown(t *testing.T) {
	pod := outsiderPod("a", nil)
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "datasets"}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}},
	}
	kept, err := cluster.TrimPod(pod)
	if err != nil {
		t.Fatal(err)
	}
	if got := volume.ClaimsOf(kept.(*corev1.Pod)); len(got) != 2 || got[0] != "datasets" || got[1] != "a-scratch" {
		t.Errorf("its claims are %v", got)
	}
}

// TestAVolumeIsAskedForWhereItsFirstPodGoes, also when its claim comes late.
func TestAVolumeIsAskedForWhereItsFirstPodGoes(t *testing.T) {
	p, a := testBackend(t)
	pod := outsiderPod("a", nil)
	pod.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
	p.pods.Seen(pod, false)
	id := core.TaskID{Workload: "01a"}
	p.pods.Groups.Expect(backend.Assignment{ID: id, Node: "n", Claim: string(pod.UID)}, pod)
	p.pods.Groups.Reserve(t.Context(), id, pod, "n")
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
	if err := p.pods.Volumes.Choose(t.Context(), "ml", "a-scratch", "n"); err != nil || a.done["PATCH "+claim] != 1 {
		t.Errorf("one that does not wait: %v, %v", err, a.done)
	}
}

func TestALateWordOfAFormerMemberReleasesNothing(t *testing.T) {
	p, _ := testBackend(t)
	id := core.TaskID{Workload: "01a"}
	member := outsiderPod("a", nil)
	member.UID, member.Spec.NodeName = "new", "n"
	member.Annotations = map[string]string{naming.NoteTask: id.String(), naming.NoteDevices: "0"}
	p.pods.Seen(member, false)
	former := member.DeepCopy()
	former.UID = "old"
	p.pods.Groups.MemberGone(id, former)
	if x, _ := p.pods.Tasks.Get(id); !x.There || len(p.NodeInfo.Sites["n"].Ours) != 1 {
		t.Errorf("the task is %+v, its node has %v", x, p.NodeInfo.Sites["n"].Ours)
	}
}

// TestWhoseANamespaceIsHasOneAnswer, for its pods and for those who ask.
func TestNodesThatAreNoLinuxTakeOnlyWhoAsksForThem(t *testing.T) {
	c := nodeinfo.New("", nil)
	for name, os := range map[string]string{"a": "linux", "b": "windows", "c": ""} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
		if os != "" {
			n.Labels[corev1.LabelOSStable] = os
		}
		c.Seen(n)
	}
	for _, n := range c.List() {
		if marked := len(n.Taints) > 0; marked != (n.ID == "b") {
			t.Errorf("%s has taints %v", n.ID, n.Taints)
		}
	}
}

func TestTheTasksOfAProjectStayWhereTheyAre(t *testing.T) {
	n := namespace.New("muster-")
	see := func(name string, notes map[string]string) {
		n.Seen(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{naming.LabelProject: "vision"}, Annotations: notes}})
	}
	is := func(want string) {
		t.Helper()
		if got := n.Of("vision"); got != want {
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
	n.Gone("muster-vision")
	is("a-further-one")
}

func TestWhoseANamespaceIsHasOneAnswer(t *testing.T) {
	n := namespace.New("muster-")
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
		if whose, ok := n.ProjectOf(name); project != want || whose != want || ok != (want != "") {
			t.Errorf("%s: its pods are of %q, it is of %q, %v; want %q", name, project, whose, ok, want)
		}
	}
	n.Seen(space("muster-vision", ""))
	n.Seen(space("default", ""))
	is("muster-vision", "vision")
	is("default", "")
	if again := n.Seen(space("ml", "vision")); len(again) != 3 || again[2] != "muster-vision" {
		t.Errorf("to look at again are %v", again)
	}
	is("ml", "vision")
	is("muster-vision", "")
	if again := n.Gone("ml"); len(again) != 1 || again[0] != "muster-vision" {
		t.Errorf("to look at again are %v", again)
	}
	is("muster-vision", "vision")
}
