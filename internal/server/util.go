package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/wire"
)

type clusterOutput struct{ Body api.Cluster }

func (s *Server) utilRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "cluster", Method: http.MethodGet, Path: "/v1/cluster", Summary: "Nodes, devices and what is held of them", Tags: []string{"cluster"},
	}, func(ctx context.Context, _ *struct{}) (*clusterOutput, error) {
		st, err := control.Do(ctx, s.Control, report.Cluster())
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out := &clusterOutput{Body: wire.Cluster(st, s.Clock())}
		out.Body.Projects = s.ReadableProjects(ctx, out.Body.Projects)
		return out, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "lifecycle", Method: http.MethodGet, Path: "/v1/lifecycle", Summary: "The machine: phases and transitions", Tags: []string{"cluster"},
	}, func(_ context.Context, in *struct {
		Dialect string `query:"dialect" doc:"Also the vocabulary of this platform, and how each word is reached; with the diagrams of its own machine"`
	}) (*wire.LifecycleOutput, error) {
		d, err := wire.Dialect(in.Dialect)
		if err != nil {
			return nil, err
		}
		return wire.Machine(d), nil
	})
}
