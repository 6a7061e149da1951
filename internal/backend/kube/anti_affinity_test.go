package kube

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// TestOthersKeepTasksAway: a pod of others that wants none of ours near it has
// its way, for as long as it is there, and only with those that it means.
func TestOthersKeepTasksAway(t *testing.T) {
	p, a := testBackend(t)
	a.put("/api/v1/namespaces", map[string]any{"kind": "Namespace", "apiVersion": "v1"})
	for name, in := range map[string]string{"n": "b", "n2": "b", "m": "a"} {
		p.NodeInfo.Seen(zoned(name, in))
	}
	lonely := outsiderPod("lonely", nil)
	lonely.Spec.SchedulerName, lonely.Spec.NodeName = "default-scheduler", "n2"
	apart(corev1.PodAffinityTerm{
		TopologyKey: zone, NamespaceSelector: &metav1.LabelSelector{},
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "noisy"}},
	})(lonely)
	p.pods.Seen(lonely, false)
	p.NodeInfo.Changes()
	task := taskIn("speech")
	task.About.Labels = map[string]string{"team": "noisy"}
	if err := p.Start(t.Context(), []backend.Assignment{task}); err != nil {
		t.Fatal(err)
	}
	if o := p.state(task.ID); o.State != core.TaskFailed || o.Reason != string(lifecycle.ReasonSystem) || !strings.Contains(o.Message, "pods of others keep it off node n (podAntiAffinity over "+zone+")") {
		t.Errorf("beside it: %+v", o)
	}
	label := core.UnwelcomeLabel(task.ID.Workload)
	changed, _ := p.NodeInfo.Changes()
	if len(changed) != 2 || changed[0].ID != "n" || changed[0].Labels[label] != core.OutOfReach || changed[1].ID != "n2" || changed[1].Labels[label] != core.OutOfReach {
		t.Errorf("nodes say %+v", changed)
	}
	next := task
	next.ID.Attempt, next.Node = 1, "m"
	a.put("/api/v1/namespaces/muster-speech/pods", podOf(&next))
	if err := p.Start(t.Context(), []backend.Assignment{next}); err != nil || p.state(next.ID).State == core.TaskFailed {
		t.Errorf("elsewhere: %v, %+v", err, p.state(next.ID))
	}
	quiet := taskIn("vision")
	a.put("/api/v1/namespaces/ml/pods", podOf(&quiet))
	if err := p.Start(t.Context(), []backend.Assignment{quiet}); err != nil || p.state(quiet.ID).State == core.TaskFailed {
		t.Errorf("one that it does not mean: %v, %+v", err, p.state(quiet.ID))
	}
	p.NodeInfo.Changes()
	p.pods.Gone(lonely, false)
	if changed, _ := p.NodeInfo.Changes(); len(changed) != 2 || changed[0].Labels[label] != "" || changed[1].Labels[label] != "" {
		t.Errorf("once it has gone nodes say %+v", changed)
	}
}
