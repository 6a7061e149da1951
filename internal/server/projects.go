package server

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

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
		OperationID: "set-project-rules", Method: http.MethodPut, Path: "/v1/projects/{name}/rules", Summary: "Replace what a project demands of its workloads", Tags: []string{"projects"},
	}, func(ctx context.Context, in *struct {
		Name string `path:"name"`
		Body api.ProjectRules
	}) (*projectOutput, error) {
		r, err := rulesOf(in.Body)
		if err != nil {
			return nil, problem(s.log, err)
		}
		return s.project(ctx, control.SetRules(core.ProjectID(in.Name), r), http.StatusOK)
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
			return s.project(ctx, control.SetProject(control.RecordProject, core.ProjectID(name), core.StopHold, o.Note), http.StatusOK)
		case "start":
			return s.project(ctx, control.SetProject(control.RecordProject, core.ProjectID(name), core.StopNone, ""), http.StatusOK)
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
	return &projectOutput{Status: status, Body: project(*v.([]control.Edited)[0].After.(*core.Project))}, nil
}

func project(p core.Project) api.Project {
	out := api.Project{Name: string(p.ID), Stopped: p.StopMode != core.StopNone, Note: p.Note, CreatedAt: at(p.CreatedAt)}
	out.TimeLimit, out.IdleLimit = lengths(p.TimeLimit), lengths(p.IdleLimit)
	out.BudgetHours = p.Budget / 3600
	if p.Period > 0 {
		out.BudgetPeriod = spec.Duration(p.Period).String()
	}
	if len(p.Checks) > 0 {
		out.Checks, _ = json.Marshal(p.Checks) // they were read from JSON
	}
	return out
}

func lengths(m map[lifecycle.Kind]time.Duration) map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, d := range m {
		out[string(k)] = spec.Duration(d).String()
	}
	return out
}

// rulesOf reads what a project is to demand.
func rulesOf(in api.ProjectRules) (core.Rules, error) {
	var r core.Rules
	var err error
	if r.TimeLimit, err = limits("timeLimit", in.TimeLimit); err != nil {
		return r, err
	}
	if r.IdleLimit, err = limits("idleLimit", in.IdleLimit); err != nil {
		return r, err
	}
	if len(in.Checks) > 0 {
		if r.Checks, err = checksOf(in.Checks); err != nil {
			return r, err
		}
	}
	r.Budget = in.BudgetHours * 3600
	if in.BudgetPeriod != "" {
		d, err := spec.ParseDuration(in.BudgetPeriod)
		if err != nil || d <= 0 {
			return r, badRequest("budgetPeriod", strconv.Quote(in.BudgetPeriod)+" is not a length of time", "like 24h or 30d")
		}
		r.Period = d.Std()
	}
	if r.Budget > 0 && r.Period == 0 {
		return r, badRequest("budgetPeriod", "is missing beside budgetGpuHours", "write the length of the period, like 30d")
	}
	return r, nil
}

func limits(field string, in map[string]string) (map[lifecycle.Kind]time.Duration, error) {
	if len(in) == 0 {
		return nil, nil
	}
	out := make(map[lifecycle.Kind]time.Duration, len(in))
	for _, k := range slices.Sorted(maps.Keys(in)) {
		if !slices.Contains(lifecycle.Kinds(), lifecycle.Kind(k)) {
			return nil, badRequest(field+"."+k, "is not a kind", "one of training, distributed, workspace, inference, external")
		}
		d, err := spec.ParseDuration(in[k])
		if err != nil || d <= 0 {
			return nil, badRequest(field+"."+k, strconv.Quote(in[k])+" is not a length of time", "like 30m or 12h")
		}
		out[lifecycle.Kind(k)] = d.Std()
	}
	return out, nil
}

// checksOf reads checks as a document has them, by its rules.
func checksOf(raw json.RawMessage) ([]spec.Check, error) {
	doc, err := spec.Load([]byte(`{"command":["true"],"checks":` + string(raw) + `}`))
	if err != nil {
		return nil, err
	}
	return doc.Checks, nil
}
