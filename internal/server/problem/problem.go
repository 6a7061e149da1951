// Package problem says in the API's form what is wrong, whatever it was that failed.
package problem

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/store"
)

// statusOf is which HTTP status each code of the control plane becomes.
var statusOf = map[draft.Code]int{
	draft.CodeInvalid:       http.StatusUnprocessableEntity,
	draft.CodeNotFound:      http.StatusNotFound,
	draft.CodeConflict:      http.StatusConflict,
	draft.CodeIllegal:       http.StatusConflict,
	draft.CodeUnschedulable: http.StatusUnprocessableEntity,
	draft.CodeUnsupported:   http.StatusUnprocessableEntity,
	draft.CodeUnavailable:   http.StatusServiceUnavailable,
	draft.CodeForbidden:     http.StatusForbidden,
	draft.CodeTooOften:      http.StatusTooManyRequests,
	draft.CodeFull:          http.StatusInsufficientStorage,
	draft.CodeStale:         http.StatusPreconditionFailed,
}

// Of turns any error into the problem that the client sees. What is not
// known here is a 500 whose text stays in the log.
func Of(log *slog.Logger, err error) *api.Problem {
	var p *api.Problem
	var ce *draft.Error
	var fields codec.Errors
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &fields):
		return OfFields(fields)
	case errors.As(err, &ce):
		p = New(statusOf[ce.Code], string(ce.Code), ce.Error(), ce.Hint)
		if ce.Field != "" {
			p.Errors = clipped([]api.FieldProblem{{Path: ce.Field, Problem: ce.Message, Hint: ce.Hint}})
		}
		return p
	case errors.Is(err, store.ErrNotFound):
		return New(http.StatusNotFound, "not_found", "nothing of this name exists", "muster get lists what there is")
	case errors.Is(err, backend.ErrNotRunning):
		return New(http.StatusConflict, "illegal_phase", "the task is not running", "muster describe shows its state")
	case errors.Is(err, backend.ErrCannotRun):
		return New(http.StatusUnprocessableEntity, "invalid", "command: "+err.Error(), "name a program that is there, by its path or from the PATH of the task")
	case errors.Is(err, backend.ErrUnsupported):
		return New(http.StatusUnprocessableEntity, "unsupported", err.Error(), "run the workload on another backend")
	case errors.Is(err, backend.ErrNoLogs):
		return New(http.StatusNotFound, "no_logs", "there is no log: the task never started", "muster why says what it waits for")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return New(http.StatusServiceUnavailable, "unavailable", "the client, or a time limit, ended the request before it was answered", "try again")
	default:
		log.Error("request failed", "err", err)
		return Internal()
	}
}

// Refused is the problem of a refusal for lack of a permission; nil: it is another
// error, or none.
func Refused(err error) *api.Problem {
	var p *api.Problem
	if errors.As(err, &p) && p.Status == http.StatusForbidden {
		return p
	}
	return nil
}

// Internal is a failure of the server's own.
func Internal() *api.Problem {
	return New(http.StatusInternalServerError, "internal", "the server failed; its log says how", "try again, and report it if it stays")
}

// New is a problem with an HTTP status, a code, what is wrong, and what to do.
func New(status int, code, detail, hint string) *api.Problem {
	return &api.Problem{Title: http.StatusText(status), Status: status, Code: code, Detail: clip(detail, detailMost), Hint: clip(hint, detailMost)}
}

// OfFields are the errors of a document.
func OfFields(fields codec.Errors) *api.Problem {
	p := New(http.StatusUnprocessableEntity, "invalid", fields.Error(), "muster explain documents every field")
	for _, f := range fields {
		p.Errors = append(p.Errors, api.FieldProblem{Path: f.Path, Value: f.Value, Problem: f.Problem, Allowed: f.Allowed, Hint: f.Hint, Line: f.Line})
	}
	p.Errors = clipped(p.Errors)
	return p
}

// BadRequest is a problem of one field of a request.
func BadRequest(path, detail, hint string) *api.Problem {
	p := New(http.StatusUnprocessableEntity, "invalid", path+": "+detail, hint)
	p.Errors = clipped([]api.FieldProblem{{Path: path, Problem: detail, Hint: hint}})
	return p
}

// BadValue is a problem of one field of a request that has a value which is not
// allowed: detail goes on after the value.
func BadValue(path, value, detail, hint string) *api.Problem {
	p := BadRequest(path, strconv.Quote(value)+" "+detail, hint)
	p.Errors[0].Value = clip(value, valueMost)
	return p
}

// OneOf is a problem of one field of a request whose value is none of those that
// are allowed.
func OneOf(path, value string, allowed ...string) *api.Problem {
	p := BadValue(path, value, "is not known", "write one of "+strings.Join(allowed, ", "))
	p.Errors[0].Allowed = allowed
	return p
}

// Framework gives the framework's own refusals our form.
func Framework(status int, msg string, errs ...error) huma.StatusError {
	if status == http.StatusInternalServerError && msg == "cannot read request body" { // how it is cut into pieces is wrong, or it was broken off
		status, msg = http.StatusBadRequest, "the body of the request cannot be read"
	}
	hint := "see /docs for what is expected"
	if _, most, ok := strings.Cut(strings.TrimSuffix(msg, " bytes"), "limit="); ok && status == http.StatusRequestEntityTooLarge {
		if n, err := strconv.Atoi(most); err == nil && n >= 1<<20 {
			most = strconv.Itoa(n>>20) + " Mi"
		}
		msg, hint = "the body of the request has more than "+most+"B", "send less at once: several requests, or a document that names what it need not say itself (a data source, an image)"
	}
	code := map[int]string{404: "not_found", 409: "conflict", 500: "internal"}[status]
	if code == "" {
		code = "invalid"
	}
	p := New(status, code, msg, hint)
	for _, err := range errs {
		var d *huma.ErrorDetail
		if errors.As(err, &d) {
			if len(p.Errors) == fieldsMost {
				break
			}
			if of, ok := choices(d); ok && len(errs) == 1 { // as what our own checks refuse
				value, _ := d.Value.(string)
				return OneOf(strings.TrimPrefix(d.Location, "body."), clip(value, valueMost), of...)
			}
			path, wrong := plain(d.Location, clip(d.Message, detailMost))
			p.Errors = append(p.Errors, api.FieldProblem{Path: path, Problem: wrong})
			if len(p.Detail) < detailMost {
				p.Detail += ": " + clip(path, valueMost) + " " + clip(wrong, valueMost)
			}
		}
	}
	p.Detail, p.Errors = clip(p.Detail, detailMost), clipped(p.Errors)
	return p
}

// Write answers with a problem.
func Write(w http.ResponseWriter, p *api.Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client may have gone
}

// OrNil is the problem of an error; nil: there is none.
func OrNil(log *slog.Logger, err error) error {
	if err == nil {
		return nil
	}
	return Of(log, err)
}

// Response describes every answer that is not what was asked for.
func Response(a huma.API) *huma.Response {
	return &huma.Response{Description: "Error", Content: map[string]*huma.MediaType{
		"application/problem+json": {Schema: a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[api.Problem](), true, "Problem")},
	}}
}
