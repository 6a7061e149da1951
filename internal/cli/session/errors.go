package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// The exit codes.
const (
	ExitOK            = 0   // done; the workload completed
	ExitInternal      = 1   // our error
	ExitUsage         = 2   // wrong command line or document; a prompt without a terminal
	ExitNotFound      = 3   // not found, or an ambiguous name
	ExitAuth          = 4   // authentication or permission
	ExitConflict      = 5   // conflict or unmet precondition
	ExitUnschedulable = 6   // can never fit
	ExitUnreachable   = 7   // the server does not answer
	ExitPending       = 8   // still pending
	ExitLossy         = 9   // an import would lose meaning
	ExitFailed        = 10  // the workload failed
	ExitStopped       = 11  // the workload was stopped
	ExitPreempted     = 12  // the workload was preempted for good
	ExitTimedOut      = 13  // a time limit ended the workload
	ExitInterrupted   = 130 // Ctrl-C
)

// Failure is an error with its exit code. Without a problem nothing is
// printed: all has been said.
type Failure struct {
	Code    int
	Problem *api.Problem
	File    string // the document that field errors are of
	Worded  bool   // it is in the words of the tool that this program is called as
	Exit    int    // the exit code of a tool that has several; 0: that of all its errors
}

// Error implements error.
func (f *Failure) Error() string {
	if f.Problem == nil {
		return fmt.Sprintf("exit code %d", f.Code)
	}
	return f.Problem.Error()
}

// ProblemOf is the problem that an error tells of; nil: none.
func ProblemOf(err error) *api.Problem {
	var f *Failure
	if errors.As(err, &f) {
		return f.Problem
	}
	var p *api.Problem
	errors.As(err, &p)
	return p
}

// ExitCode ends the command with a code and no further word.
func ExitCode(code int) error {
	if code == ExitOK {
		return nil
	}
	return &Failure{Code: code}
}

// UsageError is a command line that makes no sense.
func UsageError(detail, hint string) *Failure {
	return &Failure{Code: ExitUsage, Problem: &api.Problem{Title: "Wrong usage", Status: 400, Code: "usage", Detail: detail, Hint: hint}}
}

// NeedsFlagError is a question that cannot be asked because nobody is there.
func NeedsFlagError(question, flag string) *Failure {
	return UsageError(question+" needs an answer, and there is no terminal to ask on", "add "+flag)
}

// NotFoundError is something that does not exist.
func NotFoundError(detail, hint string) *Failure {
	return &Failure{Code: ExitNotFound, Problem: &api.Problem{Title: "Not found", Status: 404, Code: "not_found", Detail: detail, Hint: hint}}
}

// BadDocument is a document that cannot be read, with the file that it is in.
func BadDocument(file string, errs codec.Errors) *Failure {
	p := &api.Problem{Title: "Wrong document", Status: 422, Code: "invalid", Detail: errs.Error(), Hint: "muster explain documents every field"}
	for _, e := range errs {
		p.Errors = append(p.Errors, api.FieldProblem{Path: e.Path, Value: e.Value, Problem: e.Problem, Allowed: e.Allowed, Hint: e.Hint, Line: e.Line})
	}
	return &Failure{Code: ExitUsage, Problem: p, File: file}
}

// CodeOf is the exit code of a problem.
func CodeOf(p *api.Problem) int {
	switch p.Code {
	case "invalid", "usage":
		return ExitUsage
	case "not_found", "no_logs":
		return ExitNotFound
	case "unauthenticated", "forbidden":
		return ExitAuth
	case "conflict", "illegal_phase", "unsupported":
		return ExitConflict
	case "unschedulable":
		return ExitUnschedulable
	case "lossy":
		return ExitLossy
	case client.CodeUnreachable, "unavailable":
		return ExitUnreachable
	}
	if p.Status == 401 || p.Status == 403 {
		return ExitAuth
	}
	return ExitInternal
}

// Report prints an error and returns its exit code.
func (s *Session) Report(ctx context.Context, err error) int {
	var f *Failure
	var p *api.Problem
	switch {
	case errors.As(err, &f):
		if f.Problem == nil {
			return f.Code
		}
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return ExitInterrupted
	case errors.As(err, &p):
		f = &Failure{Code: CodeOf(p), Problem: p}
	case errors.Is(err, context.DeadlineExceeded):
		f = &Failure{Code: ExitUnreachable, Problem: &api.Problem{Title: "Timed out", Code: "unavailable", Detail: "the server took too long to answer", Hint: "try again"}}
	case strings.HasPrefix(err.Error(), "unknown command"), strings.HasPrefix(err.Error(), "unknown flag"):
		f = UsageError(err.Error(), "muster --help lists the commands") // cobra's own refusals have no type
	default:
		f = &Failure{Code: ExitInternal, Problem: &api.Problem{Title: "Error", Code: "internal", Detail: err.Error()}}
	}
	f = s.worded(f)
	if s.Format() == "json" || s.Format() == "jsonl" {
		data, _ := json.MarshalIndent(f.Problem, "", "  ") // a Problem always marshals
		fmt.Fprintf(s.IO.Err, "%s\n", data)
		return f.Code
	}
	s.explain(f)
	return f.Code
}

// explain prints a problem for a person.
func (s *Session) explain(f *Failure) {
	p := f.Problem
	say := func(detail, fix string) {
		fmt.Fprintf(s.IO.Err, "%s %s\n", s.Paint(s.IO.ErrTerminal, ToneBad, "error:"), detail)
		if fix != "" {
			fmt.Fprintf(s.IO.Err, "%s %s\n", s.Paint(s.IO.ErrTerminal, ToneDim, "fix:"), fix)
		}
	}
	if len(p.Errors) == 0 {
		say(p.Error(), p.Hint)
		return
	}
	for _, e := range p.Errors {
		say(Place(f.File, e.Line)+fieldText(e), fieldFix(e))
	}
}

// Place is where in a file something stands, as what begins a line of an error.
func Place(file string, line int) string {
	switch {
	case file != "" && line > 0:
		return fmt.Sprintf("%s:%d: ", file, line)
	case file != "":
		return file + ": "
	case line > 0:
		return fmt.Sprintf("line %d: ", line)
	default:
		return ""
	}
}

func fieldText(e api.FieldProblem) string {
	if e.Path == "" {
		return e.Problem
	}
	return e.Path + ": " + e.Problem
}

func fieldFix(e api.FieldProblem) string {
	switch {
	case e.Hint != "":
		return e.Hint
	case len(e.Allowed) > 0:
		return "allowed: " + strings.Join(e.Allowed, ", ")
	default:
		return ""
	}
}
