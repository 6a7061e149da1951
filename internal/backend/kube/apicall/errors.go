// Package apicall says how the API server is called: what its errors mean, how many
// requests are under way at once, and how often what fails is tried again and
// logged. It is given calls and errors; it knows nothing of what they are about.
package apicall

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Refusal is why a task cannot come to be in this cluster.
type Refusal struct {
	Reason  lifecycle.Reason
	Message string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// Refuse is a Refusal with a message.
func Refuse(reason lifecycle.Reason, format string, args ...any) error {
	return &Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// RefusalOf is the refusal among errors; nil when the cluster merely did not
// answer, so that asking again may help.
func RefusalOf(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
		return r
	}
	return nil
}

// Classify tells refusals from what asking again may mend. What the cluster, or
// others in it, refuse at present is tried again later, from the queue; what is
// no proper pod fails.
func Classify(err error) error {
	switch {
	case err == nil, RefusalOf(err) != nil:
		return err
	case denied(err):
		return Refuse(podstatus.ReasonSystem, "a policy of the cluster refuses it: %v", err)
	case apierrors.IsForbidden(err):
		return Refuse(podstatus.ReasonSystem, "the cluster does not allow it: %v", err)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return Refuse(lifecycle.ReasonContainerCannot, "the cluster refuses it: %v", err)
	case apierrors.IsNotFound(err), apierrors.IsGone(err):
		return Refuse(podstatus.ReasonSystem, "what it needs in the cluster is gone: %v", err)
	case apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook"):
		return Refuse(podstatus.ReasonSystem, "a webhook that the cluster asks does not answer: %v", err)
	case IsAnswered(err):
		return &serverError{err}
	default:
		return fmt.Errorf("%w: %w", backend.ErrUnreachable, err)
	}
}

// serverError is an error of the API server itself, or of what it asks, about one
// thing that it was asked to do: asking again may help, and of all else it says
// nothing.
type serverError struct{ err error }

func (s *serverError) Error() string { return "the cluster fails at it: " + s.err.Error() }

func (s *serverError) Unwrap() error { return s.err }

// IsServerError reports whether the API server answered, if with an error of its own.
func IsServerError(err error) bool {
	var s *serverError
	return errors.As(err, &s) && !errors.Is(err, backend.ErrUnreachable)
}

// IsAnswered reports whether an error is about what was asked, rather than about us
// or all that is asked at this time.
func IsAnswered(err error) bool {
	var status apierrors.APIStatus
	if IsUnanswered(err) || !errors.As(err, &status) {
		return false
	}
	switch status.Status().Code {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	default:
		return true
	}
}

// denied reports whether admission said no, in whatever code: webhooks and
// policies choose their own (kubernetes.io, "Dynamic Admission Control"). Only
// their words are common to them.
func denied(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	message := status.Status().Message
	return strings.Contains(message, "denied the request") || strings.Contains(message, "denied request")
}

// IsUnanswered reports whether an error is that nobody answered, or a gateway for
// it, rather than what the API server said.
func IsUnanswered(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return RefusalOf(err) == nil
	}
	code := answer.Status().Code
	return code >= http.StatusBadGateway && code <= http.StatusGatewayTimeout
}
