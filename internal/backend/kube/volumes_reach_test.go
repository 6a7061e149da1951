package kube

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/affinity"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

const zone = "topology.kubernetes.io/zone"

// volume puts a claim and its volume into the API server, which can be used where
// one of the terms holds; without a volume it waits for its first pod.
func (a *apiserver) volume(space, claim string, there bool, terms ...corev1.NodeSelectorTerm) {
	c := &corev1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{Kind: "PersistentVolumeClaim", APIVersion: "v1"}}
	if there {
		c.Spec.VolumeName, c.Status.Phase = "pv-"+claim, corev1.ClaimBound
		v := &corev1.PersistentVolume{TypeMeta: metav1.TypeMeta{Kind: "PersistentVolume", APIVersion: "v1"}}
		if terms != nil {
			v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}}
		}
		a.put("/api/v1/persistentvolumes/pv-"+claim, v)
	}
	a.put("/api/v1/namespaces/"+space+"/persistentvolumeclaims/"+claim, c)
}

func inZone(names ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: zone, Operator: corev1.NodeSelectorOpIn, Values: names}}}
}

func onNode(name string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{name}}}}
}

func zoned(name, in string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{zone: in}}}
}

// TestPodsGoWhereTheirVolumesAre: what pods of others need of their nodes.
func TestPodsGoWhereTheirVolumesAre(t *testing.T) {
	p, a := testBackend(t)
	p.pods.Groups.Owners.Again = 20 * time.Millisecond
	a.volume("ml", "here", true, inZone("a"))
	a.volume("ml", "there", true, inZone("a", "b"), onNode("special"))
	a.volume("ml", "both", true, inZone("c"), onNode("x"))
	a.volume("ml", "anywhere", true)
	a.volume("ml", "later", false)
	pod := func(name string, claims ...string) {
		o := outsiderPod(name, nil)
		for _, c := range claims {
			o.Spec.Volumes = append(o.Spec.Volumes, corev1.Volume{Name: c, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c}}})
		}
		p.pods.Seen(o, false)
	}
	pod("one", "here", "anywhere")
	pod("several", "there", "both", "here")
	pod("waits", "later")
	where := func() map[string]backend.Where {
		out := map[string]backend.Where{}
		for name, c := range p.claims(t) {
			out[name] = c.Members[0].Where
		}
		return out
	}
	got := where()
	if w := got["one"]; fmt.Sprint(w.Terms, w.Any) != "[{"+zone+" In [a]}] []" {
		t.Errorf("one volume in a zone: %+v", w)
	}
	if w := got["several"]; len(w.Any) != 4 || fmt.Sprint(w.Any[1]) != "[{"+zone+" In [a b]} {"+naming.LabelNode+" In [x]}]" || len(w.Terms) != 1 {
		t.Errorf("several volumes: %+v", w)
	}
	if w := got["waits"]; len(w.Terms)+len(w.Any) > 0 {
		t.Errorf("one that is not made yet: %+v", w)
	}
	a.volume("ml", "later", true, inZone("b"))
	soon(t, "it is known once it is made", func() bool { return len(where()["waits"].Terms) == 1 })
	p.NodeInfo.Seen(zoned("n", "b"))
	one := p.pods.Groups.Pods["uid-one"]
	if why := p.pods.Groups.Misses(t.Context(), one.Pod, "n"); !strings.Contains(why, zone+" In a only, and n is none of them") {
		t.Errorf("a node elsewhere: %q", why)
	}
}

// TestTasksGoWhereTheirVolumesAre: nodes say for which claims they are no use.
func TestTasksGoWhereTheirVolumesAre(t *testing.T) {
	p, a := testBackend(t)
	a.put("/api/v1/namespaces", map[string]any{"kind": "Namespace", "apiVersion": "v1"})
	a.volume("muster-speech", "sets", true, inZone("a"))
	for name, in := range map[string]string{"n": "b", "m": "a"} {
		p.NodeInfo.Seen(zoned(name, in))
	}
	p.NodeInfo.Changes()
	task := taskIn("speech")
	task.Mounts = []backend.Mount{{Claim: "sets", Target: "/sets"}}
	if err := p.Start(t.Context(), []backend.Assignment{task}); err != nil {
		t.Fatal(err)
	}
	if o := p.state(task.ID); o.State != core.TaskFailed || o.Reason != string(lifecycle.ReasonSystem) || !strings.Contains(o.Message, zone+" In a only") {
		t.Errorf("where it cannot be used: %+v", o)
	}
	label := core.VolumeLabel("speech", "sets")
	changed, _ := p.NodeInfo.Changes()
	if len(changed) != 1 || changed[0].ID != "n" || changed[0].Labels[label] != core.OutOfReach {
		t.Errorf("nodes say %+v", changed)
	}
	next := task
	next.ID.Attempt, next.Node = 1, "m"
	a.put("/api/v1/namespaces/muster-speech/pods", podOf(&next))
	if err := p.Start(t.Context(), []backend.Assignment{next}); err != nil || p.state(next.ID).State == core.TaskFailed {
		t.Errorf("where it can be used: %v, %+v", err, p.state(next.ID))
	}
	p.NodeInfo.Restrict(label, nil)
	if changed, _ := p.NodeInfo.Changes(); len(changed) != 1 || changed[0].Labels[label] != "" {
		t.Errorf("once it can be used everywhere nodes say %+v", changed)
	}
}

func TestWhereAVolumeCanBeUsed(t *testing.T) {
	n := zoned("n", "a")
	for want, terms := range map[string][]corev1.NodeSelectorTerm{
		"here":  {inZone("b"), inZone("a", "c")},
		"not":   {inZone("b"), {}},
		"named": {onNode("n")},
	} {
		r := affinity.SelectorOfVolume(&corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}}}})
		if r.Matches(n) != (want != "not") {
			t.Errorf("%s: %v", want, r)
		}
	}
	if !affinity.SelectorOfVolume(&corev1.PersistentVolume{}).Matches(n) {
		t.Error("one for everywhere")
	}
}
