package kube

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podspec"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// soon waits until something is so.
func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func taskIn(project string) backend.Assignment {
	id := core.TaskID{Workload: core.WorkloadID("01" + project)}
	return backend.Assignment{ID: id, Node: "n", Image: "any", Argv: []string{"x"}, About: backend.About{Project: core.ProjectID(project), Name: "w"}}
}

// podOf is the pod of a task that runs, as the API server shows it.
func podOf(a *backend.Assignment) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: naming.PodName(a.About.Name, a.ID), Namespace: "muster-" + string(a.About.Project), UID: types.UID("uid-" + a.ID.Workload),
			Labels: podspec.New(cluster.New(cluster.Options{}, nil)).Labels(a), Annotations: podspec.Notes(a),
		},
		Spec: corev1.PodSpec{SchedulerName: naming.SchedulerName, NodeName: string(a.Node), Containers: []corev1.Container{{Name: naming.Container}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			Name: naming.Container, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}},
	}
}

func (p *Backend) state(id core.TaskID) backend.Observation {
	x, _ := p.pods.Tasks.Get(id)
	return x.Seen
}

func TestOneTaskThatTheClusterFailsAtKeepsNoOther(t *testing.T) {
	p, a := testBackend(t)
	p.Options.Patience = 300 * time.Millisecond
	bad, good := taskIn("bad"), taskIn("good")
	a.put("/api/v1/namespaces", map[string]any{"kind": "Namespace", "apiVersion": "v1"})
	a.put("/api/v1/namespaces/muster-bad/pods", http.StatusInternalServerError)
	a.put("/api/v1/namespaces/muster-good/pods", podOf(&good))
	if err := p.Start(t.Context(), []backend.Assignment{bad, good}); err != nil {
		t.Fatalf("the other has to wait: %v", err)
	}
	if x, _ := p.pods.Tasks.Get(good.ID); !x.There {
		t.Errorf("the other is %+v", x.Seen)
	}
	if o := p.state(bad.ID); o.State != core.TaskStarting {
		t.Errorf("at once it is %+v", o)
	}
	soon(t, "it is said why it does not start", func() bool {
		o := p.state(bad.ID)
		return strings.Contains(o.Message, "the cluster fails at it") || o.State.Ended()
	})
	soon(t, "it fails in the end", func() bool { return p.state(bad.ID).State.Ended() })
	if o := p.state(bad.ID); o.State != core.TaskFailed || o.Reason != string(lifecycle.ReasonSystem) || !strings.Contains(o.Message, "the cluster fails at it") {
		t.Errorf("it ended with %+v", o)
	}
}

func TestATaskThatTheClusterFailsAtStartsOnceItDoesNot(t *testing.T) {
	p, a := testBackend(t)
	p.Options.Patience = time.Hour
	bad := taskIn("bad")
	a.put("/api/v1/namespaces", map[string]any{"kind": "Namespace", "apiVersion": "v1"})
	a.put("/api/v1/namespaces/muster-bad/pods", http.StatusInternalServerError)
	for range 2 { // asking again changes nothing
		if err := p.Start(t.Context(), []backend.Assignment{bad}); err != nil {
			t.Fatal(err)
		}
	}
	a.put("/api/v1/namespaces/muster-bad/pods", podOf(&bad))
	soon(t, "it starts", func() bool { x, _ := p.pods.Tasks.Get(bad.ID); return x.There })
}

func TestAClusterThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	p, a := testBackend(t)
	bad := taskIn("bad")
	a.put("/api/v1/namespaces", map[string]any{"kind": "Namespace", "apiVersion": "v1"})
	for _, code := range []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusUnauthorized} {
		a.put("/api/v1/namespaces/muster-bad/pods", code)
		if err := p.Start(t.Context(), []backend.Assignment{bad}); !errors.Is(err, backend.ErrUnreachable) {
			t.Errorf("%d: %v", code, err)
		}
	}
}

func TestATaskThatCannotBeEndedKeepsNoOther(t *testing.T) {
	for _, code := range []int{http.StatusForbidden, http.StatusInternalServerError, http.StatusBadRequest} {
		p, a := testBackend(t)
		one := taskIn("p")
		pod := podOf(&one)
		p.pods.Seen(pod, true)
		path := "/api/v1/namespaces/muster-p/pods/" + pod.Name
		a.put(path, code)
		if err := p.Stop(t.Context(), []core.TaskID{one.ID}, time.Second); err != nil {
			t.Errorf("%d: %v", code, err)
		}
		if o := p.state(one.ID); !strings.Contains(o.Message, "it cannot be ended") {
			t.Errorf("%d: it says %+v", code, o)
		}
		a.put(path, pod)
		soon(t, "it is ended", func() bool { x, _ := p.pods.Tasks.Get(one.ID); return x.Stuck == "" })
		a.put(path, http.StatusServiceUnavailable)
		if err := p.Stop(t.Context(), []core.TaskID{one.ID}, time.Second); !errors.Is(err, backend.ErrUnreachable) {
			t.Errorf("a cluster that is away: %v", err)
		}
	}
}

// TestOnlyPodsThatWeDrewAreEndedByForce: in a pod of others what is done for
// that may see the processes of its node.
func TestOnlyPodsThatWeDrewAreEndedByForce(t *testing.T) {
	ends := func(change func(p *Backend, id core.TaskID, pod *corev1.Pod)) bool {
		p, a := testBackend(t)
		one := taskIn("p")
		pod := podOf(&one)
		p.pods.Seen(pod, true)
		change(p, one.ID, pod)
		path := "/api/v1/namespaces/muster-p/pods/" + pod.Name
		a.put(path, pod)
		p.pods.ForceDelete(one.ID, time.Now().Add(-time.Second))
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.asked[path+"/exec"] > 0
	}
	if !ends(func(*Backend, core.TaskID, *corev1.Pod) {}) {
		t.Error("one of ours was not")
	}
	if ends(func(p *Backend, id core.TaskID, pod *corev1.Pod) {
		p.pods.Tasks.Edit(id, false, func(t *tasks.Task) { t.Claim = string(pod.UID) })
	}) {
		t.Error("one of others was")
	}
	if ends(func(_ *Backend, _ core.TaskID, pod *corev1.Pod) { pod.Spec.HostPID = true }) {
		t.Error("one that sees its node was")
	}
}

func TestWhatIsToStartAgainIsNotForgotten(t *testing.T) {
	k := tasks.New(time.Now)
	one := taskIn("p")
	k.Edit(one.ID, true, func(t *tasks.Task) { t.Next = &one })
	if next := k.Drop(one.ID); next == nil || k.Some(one.ID.Workload, 0) {
		t.Errorf("%+v, %v", next, k.Attempts)
	}
	if next := k.Drop(one.ID); next != nil {
		t.Error("twice")
	}
}
