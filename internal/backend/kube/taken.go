package kube

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

// cause is why a pod ends for reasons that are not those of its work: someone or
// something of the cluster takes it away. The work is run again elsewhere.
type cause struct {
	reason  lifecycle.Reason
	message string
	since   time.Time // when it was asked for, to the second; zero: nobody knows
}

// after reports whether the command had ended before anybody asked for it. In
// one and the same second it is taken to have been cut short: to run work twice
// is better than to lose it.
func (c *cause) after(end *corev1.ContainerStateTerminated) bool {
	return !c.since.IsZero() && end.FinishedAt.Time.Before(c.since)
}

// taken is by what a pod is taken away; nil: by nothing.
func taken(pod *corev1.Pod, k known) *cause {
	node := pod.Spec.NodeName
	said := ": " + strings.TrimSpace(pod.Status.Message)
	by := func(reason lifecycle.Reason, message string) *cause {
		return &cause{reason: reason, message: strings.TrimSuffix(message, ": ")}
	}
	switch pod.Status.Reason {
	case "Evicted":
		if ownFault(pod.Status.Message) {
			return nil
		}
		return by(reasonSystem, "the kubelet of node "+node+" evicted it"+said)
	case "Preempting":
		return by(reasonSystem, "the kubelet of node "+node+" gave its place to a pod of the system"+said)
	case "Terminated", "NodeShutdown", "Shutdown":
		return by(reasonSystem, "node "+node+" is being shut down"+said)
	case "NodeLost":
		return by(lifecycle.ReasonNodeLost, "node "+node+" is lost"+said)
	case "DeadlineExceeded":
		return nil
	}
	if c := disrupted(pod); c != nil {
		return c
	}
	if at := pod.DeletionTimestamp; at != nil {
		if k.by != nil {
			return k.by
		}
		c := by(reasonSystem, deletedMessage(pod, k.dying))
		c.since = at.Time
		if grace := pod.DeletionGracePeriodSeconds; grace != nil {
			c.since = at.Add(-time.Duration(*grace) * time.Second)
		}
		return c
	}
	return nil
}

// deletedMessage says that somebody else has deleted a pod.
func deletedMessage(pod *corev1.Pod, dying bool) string {
	if dying {
		return "namespace " + pod.Namespace + " was deleted, and its pod with it"
	}
	return "its pod " + pod.Namespace + "/" + pod.Name + " was deleted by someone else"
}

// disrupted reads the condition by which Kubernetes says why it takes a pod away
// (kubernetes.io, "Disruptions": pod disruption conditions); nil: it does not
// say so.
func disrupted(pod *corev1.Pod) *cause {
	c := conditionOf(pod, corev1.DisruptionTarget)
	if c == nil || c.Status != corev1.ConditionTrue {
		return nil
	}
	node := pod.Spec.NodeName
	out := &cause{reason: reasonSystem, since: c.LastTransitionTime.Time}
	switch c.Reason {
	case corev1.PodReasonPreemptionByScheduler:
		out.message = "another scheduler gave its place to one of its own"
	case "DeletionByTaintManager":
		out.message = "a taint of node " + node + " drove it out"
	case "EvictionByEvictionAPI":
		out.message = "it was evicted from node " + node + ", as kubectl drain does"
	case "DeletionByPodGC":
		out.reason, out.message = lifecycle.ReasonNodeLost, "node "+node+" is gone"
	case corev1.PodReasonTerminationByKubelet:
		out.message = "the kubelet of node " + node + " ended it"
	default:
		out.message = "the cluster takes it away (" + c.Reason + ")"
	}
	if said := strings.TrimSpace(c.Message); said != "" {
		out.message += ": " + said
	}
	return out
}

// ownFault reports whether a kubelet evicted a pod for exceeding a limit of its
// own, not because its node runs short; anywhere else it would do so again
// (k8s.io/kubernetes/pkg/kubelet/eviction: the messages of local storage limits).
func ownFault(message string) bool {
	return strings.Contains(message, "exceed") && strings.Contains(message, "limit")
}
