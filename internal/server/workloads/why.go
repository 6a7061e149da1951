package workloads

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
)

type whyOutput struct{ Body api.Why }

func (s *routes) whyRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "why", Method: http.MethodGet, Path: "/v1/projects/{project}/workloads/{name}/why",
		Summary: "Why a workload does not run, when it is expected to, and what could be changed", Tags: []string{"workloads"},
	}, func(ctx context.Context, in *request.Named) (*whyOutput, error) {
		w, err := s.Find(ctx, in.Project, in.Name)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		y, err := s.Control.Why(ctx, draft.Ref{ID: w.ID})
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out := &whyOutput{wire.Why(y)}
		s.HideForecast(ctx, &out.Body.Forecast)
		return out, nil
	})
}
