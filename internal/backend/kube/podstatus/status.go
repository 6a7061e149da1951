// Package podstatus tells from a pod, and from the events about it, how its task
// fares. It is given objects of the Kubernetes API and gives observations; it asks
// nobody and remembers nothing.
package podstatus

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// ReasonSystem is the reason of a task that the cluster ended, or could not run,
// through no fault of its work.
const ReasonSystem = lifecycle.ReasonSystem

// Context is what is known of a pod beside what it says itself.
type Context struct {
	Stopping    bool        // we asked for its end
	Dying       bool        // its namespace is being deleted
	DisruptedBy *Disruption // what was once said to take it away; nil: nothing
}

// Of is what a pod says of its task. At is the pod's own time, to the
// second, or zero where it tells none.
func Of(id core.TaskID, pod *corev1.Pod, k Context) backend.Observation {
	o := backend.Observation{ID: id, State: core.TaskStarting, Message: pod.Status.Message}
	main := ContainerStatus(pod.Status.ContainerStatuses, naming.Container)
	o.Image = digestOf(main)
	end := EndOf(main)
	var by *Disruption
	if !k.Stopping {
		by = disruptionOf(pod, k)
	}
	switch {
	case by != nil && (end == nil || !by.after(end)) && (end != nil || Finished(pod)):
		o.State, o.Reason, o.Message = core.TaskFailed, string(by.Reason), by.Message
		if end != nil {
			o.At = end.FinishedAt.Time
		}
	case end != nil && !k.Stopping && unexplained(pod, end):
		o.State, o.At, o.Message = core.TaskRunning, end.StartedAt.Time, ""
	case end != nil:
		ended(&o, pod, end, k.Stopping)
	case pod.Status.Phase == corev1.PodFailed:
		failed(&o, pod)
	case pod.Status.Phase == corev1.PodSucceeded:
		zero := 0
		o.State, o.ExitCode = core.TaskSucceeded, &zero
	case main != nil && main.State.Running != nil:
		o.State, o.At, o.Message = core.TaskRunning, main.State.Running.StartedAt.Time, ""
	default:
		o.Waiting, o.Message = Waiting(pod)
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

// EndOf is how the command ended. Where someone else has told the kubelet to
// start it again, it is how it ended the first time: a task runs once.
func EndOf(main *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
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
	if Finished(pod) || end.Reason == "OOMKilled" || cannotRun(end.Reason) {
		return false
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.ContainersReady && c.Status == corev1.ConditionFalse && c.Reason == PodFailed
	})
}

// PodFailed is the reason of a pod's conditions once it has failed.
const PodFailed = "PodFailed"

// ended is the end of the container of the command; asked: by us.
func ended(o *backend.Observation, pod *corev1.Pod, t *corev1.ContainerStateTerminated, asked bool) {
	code := int(t.ExitCode)
	o.ExitCode, o.At, o.Message = &code, t.FinishedAt.Time, strings.TrimSpace(t.Message)
	if o.Message == PreludeFailed {
		o.Message = fmt.Sprintf("%s with code %d", PreludeFailed, code)
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
	case pod.Status.Reason == "Evicted": // for what it did itself, or disruptionOf would have spoken
		o.Reason, o.Message = string(lifecycle.ReasonError), "the kubelet ended it: "+strings.TrimSpace(pod.Status.Message)
	case pod.Status.Reason == "DeadlineExceeded":
		o.Reason, o.Message = string(lifecycle.ReasonMaxDuration), "someone set an activeDeadlineSeconds on its pod, and it is over"
	case t.Reason == "OOMKilled":
		o.Reason, o.Signal = string(lifecycle.ReasonOutOfMemory), 9
	case cannotRun(t.Reason) && o.Message == "":
		o.Reason, o.ExitCode, o.Signal, o.Message = string(ReasonSystem), nil, 0, notStarted(pod)
	case cannotRun(t.Reason):
		o.Reason, o.ExitCode, o.Signal = string(lifecycle.ReasonContainerCannot), nil, 0
	case t.Reason == "ContainerStatusUnknown":
		o.State, o.ExitCode, o.Signal = core.TaskLost, nil, 0
		o.Reason, o.Message = string(lifecycle.ReasonOutcomeUnknown), "node "+pod.Spec.NodeName+" does not know how it ended"
	case t.Reason == "Unknown" && code == 255: // what containerd says of those that it finds dead when it starts
		o.ExitCode = nil
		o.Reason, o.Message = string(ReasonSystem), "node "+pod.Spec.NodeName+" lost sight of it, as when a machine restarts"
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
		if limit, ok := c.Resources.Limits[corev1.ResourceMemory]; ok && c.Name == naming.Container {
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
			o.Reason, o.Message = string(ReasonSystem), notStarted(pod)
		}
	case pod.Status.Reason != "":
		o.Reason = string(ReasonSystem)
		o.Message = strings.TrimSuffix("the kubelet of node "+pod.Spec.NodeName+" did not take it: "+pod.Status.Reason+": "+strings.TrimSpace(pod.Status.Message), ": ")
	default:
		o.Reason = string(ReasonSystem)
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

// Waiting is the word that kubectl shows for a pod whose command does not run
// yet (k8s.io/kubernetes/pkg/printers/internalversion: printPod), and what is
// said about it.
func Waiting(pod *corev1.Pod) (word, message string) {
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
	if main := ContainerStatus(pod.Status.ContainerStatuses, MainContainer(pod)); main != nil && main.State.Waiting != nil && main.State.Waiting.Reason != "" {
		return main.State.Waiting.Reason, main.State.Waiting.Message
	}
	if pod.Spec.NodeName != "" {
		return "ContainerCreating", ""
	}
	return "", ""
}

// StepRestarts is how often a kubelet, told so by someone else, may start a step
// of the start again: its own tries are over each time (see retried).
const StepRestarts = 5

// refused makes a failure of what a kubelet will try for ever but what cannot
// come to be.
func refused(o *backend.Observation, pod *corev1.Pod) {
	switch word := TrimInit(o.Waiting); {
	case word == "InvalidImageName", word == "ErrImageNeverPull":
		o.State, o.Reason = core.TaskFailed, string(lifecycle.ReasonFailedImagePull)
	case CannotBeCreated(word) && strings.TrimSpace(o.Message) == "":
		o.State, o.Reason, o.Message = core.TaskFailed, string(ReasonSystem), notStarted(pod)
	case CannotBeCreated(word) && !passing(o.Message):
		o.State, o.Reason = core.TaskFailed, string(lifecycle.ReasonContainerCannot)
	case word != o.Waiting:
		for i := range pod.Status.InitContainerStatuses {
			if c := &pod.Status.InitContainerStatuses[i]; c.RestartCount >= StepRestarts && !beside(pod, c.Name) {
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

// CannotBeCreated reports whether a kubelet's word is about a container that cannot be
// made as it is written.
func CannotBeCreated(word string) bool {
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

// ContainerStatus is the status of the container of a name; nil: there is none.
func ContainerStatus(all []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

// Precise is a time of the cluster, which counts in seconds, as one that is not
// before what happened in that second.
func Precise(at, now time.Time) time.Time {
	if at.IsZero() {
		return now
	}
	if end := at.Add(time.Second - time.Microsecond); end.Before(now) {
		return end
	}
	return now
}

// Finished reports whether nothing of a pod runs any more.
func Finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// NothingStarted reports whether nothing of a pod has started on its node.
func NothingStarted(pod *corev1.Pod) bool {
	started := func(all []corev1.ContainerStatus) bool {
		for i := range all {
			if s := &all[i]; s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil ||
				s.State.Waiting != nil && s.State.Waiting.Reason != "ContainerCreating" && s.State.Waiting.Reason != "PodInitializing" {
				return true
			}
		}
		return false
	}
	return pod.Spec.NodeName != "" && !started(pod.Status.InitContainerStatuses) && !started(pod.Status.ContainerStatuses)
}

// Condition is the condition of a type; nil: the pod has none.
func Condition(pod *corev1.Pod, of corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == of {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// Same reports whether b says nothing that a did not.
func Same(a, b backend.Observation) bool {
	return a.State == b.State && a.Waiting == b.Waiting && a.Reason == b.Reason && a.Message == b.Message
}

// PreludeFailed is what the kubelet finds of a task that ended in its prelude.
const PreludeFailed = "what runs before the command failed"
