package draft

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/store"
)

// Code says what sort of refusal an Error is; it is part of the API.
type Code string

// The codes.
const (
	CodeInvalid       Code = "invalid"       // the request itself is wrong
	CodeNotFound      Code = "not_found"     // no such workload, project or attempt
	CodeConflict      Code = "conflict"      // clashes with what exists
	CodeIllegal       Code = "illegal_phase" // not possible in the present phase
	CodeUnschedulable Code = "unschedulable" // can never fit
	CodeUnsupported   Code = "unsupported"   // no backend here can do it
	CodeUnavailable   Code = "unavailable"   // try again later
	CodeForbidden     Code = "forbidden"     // this user may not do it
	CodeTooOften      Code = "too_often"     // the same a moment ago; try again
	CodeFull          Code = "disk_full"
	CodeStale         Code = "stale" // it has changed since whoever asks has seen it
)

// Error is a refusal that a user can act on.
type Error struct {
	Code    Code
	Field   string // of the document, where one is at fault
	Message string
	Hint    string // the next step
	Err     error
}

func (e *Error) Error() string {
	if e.Field != "" {
		return e.Field + ": " + e.Message
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// NotFound is that something does not exist, and which command lists what does.
func NotFound(what, lists string) *Error {
	return &Error{Code: CodeNotFound, Message: what + " does not exist", Hint: lists + " lists what does"}
}

// IsNotFound reports whether what was looked for is not there, rather than that
// nobody could look.
func IsNotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == CodeNotFound
}

// Illegal is that something is not possible in the present phase, and what is.
func Illegal(name string, err error) error {
	var ie *lifecycle.IllegalError
	if !errors.As(err, &ie) {
		return err
	}
	hint := "nothing can be asked of it any more"
	var can []string
	for _, verb := range []lifecycle.Event{lifecycle.Stop, lifecycle.Restart, lifecycle.Delete} {
		if slices.Contains(ie.Allowed, verb) {
			can = append(can, "muster "+string(verb)+" "+name)
		}
	}
	if len(can) > 0 {
		hint = "possible now: " + strings.Join(can, ", ")
	}
	return &Error{Code: CodeIllegal, Message: fmt.Sprintf("%s: %v", name, ie), Hint: hint, Err: err}
}

// FromStore turns a failed commit into what its callers should hear.
func FromStore(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrFull):
		return &Error{Code: CodeFull, Message: "the disk that holds the database is full; nothing was changed", Hint: "free some space and try again", Err: err}
	case errors.Is(err, store.ErrTermLost):
		return &Error{Code: CodeUnavailable, Message: "another server has taken over", Hint: "try again", Err: err}
	default:
		return &Error{Code: CodeUnavailable, Message: "the change could not be stored; nothing was changed: " + err.Error(), Hint: "see the server's log", Err: err}
	}
}

// Refused says which of several edits an error is about.
type Refused struct {
	Edit int // index
	Err  error
}

func (r *Refused) Error() string { return r.Err.Error() }

func (r *Refused) Unwrap() error { return r.Err }
