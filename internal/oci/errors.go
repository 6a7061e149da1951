package oci

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/musterhq/muster/internal/core/address"
)

// Kind says what went wrong, for programs.
type Kind string

// The kinds of failure.
const (
	BadName       Kind = "bad_name"       // the name of the image is not one
	NotFound      Kind = "not_found"      // the registry says that it has no such image
	Denied        Kind = "denied"         // no permission; some registries say this for what does not exist
	Unreachable   Kind = "unreachable"    // no network: refused, unknown host, TLS, no answer
	Busy          Kind = "busy"           // the registry answers, but not now: 429, 5xx
	Stalled       Kind = "stalled"        // the transfer stopped half way and could not be taken up again
	WrongPlatform Kind = "wrong_platform" // the image exists, but not for this machine
	Damaged       Kind = "damaged"        // bytes that are not what their digest says, or no image, or a hostile one
	NoSpace       Kind = "no_space"       // the disk is full
	NotPresent    Kind = "not_present"    // policy Never, and the image is not in the cache
	NeedsRoot     Kind = "needs_root"     // this process may not unpack layers
	Cancelled     Kind = "cancelled"      // the caller's context ended
	Internal      Kind = "internal"       // none of the above
)

// Error is what pulling, pushing and building fail with. Its text is one
// sentence for a person, with what to do; it never contains a password.
type Error struct {
	Op   string // "pull", "push", "build"
	Kind Kind
	Ref  string // the image's name as it was given
	Text string // what happened and what to do
	Err  error  // the cause, if there is one; its words are in Text where they help
}

func (e *Error) Error() string {
	if e.Op == "" {
		return e.Text
	}
	return fmt.Sprintf("cannot %s %q: %s", e.Op, e.Ref, e.Text)
}

func (e *Error) Unwrap() error { return e.Err }

// Temporary says whether the same call may succeed later with nothing changed
// by the user.
func (e *Error) Temporary() bool {
	switch e.Kind {
	case Unreachable, Busy, Stalled, NoSpace:
		return true
	}
	return false
}

// KindOf returns the kind of err; Internal for an error of another origin, ""
// for nil.
func KindOf(err error) Kind {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Kind
	}
	return Internal
}

func failf(k Kind, cause error, format string, args ...any) *Error {
	return &Error{Kind: k, Err: cause, Text: fmt.Sprintf(format, args...)}
}

// named completes an error with what was done to which image.
func named(op, ref string, err error) error {
	if err == nil {
		return nil
	}
	e := *classify(err)
	e.Op, e.Ref = op, ref
	return &e
}

// classify finds the kind of an error that was not made here.
func classify(err error) *Error {
	var e *Error
	var status *transport.Error
	var refused *address.Refused
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &refused):
		return failf(Denied, err, "the registry leads to an address that is not called: %v", refused)
	case errors.As(err, &status):
		return classifyStatus(status)
	case errors.Is(err, errIdle):
		return failf(Unreachable, err, "the registry does not answer: %v; check the network and try again", errIdle)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return failf(Cancelled, err, "it was given up before it ended: %v", err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return failf(NoSpace, err, "the disk is full (%v); free some space, or lower the limit of the image cache so that it makes room", err)
	}
	if e := classifyNetwork(err); e != nil {
		return e
	}
	return failf(Internal, err, "%v", err)
}

func classifyStatus(s *transport.Error) *Error {
	words := diagnosis(s)
	switch code := s.StatusCode; {
	case code == http.StatusNotFound:
		return failf(NotFound, s, "the registry has no such image%s; check the spelling of the name and of the tag", words)
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return failf(Denied, s, "not found or no access%s", words)
	case code == http.StatusTooManyRequests:
		return failf(Busy, s, "the registry allows no more requests for now (429)%s; try again later, or with a credential that has a higher limit", words)
	case code >= 500:
		return failf(Busy, s, "the registry has a problem of its own (%d)%s; try again later", code, words)
	default:
		return failf(Internal, s, "the registry answered %d%s", code, words)
	}
}

// diagnosis is what the registry said in words; registries are strangers, so
// it is cut and cleaned.
func diagnosis(s *transport.Error) string {
	if len(s.Errors) == 0 || s.Errors[0].Message == "" {
		return ""
	}
	words := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s.Errors[0].Message)
	if r := []rune(words); len(r) > 200 {
		words = string(r[:200]) + "…"
	}
	return fmt.Sprintf(" (it says: %s)", words)
}

func classifyNetwork(err error) *Error {
	var (
		dns      *net.DNSError
		op       *net.OpError
		timeout  net.Error
		verify   *tls.CertificateVerificationError
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		record   tls.RecordHeaderError
	)
	switch {
	case errors.Is(err, errPlainHTTP):
		return failf(Unreachable, err, "%v; give the registry a certificate, or name it among those that may be spoken to without TLS", errPlainHTTP)
	case errors.As(err, &verify), errors.As(err, &unknown), errors.As(err, &hostname):
		return failf(Unreachable, err, "the registry's certificate is not trusted: %v; add its authority to this machine, or check the host's name", err)
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return failf(Unreachable, err, "the registry does not speak TLS; give it a certificate, or name it among those that may be spoken to without TLS")
	case errors.As(err, &dns):
		return failf(Unreachable, err, "the host %q is not known: %v; check the name and this machine's DNS", dns.Name, dns.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return failf(Unreachable, err, "nothing listens at the registry's address (connection refused); check host and port, and that the registry runs")
	case errors.As(err, &op), errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return failf(Unreachable, err, "the connection to the registry failed: %v; check the network and try again", err)
	}
	return nil
}

var (
	errIdle      = errors.New("nothing came over the connection for too long")
	errPlainHTTP = errors.New("the registry may not be spoken to without TLS")
)
