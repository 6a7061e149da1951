package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/core/spec"
)

// The exit codes.
const (
	exitOK            = 0   // done; the workload completed
	exitInternal      = 1   // our error
	exitUsage         = 2   // wrong command line or document; a prompt without a terminal
	exitNotFound      = 3   // not found, or an ambiguous name
	exitAuth          = 4   // authentication or permission
	exitConflict      = 5   // conflict or unmet precondition
	exitUnschedulable = 6   // can never fit
	exitUnreachable   = 7   // the server does not answer
	exitPending       = 8   // still pending
	exitLossy         = 9   // an import would lose meaning
	exitFailed        = 10  // the workload failed
	exitStopped       = 11  // the workload was stopped
	exitPreempted     = 12  // the workload was preempted for good
	exitTimedOut      = 13  // a time limit ended the workload
	exitInterrupted   = 130 // Ctrl-C
)

// failure is an error with its exit code. Without a problem nothing is
// printed: all has been said.
type failure struct {
	code    int
	problem *api.Problem
	file    string // the document that field errors are of
	worded  bool   // it is in the words of the tool that this program is called as
}

func (f *failure) Error() string {
	if f.problem == nil {
		return fmt.Sprintf("exit code %d", f.code)
	}
	return f.problem.Error()
}

// problemOf is the problem that an error tells of; nil: none.
func problemOf(err error) *api.Problem {
	var f *failure
	if errors.As(err, &f) {
		return f.problem
	}
	var p *api.Problem
	errors.As(err, &p)
	return p
}

// silent ends the command with a code and no further word.
func silent(code int) error {
	if code == exitOK {
		return nil
	}
	return &failure{code: code}
}

// usage is a command line that makes no sense.
func usage(detail, hint string) *failure {
	return &failure{code: exitUsage, problem: &api.Problem{Title: "Wrong usage", Status: 400, Code: "usage", Detail: detail, Hint: hint}}
}

// needsFlag is a question that cannot be asked because nobody is there.
func needsFlag(question, flag string) *failure {
	return usage(question+" needs an answer, and there is no terminal to ask on", "add "+flag)
}

func missing(detail, hint string) *failure {
	return &failure{code: exitNotFound, problem: &api.Problem{Title: "Not found", Status: 404, Code: "not_found", Detail: detail, Hint: hint}}
}

// badDocument is a document that cannot be read, with the file that it is in.
func badDocument(file string, errs spec.Errors) *failure {
	p := &api.Problem{Title: "Wrong document", Status: 422, Code: "invalid", Detail: errs.Error(), Hint: "muster explain documents every field"}
	for _, e := range errs {
		p.Errors = append(p.Errors, api.FieldProblem{Path: e.Path, Value: e.Value, Problem: e.Problem, Allowed: e.Allowed, Hint: e.Hint, Line: e.Line})
	}
	return &failure{code: exitUsage, problem: p, file: file}
}

// codeOf is the exit code of a problem.
func codeOf(p *api.Problem) int {
	switch p.Code {
	case "invalid", "usage":
		return exitUsage
	case "not_found", "no_logs":
		return exitNotFound
	case "unauthenticated", "forbidden":
		return exitAuth
	case "conflict", "illegal_phase", "unsupported":
		return exitConflict
	case "unschedulable":
		return exitUnschedulable
	case "lossy":
		return exitLossy
	case client.CodeUnreachable, "unavailable":
		return exitUnreachable
	}
	if p.Status == 401 || p.Status == 403 {
		return exitAuth
	}
	return exitInternal
}

// report prints an error and returns its exit code.
func (s *session) report(ctx context.Context, err error) int {
	var f *failure
	var p *api.Problem
	switch {
	case errors.As(err, &f):
		if f.problem == nil {
			return f.code
		}
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &p):
		f = &failure{code: codeOf(p), problem: p}
	case errors.Is(err, context.DeadlineExceeded):
		f = &failure{code: exitUnreachable, problem: &api.Problem{Title: "Timed out", Code: "unavailable", Detail: "the server took too long to answer", Hint: "try again"}}
	case strings.HasPrefix(err.Error(), "unknown command"), strings.HasPrefix(err.Error(), "unknown flag"):
		f = usage(err.Error(), "muster --help lists the commands") // cobra's own refusals have no type
	default:
		f = &failure{code: exitInternal, problem: &api.Problem{Title: "Error", Code: "internal", Detail: err.Error()}}
	}
	f = s.worded(f)
	if s.format() == "json" || s.format() == "jsonl" {
		data, _ := json.MarshalIndent(f.problem, "", "  ") // a Problem always marshals
		fmt.Fprintf(s.io.Err, "%s\n", data)
		return f.code
	}
	s.explain(f)
	return f.code
}

// explain prints a problem for a person.
func (s *session) explain(f *failure) {
	p := f.problem
	say := func(detail, fix string) {
		fmt.Fprintf(s.io.Err, "%s %s\n", s.paint(s.io.ErrTerminal, toneBad, "error:"), detail)
		if fix != "" {
			fmt.Fprintf(s.io.Err, "%s %s\n", s.paint(s.io.ErrTerminal, toneDim, "fix:"), fix)
		}
	}
	if len(p.Errors) == 0 {
		say(p.Error(), p.Hint)
		return
	}
	for _, e := range p.Errors {
		say(place(f.file, e.Line)+fieldText(e), fieldFix(e))
	}
}

func place(file string, line int) string {
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
