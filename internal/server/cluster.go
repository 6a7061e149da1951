package server

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

type clusterOutput struct{ Body api.Cluster }

func (s *Server) clusterRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "cluster", Method: http.MethodGet, Path: "/v1/cluster", Summary: "Nodes, devices and what is held of them", Tags: []string{"cluster"},
	}, func(ctx context.Context, _ *struct{}) (*clusterOutput, error) {
		v, err := s.control.Do(ctx, control.Cluster())
		if err != nil {
			return nil, problem(s.log, err)
		}
		st := v.(*control.ClusterState)
		out := &clusterOutput{Body: api.Cluster{Nodes: []api.Node{}, Projects: []api.Project{}, Running: st.Holding, Waiting: st.Waiting, At: api.Time(s.clock())}}
		for _, n := range st.Nodes {
			out.Body.Nodes = append(out.Body.Nodes, node(n))
		}
		for _, p := range st.Projects {
			out.Body.Projects = append(out.Body.Projects, project(p))
		}
		return out, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "lifecycle", Method: http.MethodGet, Path: "/v1/lifecycle", Summary: "The machine: phases and transitions", Tags: []string{"cluster"},
	}, func(context.Context, *struct{}) (*lifecycleOutput, error) { return machine(), nil })
}

func node(n control.NodeState) api.Node {
	out := api.Node{
		Name: string(n.ID), Plane: n.Plane, Pool: n.Pool, Labels: n.Labels, Ready: n.Ready, Message: n.Message, Cordoned: n.Cordon, Tasks: n.Tasks,
		CPU: api.Amount{Total: n.CPU, Used: n.UsedCPU}, Memory: api.Amount{Total: n.Memory, Used: n.UsedMemory}, Devices: []api.Device{},
	}
	for _, d := range n.Devices {
		used := n.Milli[d.ID]
		out.GPU.Total += 1000
		out.GPU.Used += int64(used)
		out.Devices = append(out.Devices, api.Device{ID: d.ID, Index: d.Index, Product: d.Product, Memory: d.Memory, Fake: d.Fake, Healthy: d.Healthy, Used: used})
	}
	return out
}

func project(p core.Project) api.Project {
	return api.Project{Name: string(p.ID), Stopped: p.Stopped, Note: p.Note, CreatedAt: at(p.CreatedAt)}
}

type lifecycleOutput struct{ Body api.Lifecycle }

func machine() *lifecycleOutput {
	out := &lifecycleOutput{Body: api.Lifecycle{Mermaid: lifecycle.Mermaid()}}
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

type projectOutput struct {
	Status int
	Body   api.Project
}

type projectsOutput struct{ Body api.ProjectList }

var projectForm = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,50}[a-z0-9])?$`)

func (s *Server) projectRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "list-projects", Method: http.MethodGet, Path: "/v1/projects", Summary: "Every project", Tags: []string{"projects"},
	}, func(ctx context.Context, _ *struct{}) (*projectsOutput, error) {
		v, err := s.control.Do(ctx, control.Cluster())
		if err != nil {
			return nil, problem(s.log, err)
		}
		out := &projectsOutput{Body: api.ProjectList{Items: []api.Project{}}}
		for _, p := range v.(*control.ClusterState).Projects {
			out.Body.Items = append(out.Body.Items, project(p))
		}
		return out, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "create-project", Method: http.MethodPost, Path: "/v1/projects", Summary: "Make a project", Tags: []string{"projects"}, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct{ Body api.NewProject }) (*projectOutput, error) {
		if !projectForm.MatchString(in.Body.Name) {
			return nil, badRequest("name", strconv.Quote(in.Body.Name)+" is not a name", "begin with a letter; lower-case letters, digits and '-', at most 52 characters")
		}
		return s.project(ctx, control.CreateProject(core.ProjectID(in.Body.Name)), http.StatusCreated)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "act-on-project", Method: http.MethodPost, Path: "/v1/projects/{target}", Hidden: true,
	}, func(ctx context.Context, in *struct {
		Target string `path:"target"`
		Body   *api.ProjectOptions
	}) (*projectOutput, error) {
		name, verb, _ := strings.Cut(in.Target, ":")
		var o api.ProjectOptions
		if in.Body != nil {
			o = *in.Body
		}
		switch verb {
		case "stop":
			return s.project(ctx, control.SetProject(core.ProjectID(name), true, o.Note), http.StatusOK)
		case "start":
			return s.project(ctx, control.SetProject(core.ProjectID(name), false, ""), http.StatusOK)
		default:
			return nil, newProblem(http.StatusNotFound, "not_found", "there is no action "+strconv.Quote(verb), "POST …/NAME:stop or …/NAME:start")
		}
	})
}

func (s *Server) project(ctx context.Context, c control.Command, status int) (*projectOutput, error) {
	v, err := s.control.Do(ctx, c)
	if err != nil {
		return nil, problem(s.log, err)
	}
	return &projectOutput{Status: status, Body: project(v.(core.Project))}, nil
}
