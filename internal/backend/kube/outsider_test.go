package kube

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/namespace"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podowner"
	"github.com/musterhq/muster/internal/core"
)

// apiserver answers for objects by path, and counts what it is asked.
type apiserver struct {
	mu      sync.Mutex
	objects map[string]any // a number: that status
	asked   map[string]int
	done    map[string]int // the same with the method before it
}

func (a *apiserver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked[r.URL.Path]++
	a.done[r.Method+" "+r.URL.Path]++
	w.Header().Set("Content-Type", "application/json")
	code := http.StatusNotFound
	switch o := a.objects[r.URL.Path].(type) {
	case nil:
	case int:
		code = o
	default:
		json.NewEncoder(w).Encode(o) //nolint:errcheck // the test fails by what is missing
		return
	}
	w.WriteHeader(code)
	reason := map[int]metav1.StatusReason{http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusNotFound: metav1.StatusReasonNotFound}[code]
	json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: reason, Code: int32(code), Message: "no"}) //nolint:errcheck // likewise
}

func (a *apiserver) put(path string, o any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.objects[path] = o
}

// testBackend is a backend whose informers see nothing: tests call what they would.
func testBackend(t testing.TB) (*Backend, *apiserver) {
	t.Helper()
	a := &apiserver{objects: map[string]any{}, asked: map[string]int{}, done: map[string]int{}}
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	config := &rest.Config{Host: s.URL, QPS: -1}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	p := newBackend(cluster.New(cluster.Options{Name: "k", Config: config, LogDir: t.TempDir()}, client))
	if err := p.Begin(func() {}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	p.Namespaces.Seen(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ml", Labels: map[string]string{naming.LabelProject: "vision"}}})
	return p, a
}

func outsiderPod(name string, owner *metav1.OwnerReference) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ml", UID: types.UID("uid-" + name)}, Spec: corev1.PodSpec{
		SchedulerName: naming.SchedulerName, Containers: []corev1.Container{{Name: "c"}},
	}}
	if owner != nil {
		pod.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return pod
}

func refTo(version, kind, name string) *metav1.OwnerReference {
	yes := true
	return &metav1.OwnerReference{APIVersion: version, Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: &yes}
}

// object is one of a kind, as the API server shows it.
func object(name string, owner *metav1.OwnerReference, more map[string]any) map[string]any {
	meta := metav1.ObjectMeta{Name: name, Namespace: "ml", UID: types.UID("uid-" + name)}
	if owner != nil {
		meta.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	out := map[string]any{"metadata": meta}
	for k, v := range more {
		out[k] = v
	}
	return out
}

// claims are all that there are, as the control plane is told.
func (p *Backend) claims(t *testing.T) map[string]backend.Claim {
	t.Helper()
	p.pods.Groups.Look(context.Background())
	p.pods.Groups.Begun, p.pods.Groups.Busy = true, false
	news, _ := p.pods.Groups.News(true)
	out := map[string]backend.Claim{}
	for _, c := range news.Changed {
		out[c.Name] = c
	}
	return out
}

// projectIn is the project of a pod among namespaces.
func projectIn(n *namespace.Namespaces, pod *corev1.Pod, chain []*podowner.Owner) (core.ProjectID, string) {
	own, more := n.ProjectsOf(pod.Namespace)
	return podowner.ProjectOf(pod, chain, own, more)
}
