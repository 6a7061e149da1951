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
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/kubetest"
	"github.com/musterhq/muster/internal/plane"
	"github.com/musterhq/muster/internal/plane/kube"
)

// TestAClusterThatIsHarsh: what a cluster, or others in it, do to us costs no
// work and says why.
func TestAClusterThatIsHarsh(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	node := core.NodeID(c.Kwok(t, 1, kubetest.NodeShape{GPUs: 8})[0])
	for name, f := range map[string]func(*testing.T, *harsh){
		"a quota refuses":                quotaRefuses,
		"a policy refuses":               policyRefuses,
		"a webhook is down":              webhookDown,
		"a pod has the name":             podClash,
		"a secret has the name":          secretClash,
		"a namespace goes":               namespaceGoes,
		"a namespace is another's":       namespaceOfOthers,
		"what is no pod":                 noPod,
		"a verb is missing":              verbMissing,
		"an end is not allowed":          endForbidden,
		"nodes may not be watched":       watchForbidden,
		"credentials expire":             credentialsExpire,
		"the API server throttles":       throttled,
		"labels are edited":              labelsEdited,
		"a pod is copied":                podCopied,
		"pods are deleted by others":     deletedByOthers,
		"pods are evicted":               evicted,
		"a deadline is set":              deadlineSet,
		"requests are changed":           requestsChanged,
		"a gang is refused half way":     gangRefused,
		"nodes lie about what they have": nodesLie,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, &harsh{t: t, c: c, node: node, project: projectOf(name)})
		})
	}
}

func projectOf(name string) string {
	return strings.NewReplacer(" ", "-", "'", "").Replace(strings.ToLower(name))
}

// harsh is one test with a project of its own.
type harsh struct {
	t       *testing.T
	c       *kubetest.Cluster
	node    core.NodeID
	project string
}

func (h *harsh) space() string { return "muster-" + h.project }

// open opens a plane; change may change how it talks to the cluster.
func (h *harsh) open(change ...func(*rest.Config)) *kube.Plane {
	h.t.Helper()
	config := rest.CopyConfig(h.c.Config)
	for _, f := range change {
		f(config)
	}
	p, err := kube.Open(kube.Options{Config: config, LogDir: h.t.TempDir()})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { p.Close() })
	return p
}

// namespace makes that of the project beforehand.
func (h *harsh) namespace() string {
	h.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: h.space(), Labels: map[string]string{"muster.dev/project": h.project}}}
	if _, err := h.c.Client.CoreV1().Namespaces().Create(h.t.Context(), ns, metav1.CreateOptions{}); err != nil {
		h.t.Fatal(err)
	}
	return ns.Name
}

// apply has kubectl make what a text says.
func (h *harsh) apply(text string, args ...any) {
	h.t.Helper()
	h.c.Kubectl(h.t, "apply", "-f", write(h.t, fmt.Sprintf(text, args...)))
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "object")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func (h *harsh) task(name string, index int) plane.Assignment {
	id := core.TaskID{Workload: core.WorkloadID("01" + strings.ReplaceAll(h.project, "-", "") + name), Index: index}
	return plane.Assignment{ID: id, Node: h.node, Image: "any", Argv: []string{"x"}, CPU: 100, About: plane.About{Project: core.ProjectID(h.project), Name: name, Kind: lifecycle.Training}}
}

func (h *harsh) start(p *kube.Plane, all ...plane.Assignment) {
	h.t.Helper()
	kubetest.Eventually(h.t, "started", func() error { return p.Start(h.t.Context(), all) })
}

// until waits until a task is seen as ok wants it.
func (h *harsh) until(p *kube.Plane, id core.TaskID, what string, ok func(plane.Observation) bool) plane.Observation {
	h.t.Helper()
	var last plane.Observation
	kubetest.Eventually(h.t, id.String()+" "+what, func() error {
		all, err := p.Observe(h.t.Context())
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(o plane.Observation) bool { return o.ID == id })
		if i < 0 {
			return fmt.Errorf("it is not known")
		}
		if last = all[i]; !ok(last) {
			return fmt.Errorf("it is %+v", last)
		}
		return nil
	})
	return last
}

func (h *harsh) runs(p *kube.Plane, id core.TaskID) plane.Observation {
	h.t.Helper()
	return h.until(p, id, "running", func(o plane.Observation) bool { return o.State == core.TaskRunning })
}

// fails waits for a failure for a reason, with a message that contains words.
func (h *harsh) fails(p *kube.Plane, id core.TaskID, reason lifecycle.Reason, words ...string) {
	h.t.Helper()
	o := h.until(p, id, "ended", func(o plane.Observation) bool { return o.State.Ended() })
	if o.State == core.TaskSucceeded || o.Reason != string(reason) {
		h.t.Errorf("it ended with %+v, want %s", o, reason)
	}
	for _, w := range words {
		if !strings.Contains(o.Message, w) {
			h.t.Errorf("it says %q, without %q", o.Message, w)
		}
	}
}

// gone waits until the project's namespace has no more pods.
func (h *harsh) gone() {
	h.t.Helper()
	kubetest.Eventually(h.t, "no pods left", func() error {
		all, err := h.c.Client.CoreV1().Pods(h.space()).List(h.t.Context(), metav1.ListOptions{})
		if err == nil && len(all.Items) > 0 {
			err = fmt.Errorf("there are %d", len(all.Items))
		}
		return err
	})
}

func (h *harsh) pod(id core.TaskID) *corev1.Pod {
	h.t.Helper()
	all, err := h.c.Client.CoreV1().Pods(h.space()).List(h.t.Context(), metav1.ListOptions{LabelSelector: "muster.dev/workload=" + string(id.Workload)})
	if err != nil || len(all.Items) != 1 {
		h.t.Fatalf("%d pods of %s: %v", len(all.Items), id, err)
	}
	return &all.Items[0]
}

func quotaRefuses(t *testing.T, h *harsh) {
	h.apply("{apiVersion: v1, kind: ResourceQuota, metadata: {name: none, namespace: %s}, spec: {hard: {pods: '0'}}}", h.namespace())
	kubetest.Eventually(t, "the quota counted", func() error {
		q, err := h.c.Client.CoreV1().ResourceQuotas(h.space()).Get(t.Context(), "none", metav1.GetOptions{})
		if err == nil && len(q.Status.Hard) == 0 {
			err = fmt.Errorf("it has no status yet")
		}
		return err
	})
	p, a := h.open(), h.task("greedy", 0)
	h.start(p, a)
	h.fails(p, a.ID, lifecycle.ReasonSystem, "exceeded quota: none")
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
		o := h.until(p, red.ID, "seen", func(o plane.Observation) bool { return o.State != core.TaskStarting })
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
		if o := h.until(p, a.ID, "seen", func(o plane.Observation) bool { return o.State != core.TaskStarting }); o.State == core.TaskFailed {
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
	h.until(p, a.ID, "ended", func(o plane.Observation) bool { return o.State.Ended() })
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
	for i := range 1000 { // until the plane has heard of it
		a := h.task("again", i)
		h.start(p, a)
		if o := h.until(p, a.ID, "seen", func(o plane.Observation) bool { return o.State != core.TaskStarting }); o.State == core.TaskRunning {
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
	var gang []plane.Assignment
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

func nodesLie(t *testing.T, h *harsh) {
	liar := h.c.Kwok(t, 1, kubetest.NodeShape{Prefix: "liar", GPUs: 1, Resources: map[string]string{
		kubetest.GPU: "1000000000000", "cpu": "9E", "memory": "9E", "pods": "9E", "nvidia.com/mig-1g.10gb": "9E", "nvidia.com/mig-": "3",
	}})[0]
	p := h.open()
	nodes, err := p.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(nodes, func(n core.Node) bool { return string(n.ID) == liar })
	if i < 0 {
		t.Fatalf("%s is not among %v", liar, nodes)
	}
	if n := nodes[i]; n.CPU <= 0 || n.CPU > 1<<50 || n.Memory <= 0 || n.Memory > 1<<50 || len(n.Devices) > 256 || n.Tasks <= 0 || n.MIG["1g.10gb"] > 256 {
		t.Errorf("it is taken at its word: %d devices, CPU %d, memory %d, %d tasks, MIG %v", len(n.Devices), n.CPU, n.Memory, n.Tasks, n.MIG)
	}
	honest := h.task("honest", 0)
	h.start(p, honest)
	h.runs(p, honest.ID)
}

func labelsEdited(t *testing.T, h *harsh) {
	p, a := h.open(), h.task("edited", 0)
	h.start(p, a)
	h.runs(p, a.ID)
	pod := h.pod(a.ID)
	patch := `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null,"muster.dev/workload":"other"},"annotations":{"muster.dev/task-id":"x/1/2"}}}`
	pods := h.c.Client.CoreV1().Pods(h.space())
	if _, err := pods.Patch(t.Context(), pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "the labels put back", func() error {
		now, err := pods.Get(t.Context(), pod.Name, metav1.GetOptions{})
		if err == nil && (now.Labels["muster.dev/workload"] != string(a.ID.Workload) || now.Labels["app.kubernetes.io/managed-by"] != "muster" || now.Annotations["muster.dev/task-id"] != a.ID.String()) {
			err = fmt.Errorf("they are %v, %v", now.Labels, now.Annotations)
		}
		return err
	})
	h.runs(h.open(), a.ID) // a server that begins anew finds it
	h.runs(p, a.ID)
}

func podCopied(t *testing.T, h *harsh) {
	p, a := h.open(), h.task("original", 0)
	h.start(p, a)
	h.runs(p, a.ID)
	twin := h.pod(a.ID).DeepCopy()
	twin.ObjectMeta = metav1.ObjectMeta{Name: "a-twin", Namespace: twin.Namespace, Labels: twin.Labels, Annotations: twin.Annotations}
	twin = h.c.AwaitPhase(t, h.c.Run(t, twin.Namespace, twin), corev1.PodRunning)
	p2 := h.open()
	h.runs(p2, a.ID)
	if err := h.c.Client.CoreV1().Pods(h.space()).Delete(t.Context(), twin.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b := h.task("after", 0) // what is seen of it is seen after the twin's end
	h.start(p, b)
	for _, plane := range []*kube.Plane{p, p2} {
		h.runs(plane, b.ID)
		h.runs(plane, a.ID)
	}
}

func deletedByOthers(t *testing.T, h *harsh) {
	p, a := h.open(), h.task("unlucky", 0)
	h.start(p, a)
	h.runs(p, a.ID)
	if err := h.c.Client.CoreV1().Pods(h.space()).Delete(t.Context(), h.pod(a.ID).Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.fails(p, a.ID, lifecycle.ReasonSystem, "deleted by someone else")
	b := h.task("forced", 0)
	h.start(p, b)
	h.runs(p, b.ID)
	now := int64(0)
	if err := h.c.Client.CoreV1().Pods(h.space()).Delete(t.Context(), h.pod(b.ID).Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	h.fails(p, b.ID, lifecycle.ReasonSystem, "deleted by someone else")
}

func evicted(t *testing.T, h *harsh) {
	p, a := h.open(), h.task("drained", 0)
	h.start(p, a)
	h.runs(p, a.ID)
	name := h.pod(a.ID).Name
	if err := h.c.Client.CoreV1().Pods(h.space()).EvictV1(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: h.space()}}); err != nil {
		t.Fatal(err)
	}
	h.fails(p, a.ID, lifecycle.ReasonSystem, "kubectl drain")

	tainted := h.c.Kwok(t, 1, kubetest.NodeShape{Prefix: "tainted"})[0]
	b := h.task("expelled", 0)
	b.Node = core.NodeID(tainted)
	h.start(p, b)
	h.runs(p, b.ID)
	h.c.Kubectl(t, "taint", "node", tainted, "go=away:NoExecute")
	h.fails(p, b.ID, lifecycle.ReasonSystem, "a taint of node "+tainted)
}

func deadlineSet(t *testing.T, h *harsh) {
	p, a := h.open(), h.task("hurried", 0)
	h.start(p, a)
	h.runs(p, a.ID)
	pods := h.c.Client.CoreV1().Pods(h.space())
	name := h.pod(a.ID).Name
	status := `{"status":{"phase":"Failed","reason":"DeadlineExceeded","message":"Pod was active on the node longer than the specified deadline"}}`
	if _, err := pods.Patch(t.Context(), name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	h.fails(p, a.ID, lifecycle.ReasonMaxDuration, "activeDeadlineSeconds")
}

func requestsChanged(t *testing.T, h *harsh) {
	h.apply("{apiVersion: v1, kind: LimitRange, metadata: {name: default, namespace: %s}, spec: {limits: [{type: Container, defaultRequest: {memory: 3Gi}, default: {memory: 3Gi}}]}}", h.namespace())
	own := h.c.Kwok(t, 1, kubetest.NodeShape{Prefix: "changed"})[0]
	p, a := h.open(), h.task("swollen", 0)
	a.Node = core.NodeID(own)
	h.start(p, a)
	h.runs(p, a.ID)
	for _, plane := range []*kube.Plane{p, h.open()} {
		kubetest.Eventually(t, "what it takes beyond its share counted", func() error {
			nodes, err := plane.Inventory(t.Context())
			if err != nil {
				return err
			}
			i := slices.IndexFunc(nodes, func(n core.Node) bool { return string(n.ID) == own })
			if i < 0 || nodes[i].Others.Memory != 3<<30 || nodes[i].Others.CPU != 0 {
				return fmt.Errorf("it is %+v", nodes)
			}
			return nil
		})
	}
	pods := h.c.Client.CoreV1().Pods(h.space())
	status := `{"status":{"phase":"Failed","reason":"OutOfmemory","message":"Node didn't have enough resource: memory"}}`
	if _, err := pods.Patch(t.Context(), h.pod(a.ID).Name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	h.fails(p, a.ID, lifecycle.ReasonSystem, "OutOfmemory", "the cluster had changed its pod when it was made: memory 0 → 3Gi")
	if q := resource.MustParse("3Gi"); q.Value() != 3<<30 {
		t.Fatal("units")
	}
}

// as has requests made in another's name.
func as(user string) func(*rest.Config) {
	return func(c *rest.Config) { c.Impersonate = rest.ImpersonationConfig{UserName: user} }
}

// allow gives a user verbs of everything that the plane needs, but of one sort of
// object only those that are named.
func (h *harsh) allow(user, sort string, verbs string) {
	h.t.Helper()
	var rules []string
	for resource, all := range map[string]string{
		"nodes": "get,list,watch", "namespaces": "get,list,watch,create", "pods": "get,list,watch,create,delete,patch", "pods/binding": "create",
		"secrets": "get,list,create,delete", "services": "list,create,patch,delete", "events": "list",
	} {
		if resource == sort {
			all = verbs
		}
		if all != "" {
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
}

func verbMissing(_ *testing.T, h *harsh) {
	h.allow("no-create", "pods", "get,list,watch,delete")
	p, a := h.open(as("no-create")), h.task("barred", 0)
	h.start(p, a)
	h.fails(p, a.ID, lifecycle.ReasonSystem, `User "no-create" cannot create resource "pods"`)

	h.allow("no-bind", "pods/binding", "")
	p = h.open(as("no-bind"))
	gang := []plane.Assignment{h.task("unbound", 0), h.task("unbound", 1)}
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

func watchForbidden(t *testing.T, h *harsh) {
	h.allow("no-nodes", "nodes", "")
	p := h.open(as("no-nodes"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := p.Inventory(ctx); err == nil || !strings.Contains(err.Error(), `cannot list resource "nodes"`) {
		t.Errorf("nodes that may not be listed: %v", err)
	}
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
	if err := p.Start(t.Context(), []plane.Assignment{h.task("meanwhile", 0)}); err == nil {
		t.Error("something started without credentials")
	}
	renew()
	h.runs(p, a.ID)
	h.start(p, h.task("meanwhile", 0))
	h.runs(p, h.task("meanwhile", 0).ID)
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
	if err := p.Start(t.Context(), []plane.Assignment{a}); err == nil {
		t.Error("429 was taken for an answer")
	}
	h.start(p, a)
	h.runs(p, a.ID)
	if busy.left != 0 {
		t.Errorf("%d answers were not asked for", busy.left)
	}
}
