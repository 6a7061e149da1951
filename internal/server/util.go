package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine"
)

type clusterOutput struct{ Body api.Cluster }

func (s *Server) utilRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "cluster", Method: http.MethodGet, Path: "/v1/cluster", Summary: "Nodes, devices and what is held of them", Tags: []string{"cluster"},
	}, func(ctx context.Context, _ *struct{}) (*clusterOutput, error) {
		v, err := s.control.Do(ctx, engine.Cluster())
		if err != nil {
			return nil, problem(s.log, err)
		}
		return &clusterOutput{Body: s.cluster(v.(*engine.ClusterState))}, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "lifecycle", Method: http.MethodGet, Path: "/v1/lifecycle", Summary: "The machine: phases and transitions", Tags: []string{"cluster"},
	}, func(_ context.Context, in *struct {
		Dialect string `query:"dialect" doc:"Also the vocabulary of this platform, and how each word is reached; with the diagrams of its own machine"`
	}) (*lifecycleOutput, error) {
		d, err := dialect(in.Dialect)
		if err != nil {
			return nil, err
		}
		return machine(d), nil
	})
}

func (s *Server) cluster(st *engine.ClusterState) api.Cluster {
	out := api.Cluster{Nodes: []api.Node{}, Pools: poolsOf(st), Projects: []api.Project{}, Running: st.Holding, Waiting: st.Waiting, At: api.Time(s.clock())}
	for _, n := range st.Nodes {
		out.Nodes = append(out.Nodes, node(n))
	}
	tree := treeOf(st.Projects)
	for _, p := range st.Projects {
		out.Projects = append(out.Projects, project(p, tree))
	}
	return out
}

// dialect is the dialect of a name; none, and native, is empty.
func dialect(name string) (lifecycle.Dialect, error) {
	if name == "" || name == "native" {
		return "", nil
	}
	names := []string{"native"}
	for _, d := range lifecycle.Dialects() {
		if string(d) == name {
			return d, nil
		}
		names = append(names, string(d))
	}
	return "", badRequest("dialect", strconv.Quote(name)+" is not known", "one of "+strings.Join(names, ", "))
}

type lifecycleOutput struct{ Body api.Lifecycle }

func machine(d lifecycle.Dialect) *lifecycleOutput {
	out := &lifecycleOutput{Body: api.Lifecycle{Mermaid: lifecycle.Diagram(d).Mermaid(), DOT: lifecycle.Diagram(d).DOT()}}
	if d != "" {
		out.Body.Words = vocabulary(d)
	}
	for _, p := range lifecycle.Phases() {
		out.Body.Phases = append(out.Body.Phases, api.Phase{Name: string(p.Phase), Quota: p.Quota, Held: p.Held, End: p.End, Meaning: p.Meaning})
	}
	for _, r := range lifecycle.Rules() {
		rule := api.Rule{Event: string(r.On), To: string(r.To), When: string(r.When), From: []string{}}
		for _, f := range r.From {
			rule.From = append(rule.From, string(f))
		}
		for _, t := range r.Targets {
			rule.Targets = append(rule.Targets, string(t))
		}
		out.Body.Rules = append(out.Body.Rules, rule)
	}
	return out
}

func vocabulary(d lifecycle.Dialect) []api.Word {
	var out []api.Word
	for _, w := range lifecycle.Words(d) {
		word := api.Word{Status: w.Status, Code: w.Code, Color: w.Color, End: w.End, Resources: w.Resources, Phases: []string{}, How: lifecycle.Said(d, w.Status)}
		for _, p := range lifecycle.Hear(d, w.Status) {
			word.Phases = append(word.Phases, string(p))
		}
		out = append(out, word)
	}
	return out
}
