package kube

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/plane"
)

const reasonSystem = lifecycle.ReasonSystem

// status is what a pod says of its task. It depends on the pod alone. At is the
// pod's own time, to the second, or zero where it tells none.
func status(id core.TaskID, pod *corev1.Pod) plane.Observation {
	o := plane.Observation{ID: id, State: core.TaskStarting, Message: pod.Status.Message}
	main := statusOf(pod.Status.ContainerStatuses, container)
	switch {
	case main != nil && main.State.Terminated != nil:
		ended(&o, pod, main.State.Terminated)
	case pod.Status.Phase == corev1.PodFailed:
		failed(&o, pod)
	case pod.Status.Phase == corev1.PodSucceeded:
		zero := 0
		o.State, o.ExitCode = core.TaskSucceeded, &zero
	case main != nil && main.State.Running != nil:
		o.State, o.At, o.Message = core.TaskRunning, main.State.Running.StartedAt.Time, ""
	default:
		o.Waiting, o.Message = waiting(pod)
		refused(&o)
	}
	return o
}

// ended is the end of the container of the command.
func ended(o *plane.Observation, pod *corev1.Pod, t *corev1.ContainerStateTerminated) {
	code := int(t.ExitCode)
	o.ExitCode, o.At, o.Message = &code, t.FinishedAt.Time, strings.TrimSpace(t.Message)
	if o.Message == preludeFailed {
		o.Message = fmt.Sprintf("%s with code %d", preludeFailed, code)
	}
	if code == 0 && pod.Status.Reason != "Evicted" {
		o.State = core.TaskSucceeded
		return
	}
	o.State = core.TaskFailed
	if code > 128 && code < 128+65 {
		o.Signal = code - 128
	}
	switch {
	case pod.Status.Reason == "Evicted":
		o.Reason, o.Message = string(reasonSystem), "the kubelet evicted it: "+pod.Status.Message
	case t.Reason == "OOMKilled":
		o.Reason = string(lifecycle.ReasonOutOfMemory)
		o.Signal = 9
	case t.Reason == "StartError", t.Reason == "ContainerCannotRun", t.Reason == "RunContainerError", t.Reason == "CreateContainerError":
		o.Reason, o.ExitCode, o.Signal = string(lifecycle.ReasonContainerCannot), nil, 0
	case t.Reason == "ContainerStatusUnknown":
		o.State, o.ExitCode, o.Signal = core.TaskLost, nil, 0
		o.Reason, o.Message = string(lifecycle.ReasonOutcomeUnknown), "the node does not know how it ended"
	case o.Signal > 0:
		o.Reason = string(lifecycle.ReasonKilled)
	default:
		o.Reason = string(lifecycle.ReasonError)
	}
}

// failed is the end of a pod whose command never ran, or of which nobody saw
// the end.
func failed(o *plane.Observation, pod *corev1.Pod) {
	o.State, o.Reason = core.TaskFailed, string(reasonSystem)
	if step, s := initFailure(pod); s != nil {
		code := int(s.ExitCode)
		o.ExitCode, o.At, o.Reason = &code, s.FinishedAt.Time, string(lifecycle.ReasonError)
		if s.Reason == "StartError" || s.Reason == "ContainerCannotRun" {
			o.ExitCode, o.Reason = nil, string(lifecycle.ReasonContainerCannot)
		}
		o.Message = strings.TrimSpace(fmt.Sprintf("step %d of its start failed with exit code %d. %s", step, code, s.Message))
		return
	}
	why := pod.Status.Reason
	if why == "" {
		why = "the pod failed"
	}
	o.Message = strings.TrimSuffix(why+": "+pod.Status.Message, ": ")
	if pod.Status.Reason == "NodeLost" || pod.Status.Reason == "NodeShutdown" || pod.Status.Reason == "Terminated" {
		o.Reason = string(lifecycle.ReasonNodeLost)
	}
}

// initFailure is the step of the start, from 1, that ended otherwise than well.
func initFailure(pod *corev1.Pod) (int, *corev1.ContainerStateTerminated) {
	for i := range pod.Status.InitContainerStatuses {
		if t := pod.Status.InitContainerStatuses[i].State.Terminated; t != nil && t.ExitCode != 0 {
			return i + 1, t
		}
	}
	return 0, nil
}

// waiting is the word that kubectl shows for a pod whose command does not run
// yet (k8s.io/kubernetes/pkg/printers/internalversion: printPod), and what is
// said about it.
func waiting(pod *corev1.Pod) (word, message string) {
	for i := range pod.Status.InitContainerStatuses {
		s := &pod.Status.InitContainerStatuses[i]
		switch {
		case s.State.Terminated != nil && s.State.Terminated.ExitCode == 0:
			continue
		case s.State.Terminated != nil:
			return "Init:Error", s.State.Terminated.Message
		case s.State.Waiting != nil && s.State.Waiting.Reason != "" && s.State.Waiting.Reason != "PodInitializing":
			return "Init:" + s.State.Waiting.Reason, s.State.Waiting.Message
		default:
			return fmt.Sprintf("Init:%d/%d", i, len(pod.Status.InitContainerStatuses)), ""
		}
	}
	for i := range pod.Status.ContainerStatuses {
		if w := pod.Status.ContainerStatuses[i].State.Waiting; w != nil && w.Reason != "" {
			return w.Reason, w.Message
		}
	}
	if pod.Spec.NodeName != "" {
		return "ContainerCreating", ""
	}
	return "", ""
}

// refused makes a failure of what a kubelet will try for ever but what cannot
// come to be.
func refused(o *plane.Observation) {
	word := strings.TrimPrefix(o.Waiting, "Init:")
	switch word {
	case "InvalidImageName":
		o.State, o.Reason = core.TaskFailed, string(lifecycle.ReasonFailedImagePull)
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PreCreateHookError", "PostStartHookError":
		o.State, o.Reason = core.TaskFailed, string(lifecycle.ReasonContainerCannot)
	}
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
