package workloads

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/wire"
)

type rowsOutput struct{ Body api.RowList }

func (s *routes) rowRoute() {
	huma.Register(s.api, huma.Operation{
		OperationID: "list-rows", Method: http.MethodGet, Path: "/v1/projects/{project}/rows",
		Summary: "List workloads as rows, newest first: a tenth of what each has", Tags: []string{"workloads"},
	}, func(ctx context.Context, in *rowsInput) (*rowsOutput, error) {
		now, err := s.Store.Counters(ctx) // before the page is read
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		var page []*core.Workload
		var next string
		if in.Explained {
			page, err = s.explained(ctx)
		} else {
			page, next, err = s.page(ctx, &in.ListInput)
		}
		if err != nil {
			return nil, err
		}
		out := &rowsOutput{Body: api.RowList{Items: make([]api.Row, len(page)), Next: next, Revision: int64(now.Revision)}}
		for i, w := range page {
			p := wire.Parts{Workload: w}
			if p.Tasks, err = s.RowTasks(ctx, w); err != nil {
				return nil, problem.Of(s.Log, err)
			}
			if wire.Leaves(w) {
				if p.Transitions, err = s.Store.Transitions(ctx, w.ID, 0, 0); err != nil {
					return nil, problem.Of(s.Log, err)
				}
			}
			out.Body.Items[i] = wire.Row(p)
		}
		return out, nil
	})
}

type rowsInput struct {
	ListInput
	// Explained is for a page that has the newest of very many.
	Explained bool `query:"explained" doc:"Instead of the newest: those of which an overview says why they wait"`
}

// explained are the workloads that the present overview explains.
func (s *routes) explained(ctx context.Context) ([]*core.Workload, error) {
	all, err := s.WaitingNow(ctx)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	out := all[:0]
	for _, w := range all {
		if access.Sees(ctx, w) {
			out = append(out, w)
		}
	}
	return out, nil
}
