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
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// field is a cluster with a server in which namespace ml is project default's.
type field struct {
	*cluster
	tb testing.TB
}

func newField(tb testing.TB, nodes, gpus int) *field {
	tb.Helper()
	k := kubetest.Start(tb, kubetest.Options{NoScheduler: true})
	k.Kwok(tb, nodes, kubetest.NodeShape{Prefix: "node", GPUs: gpus})
	f := &field{&cluster{start(tb, "--backend", "kube", "--kubeconfig", k.Kubeconfig), k}, tb}
	f.space("ml", "default")
	return f
}

// space makes a namespace of a project, ready for pods.
func (f *field) space(name, project string) {
	f.tb.Helper()
	f.k.Kubectl(f.tb, "create", "namespace", name)
	if project != "" {
		f.k.Kubectl(f.tb, "label", "namespace", name, "muster.dev/project="+project)
	}
	kubetest.Eventually(f.tb, "the service account of "+name, func() error {
		_, err := f.k.Client.CoreV1().ServiceAccounts(name).Get(context.Background(), "default", metav1.GetOptions{})
		return err
	})
}

// apply makes what a manifest says.
func (f *field) apply(manifest string) {
	f.tb.Helper()
	file := filepath.Join(f.tb.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		f.tb.Fatal(err)
	}
	f.k.Kubectl(f.tb, "apply", "-f", file)
}

// template is a pod template: its labels and annotations as YAML maps, so many
// GPUs, and what else its spec has.
func template(labels, notes string, gpus int, more string) string {
	return fmt.Sprintf(`{metadata: {labels: {%s}, annotations: {%s}}, spec: {schedulerName: muster, terminationGracePeriodSeconds: 1, %s containers: [{name: c, image: "sim:1", resources: {requests: {cpu: "1"}, limits: {nvidia.com/gpu: %d}}}]}}`, labels, notes, more, gpus)
}

func job(name string, pods int, head, notes string, gpus int) string {
	return fmt.Sprintf("apiVersion: batch/v1\nkind: Job\nmetadata: {name: %s, namespace: ml%s}\nspec: {completions: %d, parallelism: %d, template: %s}\n", name, head, pods, pods, template("", notes, gpus, "restartPolicy: Never,"))
}

func deployment(name string, replicas, gpus int) string {
	return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s, namespace: ml}\nspec: {replicas: %d, selector: {matchLabels: {app: %s}}, template: %s}\n", name, replicas, name, template("app: "+name, "", gpus, ""))
}

// is waits until a workload is as ok wants it.
func (f *field) is(project, name, what string, ok func(*api.Workload) bool) *api.Workload {
	f.tb.Helper()
	var w *api.Workload
	kubetest.Eventually(f.tb, name+" "+what, func() (err error) {
		if w, err = f.conn.Workload(context.Background(), project, name); err != nil {
			return err
		}
		if !ok(w) {
			return fmt.Errorf("it is %s (%s: %s) with tasks %+v, pending %+v", w.Phase, w.Reason, w.Message, w.Tasks, w.Pending)
		}
		return nil
	})
	return w
}

func (f *field) phase(name, phase string) *api.Workload {
	f.tb.Helper()
	return f.is("default", name, phase, func(w *api.Workload) bool { return w.Phase == phase })
}

func (f *field) pods(selector string) []corev1.Pod {
	f.tb.Helper()
	l, err := f.k.Client.CoreV1().Pods("ml").List(context.Background(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		f.tb.Fatal(err)
	}
	return l.Items
}

// says waits until a pod that waits says why, in its condition and in an event.
func (f *field) says(name, want string) {
	f.tb.Helper()
	kubetest.Eventually(f.tb, name+" says "+want, func() error {
		pod, err := f.k.Client.CoreV1().Pods("ml").Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == "Unschedulable" && strings.Contains(c.Message, want) {
				events, err := f.k.Client.CoreV1().Events("ml").List(context.Background(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
				if err != nil {
					return err
				}
				if slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
					return e.Reason == "FailedScheduling" && strings.Contains(e.Message, want)
				}) {
					return nil
				}
				return fmt.Errorf("its events are %+v", events.Items)
			}
		}
		return fmt.Errorf("its conditions are %+v", pod.Status.Conditions)
	})
}

func TestWhatOthersMakeIsAWorkload(t *testing.T) {
	f := newField(t, 2, 4)
	t.Run("a Job", func(t *testing.T) {
		f.tb = t
		f.apply(job("train", 3, ", labels: {team: a}", `sim/duration: "3s"`, 1))
		w := f.phase("train", "Running")
		if w.Kind != "external" || w.User != "system:serviceaccount:ml:default" || w.GPUs != 3 {
			t.Errorf("it is %s of %s with %v GPUs", w.Kind, w.User, w.GPUs)
		}
		w = f.phase("train", "Completed")
		if len(w.Attempts) != 1 || len(w.Attempts[0].Tasks) != 3 || w.GPUSeconds < 3 {
			t.Errorf("%d attempts, %+v, %v GPU seconds", len(w.Attempts), w.Attempts, w.GPUSeconds)
		}
		l, err := f.conn.Workloads(context.Background(), client.ListOptions{Labels: map[string]string{"team": "a"}})
		if err != nil || len(l.Items) != 1 {
			t.Errorf("found by its label: %+v, %v", l, err)
		}
	})
	t.Run("a Job that fails", func(t *testing.T) {
		f.tb = t
		f.apply(strings.Replace(job("bad", 1, "", `sim/duration: "1s", sim/exit-code: "3"`, 1), "spec: {completions", "spec: {backoffLimit: 0, completions", 1))
		if w := f.phase("bad", "Failed"); *w.Attempts[0].ExitCode != 3 || !strings.Contains(w.Message, "ml/bad-") {
			t.Errorf("%q, %+v", w.Message, w.Attempts)
		}
	})
	t.Run("a Deployment", func(t *testing.T) {
		f.tb = t
		f.apply(deployment("serve", 2, 1))
		w := f.is("default", "serve", "with two replicas", func(w *api.Workload) bool { return w.Tasks.Running == 2 })
		if w.Preemptible {
			t.Error("what serves may be displaced")
		}
		f.k.Kubectl(t, "-n", "ml", "scale", "deployment/serve", "--replicas=1")
		f.is("default", "serve", "with one replica", func(w *api.Workload) bool { return w.Tasks.Running == 1 && w.Phase == "Running" })
		f.k.Kubectl(t, "-n", "ml", "delete", "deployment", "serve")
		f.phase("serve", "Stopped")
	})
	t.Run("a StatefulSet", func(t *testing.T) {
		f.tb = t
		f.apply(fmt.Sprintf("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, namespace: ml}\nspec: {replicas: 3, serviceName: db, selector: {matchLabels: {app: db}}, template: %s}\n", template("app: db", "", 0, "")))
		f.is("default", "db", "with three replicas", func(w *api.Workload) bool { return w.Tasks.Running == 3 })
		f.k.Kubectl(t, "-n", "ml", "delete", "statefulset", "db")
		f.phase("db", "Stopped")
	})
	t.Run("a bare pod", func(t *testing.T) {
		f.tb = t
		body := template("", `sim/duration: "1s"`, 1, "restartPolicy: Never,")
		f.apply("apiVersion: v1\nkind: Pod\n" + strings.NewReplacer("{metadata: {", "metadata: {name: alone, namespace: ml, ", ", spec: {", "\nspec: {").Replace(strings.TrimSuffix(body, "}")))
		f.phase("alone", "Completed")
	})
	t.Run("a kind that nobody knows", func(t *testing.T) {
		f.tb = t
		f.apply(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: trainers.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: trainers, singular: trainer, kind: Trainer}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`)
		f.k.Kubectl(t, "wait", "--for=condition=Established", "crd/trainers.example.org", "--timeout=60s")
		f.apply("apiVersion: example.org/v1\nkind: Trainer\nmetadata: {name: llm, namespace: ml}\nspec: {trainerReplicaSpecs: {Master: {}, Worker: {replicas: 2}}}\n")
		uid := f.k.Kubectl(t, "-n", "ml", "get", "trainer", "llm", "-o", "jsonpath={.metadata.uid}")
		part := func(i int) *corev1.Pod {
			p := kubetest.Pod(fmt.Sprintf("llm-%d", i), "sim:1", 1)
			p.Spec.SchedulerName = "muster"
			yes := true
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.org/v1", Kind: "Trainer", Name: "llm", UID: types.UID(uid), Controller: &yes}}
			return f.k.Run(t, "ml", p)
		}
		part(0)
		part(1)
		f.is("default", "llm", "incomplete", func(w *api.Workload) bool {
			return w.Phase == "Queued" && w.Pending != nil && w.Pending.Reasons[0].Token == "Incomplete"
		})
		f.says("llm-0", "of at least 3")
		part(2)
		f.is("default", "llm", "whole", func(w *api.Workload) bool { return w.Phase == "Running" && w.Tasks.Running == 3 })
		f.k.Kubectl(t, "-n", "ml", "delete", "trainer", "llm")
		f.phase("llm", "Stopped")
	})
	f.tb = t // those of a subtest that is over would be left behind
	made(t, f)
	t.Run("what pods ask of each other", func(t *testing.T) {
		f.tb = t
		placed(t, f)
	})
}
