package organisation

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
)

type clusterInfoOutput struct{ Body api.ClusterInfo }

type clustersOutput struct{ Body api.ClusterList }

func (s *routes) clusterRoutes() {
	tags := []string{"clusters"}
	huma.Register(s.api, huma.Operation{
		OperationID: "list-clusters", Method: http.MethodGet, Path: "/v1/clusters", Summary: "Every cluster: what it is, whether it answers, what is free", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*clustersOutput, error) {
		all, err := s.clusters(ctx)
		return &clustersOutput{Body: api.ClusterList{Items: all}}, problem.OrNil(s.Log, err)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "one-cluster", Method: http.MethodGet, Path: "/v1/clusters/{name}", Summary: "One cluster", Tags: tags,
	}, func(ctx context.Context, in *request.RecordName) (*clusterInfoOutput, error) {
		all, err := s.clusters(ctx)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		c, err := request.Find("cluster", in.Name, all, func(c api.ClusterInfo) string { return c.Name })
		return &clusterInfoOutput{Body: c}, err
	})
}

func (s *routes) clusters(ctx context.Context) ([]api.ClusterInfo, error) {
	all, err := control.Do(ctx, s.Control, report.Clusters())
	if err != nil {
		return nil, err
	}
	what := map[string]backend.Description{}
	for _, p := range s.Control.Backends() {
		if d, ok := p.(backend.Describer); ok {
			what[p.Name()] = d.Describe()
		}
	}
	out := []api.ClusterInfo{}
	for _, c := range all {
		d := what[c.Name]
		info := api.ClusterInfo{
			Name: c.Name, Kind: d.Kind, Version: d.Version, Server: d.Server, Reachable: c.Silence == nil,
			Nodes: api.NodeCounts{Total: c.Nodes, Ready: c.Ready}, GPU: api.GPUCounts{Total: c.GPUs, Free: c.FreeGPUs},
			Workloads: c.Workloads, Tasks: c.Tasks,
		}
		if c.Silence != nil {
			info.Since, info.Message = wire.At(c.Silence.Since), c.Silence.Message
		}
		out = append(out, info)
	}
	return out, nil
}
