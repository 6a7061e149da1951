package kube

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/namespace"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podowner"
	"github.com/musterhq/muster/internal/core"
)

func TestPodsAreGatheredByTheirTopMostMaker(t *testing.T) {
	p, a := testBackend(t)
	a.put("/apis/apps/v1/namespaces/ml/replicasets/web-1", object("web-1", refTo("apps/v1", "Deployment", "web"), nil))
	a.put("/apis/apps/v1/namespaces/ml/replicasets/web-2", object("web-2", refTo("apps/v1", "Deployment", "web"), nil))
	a.put("/apis/apps/v1/namespaces/ml/deployments/web", object("web", nil, nil))
	a.put("/apis/batch/v1/namespaces/ml/jobs/night-1", object("night-1", refTo("batch/v1", "CronJob", "night"), nil))
	for _, pod := range []*corev1.Pod{
		outsiderPod("a", refTo("apps/v1", "ReplicaSet", "web-1")), outsiderPod("b", refTo("apps/v1", "ReplicaSet", "web-2")),
		outsiderPod("c", refTo("batch/v1", "Job", "night-1")), outsiderPod("alone", nil),
	} {
		p.pods.Seen(pod, false)
	}
	got := p.claims(t)
	if len(got) != 3 {
		t.Fatalf("there are %+v", got)
	}
	web := got["web"]
	if len(web.Members) != 2 || web.Maker != "Deployment ml/web" || !web.Remade || web.Preemptible || web.Project != "vision" || web.User != "system:serviceaccount:ml:default" {
		t.Errorf("the Deployment is %+v", web)
	}
	if night := got["night-1"]; len(night.Members) != 1 || !night.Preemptible { // each run by itself
		t.Errorf("the Job of a CronJob is %+v", night)
	}
	if alone := got["alone"]; alone.Remade || alone.Preemptible {
		t.Errorf("the bare pod is %+v", alone)
	}
	if n := a.asked["/apis/apps/v1/namespaces/ml/deployments/web"]; n > 2 { // once by way of each ReplicaSet
		t.Errorf("the Deployment was asked for %d times", n)
	}
}

func TestAMakerThatMayNotBeReadEndsTheChain(t *testing.T) {
	p, a := testBackend(t)
	a.put("/apis/apps/v1/namespaces/ml/replicasets/web-1", http.StatusForbidden)
	a.put("/apis/kubeflow.org/v1", metav1.APIResourceList{GroupVersion: "kubeflow.org/v1", APIResources: []metav1.APIResource{{Name: "pytorchjobs", Kind: "PyTorchJob", Namespaced: true}}})
	a.put("/apis/kubeflow.org/v1/namespaces/ml/pytorchjobs/llm", http.StatusForbidden)
	p.pods.Seen(outsiderPod("a", refTo("apps/v1", "ReplicaSet", "web-1")), false)
	p.pods.Seen(outsiderPod("b", refTo("kubeflow.org/v1", "PyTorchJob", "llm")), false)
	p.pods.Seen(outsiderPod("c", refTo("example.org/v1", "Nowhere", "x")), false)
	got := p.claims(t)
	if c := got["web-1"]; c.Maker != "ReplicaSet ml/web-1" || len(c.Members) != 1 {
		t.Errorf("of a ReplicaSet that may not be read: %+v", c)
	}
	if c := got["llm"]; !strings.Contains(c.Note, "cannot be read") || !strings.Contains(c.Note, podowner.NoteMin) {
		t.Errorf("of a PyTorchJob that may not be read: %+v", c)
	}
	if c := got["x"]; len(c.Members) != 1 {
		t.Errorf("of a kind that is not there: %+v", c)
	}
}

func TestAMakerThatIsOutOfReachIsAskedAgain(t *testing.T) {
	p, a := testBackend(t)
	path := "/apis/apps/v1/namespaces/ml/statefulsets/db"
	a.put(path, http.StatusInternalServerError)
	p.pods.Seen(outsiderPod("db-0", refTo("apps/v1", "StatefulSet", "db")), false)
	if got := p.claims(t); len(got) != 0 {
		t.Fatalf("without knowing its maker: %+v", got)
	}
	a.put(path, object("db", nil, nil))
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if got := p.claims(t); len(got["db"].Members) == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("it was not asked again")
		}
	}
}

func TestAClaimIsOverWhenItsMakerSaysSo(t *testing.T) {
	p, a := testBackend(t)
	path := "/apis/batch/v1/namespaces/ml/jobs/train"
	a.put(path, object("train", nil, nil))
	pod := outsiderPod("train-x", refTo("batch/v1", "Job", "train"))
	p.pods.Seen(pod, false)
	if c := p.claims(t)["train"]; c.Over != "" {
		t.Fatalf("at first: %+v", c)
	}
	failed := pod.DeepCopy()
	failed.Status.Phase = corev1.PodFailed
	p.pods.Seen(failed, false)
	if c := p.claims(t)["train"]; c.Over != "" || len(c.Members) != 0 { // the Job may try again
		t.Errorf("after a pod has failed: %+v", c)
	}
	a.put(path, object("train", nil, map[string]any{"status": map[string]any{"conditions": []map[string]any{{"type": "Failed", "status": "True"}}}}))
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // it is asked again by itself
		if c := p.claims(t)["train"]; c.Over == backend.OutcomeFailed {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("after its end: %+v", c)
		}
	}
	p.pods.Gone(failed, false)
	p.claims(t)
	if news, _ := p.pods.Groups.News(false); len(news.Gone) != 1 || len(p.pods.Groups.Groups) != 0 {
		t.Errorf("after it is gone: %+v, %+v", news, p.pods.Groups.Groups)
	}
}

func TestAGangIsAsLargeAsItsMakerSays(t *testing.T) {
	for name, c := range map[string]struct {
		spec string
		want int
	}{
		"PyTorchJob":            {`{"pytorchReplicaSpecs": {"Master": {"replicas": 1}, "Worker": {"replicas": 3}}}`, 4},
		"elastic PyTorchJob":    {`{"elasticPolicy": {"minReplicas": 2}, "pytorchReplicaSpecs": {"Worker": {"replicas": 8}}}`, 2},
		"with its own minimum":  {`{"runPolicy": {"schedulingPolicy": {"minAvailable": 3}}, "tfReplicaSpecs": {"Worker": {"replicas": 8}}}`, 3},
		"MPIJob":                {`{"mpiReplicaSpecs": {"Launcher": {"replicas": 1}, "Worker": {"replicas": 4}}}`, 5},
		"MPIJob, launcher late": {`{"launcherCreationPolicy": "WaitForWorkersReady", "mpiReplicaSpecs": {"Launcher": {}, "Worker": {"replicas": 4}}}`, 4},
		"JobSet":                {`{"replicatedJobs": [{"replicas": 2, "template": {"spec": {"parallelism": 4, "completions": 4}}}, {"template": {"spec": {}}}]}`, 9},
		"JobSet in order":       {`{"startupPolicy": {"startupPolicyOrder": "InOrder"}, "replicatedJobs": [{"replicas": 2, "template": {"spec": {}}}]}`, 0},
		"RayCluster":            {`{"headGroupSpec": {}, "workerGroupSpecs": [{"replicas": 4, "minReplicas": 2}, {"replicas": 3}]}`, 6},
		"RayJob":                {`{"rayClusterSpec": {"headGroupSpec": {}, "workerGroupSpecs": [{"replicas": 2}]}}`, 3},
		"Volcano's Job":         {`{"minAvailable": 3, "tasks": [{"replicas": 5}]}`, 3},
		"anything":              {`{"replicas": 7}`, 0},
		"nonsense":              {`{"pytorchReplicaSpecs": "x", "replicatedJobs": 7, "tasks": {}}`, 0},
		"negative":              {`{"pytorchReplicaSpecs": {"Worker": {"replicas": -4}}}`, 1},
	} {
		var spec map[string]any
		if err := json.Unmarshal([]byte(c.spec), &spec); err != nil {
			t.Fatal(err)
		}
		if n, _ := podowner.GangSize(spec); n != c.want {
			t.Errorf("%s: %d, want %d", name, n, c.want)
		}
	}
}

func TestGroupsOfOthersAreUnderstood(t *testing.T) {
	p, a := testBackend(t)
	a.put("/apis/scheduling.x-k8s.io/v1alpha1/namespaces/ml/podgroups/there", map[string]any{"spec": map[string]any{"minMember": 3}})
	mark := func(pod *corev1.Pod, labels, notes map[string]string) *corev1.Pod {
		pod.Labels, pod.Annotations = labels, notes
		return pod
	}
	one := func(name string, labels, notes map[string]string) backend.Claim {
		p, _ := testBackend(t)
		p.pods.Seen(mark(outsiderPod(name, nil), labels, notes), false)
		for _, c := range p.claims(t) {
			return c
		}
		return backend.Claim{}
	}
	if c := one("k", map[string]string{podowner.KueueGroup: "g"}, map[string]string{podowner.KueueCount: "4"}); c.Name != "g" || c.Min != 4 {
		t.Errorf("Kueue's group: %+v", c)
	}
	if c := one("k", map[string]string{podowner.KueueGroup: "g"}, nil); !strings.Contains(c.Barred, podowner.KueueCount) {
		t.Errorf("Kueue's group without a number: %+v", c)
	}
	if c := one("l", map[string]string{podowner.SetName: "s", podowner.SetIndex: "2", podowner.IndexLabels[1]: "0"}, map[string]string{podowner.SetSize: "3"}); c.Min != 3 || c.Members[0].Role != "leader" {
		t.Errorf("a LeaderWorkerSet's group: %+v", c)
	}
	if c := one("m", nil, map[string]string{podowner.NoteMin: "many"}); !strings.Contains(c.Barred, "whole number") {
		t.Errorf("a minimum that is none: %+v", c)
	}
	if c := one("n", map[string]string{podowner.PodGroups[0].Label: "absent"}, nil); !strings.Contains(c.Barred, "PodGroup ml/absent") {
		t.Errorf("a PodGroup that is not there: %+v", c)
	}
	p.pods.Seen(mark(outsiderPod("o", nil), map[string]string{podowner.PodGroups[0].Label: "there"}, nil), false)
	if c := p.claims(t)["there"]; c.Min != 3 {
		t.Errorf("a PodGroup: %+v", c)
	}
}

func TestWhoMayUseWhichProject(t *testing.T) {
	n := namespace.New("muster-")
	n.Seen(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ml", Labels: map[string]string{naming.LabelProject: "vision"}, Annotations: map[string]string{naming.NoteProjects: "audio, video"}}})
	n.Seen(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "open", Annotations: map[string]string{naming.NoteProjects: "*"}}})
	for _, c := range []struct {
		space, key, value, project, bars string
	}{
		{"ml", "", "", "vision", ""},
		{"ml", naming.LabelProject, "audio", "audio", ""},
		{"ml", naming.LabelProject, "other", "vision", "may not use"},
		{"ml", "kueue.x-k8s.io/queue-name", "video", "video", ""},
		{"ml", "kueue.x-k8s.io/queue-name", "user-queue", "vision", ""},
		{"ml", "kai.scheduler/queue", "audio", "audio", ""},
		{"ml", "runai/queue", "audio", "audio", ""},
		{"muster-nlp", "", "", "nlp", ""},
		{"open", naming.LabelProject, "any", "any", ""},
		{"open", "", "", "", "is no project's"},
		{"kube-system", "", "", "", "is no project's"},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.space, Labels: map[string]string{c.key: c.value}}}
		project, bars := projectIn(n, pod, nil)
		if project != core.ProjectID(c.project) || (bars == "") != (c.bars == "") || !strings.Contains(bars, c.bars) {
			t.Errorf("%s=%s in %s: project %q, %q", c.key, c.value, c.space, project, bars)
		}
	}
}

func TestPrioritiesOfOthersAreUnderstood(t *testing.T) {
	p, _ := testBackend(t)
	job := []*podowner.Owner{{Kind: "Job", Labels: map[string]string{}}}
	for _, c := range []struct {
		labels      map[string]string
		class       string
		priority    int // 0: the usual
		preemptible bool
		bars        string
	}{
		{nil, "", 0, true, ""},
		{map[string]string{podowner.MarkPriority: "high"}, "", 125, false, ""},
		{map[string]string{podowner.MarkPriority: "high", podowner.MarkPreemptible: "true"}, "", 125, true, ""},
		{map[string]string{podowner.MarkPriority: "17"}, "", 17, true, ""},
		{map[string]string{podowner.MarkPriority: "urgent"}, "", 0, true, "not a priority"},
		{nil, "very-high", 150, false, ""},
		{nil, "system-node-critical", 0, true, ""},
		{map[string]string{"priorityClassName": "build"}, "", 100, false, ""},
		{map[string]string{"priorityClassName": "train"}, "", 50, true, ""},
		{map[string]string{"priorityClassName": "build", podowner.KaiPreemptibility: "preemptible"}, "", 100, true, ""},
		{map[string]string{"kueue.x-k8s.io/priority-class": "low"}, "high", 40, true, ""},
		{map[string]string{podowner.MarkPreemptible: "false"}, "", 0, false, ""},
		{map[string]string{podowner.MarkPreemptible: "maybe"}, "", 0, true, "write true or false"},
	} {
		pod := outsiderPod("a", nil)
		pod.Labels, pod.Spec.PriorityClassName = c.labels, c.class
		own, more := p.Namespaces.ProjectsOf(pod.Namespace)
		got := podowner.SchedulingOf(pod, job, own, more)
		priority := 0
		if got.Priority != nil {
			priority = int(*got.Priority)
		}
		if priority != c.priority || got.Preemptible != c.preemptible || (got.Bars == "") != (c.bars == "") || !strings.Contains(got.Bars, c.bars) {
			t.Errorf("%v, class %q: priority %d, preemptible %v, %q", c.labels, c.class, priority, got.Preemptible, got.Bars)
		}
	}
}

// TestForeignPodsChurnWithoutCost: what pods of other schedulers do wakes nobody
// unless what they hold of a node changes.
func TestForeignPodsChurnWithoutCost(t *testing.T) {
	p, _ := testBackend(t)
	p.NodeInfo.Seen(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	pods := make([]*corev1.Pod, 1000)
	for i := range pods {
		pods[i] = podOfOthers(i)
		if i%2 == 0 {
			pods[i].Spec.NodeName = "n"
		}
		p.pods.Seen(pods[i], false)
	}
	p.NodeInfo.Changes()
	drain(p.NodeInfo.Wake)
	for round := range 20 {
		for _, pod := range pods {
			pod = pod.DeepCopy()
			pod.ResourceVersion, pod.Labels = fmt.Sprint(round), map[string]string{"round": fmt.Sprint(round)}
			pod.Status.Phase = corev1.PodRunning
			p.pods.Seen(pod, false)
		}
	}
	if changed, gone := p.NodeInfo.Changes(); len(changed)+len(gone) > 0 || drain(p.NodeInfo.Wake) || drain(p.pods.Groups.Wake) || len(p.pods.Groups.Pods) > 0 {
		t.Errorf("20,000 changes that change nothing told of %v, %v", changed, gone)
	}
	ended := pods[0].DeepCopy()
	ended.Status.Phase = corev1.PodSucceeded
	p.pods.Seen(ended, false)
	if changed, _ := p.NodeInfo.Changes(); len(changed) != 1 {
		t.Errorf("a pod that gives its place back told of %v", changed)
	}
}

func podOfOthers(i int) *corev1.Pod {
	pod := outsiderPod(fmt.Sprint("f", i), nil)
	pod.Spec.SchedulerName = "default-scheduler"
	return pod
}

func drain(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// BenchmarkForeignPods is what one change of a pod of another scheduler costs.
func BenchmarkForeignPods(b *testing.B) {
	p, _ := testBackend(b)
	pods := make([]*corev1.Pod, 1000)
	for i := range pods {
		pods[i] = podOfOthers(i)
		pods[i].Spec.NodeName = fmt.Sprint("n", i%50)
		p.pods.Seen(pods[i], false)
	}
	for i := 0; b.Loop(); i++ {
		p.pods.Seen(pods[i%len(pods)], false)
	}
}
