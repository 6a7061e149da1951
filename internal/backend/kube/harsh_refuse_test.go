package kube_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

func quotaRefuses(t *testing.T, h *harsh) {
	h.apply("{apiVersion: v1, kind: ResourceQuota, metadata: {name: none, namespace: %s}, spec: {hard: {pods: '0'}}}", h.namespace())
	h.quotaCounted("none")
	p, a := h.open(), h.task("greedy", 0)
	h.start(p, a)
	h.fails(p, a.ID, lifecycle.ReasonSystem, "exceeded quota: none")
}

// quotaCounted waits until a quota is in force.
func (h *harsh) quotaCounted(name string) {
	h.t.Helper()
	kubetest.Eventually(h.t, "the quota counted", func() error {
		q, err := h.c.Client.CoreV1().ResourceQuotas(h.space()).Get(h.t.Context(), name, metav1.GetOptions{})
		if err == nil && len(q.Status.Hard) == 0 {
			err = fmt.Errorf("it has no status yet")
		}
		return err
	})
}

// quotaOfLimits: a quota of limits refuses pods without them.
func quotaOfLimits(t *testing.T, h *harsh) {
	h.apply("{apiVersion: v1, kind: ResourceQuota, metadata: {name: limits, namespace: %s}, spec: {hard: {limits.cpu: '1', limits.memory: 1Gi, requests.cpu: '1'}}}", h.namespace())
	h.quotaCounted("limits")
	p, a := h.open(), h.task("fits", 0)
	a.Memory, a.Init = 64<<20, []backend.Init{{Argv: []string{"prepare"}}}
	h.start(p, a)
	h.runs(p, a.ID)
	if limit := h.pod(a.ID).Spec.Containers[0].Resources.Limits.Cpu().MilliValue(); limit != a.CPU {
		t.Errorf("its CPU is capped at %d, not at %d thousandths", limit, a.CPU)
	}
	a = h.task("greedy", 0)
	a.CPU, a.Memory = 2000, 64<<20
	h.start(p, a)
	h.fails(p, a.ID, lifecycle.ReasonSystem, "exceeded quota: limits")
}

// namespaceRestricted: what the Pod Security Standard of a namespace wants is in
// pods.
func namespaceRestricted(t *testing.T, h *harsh) {
	space := h.namespace()
	h.c.Kubectl(t, "label", "namespace", space, "pod-security.kubernetes.io/enforce=restricted")
	p, user := h.open(), uint32(1000)
	a := h.task("strict", 0)
	a.UID, a.Init = &user, []backend.Init{{Argv: []string{"prepare"}}}
	h.start(p, a)
	h.runs(p, a.ID)
	root := uint32(0)
	b := h.task("root", 0)
	b.UID = &root
	h.start(p, b)
	h.fails(p, b.ID, lifecycle.ReasonSystem, "violates PodSecurity", "runAsNonRoot")
}

func policyRefuses(t *testing.T, h *harsh) {
	h.apply(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: only-blue}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "object.metadata.name.startsWith('blue')", message: only blue pods here}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: only-blue}
spec: {policyName: only-blue, validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {muster.dev/project: %s}}}}
`, h.project)
	h.namespace()
	p := h.open()
	for i := range 1000 { // policies come into force after a while
		red := h.task("red", i)
		h.start(p, red)
		// One that was taken says so as soon as its pod is there; that it runs is of no
		// interest here, and a simulated kubelet now and then lets it wait for long.
		o := h.until(p, red.ID, "seen", func(o backend.Observation) bool { return o.State != core.TaskStarting || o.Waiting != "" })
		if o.State == core.TaskFailed {
			h.fails(p, red.ID, lifecycle.ReasonSystem, "a policy of the cluster refuses it", "only blue pods here")
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	blue := h.task("blue", 0)
	h.start(p, blue)
	h.runs(p, blue.ID)
}

func webhookDown(t *testing.T, h *harsh) {
	h.apply(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: down}
webhooks:
- name: down.example.com
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  namespaceSelector: {matchLabels: {muster.dev/project: %s}}
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
`, h.project)
	h.namespace()
	p := h.open()
	for i := range 1000 {
		a := h.task("asked", i)
		h.start(p, a)
		if o := h.until(p, a.ID, "seen", func(o backend.Observation) bool { return o.State != core.TaskStarting }); o.State == core.TaskFailed {
			h.fails(p, a.ID, lifecycle.ReasonSystem, "webhook", "down.example.com")
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func podClash(t *testing.T, h *harsh) {
	h.namespace()
	p, a := h.open(), h.task("same", 0)
	h.start(p, a)
	h.runs(p, a.ID)
	theirs := h.pod(a.ID).DeepCopy()
	if err := p.Stop(t.Context(), []core.TaskID{a.ID}, time.Second); err != nil {
		t.Fatal(err)
	}
	h.gone()
	theirs.ObjectMeta = metav1.ObjectMeta{Name: theirs.Name, Namespace: theirs.Namespace}
	theirs.Spec.NodeName = ""
	h.c.Run(t, theirs.Namespace, theirs)
	p2 := h.open() // that has never heard of the task
	h.start(p2, a)
	h.fails(p2, a.ID, lifecycle.ReasonSystem, "a pod that is not ours has the name", theirs.Name)
	if err := p2.Forget(t.Context(), []core.TaskID{a.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.c.Client.CoreV1().Pods(h.space()).Get(t.Context(), theirs.Name, metav1.GetOptions{}); err != nil {
		t.Errorf("the pod of others: %v", err)
	}
}

func secretClash(t *testing.T, h *harsh) {
	h.namespace()
	p, a := h.open(), h.task("hush", 0)
	a.Env, a.Secret = []string{"PASSWORD=x"}, []string{"PASSWORD"}
	h.start(p, a)
	h.runs(p, a.ID)
	name := h.pod(a.ID).Name
	if err := p.Stop(t.Context(), []core.TaskID{a.ID}, time.Second); err != nil {
		t.Fatal(err)
	}
	h.until(p, a.ID, "ended", func(o backend.Observation) bool { return o.State.Ended() })
	if err := p.Forget(t.Context(), []core.TaskID{a.ID}); err != nil {
		t.Fatal(err)
	}
	secrets := h.c.Client.CoreV1().Secrets(h.space())
	kubetest.Eventually(t, "the secret gone", func() error {
		if all, err := secrets.List(t.Context(), metav1.ListOptions{}); err != nil || len(all.Items) > 0 {
			return fmt.Errorf("%d are there, %v", len(all.Items), err)
		}
		return nil
	})
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"theirs": "y"}}
	if _, err := secrets.Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	h.start(p, a)
	h.fails(p, a.ID, lifecycle.ReasonSystem, "a secret that is not ours", name)
	if err := p.Forget(t.Context(), []core.TaskID{a.ID}); err != nil {
		t.Fatal(err)
	}
	if s, err := secrets.Get(t.Context(), name, metav1.GetOptions{}); err != nil || string(s.Data["theirs"]) != "y" {
		t.Errorf("the secret of others: %v, %v", s, err)
	}
}

func namespaceGoes(t *testing.T, h *harsh) {
	h.namespace()
	p, a := h.open(), h.task("evictee", 0)
	h.start(p, a)
	h.runs(p, a.ID)
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"example.com/hold"}}}
	maps := h.c.Client.CoreV1().ConfigMaps(h.space())
	if _, err := maps.Create(t.Context(), held, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := h.c.Client.CoreV1().Namespaces().Delete(t.Context(), h.space(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.fails(p, a.ID, lifecycle.ReasonSystem, "namespace "+h.space()+" was deleted")
	b := h.task("late", 0)
	h.start(p, b)
	h.fails(p, b.ID, lifecycle.ReasonSystem, "being deleted")
	if _, err := maps.Patch(t.Context(), "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "the namespace gone", func() error {
		if _, err := h.c.Client.CoreV1().Namespaces().Get(t.Context(), h.space(), metav1.GetOptions{}); err == nil {
			return fmt.Errorf("it is there")
		}
		return nil
	})
	for i := range 1000 { // until the backend has heard of it
		a := h.task("again", i)
		h.start(p, a)
		if o := h.until(p, a.ID, "seen", func(o backend.Observation) bool { return o.State != core.TaskStarting }); o.State == core.TaskRunning {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("nothing starts in the namespace that was made again")
}

func namespaceOfOthers(t *testing.T, h *harsh) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: h.space(), Labels: map[string]string{"muster.dev/project": "somebody"}}}
	if _, err := h.c.Client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p, a := h.open(), h.task("intruder", 0)
	h.start(p, a)
	h.fails(p, a.ID, lifecycle.ReasonSystem, "is that of project somebody")
}

func noPod(_ *testing.T, h *harsh) {
	p := h.open()
	bad := h.task("bad", 0)
	bad.Ports = []int{70000}
	h.start(p, bad)
	h.fails(p, bad.ID, lifecycle.ReasonContainerCannot, "containerPort")
	h.gone()
}

func gangRefused(t *testing.T, h *harsh) {
	h.apply("{apiVersion: v1, kind: ResourceQuota, metadata: {name: two, namespace: %s}, spec: {hard: {pods: '2'}}}", h.namespace())
	kubetest.Eventually(t, "the quota counted", func() error {
		q, err := h.c.Client.CoreV1().ResourceQuotas(h.space()).Get(t.Context(), "two", metav1.GetOptions{})
		if err == nil && len(q.Status.Hard) == 0 {
			err = fmt.Errorf("it has no status yet")
		}
		return err
	})
	p := h.open()
	var gang []backend.Assignment
	for i := range 3 {
		a := h.task("gang", i)
		a.Gang = 3
		gang = append(gang, a)
	}
	h.start(p, gang...)
	for _, a := range gang {
		h.fails(p, a.ID, lifecycle.ReasonSystem, "exceeded quota: two")
	}
	h.gone()
}
