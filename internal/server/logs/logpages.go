package logs

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/request"
)

// ChosenLogs is which outputs are meant; exported for the framework.
type ChosenLogs struct {
	request.Named
	Attempt int    `query:"attempt" default:"-1" doc:"Number of the attempt; -1: the latest that has begun"`
	Tasks   string `query:"tasks" default:"all" maxLength:"4000" doc:"Indexes, such as 0,2-3; or all: the first 256 that have begun"`
}

type pagesInput struct {
	ChosenLogs
	Before string    `query:"before" maxLength:"16000" doc:"before of another page: what comes before it"`
	After  string    `query:"after" maxLength:"16000" doc:"after of another page: what comes after it"`
	At     time.Time `query:"at" doc:"Begin with what was written at that time"`
	Follow bool      `query:"follow" doc:"Go on: a page in a line whenever there is something new"`
	Limit  int       `query:"limit" minimum:"1" maximum:"5000" default:"1000"`
}

func (s *routes) logPageRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "log-pages", Method: http.MethodGet, Path: "/v1/projects/{project}/workloads/{name}/logs/merged", Tags: []string{"workloads"},
		Summary:     "Output of several tasks in the order in which it was written, page by page",
		Description: "A LogPage. Without before, after and at it is the last one. With follow there is one LogPage to a line, until all tasks have ended.",
	}, s.logPages)
	s.searchRoute()
}

func (s *routes) logPages(ctx context.Context, in *pagesInput) (*huma.StreamResponse, error) {
	w, err := s.Find(ctx, in.Project, in.Name)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	attempt, err := reader.AttemptFor(w, in.Attempt)
	if err != nil {
		return nil, err
	}
	ranks, left, err := s.picked(ctx, w, attempt, in.Tasks)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	if in.Follow {
		return s.followPages(w, attempt, in, ranks)
	}
	page, err := s.logPage(ctx, in, ranks)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	page.Left = left
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		_, rw := humago.Unwrap(hc)
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(page) // who asked may have gone
	}}, nil
}

// logPage reads the page that is asked for.
func (s *routes) logPage(ctx context.Context, in *pagesInput, ranks []*rank) (api.LogPage, error) {
	var err error
	switch {
	case in.Before != "":
		if err = place(ranks, "before", in.Before); err != nil {
			return api.LogPage{}, err
		}
		return s.backward(ctx, ranks, in.Limit)
	case in.After != "":
		if err = place(ranks, "after", in.After); err != nil {
			return api.LogPage{}, err
		}
		return s.forward(ctx, ranks, in.Limit)
	case !in.At.IsZero():
		ranks, err = each(ranks, func(r *rank) error { return s.where(ctx, r, backend.LogOptions{Tail: -1, Since: in.At}) })
		if err != nil {
			return api.LogPage{}, err
		}
		return s.forward(ctx, ranks, in.Limit)
	}
	ranks, err = each(ranks, func(r *rank) error { return s.end(ctx, r) })
	if err == nil && len(ranks) == 0 {
		err = backend.ErrNoLogs
	}
	if err != nil {
		return api.LogPage{}, err
	}
	return s.backward(ctx, ranks, in.Limit)
}

// followPages sends a page whenever there is something new.
func (s *routes) followPages(w *core.Workload, attempt int, in *pagesInput, ranks []*rank) (*huma.StreamResponse, error) {
	if in.After == "" {
		return nil, problem.BadRequest("follow", "true needs after", "read a page first, and follow from its after")
	}
	if err := place(ranks, "after", in.After); err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		r, rw := humago.Unwrap(hc)
		rw.Header().Set("Content-Type", "application/x-ndjson")
		rw.Header().Set("X-Accel-Buffering", "no")
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		go func() { // a follower must not hold up a shutdown
			select {
			case <-s.closing:
				cancel()
			case <-ctx.Done():
			}
		}()
		f := &following{s: s, w: w.ID, attempt: attempt, tasks: in.Tasks, rw: rw, flush: http.NewResponseController(rw), lines: make(chan followed, 1024), known: map[core.TaskID]*rank{}}
		if err := f.run(ctx, ranks); err != nil && ctx.Err() == nil {
			s.Log.Debug("following logs ended", "err", err)
		}
	}}, nil
}
