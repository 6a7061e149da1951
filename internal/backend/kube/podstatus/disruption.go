package podstatus

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Disruption is why a pod ends for reasons that are not those of its work: someone or
// something of the cluster takes it away. The work is run again elsewhere.
type Disruption struct {
	Reason  lifecycle.Reason
	Message string
	since   time.Time // when it was asked for, to the second; zero: nobody knows
}

// after reports whether the command had ended before anybody asked for it. In
// one and the same second it is taken to have been cut short: to run work twice
// is better than to lose it.
func (c *Disruption) after(end *corev1.ContainerStateTerminated) bool {
	return !c.since.IsZero() && end.FinishedAt.Time.Before(c.since)
}

// disruptionOf is by what a pod is taken away; nil: by nothing.
func disruptionOf(pod *corev1.Pod, k Context) *Disruption {
	node := pod.Spec.NodeName
	note := ": " + strings.TrimSpace(pod.Status.Message)
	by := func(reason lifecycle.Reason, message string) *Disruption {
		return &Disruption{Reason: reason, Message: strings.TrimSuffix(message, ": ")}
	}
	switch pod.Status.Reason {
	case "Evicted":
		if ownFault(pod.Status.Message) {
			return nil
		}
		return by(ReasonSystem, "the kubelet of node "+node+" evicted it"+note)
	case "Preempting":
		return by(ReasonSystem, "the kubelet of node "+node+" gave its place to a pod of the system"+note)
	case "Terminated", "NodeShutdown", "Shutdown":
		return by(ReasonSystem, "node "+node+" is being shut down"+note)
	case "NodeLost":
		return by(lifecycle.ReasonNodeLost, "node "+node+" is lost"+note)
	case "DeadlineExceeded":
		return nil
	}
	if c := DisruptionCondition(pod); c != nil {
		return c
	}
	if at := pod.DeletionTimestamp; at != nil {
		if k.DisruptedBy != nil {
			return k.DisruptedBy
		}
		c := by(ReasonSystem, DeletedMessage(pod, k.Dying))
		c.since = at.Time
		if grace := pod.DeletionGracePeriodSeconds; grace != nil {
			c.since = at.Add(-time.Duration(*grace) * time.Second)
		}
		return c
	}
	return nil
}

// DeletedMessage says that somebody else has deleted a pod.
func DeletedMessage(pod *corev1.Pod, dying bool) string {
	if dying {
		return "namespace " + pod.Namespace + " was deleted, and its pod with it"
	}
	return "its pod " + pod.Namespace + "/" + pod.Name + " was deleted by someone else"
}

// DisruptionCondition reads the condition by which Kubernetes says why it takes a pod away
// (kubernetes.io, "Disruptions": pod disruption conditions); nil: it does not
// say so.
func DisruptionCondition(pod *corev1.Pod) *Disruption {
	c := Condition(pod, corev1.DisruptionTarget)
	if c == nil || c.Status != corev1.ConditionTrue {
		return nil
	}
	node := pod.Spec.NodeName
	out := &Disruption{Reason: ReasonSystem, since: c.LastTransitionTime.Time}
	switch c.Reason {
	case corev1.PodReasonPreemptionByScheduler:
		out.Message = "another scheduler gave its place to one of its own"
	case "DeletionByTaintManager":
		out.Message = "a taint of node " + node + " drove it out"
	case "EvictionByEvictionAPI":
		out.Message = "it was evicted from node " + node + ", as kubectl drain does"
	case "DeletionByPodGC":
		out.Reason, out.Message = lifecycle.ReasonNodeLost, "node "+node+" is gone"
	case corev1.PodReasonTerminationByKubelet:
		out.Message = "the kubelet of node " + node + " ended it"
	default:
		out.Message = "the cluster takes it away (" + c.Reason + ")"
	}
	if note := strings.TrimSpace(c.Message); note != "" {
		out.Message += ": " + note
	}
	return out
}

// ownFault reports whether a kubelet evicted a pod for exceeding a limit of its
// own, not because its node runs short; anywhere else it would do so again
// (k8s.io/kubernetes/pkg/kubelet/eviction: the messages of local storage limits).
func ownFault(message string) bool {
	return strings.Contains(message, "exceed") && strings.Contains(message, "limit")
}
