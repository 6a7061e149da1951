package podstatus

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

// ReasonOfEvent is the reason that a pod fails for which stays in the trouble that an
// event of that reason is about; empty: it is none.
func ReasonOfEvent(event string) lifecycle.Reason {
	switch event {
	case "FailedMount", "FailedAttachVolume", "FailedMapVolume":
		return lifecycle.ReasonMountFailed
	case "FailedCreatePodSandBox", "FailedPodSandBoxStatus", "NetworkNotReady", "FailedCreatePodContainer":
		return ReasonSystem
	default:
		return lifecycle.ReasonNone
	}
}

// CannotPass reports whether a trouble cannot pass by itself: a path of the machine
// is not there, or is something else.
func CannotPass(message string) bool { return strings.Contains(message, "hostPath type check failed") }

// EventTime is when an event was last observed.
func EventTime(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	default:
		return e.EventTime.Time
	}
}

// PullFails reports whether a kubelet's word is about an image that it could
// not get.
func PullFails(word string) bool { return IsPullAttempt(word) || TrimInit(word) == "ImagePullBackOff" }

// IsPullAttempt reports whether a kubelet has just tried; after it, it waits.
func IsPullAttempt(word string) bool {
	switch TrimInit(word) {
	case "ErrImagePull", "RegistryUnavailable", "SignatureValidationFailed", "ImageInspectError":
		return true
	default:
		return false
	}
}

// TrimInit is a kubelet's word without the prefix of init containers.
func TrimInit(word string) string { return strings.TrimPrefix(word, "Init:") }
