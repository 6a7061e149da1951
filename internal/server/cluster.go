package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/engine"
)

type clusterInfoOutput struct{ Body api.ClusterInfo }

type clustersOutput struct{ Body api.ClusterList }

func (s *Server) clusterRoutes() {
	tags := []string{"clusters"}
	huma.Register(s.api, huma.Operation{
		OperationID: "list-clusters", Method: http.MethodGet, Path: "/v1/clusters", Summary: "Every cluster: what it is, whether it answers, what is free", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*clustersOutput, error) {
		all, err := s.clusters(ctx)
		return &clustersOutput{Body: api.ClusterList{Items: all}}, s.refusal(err)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "one-cluster", Method: http.MethodGet, Path: "/v1/clusters/{name}", Summary: "One cluster", Tags: tags,
	}, func(ctx context.Context, in *RecordName) (*clusterInfoOutput, error) {
		all, err := s.clusters(ctx)
		if err != nil {
			return nil, problem(s.log, err)
		}
		c, err := named("cluster", in.Name, all, func(c api.ClusterInfo) string { return c.Name })
		return &clusterInfoOutput{Body: c}, err
	})
}

func (s *Server) clusters(ctx context.Context) ([]api.ClusterInfo, error) {
	v, err := s.control.Do(ctx, engine.Clusters())
	if err != nil {
		return nil, err
	}
	what := map[string]backend.Description{}
	for _, p := range s.control.Backends() {
		if d, ok := p.(backend.Describer); ok {
			what[p.Name()] = d.Describe()
		}
	}
	out := []api.ClusterInfo{}
	for _, c := range v.([]engine.ClusterInfo) {
		d := what[c.Name]
		info := api.ClusterInfo{
			Name: c.Name, Kind: d.Kind, Version: d.Version, Server: d.Server, Reachable: c.Silence == nil,
			Nodes: api.NodeCounts{Total: c.Nodes, Ready: c.Ready}, GPU: api.GPUCounts{Total: c.GPUs, Free: c.FreeGPUs},
			Workloads: c.Workloads, Tasks: c.Tasks,
		}
		if c.Silence != nil {
			info.Since, info.Message = at(c.Silence.Since), c.Silence.Message
		}
		out = append(out, info)
	}
	return out, nil
}
