package kube

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

const reasonSystem = lifecycle.ReasonSystem

// known is what is known of a pod beside what it says itself.
type known struct {
	stopping bool   // we asked for its end
	dying    bool   // its namespace is being deleted
	by       *cause // what was once said to take it away; nil: nothing
}

// status is what a pod says of its task. At is the pod's own time, to the
// second, or zero where it tells none.
func status(id core.TaskID, pod *corev1.Pod, k known) backend.Observation {
	o := backend.Observation{ID: id, State: core.TaskStarting, Message: pod.Status.Message}
	main := statusOf(pod.Status.ContainerStatuses, container)
	o.Image = digestOf(main)
	end := endOf(main)
	var by *cause
	if !k.stopping {
		by = taken(pod, k)
	}
	switch {
	case by != nil && (end == nil || !by.after(end)) && (end != nil || finished(pod)):
		o.State, o.Reason, o.Message = core.TaskFailed, string(by.reason), by.message
		if end != nil {
			o.At = end.FinishedAt.Time
		}
	case end != nil && !k.stopping && unexplained(pod, end):
		o.State, o.At, o.Message = core.TaskRunning, end.StartedAt.Time, ""
	case end != nil:
		ended(&o, pod, end, k.stopping)
	case pod.Status.Phase == corev1.PodFailed:
		failed(&o, pod)
	case pod.Status.Phase == corev1.PodSucceeded:
		zero := 0
		o.State, o.ExitCode = core.TaskSucceeded, &zero
	case main != nil && main.State.Running != nil:
		o.State, o.At, o.Message = core.TaskRunning, main.State.Running.StartedAt.Time, ""
	default:
		o.Waiting, o.Message = waiting(pod)
		refused(&o, pod)
	}
	return o
}

// digestOf is the digest of the image that a container runs in; empty: the
// runtime has not told one.
func digestOf(main *corev1.ContainerStatus) string {
	if main == nil {
		return ""
	}
	if _, digest, ok := strings.Cut(main.ImageID, "@"); ok {
		return digest
	}
	return ""
}

// endOf is how the command ended. Where someone else has told the kubelet to
// start it again, it is how it ended the first time: a task runs once.
func endOf(main *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	switch {
	case main == nil:
		return nil
	case main.State.Terminated != nil:
		return main.State.Terminated
	case main.State.Waiting != nil:
		return main.LastTerminationState.Terminated
	default:
		return nil
	}
}

// unexplained reports whether a kubelet has yet to say why a command ended: it
// tells of the end of containers first, and only then, with the phase, that it
// evicted or rejected their pod. That the pod has failed shows in a condition by
// then (k8s.io/kubernetes/pkg/kubelet/status: mergePodStatus).
func unexplained(pod *corev1.Pod, end *corev1.ContainerStateTerminated) bool {
	if finished(pod) || end.Reason == "OOMKilled" || cannotRun(end.Reason) {
		return false
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.ContainersReady && c.Status == corev1.ConditionFalse && c.Reason == podFailed
	})
}

// podFailed is the reason of a pod's conditions once it has failed.
const podFailed = "PodFailed"

// ended is the end of the container of the command; asked: by us.
func ended(o *backend.Observation, pod *corev1.Pod, t *corev1.ContainerStateTerminated, asked bool) {
	code := int(t.ExitCode)
	o.ExitCode, o.At, o.Message = &code, t.FinishedAt.Time, strings.TrimSpace(t.Message)
	if o.Message == preludeFailed {
		o.Message = fmt.Sprintf("%s with code %d", preludeFailed, code)
	}
	evicted := pod.Status.Reason == "Evicted" || pod.Status.Reason == "DeadlineExceeded"
	if code == 0 && !evicted {
		o.State = core.TaskSucceeded
		return
	}
	o.State = core.TaskFailed
	if code > 128 && code < 128+65 {
		o.Signal = code - 128
	}
	switch {
	case pod.Status.Reason == "Evicted": // for what it did itself, or taken would have spoken
		o.Reason, o.Message = string(lifecycle.ReasonError), "the kubelet ended it: "+strings.TrimSpace(pod.Status.Message)
	case pod.Status.Reason == "DeadlineExceeded":
		o.Reason, o.Message = string(lifecycle.ReasonMaxDuration), "someone set an activeDeadlineSeconds on its pod, and it is over"
	case t.Reason == "OOMKilled":
		o.Reason, o.Signal = string(lifecycle.ReasonOutOfMemory), 9
	case cannotRun(t.Reason) && o.Message == "":
		o.Reason, o.ExitCode, o.Signal, o.Message = string(reasonSystem), nil, 0, notStarted(pod)
	case cannotRun(t.Reason):
		o.Reason, o.ExitCode, o.Signal = string(lifecycle.ReasonContainerCannot), nil, 0
	case t.Reason == "ContainerStatusUnknown":
		o.State, o.ExitCode, o.Signal = core.TaskLost, nil, 0
		o.Reason, o.Message = string(lifecycle.ReasonOutcomeUnknown), "node "+pod.Spec.NodeName+" does not know how it ended"
	case t.Reason == "Unknown" && code == 255: // what containerd says of those that it finds dead when it starts
		o.ExitCode = nil
		o.Reason, o.Message = string(reasonSystem), "node "+pod.Spec.NodeName+" lost sight of it, as when a machine restarts"
	case asked:
		o.Reason = string(lifecycle.ReasonError)
	case o.Signal == 9:
		killed(o, pod)
	case o.Signal > 0:
		o.Reason = string(lifecycle.ReasonKilled)
	default:
		o.Reason = string(lifecycle.ReasonError)
	}
}

// notStarted says that a node has not started a container, and no more: what is
// wrong with the work it would say, as that there is no such program. It is the
// node's own failure, as where its runtime does not answer in time.
func notStarted(pod *corev1.Pod) string {
	return "the container runtime of node " + pod.Spec.NodeName + " did not start it, and does not say why"
}

// killed is an end by force that nobody has asked for. Engines may hear of it
// before they hear of its cause, and then never tell; where memory is limited,
// that is what ends containers so.
func killed(o *backend.Observation, pod *corev1.Pod) {
	o.Reason = string(lifecycle.ReasonKilled)
	if o.Message != "" || pod.DeletionTimestamp != nil {
		return
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if limit, ok := c.Resources.Limits[corev1.ResourceMemory]; ok && c.Name == container {
			o.Reason = string(lifecycle.ReasonOutOfMemory)
			o.Message = "it was killed by signal 9; its node does not say why, but its memory is limited to " + limit.String()
		}
	}
}

// cannotRun reports whether a kubelet's reason means that a container never ran.
func cannotRun(reason string) bool {
	switch reason {
	case "StartError", "ContainerCannotRun", "RunContainerError", "CreateContainerError", "CreateContainerConfigError":
		return true
	default:
		return false
	}
}

// failed is the end of a pod whose command never ran.
func failed(o *backend.Observation, pod *corev1.Pod) {
	o.State = core.TaskFailed
	switch step, s := initFailure(pod); {
	case pod.Status.Reason == "DeadlineExceeded":
		o.Reason, o.Message = string(lifecycle.ReasonMaxDuration), "someone set an activeDeadlineSeconds on its pod, and it was over before the command ran"
	case pod.Status.Reason == "Evicted":
		o.Reason, o.Message = string(lifecycle.ReasonError), "the kubelet ended it: "+strings.TrimSpace(pod.Status.Message)
	case s != nil:
		if stepFailed(o, step, s); cannotRun(s.Reason) && strings.TrimSpace(s.Message) == "" {
			o.Reason, o.Message = string(reasonSystem), notStarted(pod)
		}
	case pod.Status.Reason != "":
		o.Reason = string(reasonSystem)
		o.Message = strings.TrimSuffix("the kubelet of node "+pod.Spec.NodeName+" did not take it: "+pod.Status.Reason+": "+strings.TrimSpace(pod.Status.Message), ": ")
	default:
		o.Reason = string(reasonSystem)
		o.Message = strings.TrimSuffix("its pod failed before its command ran: "+strings.TrimSpace(pod.Status.Message), ": ")
	}
}

// stepFailed is the end of a step of the start that failed for good.
func stepFailed(o *backend.Observation, step string, s *corev1.ContainerStateTerminated) {
	code := int(s.ExitCode)
	o.State, o.Waiting = core.TaskFailed, ""
	o.ExitCode, o.At, o.Reason = &code, s.FinishedAt.Time, string(lifecycle.ReasonError)
	if code > 128 && code < 128+65 {
		o.Signal = code - 128
	}
	switch {
	case cannotRun(s.Reason):
		o.ExitCode, o.Signal, o.Reason = nil, 0, string(lifecycle.ReasonContainerCannot)
		o.Message = step + " could not run: " + strings.TrimSpace(s.Message)
		return
	case s.Reason == "OOMKilled":
		o.Signal, o.Reason = 9, string(lifecycle.ReasonOutOfMemory)
	}
	o.Message = strings.TrimSpace(fmt.Sprintf("%s failed with exit code %d. %s", step, code, strings.TrimSpace(s.Message)))
}

// initFailure is the step of the start that ended otherwise than well.
func initFailure(pod *corev1.Pod) (step string, s *corev1.ContainerStateTerminated) {
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		t := c.State.Terminated
		if t == nil && c.State.Waiting != nil {
			t = c.LastTerminationState.Terminated
		}
		if t != nil && t.ExitCode != 0 && !beside(pod, c.Name) {
			return stepName(c.Name), t
		}
	}
	return "", nil
}

// stepName says which step of the start an init container is.
func stepName(name string) string {
	if n, ok := strings.CutPrefix(name, "init-"); ok {
		if i, err := strconv.Atoi(n); err == nil {
			return "step " + strconv.Itoa(i+1) + " of its start"
		}
	}
	return "init container " + name
}

// beside reports whether an init container goes on beside the others, as those
// do that proxies are given by others.
func beside(pod *corev1.Pod, name string) bool {
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == name {
			return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		}
	}
	return false
}

// waiting is the word that kubectl shows for a pod whose command does not run
// yet (k8s.io/kubernetes/pkg/printers/internalversion: printPod), and what is
// said about it.
func waiting(pod *corev1.Pod) (word, message string) {
	for i := range pod.Status.InitContainerStatuses {
		s := &pod.Status.InitContainerStatuses[i]
		switch t, w := s.State.Terminated, s.State.Waiting; {
		case t != nil && t.ExitCode == 0, beside(pod, s.Name) && s.Started != nil && *s.Started:
			continue
		case t != nil && t.Reason != "":
			return "Init:" + t.Reason, t.Message
		case t != nil && t.Signal != 0:
			return fmt.Sprintf("Init:Signal:%d", t.Signal), t.Message
		case t != nil:
			return fmt.Sprintf("Init:ExitCode:%d", t.ExitCode), t.Message
		case w != nil && w.Reason != "" && w.Reason != "PodInitializing":
			return "Init:" + w.Reason, w.Message
		default:
			return fmt.Sprintf("Init:%d/%d", i, len(pod.Status.InitContainerStatuses)), ""
		}
	}
	if main := statusOf(pod.Status.ContainerStatuses, mainOf(pod)); main != nil && main.State.Waiting != nil && main.State.Waiting.Reason != "" {
		return main.State.Waiting.Reason, main.State.Waiting.Message
	}
	if pod.Spec.NodeName != "" {
		return "ContainerCreating", ""
	}
	return "", ""
}

// stepRestarts is how often a kubelet, told so by someone else, may start a step
// of the start again: its own tries are over each time (see retried).
const stepRestarts = 5

// refused makes a failure of what a kubelet will try for ever but what cannot
// come to be.
func refused(o *backend.Observation, pod *corev1.Pod) {
	switch word := trimInit(o.Waiting); {
	case word == "InvalidImageName", word == "ErrImageNeverPull":
		o.State, o.Reason = core.TaskFailed, string(lifecycle.ReasonFailedImagePull)
	case hopeless(word) && strings.TrimSpace(o.Message) == "":
		o.State, o.Reason, o.Message = core.TaskFailed, string(reasonSystem), notStarted(pod)
	case hopeless(word) && !passing(o.Message):
		o.State, o.Reason = core.TaskFailed, string(lifecycle.ReasonContainerCannot)
	case word != o.Waiting:
		for i := range pod.Status.InitContainerStatuses {
			if c := &pod.Status.InitContainerStatuses[i]; c.RestartCount >= stepRestarts && !beside(pod, c.Name) {
				if step, s := initFailure(pod); s != nil {
					stepFailed(o, step, s)
				}
			}
		}
	}
	if o.State.Ended() {
		o.Waiting = ""
	}
}

// hopeless reports whether a kubelet's word is about a container that cannot be
// made as it is written.
func hopeless(word string) bool {
	switch word {
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PreCreateHookError", "PreStartHookError", "PostStartHookError":
		return true
	default:
		return false
	}
}

// passing reports whether a kubelet's complaint is about itself: it is busy, or
// has not heard of a secret yet.
func passing(message string) bool {
	for _, sign := range []string{"failed to sync", "deadline exceeded", "DeadlineExceeded", "is reserved for", "timed out", "connection refused", "Unavailable"} {
		if strings.Contains(message, sign) {
			return true
		}
	}
	return false
}

func statusOf(all []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

// fresh is a time of the cluster, which counts in seconds, as one that is not
// before what happened in that second.
func fresh(at, now time.Time) time.Time {
	if at.IsZero() {
		return now
	}
	if end := at.Add(time.Second - time.Microsecond); end.Before(now) {
		return end
	}
	return now
}
