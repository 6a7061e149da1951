package podstatus

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// MainContainer is the container of a pod whose output and entrance are those of its
// task: the one that kubectl takes, else the first.
func MainContainer(pod *corev1.Pod) string {
	if !naming.Foreign(pod) {
		return naming.Container
	}
	const usual = "kubectl.kubernetes.io/default-container"
	for i := range pod.Spec.Containers {
		if name := pod.Spec.Containers[i].Name; name == pod.Annotations[usual] {
			return name
		}
	}
	if len(pod.Spec.Containers) > 0 {
		return pod.Spec.Containers[0].Name
	}
	return naming.Container
}

// OfForeign is what a pod of others says of its task. What becomes of a
// container that ends is its maker's matter: the pod says when it is over.
func OfForeign(id core.TaskID, pod *corev1.Pod) backend.Observation {
	o := backend.Observation{ID: id, State: core.TaskStarting, Message: pod.Status.Message, Claim: string(pod.UID)}
	switch pod.Status.Phase {
	case corev1.PodSucceeded:
		zero := 0
		o.State, o.ExitCode, o.At = core.TaskSucceeded, &zero, lastEnd(pod)
	case corev1.PodFailed:
		by, bad := disruptionOf(pod, Context{}), firstBad(pod)
		switch {
		case pod.DeletionTimestamp != nil:
			o.State, o.Reason, o.Message = core.TaskFailed, string(lifecycle.ReasonKilled), "its pod was deleted"
		case by != nil:
			o.State, o.Reason, o.Message = core.TaskFailed, string(by.Reason), by.Message
		case bad != nil:
			ended(&o, pod, bad, false)
		default:
			failed(&o, pod)
		}
		if o.State == core.TaskSucceeded {
			o.State, o.Reason = core.TaskFailed, string(lifecycle.ReasonError)
		}
	case corev1.PodRunning:
		o.State, o.Message = core.TaskRunning, ""
		if s := pod.Status.StartTime; s != nil {
			o.At = s.Time
		}
	default:
		o.Waiting, o.Message = Waiting(pod)
	}
	return o
}

// firstBad is the end of the container that failed first; nil: none did.
func firstBad(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	var bad *corev1.ContainerStateTerminated
	for i := range pod.Status.ContainerStatuses {
		if t := pod.Status.ContainerStatuses[i].State.Terminated; t != nil && t.ExitCode != 0 && (bad == nil || t.FinishedAt.Before(&bad.FinishedAt)) {
			bad = t
		}
	}
	return bad
}

// lastEnd is when the last container ended; zero: nobody says.
func lastEnd(pod *corev1.Pod) time.Time {
	var at time.Time
	for i := range pod.Status.ContainerStatuses {
		if t := pod.Status.ContainerStatuses[i].State.Terminated; t != nil && t.FinishedAt.After(at) {
			at = t.FinishedAt.Time
		}
	}
	return at
}
