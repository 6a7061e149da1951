package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/store"
)

// statusOf is which HTTP status each code of the control plane becomes.
var statusOf = map[engine.Code]int{
	engine.CodeInvalid:       http.StatusUnprocessableEntity,
	engine.CodeNotFound:      http.StatusNotFound,
	engine.CodeConflict:      http.StatusConflict,
	engine.CodeIllegal:       http.StatusConflict,
	engine.CodeUnschedulable: http.StatusUnprocessableEntity,
	engine.CodeUnsupported:   http.StatusUnprocessableEntity,
	engine.CodeUnavailable:   http.StatusServiceUnavailable,
	engine.CodeForbidden:     http.StatusForbidden,
	engine.CodeTooOften:      http.StatusTooManyRequests,
	engine.CodeFull:          http.StatusInsufficientStorage,
	engine.CodeStale:         http.StatusPreconditionFailed,
}

// problem turns any error into the problem that the client sees. What is not
// known here is a 500 whose text stays in the log.
func problem(log *slog.Logger, err error) *api.Problem {
	var p *api.Problem
	var ce *engine.Error
	var fields spec.Errors
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &fields):
		return fieldProblems(fields)
	case errors.As(err, &ce):
		p = newProblem(statusOf[ce.Code], string(ce.Code), ce.Error(), ce.Hint)
		if ce.Field != "" {
			p.Errors = []api.FieldProblem{{Path: ce.Field, Problem: ce.Message, Hint: ce.Hint}}
		}
		return p
	case errors.Is(err, store.ErrNotFound):
		return newProblem(http.StatusNotFound, "not_found", "there is no such thing", "muster get lists what there is")
	case errors.Is(err, backend.ErrNotRunning):
		return newProblem(http.StatusConflict, "illegal_phase", "the task does not run", "muster describe shows where it is")
	case errors.Is(err, backend.ErrCannotRun):
		return newProblem(http.StatusUnprocessableEntity, "invalid", "command: "+err.Error(), "name a program that is there, by its path or from the PATH of the task")
	case errors.Is(err, backend.ErrUnsupported):
		return newProblem(http.StatusUnprocessableEntity, "unsupported", err.Error(), "use another backend for it")
	case errors.Is(err, backend.ErrNoLogs):
		return newProblem(http.StatusNotFound, "no_logs", "there is no log: the task never started", "muster why says what it waits for")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return newProblem(http.StatusServiceUnavailable, "unavailable", "the request was given up", "try again")
	default:
		log.Error("request failed", "err", err)
		return problemOfOurs()
	}
}

func problemOfOurs() *api.Problem {
	return newProblem(http.StatusInternalServerError, "internal", "the server failed; its log says how", "try again, and report it if it stays")
}

func newProblem(status int, code, detail, hint string) *api.Problem {
	return &api.Problem{Title: http.StatusText(status), Status: status, Code: code, Detail: detail, Hint: hint}
}

func fieldProblems(fields spec.Errors) *api.Problem {
	p := newProblem(http.StatusUnprocessableEntity, "invalid", fields.Error(), "muster explain documents every field")
	for _, f := range fields {
		p.Errors = append(p.Errors, api.FieldProblem{Path: f.Path, Value: f.Value, Problem: f.Problem, Allowed: f.Allowed, Hint: f.Hint, Line: f.Line})
	}
	return p
}

func badRequest(path, detail, hint string) *api.Problem {
	p := newProblem(http.StatusUnprocessableEntity, "invalid", path+": "+detail, hint)
	p.Errors = []api.FieldProblem{{Path: path, Problem: detail, Hint: hint}}
	return p
}

// frameworkProblem gives the framework's own refusals our form.
func frameworkProblem(status int, msg string, errs ...error) huma.StatusError {
	if status == http.StatusInternalServerError && msg == "cannot read request body" { // how it is cut into pieces is wrong, or it was broken off
		status, msg = http.StatusBadRequest, "the body of the request cannot be read"
	}
	code := map[int]string{404: "not_found", 409: "conflict", 500: "internal"}[status]
	if code == "" {
		code = "invalid"
	}
	p := newProblem(status, code, msg, "see /docs for what is expected")
	for _, err := range errs {
		var d *huma.ErrorDetail
		if errors.As(err, &d) {
			p.Errors = append(p.Errors, api.FieldProblem{Path: d.Location, Problem: d.Message})
			p.Detail += ": " + d.Location + " " + d.Message
		}
	}
	return p
}
