package logs

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/request"
)

const (
	rememberedErrors = 4096            // of attempts, the latest that were asked for
	readAtOnce       = 4               // workloads whose outputs are searched at a time, for all lists
	listPatience     = 2 * time.Second // how long a list waits for outputs that are still searched
)

// errorKey is what a first error is of. What has ended in an attempt stays as it
// is; what goes on may tell more with each revision.
type errorKey struct {
	id      core.WorkloadID
	attempt int
	rev     uint64
}

// search is the search of the outputs of an attempt; found is there once done is closed.
type search struct {
	done  chan struct{}
	found *api.WorkloadError
}

// searches remember what lists were told: a list asks for the same again and again.
type searches struct {
	mu    sync.Mutex
	of    map[errorKey]*search
	order []errorKey
	slots chan struct{}
}

func newSearches() *searches {
	return &searches{of: map[errorKey]*search{}, slots: make(chan struct{}, readAtOnce)}
}

// begin returns the search of a key, which find does if nobody has begun it.
func (s *searches) begin(k errorKey, find func() *api.WorkloadError) *search {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have, ok := s.of[k]; ok {
		return have
	}
	if len(s.order) >= rememberedErrors {
		delete(s.of, s.order[0])
		s.order = s.order[1:]
	}
	n := &search{done: make(chan struct{})}
	s.of[k], s.order = n, append(s.order, k)
	go func() {
		defer close(n.done)
		s.slots <- struct{}{}
		defer func() { <-s.slots }()
		n.found = find()
	}()
	return n
}

// firstErrorsRoute tells lists what the page of each workload tells at length.
func (s *routes) firstErrorsRoute() {
	huma.Register(s.api, huma.Operation{
		OperationID: "first-errors", Method: http.MethodGet, Path: "/v1/first-errors", Tags: []string{"workloads"},
		Summary: "The first error of each of some workloads, in a line: of those in whose output one that is known stands",
	}, func(ctx context.Context, in *struct {
		Workload []string `query:"workload" required:"true" maxItems:"200" doc:"Ids"`
	}) (*struct{ Body api.WorkloadErrorList }, error) {
		out := &struct{ Body api.WorkloadErrorList }{api.WorkloadErrorList{Items: []api.WorkloadError{}}}
		var begun []*search
		for _, id := range in.Workload {
			w, err := s.Find(ctx, request.AllProjects, id)
			if err != nil {
				if problem.Of(s.Log, err).Status == http.StatusNotFound {
					continue // deleted meanwhile
				}
				return nil, problem.Of(s.Log, err)
			}
			if w.Phase == lifecycle.Deleted || w.Phase == lifecycle.Completed {
				continue
			}
			k := errorKey{id: w.ID, attempt: reader.LatestBegun(w)}
			if !w.Phase.End() {
				k.rev = uint64(w.Rev)
			}
			begun = append(begun, s.searches.begin(k, func() *api.WorkloadError { return s.errorInALine(context.WithoutCancel(ctx), w, k.attempt) }))
		}
		timer := time.NewTimer(listPatience)
		defer timer.Stop()
		for _, b := range begun {
			select {
			case <-b.done:
			default:
				select {
				case <-b.done:
				case <-timer.C:
					timer.Reset(0) // for the others too
					out.Body.Searched++
					continue
				case <-ctx.Done():
					return nil, problem.Of(s.Log, ctx.Err())
				}
			}
			if b.found != nil {
				out.Body.Items = append(out.Body.Items, *b.found)
			}
		}
		return out, nil
	})
}

// errorInALine is the first error of an attempt as a list has it; nil: no output
// tells more than how it ended.
func (s *routes) errorInALine(ctx context.Context, w *core.Workload, attempt int) *api.WorkloadError {
	tasks, err := s.suspects(ctx, w, attempt)
	if err != nil {
		return nil
	}
	e, _ := s.knownError(ctx, w.Attempts[attempt], bySuspicion(w.Attempts[attempt], tasks))
	if e == nil {
		return nil
	}
	return &api.WorkloadError{ID: string(w.ID), Attempt: attempt, Kind: e.Kind, Title: e.Title}
}
