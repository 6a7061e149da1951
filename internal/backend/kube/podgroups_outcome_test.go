package kube

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podowner"
)

// news is what the control plane is told after another look.
func (p *Backend) news() backend.Claims {
	p.pods.Groups.Look(p.Context)
	p.pods.Groups.Mu.Lock()
	p.pods.Groups.Begun, p.pods.Groups.Busy = true, false
	p.pods.Groups.Mu.Unlock()
	out, _ := p.pods.Groups.News(false)
	return out
}

func TestAMakerThatCannotBeReadKeepsNoOtherPods(t *testing.T) {
	for _, code := range []int{http.StatusInternalServerError, http.StatusBadGateway} {
		p, a := testBackend(t)
		a.put("/apis/batch/v1/namespaces/ml/jobs/bad", code)
		for i := range 20 {
			name := fmt.Sprintf("job-%d", i)
			a.put("/apis/batch/v1/namespaces/ml/jobs/"+name, object(name, nil, nil))
			for j := range 3 {
				p.pods.Seen(outsiderPod(fmt.Sprintf("good%d-%d", i, j), refTo("batch/v1", "Job", name)), false)
				p.pods.Seen(outsiderPod(fmt.Sprintf("bad%d-%d", i, j), refTo("batch/v1", "Job", "bad")), false)
			}
		}
		got := p.claims(t)
		if len(got) != 20 {
			t.Errorf("%d: there are %d", code, len(got))
		}
		for name, c := range got {
			if len(c.Members) != 3 {
				t.Errorf("%d: %s has %d members", code, name, len(c.Members))
			}
		}
	}
}

// TestWhatChangesWhileNewsIsGatheredIsLookedAt: a pod goes after the last look,
// and before the control plane is told what that found.
func TestWhatChangesWhileNewsIsGatheredIsLookedAt(t *testing.T) {
	p, _ := testBackend(t)
	pod := outsiderPod("alone", nil)
	p.pods.Seen(pod, false)
	p.pods.Groups.Look(p.Context)
	p.pods.Groups.Begun, p.pods.Groups.Busy = true, false
	p.pods.Gone(pod, false)
	p.pods.Groups.News(true)
	news := p.news()
	if len(news.Changed) != 1 || news.Changed[0].Over != backend.OutcomeGone {
		t.Errorf("it was told %+v", news)
	}
}

// TestAPodThatChangesItsProjectLeavesNothing: its maker is there still.
func TestAPodThatChangesItsProjectLeavesNothing(t *testing.T) {
	p, a := testBackend(t)
	p.Namespaces.Seen(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ml", Labels: map[string]string{naming.LabelProject: "vision"}, Annotations: map[string]string{naming.NoteProjects: "*"}}})
	a.put("/apis/batch/v1/namespaces/ml/jobs/train", object("train", nil, nil))
	pod := outsiderPod("train-0", refTo("batch/v1", "Job", "train"))
	p.pods.Seen(pod, false)
	if got := p.news(); len(got.Changed) != 1 || got.Changed[0].Project != "vision" {
		t.Fatalf("first there is %+v", got)
	}
	moved := pod.DeepCopy()
	moved.Labels = map[string]string{naming.LabelProject: "speech"}
	p.pods.Seen(moved, false)
	got := p.news()
	if len(got.Changed) != 2 || got.Changed[0].Project != "speech" || len(got.Changed[0].Members) != 1 || got.Changed[1].Project != "vision" || got.Changed[1].Over != backend.OutcomeGone {
		t.Errorf("then there is %+v", got)
	}
	if got := p.news(); len(got.Gone) != 1 || len(p.pods.Groups.Groups) != 1 {
		t.Errorf("at last %+v is gone, and %d are kept", got, len(p.pods.Groups.Groups))
	}
}

func TestGroupsOfNoProjectAreForgotten(t *testing.T) {
	p, a := testBackend(t)
	a.put("/apis/batch/v1/namespaces/lost/jobs/train", object("train", nil, nil))
	pod := outsiderPod("train-0", refTo("batch/v1", "Job", "train"))
	pod.Namespace = "lost"
	p.pods.Seen(pod, false)
	p.news()
	if len(p.pods.Groups.Groups) != 1 {
		t.Fatalf("there are %d groups", len(p.pods.Groups.Groups))
	}
	p.pods.Gone(pod, false)
	a.put("/apis/batch/v1/namespaces/lost/jobs/train", http.StatusNotFound)
	if got := p.news(); len(got.Changed)+len(got.Gone) > 0 {
		t.Errorf("somebody is told %+v", got)
	}
	if len(p.pods.Groups.Groups) > 0 || len(p.pods.Groups.Owners.Known) > 0 {
		t.Errorf("groups %v, makers %v are kept", p.pods.Groups.Groups, p.pods.Groups.Owners.Known)
	}
}

// TestWhatCouldNotBeReadIsReadAgain: a PodGroup that comes after its pods, and a
// role that was mended.
func TestWhatCouldNotBeReadIsReadAgain(t *testing.T) {
	p, a := testBackend(t)
	p.pods.Groups.Owners.Again = 20 * time.Millisecond
	late := outsiderPod("late", nil)
	late.Labels = map[string]string{podowner.PodGroups[0].Label: "crowd"}
	p.pods.Seen(late, false)
	a.put("/apis/apps/v1/namespaces/ml/replicasets/web-1", http.StatusForbidden)
	p.pods.Seen(outsiderPod("web-1-a", refTo("apps/v1", "ReplicaSet", "web-1")), false)
	got := p.claims(t)
	if crowd := got["crowd"]; !strings.Contains(crowd.Barred, "PodGroup ml/crowd") {
		t.Errorf("without the object: %+v", crowd)
	}
	if web := got["web-1"]; web.Note == "" {
		t.Errorf("a maker that may not be read: %+v", web)
	}
	a.put(podowner.PodGroups[0].Path+"/namespaces/ml/podgroups/crowd", object("crowd", nil, map[string]any{"spec": map[string]any{"minMember": 3}}))
	a.put("/apis/apps/v1/namespaces/ml/replicasets/web-1", object("web-1", refTo("apps/v1", "Deployment", "web"), nil))
	a.put("/apis/apps/v1/namespaces/ml/deployments/web", object("web", nil, nil))
	soon(t, "both are read", func() bool {
		got = p.claims(t)
		return got["crowd"].Barred == "" && got["crowd"].Min == 3 && len(got["web"].Members) == 1
	})
	if len(p.pods.Groups.Owners.Known) == 0 {
		t.Error("nothing is remembered of makers")
	}
}

// TestAPodThatCannotBeToldKeepsNoOther: a webhook may refuse what is told.
func TestAPodThatCannotBeToldKeepsNoOther(t *testing.T) {
	p, a := testBackend(t)
	var words []backend.Word
	for i := range 3 {
		p.pods.Seen(outsiderPod(fmt.Sprintf("pod-%d", i), nil), false)
	}
	for _, c := range p.claims(t) {
		words = append(words, backend.Word{Claim: c.Key, Reason: "Quota", Text: "wait"})
	}
	status := func(i int) string { return fmt.Sprintf("/api/v1/namespaces/ml/pods/pod-%d/status", i) }
	for i := range 3 {
		a.put(status(i), http.StatusBadRequest)
	}
	if err := p.Explain(t.Context(), words); err != nil {
		t.Errorf("what was refused: %v", err)
	}
	for i := range 3 {
		if a.asked[status(i)] != 1 {
			t.Errorf("pod %d was told %d times", i, a.asked[status(i)])
		}
		a.put(status(i), http.StatusBadGateway)
	}
	for i := range words {
		words[i].Text = "wait longer"
	}
	if err := p.Explain(t.Context(), words); err == nil {
		t.Error("a cluster that is away was told")
	}
}

// TestPodsOfNoProjectAreToldOnce, however often they are looked at meanwhile.
func TestPodsOfNoProjectAreToldOnce(t *testing.T) {
	p, a := testBackend(t)
	pod := outsiderPod("stray", nil)
	pod.Namespace = "lost"
	const path = "/api/v1/namespaces/lost/pods/stray/status"
	a.put(path, http.StatusBadGateway)
	p.pods.Seen(pod, false)
	x := p.pods.Groups
	x.Mu.Lock()
	x.Reporting = true // something else is being told
	x.Mu.Unlock()
	for range 100 {
		x.Again([]string{"lost"})
		x.Look(p.Context)
	}
	if len(x.Unreported) != 1 || a.asked[path] > 0 {
		t.Errorf("%d are to be told, it was told %d times", len(x.Unreported), a.asked[path])
	}
	x.Mu.Lock()
	x.Reporting = false
	x.Mu.Unlock()
	x.Again([]string{"lost"})
	x.Look(p.Context)
	soon(t, "it is marked again after it could not be told", func() bool {
		x.Mu.Lock()
		defer x.Mu.Unlock()
		return !x.Reporting && len(x.Unreported) == 0 && len(x.Marked) == 1
	})
}
