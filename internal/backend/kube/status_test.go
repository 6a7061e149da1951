package kube

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/backend/kube/tasks"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// seen makes a pod on node n1 of namespace ns.
func seen(change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}, Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: naming.Container}}}}
	for _, c := range change {
		c(p)
	}
	return p
}

func phased(phase corev1.PodPhase, reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason, p.Status.Message = phase, reason, message
	}
}

func waits(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func ends(code int32, reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message, FinishedAt: metav1.NewTime(noon)}}
}

func running() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon)}}
}

func mainIs(s corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: naming.Container, State: s}}
	}
}

func mainWas(s corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.ContainerStatuses[0].LastTerminationState = s }
}

func steps(all ...corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for i, s := range all {
			name := "init-" + string(rune('0'+i))
			p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: name})
			p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, corev1.ContainerStatus{Name: name, State: s})
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: naming.Container, State: waits("PodInitializing", "")}}
	}
}

func restarted(step int, n int32, last corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.InitContainerStatuses[step].RestartCount, p.Status.InitContainerStatuses[step].LastTerminationState = n, last
	}
}

// proxied puts a proxy before the steps that goes on beside them.
func proxied(started bool) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		always := corev1.ContainerRestartPolicyAlways
		p.Spec.InitContainers = append([]corev1.Container{{Name: "proxy", RestartPolicy: &always}}, p.Spec.InitContainers...)
		p.Status.InitContainerStatuses = append([]corev1.ContainerStatus{{Name: "proxy", State: running(), Started: &started}}, p.Status.InitContainerStatuses...)
	}
}

func limited(memory string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
	}
}

// deleted says that the end of a pod was asked for at some time, with 30 s grace.
func deleted(at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		by, grace := metav1.NewTime(at.Add(30*time.Second)), int64(30)
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &by, &grace
	}
}

func disruption(reason, message string, at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(at)})
	}
}

type outcome struct {
	state   core.TaskState
	waiting string
	reason  lifecycle.Reason
	code    int // -1: none
	signal  int
	message string // contained
}

func is(t *testing.T, name string, got backend.Observation, want outcome) {
	t.Helper()
	code := -1
	if got.ExitCode != nil {
		code = *got.ExitCode
	}
	if got.State != want.state || got.Waiting != want.waiting || got.Reason != string(want.reason) || code != want.code || got.Signal != want.signal {
		t.Errorf("%s: it is %s %q, %s, code %d, signal %d (%s), want %+v", name, got.State, got.Waiting, got.Reason, code, got.Signal, got.Message, want)
	}
	if !strings.Contains(got.Message, want.message) || want.message == "" && got.Message != "" {
		t.Errorf("%s: it says %q, want %q", name, got.Message, want.message)
	}
}

// aboutToFail is a pod whose kubelet says that it has failed and not yet why.
func aboutToFail(p *corev1.Pod) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionFalse, Reason: podstatus.PodFailed})
}

func TestPodsThatStart(t *testing.T) {
	start := func(word, message string) outcome {
		return outcome{core.TaskStarting, word, "", -1, 0, message}
	}
	cannot := func(message string) outcome {
		return outcome{core.TaskFailed, "", lifecycle.ReasonContainerCannot, -1, 0, message}
	}
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want outcome
	}{
		"not bound":       {seen(func(p *corev1.Pod) { p.Spec.NodeName = "" }), start("", "")},
		"just bound":      {seen(), start("ContainerCreating", "")},
		"creating":        {seen(mainIs(waits("ContainerCreating", ""))), start("ContainerCreating", "")},
		"initializing":    {seen(mainIs(waits("PodInitializing", ""))), start("PodInitializing", "")},
		"first step":      {seen(steps(running(), waits("PodInitializing", ""))), start("Init:0/2", "")},
		"second step":     {seen(steps(ends(0, "Completed", ""), running())), start("Init:1/2", "")},
		"steps done":      {seen(steps(ends(0, "Completed", ""))), start("PodInitializing", "")},
		"step failed":     {seen(steps(ends(1, "Error", "no data"))), start("Init:Error", "no data")},
		"step with code":  {seen(steps(ends(3, "", ""))), start("Init:ExitCode:3", "")},
		"step again":      {seen(steps(waits("CrashLoopBackOff", "back-off")), restarted(0, 2, ends(1, "Error", ""))), start("Init:CrashLoopBackOff", "back-off")},
		"step for good":   {seen(steps(waits("CrashLoopBackOff", "back-off")), restarted(0, podstatus.StepRestarts, ends(7, "Error", "no data"))), outcome{core.TaskFailed, "", lifecycle.ReasonError, 7, 0, "step 1 of its start failed with exit code 7. no data"}},
		"proxy comes":     {seen(steps(running()), proxied(false)), start("Init:0/2", "")},
		"proxy is there":  {seen(steps(running()), proxied(true)), start("Init:1/2", "")},
		"step's image":    {seen(steps(waits("ErrImagePull", "not found"))), start("Init:ErrImagePull", "not found")},
		"pull fails":      {seen(mainIs(waits("ErrImagePull", "not found"))), start("ErrImagePull", "not found")},
		"pull waits":      {seen(mainIs(waits("ImagePullBackOff", "back-off"))), start("ImagePullBackOff", "back-off")},
		"no such name":    {seen(mainIs(waits("InvalidImageName", "bad"))), outcome{core.TaskFailed, "", lifecycle.ReasonFailedImagePull, -1, 0, "bad"}},
		"never pulled":    {seen(mainIs(waits("ErrImageNeverPull", "absent"))), outcome{core.TaskFailed, "", lifecycle.ReasonFailedImagePull, -1, 0, "absent"}},
		"step's bad name": {seen(steps(waits("InvalidImageName", "bad"))), outcome{core.TaskFailed, "", lifecycle.ReasonFailedImagePull, -1, 0, "bad"}},
		"bad config":      {seen(mainIs(waits("CreateContainerConfigError", `secret "x" not found`))), cannot("not found")},
		"config later":    {seen(mainIs(waits("CreateContainerConfigError", "failed to sync secret cache: timed out waiting for the condition"))), start("CreateContainerConfigError", "failed to sync")},
		"no command":      {seen(mainIs(waits("CreateContainerError", "no command specified"))), cannot("no command")},
		"busy engine":     {seen(mainIs(waits("CreateContainerError", "context deadline exceeded"))), start("CreateContainerError", "deadline")},
		"no program":      {seen(mainIs(waits("RunContainerError", "no such file"))), cannot("no such file")},
		"mute":            {seen(mainIs(waits("RunContainerError", ""))), outcome{core.TaskFailed, "", podstatus.ReasonSystem, -1, 0, "n1 did not start it, and does not say why"}},
		"runs":            {seen(mainIs(running()), phased(corev1.PodRunning, "", "")), outcome{core.TaskRunning, "", "", -1, 0, ""}},
		"ends, says why":  {seen(mainIs(ends(137, "Error", "")), phased(corev1.PodRunning, "", ""), aboutToFail), outcome{core.TaskRunning, "", "", -1, 0, ""}},
		"ends politely":   {seen(mainIs(ends(0, "Completed", "")), phased(corev1.PodRunning, "", ""), aboutToFail), outcome{core.TaskRunning, "", "", -1, 0, ""}},
		"runs, evicted":   {seen(mainIs(running()), phased(corev1.PodRunning, "", ""), deleted(noon)), outcome{core.TaskRunning, "", "", -1, 0, ""}},
		"starts, deleted": {seen(mainIs(waits("ContainerCreating", "")), deleted(noon)), start("ContainerCreating", "")},
	} {
		is(t, name, podstatus.Of(core.TaskID{}, tc.pod, podstatus.Context{}), tc.want)
	}
}

func TestPodsThatEndByThemselves(t *testing.T) {
	failure := func(reason lifecycle.Reason, code, signal int, message string) outcome {
		return outcome{core.TaskFailed, "", reason, code, signal, message}
	}
	failed := phased(corev1.PodFailed, "", "")
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want outcome
	}{
		"success":              {seen(mainIs(ends(0, "Completed", "")), phased(corev1.PodSucceeded, "", "")), outcome{core.TaskSucceeded, "", "", 0, 0, ""}},
		"success, no more":     {seen(phased(corev1.PodSucceeded, "", "")), outcome{core.TaskSucceeded, "", "", 0, 0, ""}},
		"beside a proxy":       {seen(mainIs(ends(0, "Completed", "")), phased(corev1.PodRunning, "", "")), outcome{core.TaskSucceeded, "", "", 0, 0, ""}},
		"out of memory, first": {seen(mainIs(ends(137, "OOMKilled", "")), phased(corev1.PodRunning, "", ""), aboutToFail), failure(lifecycle.ReasonOutOfMemory, 137, 9, "")},
		"exit code":            {seen(mainIs(ends(3, "Error", "said\n")), failed), failure(lifecycle.ReasonError, 3, 0, "said")},
		"signal":               {seen(mainIs(ends(143, "Error", "")), failed), failure(lifecycle.ReasonKilled, 143, 15, "")},
		"code beyond signals":  {seen(mainIs(ends(255, "Error", "")), failed), failure(lifecycle.ReasonError, 255, 0, "")},
		"out of memory":        {seen(mainIs(ends(137, "OOMKilled", "")), failed), failure(lifecycle.ReasonOutOfMemory, 137, 9, "")},
		"out of memory, mute":  {seen(mainIs(ends(137, "Error", "")), limited("32Mi"), failed), failure(lifecycle.ReasonOutOfMemory, 137, 9, "32Mi")},
		"killed":               {seen(mainIs(ends(137, "Error", "")), failed), failure(lifecycle.ReasonKilled, 137, 9, "")},
		"killed, by a program": {seen(mainIs(ends(137, "Error", "I gave up")), limited("32Mi"), failed), failure(lifecycle.ReasonKilled, 137, 9, "I gave up")},
		"no program":           {seen(mainIs(ends(128, "StartError", "no such file")), failed), failure(lifecycle.ReasonContainerCannot, -1, 0, "no such file")},
		"not started, mute":    {seen(mainIs(ends(128, "StartError", "")), failed), failure(podstatus.ReasonSystem, -1, 0, "n1 did not start it, and does not say why")},
		"step not started":     {seen(steps(ends(128, "StartError", "")), failed), failure(podstatus.ReasonSystem, -1, 0, "n1 did not start it, and does not say why")},
		"cannot run":           {seen(mainIs(ends(127, "ContainerCannotRun", "no such file")), failed), failure(lifecycle.ReasonContainerCannot, -1, 0, "no such file")},
		"started by others":    {seen(mainIs(waits("CrashLoopBackOff", "back-off")), mainWas(ends(4, "Error", ""))), failure(lifecycle.ReasonError, 4, 0, "")},
		"step":                 {seen(steps(ends(0, "Completed", ""), ends(5, "Error", "no data")), failed), failure(lifecycle.ReasonError, 5, 0, "step 2 of its start failed with exit code 5. no data")},
		"step's program":       {seen(steps(ends(128, "StartError", "no such file")), failed), failure(lifecycle.ReasonContainerCannot, -1, 0, "step 1 of its start could not run: no such file")},
		"step's memory":        {seen(steps(ends(137, "OOMKilled", "")), failed), failure(lifecycle.ReasonOutOfMemory, 137, 9, "step 1")},
		"proxy's end":          {seen(steps(), proxied(true), failed, func(p *corev1.Pod) { p.Status.InitContainerStatuses[0].State = ends(1, "Error", "") }), failure(podstatus.ReasonSystem, -1, 0, "before its command ran")},
		"nobody knows":         {seen(mainIs(ends(137, "ContainerStatusUnknown", "could not be located")), failed), outcome{core.TaskLost, "", lifecycle.ReasonOutcomeUnknown, -1, 0, "n1"}},
		"machine restarted":    {seen(mainIs(ends(255, "Unknown", "")), failed), failure(podstatus.ReasonSystem, -1, 0, "n1")},
		"deadline of others":   {seen(mainIs(ends(143, "Error", "")), phased(corev1.PodFailed, "DeadlineExceeded", "Pod was active")), failure(lifecycle.ReasonMaxDuration, 143, 15, "activeDeadlineSeconds")},
		"deadline at start":    {seen(steps(ends(143, "Error", "")), phased(corev1.PodFailed, "DeadlineExceeded", "Pod was active")), failure(lifecycle.ReasonMaxDuration, -1, 0, "activeDeadlineSeconds")},
		"its own disk":         {seen(mainIs(ends(137, "Error", "")), phased(corev1.PodFailed, "Evicted", "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ")), failure(lifecycle.ReasonError, 137, 9, "exceeds the total limit")},
		"its own volume":       {seen(phased(corev1.PodFailed, "Evicted", `Usage of EmptyDir volume "shm" exceeds the limit "64Mi". `)), failure(lifecycle.ReasonError, -1, 0, "exceeds the limit")},
	} {
		is(t, name, podstatus.Of(core.TaskID{}, tc.pod, podstatus.Context{}), tc.want)
	}
}

func TestPodsThatAreTakenAway(t *testing.T) {
	failed := phased(corev1.PodFailed, "", "")
	term := mainIs(ends(143, "Error", ""))
	for name, tc := range map[string]struct {
		pod     *corev1.Pod
		known   podstatus.Context
		reason  lifecycle.Reason
		message string
	}{
		"node pressure":      {seen(mainIs(ends(137, "Error", "")), phased(corev1.PodFailed, "Evicted", "The node was low on resource: memory. ")), podstatus.Context{}, podstatus.ReasonSystem, "the kubelet of node n1 evicted it: The node was low"},
		"pressure, politely": {seen(mainIs(ends(0, "Completed", "")), phased(corev1.PodFailed, "Evicted", "The node was low on resource: memory.")), podstatus.Context{}, podstatus.ReasonSystem, "evicted"},
		"pressure at start":  {seen(phased(corev1.PodFailed, "Evicted", "The node had condition: [DiskPressure]. ")), podstatus.Context{}, podstatus.ReasonSystem, "DiskPressure"},
		"critical pod":       {seen(phased(corev1.PodFailed, "Preempting", "Preempted in order to admit critical pod")), podstatus.Context{}, podstatus.ReasonSystem, "critical pod"},
		"shutdown":           {seen(term, phased(corev1.PodFailed, "Terminated", "Pod was terminated in response to imminent node shutdown.")), podstatus.Context{}, podstatus.ReasonSystem, "node n1 is being shut down"},
		"during shutdown":    {seen(phased(corev1.PodFailed, "NodeShutdown", "Pod was rejected as the node is shutting down.")), podstatus.Context{}, podstatus.ReasonSystem, "shut down"},
		"old controller":     {seen(phased(corev1.PodFailed, "NodeLost", "")), podstatus.Context{}, lifecycle.ReasonNodeLost, "node n1 is lost"},
		"no cpu":             {seen(phased(corev1.PodFailed, "OutOfcpu", "Node didn't have enough resource: cpu, requested: 4000, used: 100, capacity: 2000")), podstatus.Context{}, podstatus.ReasonSystem, "the kubelet of node n1 did not take it: OutOfcpu: Node didn't have enough"},
		"no adapter":         {seen(phased(corev1.PodFailed, "OutOfrdma/hca", "Node didn't have enough resource: rdma/hca, requested: 1, used: 2, capacity: 2")), podstatus.Context{}, podstatus.ReasonSystem, "OutOfrdma/hca: Node didn't have enough"},
		"no GPU":             {seen(phased(corev1.PodFailed, "UnexpectedAdmissionError", "Allocate failed")), podstatus.Context{}, podstatus.ReasonSystem, "UnexpectedAdmissionError: Allocate failed"},
		"no place for pods":  {seen(phased(corev1.PodFailed, "OutOfpods", "")), podstatus.Context{}, podstatus.ReasonSystem, "did not take it: OutOfpods"},
		"label of the node":  {seen(phased(corev1.PodFailed, "NodeAffinity", "Predicate NodeAffinity failed")), podstatus.Context{}, podstatus.ReasonSystem, "NodeAffinity"},
		"drain":              {seen(term, failed, deleted(noon), disruption("EvictionByEvictionAPI", "Eviction API: evicting", noon)), podstatus.Context{}, podstatus.ReasonSystem, "kubectl drain"},
		"taint":              {seen(term, failed, deleted(noon), disruption("DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint", noon)), podstatus.Context{}, podstatus.ReasonSystem, "a taint of node n1"},
		"other scheduler":    {seen(term, failed, deleted(noon), disruption(corev1.PodReasonPreemptionByScheduler, "preempting to accommodate a higher priority pod", noon)), podstatus.Context{}, podstatus.ReasonSystem, "higher priority pod"},
		"node removed":       {seen(mainIs(running()), failed, disruption("DeletionByPodGC", "PodGC: node no longer exists", noon)), podstatus.Context{}, lifecycle.ReasonNodeLost, "node n1 is gone"},
		"kubelet":            {seen(term, phased(corev1.PodRunning, "", ""), disruption(corev1.PodReasonTerminationByKubelet, "The node was low on resource: memory", noon)), podstatus.Context{}, podstatus.ReasonSystem, "kubelet of node n1 ended it"},
		"deleted":            {seen(term, failed, deleted(noon)), podstatus.Context{}, podstatus.ReasonSystem, "its pod ns/p was deleted by someone else"},
		"deleted, politely":  {seen(mainIs(ends(0, "Completed", "")), phased(corev1.PodSucceeded, "", ""), deleted(noon)), podstatus.Context{}, podstatus.ReasonSystem, "deleted by someone else"},
		"namespace":          {seen(term, failed, deleted(noon)), podstatus.Context{Dying: true}, podstatus.ReasonSystem, "namespace ns was deleted"},
		"step of a deleted":  {seen(steps(ends(143, "Error", "")), failed, deleted(noon)), podstatus.Context{}, podstatus.ReasonSystem, "deleted by someone else"},
	} {
		got := podstatus.Of(core.TaskID{}, tc.pod, tc.known)
		is(t, name, got, outcome{core.TaskFailed, "", tc.reason, -1, 0, tc.message})
		if tc.known.Stopping = true; tc.pod.DeletionTimestamp != nil {
			if got = podstatus.Of(core.TaskID{}, tc.pod, tc.known); got.Reason == string(podstatus.ReasonSystem) && strings.Contains(got.Message, "someone else") {
				t.Errorf("%s: we asked for it, and it says %q", name, got.Message)
			}
		}
	}
}

func TestWhatEndedBeforeItWasTakenAwayHasEnded(t *testing.T) {
	later := noon.Add(time.Second)
	for name, pod := range map[string]*corev1.Pod{
		"deleted": seen(mainIs(ends(0, "Completed", "")), phased(corev1.PodSucceeded, "", ""), deleted(later)),
		"drained": seen(mainIs(ends(0, "Completed", "")), deleted(later), disruption("EvictionByEvictionAPI", "", later)),
	} {
		is(t, name, podstatus.Of(core.TaskID{}, pod, podstatus.Context{}), outcome{core.TaskSucceeded, "", "", 0, 0, ""})
	}
}

// TestTriesToPull: a try is counted when the kubelet says so anew, and the last
// one that is granted ends the task.
func TestTriesToPull(t *testing.T) {
	pod := seen(func(p *corev1.Pod) { p.Annotations = map[string]string{naming.NotePulls: "2"} })
	x := &tasks.Task{Seen: backend.Observation{State: core.TaskStarting}}
	see := func(word string) backend.Observation {
		mainIs(waits(word, "no such image"))(pod)
		o := podstatus.Of(core.TaskID{}, pod, podstatus.Context{})
		x.Pulls(&o, pod)
		x.Seen = o
		return o
	}
	for i, word := range []string{"ContainerCreating", "ErrImagePull", "ErrImagePull", "ImagePullBackOff", "ImagePullBackOff", "RegistryUnavailable", "ImagePullBackOff"} {
		if o := see(word); o.State != core.TaskStarting || o.Waiting != word {
			t.Fatalf("step %d, %s: it is %+v", i, word, o)
		}
	}
	is(t, "the third try", see("ErrImagePull"), outcome{core.TaskFailed, "", lifecycle.ReasonFailedImagePull, -1, 0, "no such image"})

	pod.Annotations[naming.NotePulls] = "-1"
	*x = tasks.Task{Seen: backend.Observation{State: core.TaskStarting}}
	for range 10 {
		see("ErrImagePull")
		is(t, "one of any number of tries", see("ImagePullBackOff"), outcome{core.TaskStarting, "ImagePullBackOff", "", -1, 0, "no such image"})
	}
}
