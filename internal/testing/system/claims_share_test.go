package system

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// muster runs a command of the client and returns what it prints.
func (f *field) muster(args ...string) string {
	f.tb.Helper()
	out, err := exec.Command(binary, append([]string{"--data-dir", f.dir}, args...)...).CombinedOutput()
	if err != nil {
		f.tb.Fatalf("muster %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// reason is the first reason for which a workload does.
func reason(w *api.Workload) string {
	if w.Pending == nil || len(w.Pending.Reasons) == 0 {
		return ""
	}
	return w.Pending.Reasons[0].Message
}

func TestWhatOthersMakeIsSharedLikeTheRest(t *testing.T) {
	f := newField(t, 1, 4)
	t.Run("displaced and back", func(t *testing.T) {
		f.tb = t
		f.apply(job("low", 1, "", "", 4))
		low := f.phase("low", "Running")
		f.submitJSON(t, map[string]any{"name": "high", "priority": "high", "image": "sim:1", "command": []string{"sleep"}, "resources": map[string]any{"gpu": 4}, "gracePeriod": "1s"})
		f.phase("high", "Running")
		// Its Job makes another pod in a while.
		w := f.is("default", "low", "waiting", func(w *api.Workload) bool { return w.Phase == "Queued" && strings.Contains(reason(w), "GPU") })
		if w.ID != low.ID || w.Attempt != 1 {
			t.Errorf("it is %s, attempt %d", w.ID, w.Attempt)
		}
		waiting := f.pods("job-name=low")
		if n := len(waiting); n == 0 {
			t.Fatal("its Job has made no other pod")
		}
		f.says(waiting[len(waiting)-1].Name, "waits for gpu")
		if why := f.muster("why", "low"); !strings.Contains(why, "gpu") {
			t.Errorf("muster why says %q", why)
		}
		if events := f.muster("events", "low"); !strings.Contains(strings.ToLower(events), "preempt") {
			t.Errorf("muster events says %q", events)
		}
		f.muster("stop", "high")
		f.phase("low", "Running")
		f.k.Kubectl(t, "-n", "ml", "delete", "job", "low")
		f.phase("low", "Stopped")
	})
	t.Run("stopped until restarted", func(t *testing.T) {
		f.tb = t
		f.apply(job("held", 1, "", "", 1))
		f.phase("held", "Running")
		f.muster("stop", "held")
		f.phase("held", "Stopped")
		var again string
		kubetest.Eventually(t, "another pod of held", func() error {
			for _, p := range f.pods("job-name=held") {
				if p.DeletionTimestamp == nil && p.Spec.NodeName == "" {
					again = p.Name
					return nil
				}
			}
			return fmt.Errorf("there is none")
		})
		f.says(again, "muster restart")
		f.muster("restart", "held")
		f.phase("held", "Running")
		f.k.Kubectl(t, "-n", "ml", "delete", "job", "held")
		f.phase("held", "Stopped")
	})
	t.Run("a gang whole", func(t *testing.T) {
		f.tb = t
		f.apply(job("gang", 5, `, annotations: {muster.dev/min-members: "5"}`, "", 1))
		f.is("default", "gang", "waiting whole", func(w *api.Workload) bool {
			return w.Phase == "Queued" && strings.Contains(reason(w), "5")
		})
		for _, p := range f.pods("job-name=gang") {
			if p.Spec.NodeName != "" {
				t.Errorf("%s has its place without the others", p.Name)
			}
		}
		f.k.Kwok(t, 1, kubetest.NodeShape{Prefix: "more", GPUs: 4})
		f.is("default", "gang", "running whole", func(w *api.Workload) bool { return w.Phase == "Running" && w.Tasks.Running == 5 })
		f.k.Kubectl(t, "-n", "ml", "delete", "job", "gang")
		f.phase("gang", "Stopped")
	})
	t.Run("a server that was away", func(t *testing.T) {
		f.tb = t
		f.apply(job("over", 2, "", `sim/duration: "4s"`, 3))
		f.phase("over", "Running") // one of its pods runs, and the other waits
		f.kill()
		f.apply(job("meanwhile", 1, "", `sim/duration: "1s"`, 1))
		f.server = startIn(t, f.dir, "--backend", "kube", "--kubeconfig", f.k.Kubeconfig)
		w := f.phase("over", "Completed")
		if len(w.Attempts) != 1 || len(w.Attempts[0].Tasks) != 2 {
			t.Errorf("it took %+v", w.Attempts)
		}
		f.phase("meanwhile", "Completed")
	})
}

func TestQueuesOfOthersAreUnderstood(t *testing.T) {
	f := newField(t, 1, 4)
	f.project(t, "vision", 1)
	f.project(t, "audio", 0)
	f.k.Kubectl(t, "annotate", "namespace", "ml", "muster.dev/projects=vision")
	for name, labels := range map[string]string{
		"kueue": "kueue.x-k8s.io/queue-name: vision", "kai": "kai.scheduler/queue: vision", "ours": "muster.dev/project: vision",
		"own": "kueue.x-k8s.io/queue-name: audio", // which namespace ml may not use: it is its own project's
	} {
		project := "vision"
		if name == "own" {
			project = "default"
		}
		f.apply(job(name, 1, ", labels: {"+labels+"}", "", 1))
		f.is(project, name, "running", func(w *api.Workload) bool { return w.Phase == "Running" })
	}
	f.apply(job("thief", 1, ", labels: {muster.dev/project: audio}", "", 1))
	var pod string
	kubetest.Eventually(t, "the pod of thief", func() error {
		if l := f.pods("job-name=thief"); len(l) > 0 {
			pod = l[0].Name
			return nil
		}
		return fmt.Errorf("there is none")
	})
	f.says(pod, "muster.dev/projects=audio")
	// What is not preemptible stays within the quota, as of anybody.
	f.apply(job("kept", 1, `, labels: {muster.dev/project: vision, priorityClassName: inference}`, "", 2))
	f.is("vision", "kept", "waiting for quota", func(w *api.Workload) bool {
		return w.Pending != nil && len(w.Pending.Reasons) > 0 && w.Pending.Reasons[0].Token == "NonPreemptibleOverQuota" && w.Priority == 125
	})
	// A namespace of no project is told how to become one's.
	f.space("nobodys", "")
	lost := kubetest.Pod("lost", "sim:1", 0)
	lost.Spec.SchedulerName = "muster"
	lost = f.k.Run(t, "nobodys", lost)
	f.k.AwaitPod(t, lost, "told that its namespace is no project's", func(p *corev1.Pod) bool {
		return len(p.Status.Conditions) > 0 && strings.Contains(p.Status.Conditions[0].Message, "kubectl label namespace nobodys")
	})
	f.k.Kubectl(t, "label", "namespace", "nobodys", "muster.dev/project=audio")
	f.k.AwaitPhase(t, lost, corev1.PodRunning)
}

func TestPodsOfOtherSchedulersAreLeftAlone(t *testing.T) {
	f := newField(t, 1, 4)
	mine := kubetest.Pod("mine", "sim:1", 2)
	mine.Spec.SchedulerName = "somebody"
	mine = f.k.Run(t, "ml", mine)
	f.k.Bind(t, mine, "node-0")
	f.k.AwaitPhase(t, mine, corev1.PodRunning)
	waits := kubetest.Pod("waits", "sim:1", 1)
	waits.Spec.SchedulerName = "somebody"
	waits = f.k.Run(t, "ml", waits)
	placed := kubetest.Pod("placed", "sim:1", 1) // names us, and was placed by its maker
	placed.Spec.SchedulerName, placed.Spec.NodeName = "muster", "node-0"
	placed = f.k.Run(t, "ml", placed)
	f.k.AwaitPhase(t, placed, corev1.PodRunning)

	f.apply(job("ours", 1, "", "", 2)) // and one is free
	f.is("default", "ours", "waiting", func(w *api.Workload) bool { return w.Phase == "Queued" && reason(w) != "" })
	f.apply(job("small", 1, "", "", 1))
	f.phase("small", "Running")
	for _, pod := range []*corev1.Pod{mine, waits, placed} {
		now, err := f.k.Client.CoreV1().Pods("ml").Get(context.Background(), pod.Name, metav1.GetOptions{})
		if err != nil || now.DeletionTimestamp != nil || now.Spec.NodeName != pod.Spec.NodeName && pod != mine || !maps.Equal(now.Annotations, pod.Annotations) || !maps.Equal(now.Labels, pod.Labels) {
			t.Errorf("%s is %+v now, %v", pod.Name, now, err)
		}
	}
	if err := f.k.Client.CoreV1().Pods("ml").Delete(context.Background(), "mine", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.phase("ours", "Running")
}

// TestWhatOthersMakeHasLogsAndEntrances is on a real kubelet: its containers are
// called as their maker likes, and restart as he likes.
func TestWhatOthersMakeHasLogsAndEntrances(t *testing.T) {
	k := kubetest.Start(t, kubetest.Options{NoScheduler: true})
	node := k.Node(t, "alpha", 2)
	image := k.Busybox(t)
	f := &field{&cluster{start(t, "--backend", "kube", "--kubeconfig", k.Kubeconfig), k}, t}
	f.space("ml", "default")
	f.apply(fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: talk, namespace: ml}
spec: {template: {spec: {schedulerName: muster, restartPolicy: OnFailure, terminationGracePeriodSeconds: 1,
  containers: [{name: work, image: %q, command: [sh, -c, "echo one; sleep 1000"], resources: {limits: {nvidia.com/gpu: 2}}}, {name: aside, image: %q, command: [sleep, "1000"]}]}}}
`, image, image))
	w := f.phase("talk", "Running")
	if on := w.Attempts[0].Tasks[0].Node; on != node.Name {
		t.Errorf("it runs on %s", on)
	}
	kubetest.Eventually(t, "its output", func() error {
		if out := f.muster("logs", "talk"); !strings.Contains(out, "one") {
			return fmt.Errorf("it is %q", out)
		}
		return nil
	})
	if out := f.muster("exec", "talk", "--", "sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES"); !strings.Contains(out, ",") {
		t.Errorf("inside it has the GPUs %q", out)
	}
	f.muster("stop", "talk")
	f.phase("talk", "Stopped")
	if out := f.muster("logs", "talk"); !strings.Contains(out, "one") {
		t.Errorf("its output after its end is %q", out)
	}
}
