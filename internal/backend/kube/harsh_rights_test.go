package kube_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// as has requests made in another's name.
func as(user string) func(*rest.Config) {
	return func(c *rest.Config) { c.Impersonate = rest.ImpersonationConfig{UserName: user} }
}

// allow gives a user verbs of everything that the backend needs, but of one sort of
// object only those that are named.
func (h *harsh) allow(user, sort string, verbs string) {
	h.t.Helper()
	var rules []string
	allowed := map[string]string{}
	for resource, all := range map[string]string{
		"nodes": "get,list,watch", "namespaces": "get,list,watch,create", "pods": "get,list,watch,create,delete,patch", "pods/binding": "create",
		"secrets": "get,list,create,delete", "services": "list,create,patch,delete", "events": "list",
	} {
		if resource == sort {
			all = verbs
		}
		if all != "" {
			allowed[resource] = all
			rules = append(rules, fmt.Sprintf("{apiGroups: [''], resources: [%s], verbs: [%s]}", resource, all))
		}
	}
	h.apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules: [%[2]s]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]
`, user, strings.Join(rules, ", "))
	// The API server hears of rules as of anything else: a moment later.
	for resource, verbs := range allowed {
		for verb := range strings.SplitSeq(verbs, ",") {
			h.may(user, verb, resource)
		}
	}
}

// may waits until a user has a right.
func (h *harsh) may(user, verb, resource string) {
	h.t.Helper()
	resource, sub, _ := strings.Cut(resource, "/")
	ask := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: resource, Subresource: sub, Namespace: h.space()},
	}}
	kubetest.Eventually(h.t, user+" may "+verb+" "+resource, func() error {
		said, err := h.c.Client.AuthorizationV1().SubjectAccessReviews().Create(h.t.Context(), ask, metav1.CreateOptions{})
		if err == nil && !said.Status.Allowed {
			err = fmt.Errorf("it may not: %s", said.Status.Reason)
		}
		return err
	})
}

func verbMissing(_ *testing.T, h *harsh) {
	h.allow("no-create", "pods", "get,list,watch,delete")
	p, a := h.open(as("no-create")), h.task("barred", 0)
	h.start(p, a)
	h.fails(p, a.ID, lifecycle.ReasonSystem, `User "no-create" cannot create resource "pods"`)

	h.allow("no-bind", "pods/binding", "")
	p = h.open(as("no-bind"))
	gang := []backend.Assignment{h.task("unbound", 0), h.task("unbound", 1)}
	for i := range gang {
		gang[i].Gang = 2
	}
	h.start(p, gang...)
	h.fails(p, gang[0].ID, lifecycle.ReasonSystem, `cannot create resource "pods/binding"`)
	h.gone()
}

func endForbidden(t *testing.T, h *harsh) {
	h.allow("no-delete", "pods", "get,list,watch,create")
	p, a := h.open(as("no-delete")), h.task("stays", 0)
	h.start(p, a)
	h.runs(p, a.ID)
	for range 2 {
		if err := p.Stop(t.Context(), []core.TaskID{a.ID}, time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if o := h.runs(p, a.ID); !strings.Contains(o.Message, `cannot delete resource "pods"`) {
		t.Errorf("it says %q", o.Message)
	}
	h.allow("no-delete", "pods", "get,list,watch,create,delete")
	h.fails(p, a.ID, lifecycle.ReasonKilled)
}

// endUnasked: a webhook that is asked before pods go does not answer.
func endUnasked(t *testing.T, h *harsh) {
	h.namespace()
	p, a := h.open(), h.task("stays", 0)
	h.start(p, a)
	h.runs(p, a.ID)
	h.apply(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: down-at-the-end}
webhooks:
- name: down-at-the-end.example.com
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [DELETE], resources: [pods]}]
  namespaceSelector: {matchLabels: {muster.dev/project: %s}}
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
`, h.project)
	h.refusesEnds()
	if err := p.Stop(t.Context(), []core.TaskID{a.ID}, time.Second); err != nil {
		t.Fatalf("others have to wait: %v", err)
	}
	if o := h.runs(p, a.ID); !strings.Contains(o.Message, "it cannot be ended") {
		t.Errorf("it says %q", o.Message)
	}
	h.c.Kubectl(t, "delete", "validatingwebhookconfiguration", "down-at-the-end")
	h.fails(p, a.ID, lifecycle.ReasonKilled)
}

// refusesEnds waits until a webhook is in force.
func (h *harsh) refusesEnds() {
	h.t.Helper()
	try := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
	kubetest.Eventually(h.t, "the webhook in force", func() error {
		if err := h.c.Client.CoreV1().Pods(h.space()).DeleteCollection(h.t.Context(), try, metav1.ListOptions{}); err == nil {
			return fmt.Errorf("pods may go")
		}
		return nil
	})
}

func watchForbidden(t *testing.T, h *harsh) {
	h.allow("no-nodes", "nodes", "")
	p := h.open(as("no-nodes"))
	kubetest.Eventually(t, "the refusal told", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := p.Inventory(ctx)
		if err == nil {
			t.Fatal("nodes that may not be listed are known")
		}
		if !strings.Contains(err.Error(), `cannot list resource "nodes"`) {
			return err
		}
		return nil
	})
	h.allow("no-nodes", "nodes", "get,list,watch")
	kubetest.Eventually(t, "its nodes known", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := p.Inventory(ctx)
		return err
	})
}

func credentialsExpire(t *testing.T, h *harsh) {
	h.allow("system:serviceaccount:default:short-lived", "", "")
	accounts := h.c.Client.CoreV1().ServiceAccounts("default")
	file := filepath.Join(t.TempDir(), "token")
	renew := func() {
		t.Helper()
		if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "short-lived"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		token, err := accounts.CreateToken(t.Context(), "short-lived", &authv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(token.Status.Token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	renew()
	p := h.open(func(c *rest.Config) {
		c.BearerTokenFile = file
		c.CertData, c.CertFile, c.KeyData, c.KeyFile = nil, "", nil, ""
	})
	a := h.task("lasting", 0)
	h.start(p, a)
	h.runs(p, a.ID)
	if err := accounts.Delete(t.Context(), "short-lived", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "the credentials refused", func() error {
		if _, err := p.Observe(t.Context()); err == nil || !strings.Contains(err.Error(), "Unauthorized") && !strings.Contains(err.Error(), "credentials") {
			return fmt.Errorf("it says %v", err)
		}
		return nil
	})
	if err := p.Start(t.Context(), []backend.Assignment{h.task("meanwhile", 0)}); err == nil {
		t.Error("something started without credentials")
	}
	renew()
	h.runs(p, a.ID)
	// That it runs may be heard later: who could not listen for long listens again
	// after pauses that have grown.
	h.start(p, h.task("meanwhile", 0))
	h.until(p, h.task("meanwhile", 0).ID, "started", func(o backend.Observation) bool { return !o.State.Ended() })
}

// tooMany answers some requests that create pods with 429.
type tooMany struct {
	http.RoundTripper
	mu   sync.Mutex
	left int
}

func (b *tooMany) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	busy := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods") && b.left > 0
	if busy {
		b.left--
	}
	b.mu.Unlock()
	if !busy {
		return b.RoundTripper.RoundTrip(r)
	}
	w := &http.Response{StatusCode: http.StatusTooManyRequests, Status: "429 Too Many Requests", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody, Request: r}
	return w, nil
}

func throttled(t *testing.T, h *harsh) {
	busy := &tooMany{left: 3}
	p := h.open(func(c *rest.Config) {
		c.Wrap(func(rt http.RoundTripper) http.RoundTripper { busy.RoundTripper = rt; return busy })
	})
	a := h.task("patient", 0)
	if err := p.Start(t.Context(), []backend.Assignment{a}); err == nil {
		t.Error("429 was taken for an answer")
	}
	h.start(p, a)
	h.runs(p, a.ID)
	if busy.left != 0 {
		t.Errorf("%d answers were not asked for", busy.left)
	}
}

// slow keeps the answers to requests that create pods back until it may let
// them go. What the watch tells meanwhile is not kept.
type slow struct {
	http.RoundTripper
	free <-chan struct{}
}

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	w, err := s.RoundTripper.RoundTrip(r)
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods") {
		<-s.free
	}
	return w, err
}

// answersLate: what a pod was like when it was made is not believed of one that
// has been seen to run since.
func answersLate(t *testing.T, h *harsh) {
	free := make(chan struct{})
	let := sync.OnceFunc(func() { close(free) })
	defer let()
	p := h.open(func(c *rest.Config) {
		c.Wrap(func(rt http.RoundTripper) http.RoundTripper { return &slow{RoundTripper: rt, free: free} })
	})
	h.c.Kubectl(t, "create", "namespace", h.space())
	h.c.Kubectl(t, "label", "namespace", h.space(), "muster.dev/project="+h.project)
	a := h.task("quick", 0)
	started := make(chan error, 1)
	go func() { started <- p.Start(t.Context(), []backend.Assignment{a}) }()
	h.runs(p, a.ID)
	let()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	all, err := p.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(o backend.Observation) bool { return o.ID == a.ID })
	if i < 0 || all[i].State != core.TaskRunning {
		t.Errorf("after the answer, of %d tasks, it is %+v, want running", len(all), all[max(i, 0)])
	}
}
