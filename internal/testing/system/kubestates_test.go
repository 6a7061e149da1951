package system

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// policies are those of others in the cluster. By the first two pods come to what
// ours alone do not: a start that is tried again by the kubelet, and a volume
// that is not there. The third refuses.
var policies = mutates("tries-again", "crashing-steps", "replace", "/spec/restartPolicy", "OnFailure") +
	mutates("is-there", "no-mount", "add", "/spec/volumes/0/hostPath/type", "Directory") + `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refuses}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "object.metadata.?labels['muster.dev/name'].orValue('') != 'refused'", message: not in this cluster}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refuses}
spec: {policyName: refuses, validationActions: [Deny]}
`

// mutates is a policy that changes a field of the pods of one workload when they
// are made.
func mutates(policy, workload, op, field, value string) string {
	return fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  matchConditions: [{name: it, expression: "object.metadata.?labels['muster.dev/name'].orValue('') == '%[2]s'"}]
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations:
  - {patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: '%[3]s', path: '%[4]s', value: '%[5]s'}]"}}
---
apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s}
---`, policy, workload, op, field, value)
}

// kubeStage is a server over a cluster with two real nodes.
type kubeStage struct {
	stage
	c        *kubetest.Cluster
	one, two *kubetest.Node
	busybox  string
}

// TestWhatKubeletsReport drives workloads through a real server, a real cluster
// and real kubelets: phases, reasons and the words of all platforms follow from
// what happens to pods and nodes.
func TestWhatKubeletsReport(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves it out: it waits for kubelets for minutes")
	}
	c := kubetest.Start(t, kubetest.Options{NoScheduler: true, QuickLoss: true, ServerFlags: []string{
		"--feature-gates=MutatingAdmissionPolicy=true", "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
	}})
	k := &kubeStage{c: c, one: c.Node(t, "one", 1), two: c.Node(t, "two", 1), busybox: c.Busybox(t)}
	k.stage = stage{t: t, reg: c.Registry(t), dir: t.TempDir()}
	k.apply(policies)
	k.s = start(t, "--backend", "kube", "--kubeconfig", c.Kubeconfig, "--node-grace", "25s")
	heard := &collector{said: map[string]map[string]string{}}
	ctx, cancel := context.WithCancel(context.Background())
	watched := make(chan struct{})
	go func() { defer close(watched); heard.watch(ctx, k.s.conn) }()
	defer func() { cancel(); <-watched }()

	k.inForce()
	k.begin()
	k.away()
	k.ends()
	k.silent(heard)
	heard.history(t, k.s.conn)
	for dialect, words := range map[string][]string{
		"runai-job": {"Pending", "ContainerCreating", "Init:A/B", "Init:Error", "Init:CrashLoopBackOff", "ErrImagePull", "ImagePullBackOff",
			"ContainerCannotRun", "Running", "Error", "CrashLoopBackOff", "Fail", "Succeeded", "Terminating"},
		"runai-workload": {"Creating", "Pending", "Initializing", "Running", "Degraded", "Failed", "Completed", "Stopping", "Stopped", "Terminating"},
		"jobq":           {"Submitted", "Pending", "Admitted", "Succeeded", "Failed"},
		"mcli":           {"PENDING", "QUEUED", "STARTING", "RUNNING", "TERMINATING", "COMPLETED", "STOPPED", "FAILED"},
		"modelarts": {"JOBSTAT_INIT", "JOBSTAT_WAITING", "JOBSTAT_RUNNING", "JOBSTAT_COMPLETED", "JOBSTAT_FAILED", "JOBSTAT_MOUNT_FAILED",
			"JOBSTAT_KILLING", "JOBSTAT_KILLED", "JOBSTAT_LOST"},
	} {
		for _, w := range words {
			if _, ok := heard.said[dialect][w]; !ok {
				t.Errorf("%s has never said %s", dialect, w)
			}
		}
	}
}

func (k *kubeStage) apply(text string) {
	k.t.Helper()
	file := filepath.Join(k.dir, "objects.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		k.t.Fatal(err)
	}
	k.c.Kubectl(k.t, "apply", "-f", file)
}

// inForce waits until the policies are in force: each takes its own time.
func (k *kubeStage) inForce() {
	k.t.Helper()
	ns := k.c.Namespace(k.t)
	pods := k.c.Client.CoreV1().Pods(ns)
	trial := func(name string) (*corev1.Pod, error) {
		p := kubetest.Pod("p", "any", 0)
		p.Labels = map[string]string{"muster.dev/name": name}
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/v"}}}}
		return pods.Create(k.t.Context(), p, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	}
	kubetest.Eventually(k.t, "the policies in force", func() error {
		if _, err := trial("refused"); err == nil {
			return fmt.Errorf("what is to be refused is not")
		}
		p, err := trial("crashing-steps")
		if err != nil || p.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
			return fmt.Errorf("the pod is not changed: %+v, %v", p.Spec, err)
		}
		p, err = trial("no-mount")
		if err != nil || p.Spec.Volumes[0].HostPath.Type == nil || *p.Spec.Volumes[0].HostPath.Type != corev1.HostPathDirectory {
			return fmt.Errorf("the volume is not changed: %+v, %v", p.Spec.Volumes, err)
		}
		return nil
	})
}

// begin submits what takes its time by itself.
func (k *kubeStage) begin() {
	small := "resources: {cpu: 10m}, gracePeriod: 1s"
	k.submit("{name: steps, image: %q, command: [sleep, '1'], %s, init: [{command: sleep 2}, {command: sleep 2}]}", k.busybox, small)
	k.submit("{name: crashing-steps, image: %q, command: ['true'], %s, init: [{command: exit 7}]}", k.busybox, small)
	k.submit("{name: no-image, image: %q, command: ['true'], %s, retry: {pull: 1}}", k.reg.Ref("nowhere:1"), small)
	k.submit("{name: crashes, kind: workspace, image: %q, command: [sh, -c, exit 1], %s}", k.busybox, small)
	k.submit("{name: no-program, image: %q, command: [/no/such/program], %s}", k.busybox, small)
	k.submit("{name: no-mount, image: %q, command: ['true'], %s, volumes: [{path: /data, hostPath: /no/such/directory}]}", k.busybox, small)
	k.submit("{name: hungry, image: %q, command: [tail, /dev/zero], resources: {cpu: 10m, memory: 32Mi}}", k.busybox)
	k.submit("{name: code, image: %q, command: [sh, -c, sleep 1; exit 3], %s, retry: {limit: 1, backoff: 1s}}", k.busybox, small)
	k.submit("{name: refused, image: %q, command: ['true'], %s, retry: {backoff: 2s, system: 50}}", k.busybox, small)
}

// away is what is taken away or refused by the cluster: no failure of the work.
func (k *kubeStage) away() {
	t := k.t
	w := k.until("refused", "refused", func(w *api.Workload) bool { return w.Attempt > 0 && w.Phase == "Queued" })
	if w.Reason != "SystemFailure" || !strings.Contains(w.Message, "not in this cluster") || w.Pending == nil || !strings.Contains(w.Pending.Reasons[0].Message, "not in this cluster") {
		t.Errorf("what a policy refuses says %s: %s, and waits because of %+v", w.Reason, w.Message, w.Pending)
	}
	k.c.Kubectl(t, "delete", "validatingadmissionpolicybinding", "refuses")

	k.submit("{name: drained, image: %q, command: \"trap 'exit 0' TERM; sleep 1000 & wait\", resources: {cpu: 10m}, gracePeriod: 5s, retry: {limit: 0}}", k.busybox)
	k.phase("drained", "Running")
	pod := k.podOf("drained", 0)
	file := filepath.Join(k.dir, "eviction.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q,"namespace":%q}}`, pod.Name, pod.Namespace), 0o600); err != nil {
		t.Fatal(err)
	}
	k.c.Kubectl(t, "create", "--raw", "/api/v1/namespaces/"+pod.Namespace+"/pods/"+pod.Name+"/eviction", "-f", file)
	w = k.until("drained", "running again", func(w *api.Workload) bool { return w.Attempt == 1 && w.Phase == "Running" })
	if a := w.Attempts[0]; a.Reason != "SystemFailure" || !strings.Contains(a.Message, "kubectl drain") {
		t.Errorf("what was drained says %s: %s", a.Reason, a.Message)
	}
	k.do(k.s.conn.Stop(t.Context(), "default", "drained", api.StopOptions{}))
	k.phase("drained", "Stopped")
}

func (k *kubeStage) podOf(name string, attempt int) *corev1.Pod {
	k.t.Helper()
	list, err := k.c.Client.CoreV1().Pods("muster-default").List(k.t.Context(), metav1.ListOptions{LabelSelector: fmt.Sprintf("muster.dev/name=%s,muster.dev/attempt=%d", name, attempt)})
	if err != nil || len(list.Items) != 1 {
		k.t.Fatalf("%s has %d pods in attempt %d: %v", name, len(list.Items), attempt, err)
	}
	return &list.Items[0]
}

// ends waits for what was begun, and looks at why it ended.
func (k *kubeStage) ends() {
	t := k.t
	k.phase("steps", "Completed")
	k.phase("refused", "Completed")
	for name, want := range map[string]struct {
		reason string
		code   int // -1: none
		says   string
		status map[string]string
	}{
		"crashing-steps": {"Error", 7, "step 1 of its start failed", map[string]string{"mcli": "FAILED"}},
		"no-image":       {"FailedImagePull", -1, "nowhere", map[string]string{"runai-job": "Fail", "modelarts": "JOBSTAT_FAILED"}},
		"no-program":     {"ContainerCannotRun", -1, "/no/such/program", map[string]string{"runai-job": "ContainerCannotRun", "jobq": "Failed"}},
		"no-mount":       {"MountFailed", -1, "/no/such/directory", map[string]string{"modelarts": "JOBSTAT_MOUNT_FAILED", "runai-workload": "Failed"}},
		"hungry":         {"OutOfMemory", 137, "", map[string]string{"runai-job": "Fail"}},
		"code":           {"Error", 3, "", map[string]string{"mcli": "FAILED"}},
	} {
		w := k.phase(name, "Failed")
		code := -1
		a := w.Attempts[len(w.Attempts)-1]
		if a.ExitCode != nil {
			code = *a.ExitCode
		}
		if w.Reason != want.reason || code != want.code || !strings.Contains(w.Message, want.says) {
			t.Errorf("%s failed with %s, code %d: %s (%+v); want %+v", name, w.Reason, code, w.Message, a.Tasks, want)
		}
		for d, word := range want.status {
			if w.Statuses[d].Status != word {
				t.Errorf("%s of %s is %s, want %s", d, name, w.Statuses[d].Status, word)
			}
		}
	}
	k.until("crashes", "restarted", func(w *api.Workload) bool {
		return len(w.Attempts[0].Tasks) > 0 && w.Attempts[0].Tasks[0].Restarts > 0 && w.Phase == "Restarting"
	})
	k.do(k.s.conn.Stop(t.Context(), "default", "crashes", api.StopOptions{}))
	k.phase("crashes", "Stopped")
}

// silent has a node fall silent: once for less than the control plane waits, and
// once for more.
func (k *kubeStage) silent(heard *collector) {
	t := k.t
	k.submit("{name: steady, image: %q, command: [sleep, '100000'], resources: {cpu: 10m, gpu: 1}, gracePeriod: 1s}", k.busybox)
	w := k.phase("steady", "Running")
	node, other := k.one, k.two
	if w.Attempts[0].Tasks[0].Node == "two" {
		node, other = k.two, k.one
	}
	unreachable := func(w *api.Workload) bool {
		return slices.ContainsFunc(w.Conditions, func(c api.Condition) bool { return c.Type == "Unreachable" })
	}
	first := k.podOf("steady", 0)
	node.Kill(t)
	w = k.until("steady", "unreachable", unreachable)
	for d, s := range w.Statuses {
		heard.hear(d, s.Status, w.Name)
	}
	if w.Phase != "Running" || w.Attempt != 0 {
		t.Errorf("it did not wait for its node: %s, attempt %d", w.Phase, w.Attempt)
	}
	node.Restart(t)
	w = k.until("steady", "seen again", func(w *api.Workload) bool { return !unreachable(w) })
	if now := k.podOf("steady", 0); w.Attempt != 0 || w.Phase != "Running" || now.UID != first.UID || now.Status.ContainerStatuses[0].RestartCount != 0 {
		t.Errorf("it did not live on: %s, attempt %d, %+v", w.Phase, w.Attempt, now.Status)
	}

	node.Kill(t)
	w = k.until("steady", "elsewhere", func(w *api.Workload) bool { return w.Attempt == 1 && w.Phase == "Running" })
	if got := w.Attempts[1].Tasks[0].Node; got != other.Name {
		t.Errorf("it runs on %s, want %s", got, other.Name)
	}
	if a := w.Attempts[0]; a.Reason != "NodeLost" || !strings.Contains(a.Message, "node "+node.Name+" has not reported") {
		t.Errorf("its node was lost, and it says %s: %s", a.Reason, a.Message)
	}
	// The node comes back: what it still runs is of nobody any more.
	node.Restart(t)
	kubetest.Eventually(t, "only the new one left", func() error {
		list, err := k.c.Client.CoreV1().Pods("muster-default").List(t.Context(), metav1.ListOptions{LabelSelector: "muster.dev/name=steady"})
		if err == nil && (len(list.Items) != 1 || list.Items[0].Labels["muster.dev/attempt"] != "1") {
			err = fmt.Errorf("there are %d", len(list.Items))
		}
		return err
	})
	w = k.phase("steady", "Running")
	if w.Attempt != 1 {
		t.Errorf("the return of its node started attempt %d", w.Attempt)
	}
}
