package server

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine"
)

type projectOutput struct {
	Status int
	Body   api.Project
}

type projectsOutput struct{ Body api.ProjectList }

// projectRoutes serves projects and departments, which differ in what they are
// called and in that departments take no workloads.
func (s *Server) projectRoutes() {
	s.projectRoutesOf(engine.RecordProject, "/v1/projects")
	s.projectRoutesOf(engine.RecordDepartment, "/v1/departments")
}

func (s *Server) projectRoutesOf(what engine.Record, path string) {
	kind, tags := string(what), []string{string(what) + "s"}
	huma.Register(s.api, huma.Operation{
		OperationID: "list-" + kind + "s", Method: http.MethodGet, Path: path, Summary: "Every " + kind, Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*projectsOutput, error) { return s.listProjects(ctx, what) })
	huma.Register(s.api, huma.Operation{
		OperationID: kind, Method: http.MethodGet, Path: path + "/{name}", Summary: "One " + kind, Tags: tags,
	}, func(ctx context.Context, in *RecordName) (*projectOutput, error) {
		return s.oneProject(ctx, what, in.Name)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "create-" + kind, Method: http.MethodPost, Path: path, Summary: "Make a " + kind, Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct {
		DryRunning
		Body api.NewProject
	}) (*projectOutput, error) {
		return s.editProject(ctx, in.DryRun, http.StatusCreated, engine.Edit{What: what, Name: in.Body.Name, Must: engine.MustBeNew, Project: func(p *core.Project) error {
			return decide(in.Body.ProjectSpec, p)
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "replace-" + kind, Method: http.MethodPut, Path: path + "/{name}", Summary: "Decide everything about a " + kind + " anew, making it where it is not there", Tags: tags,
	}, func(ctx context.Context, in *struct {
		RecordName
		DryRunning
		Body api.ProjectSpec
	}) (*projectOutput, error) {
		return s.editProject(ctx, in.DryRun, http.StatusOK, engine.Edit{What: what, Name: in.Name, Project: func(p *core.Project) error {
			return decide(in.Body, p)
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "change-" + kind, Method: http.MethodPatch, Path: path + "/{name}", Summary: "Change some fields of a " + kind + ": a JSON merge patch, in which null takes a field away", Tags: tags,
	}, func(ctx context.Context, in *struct {
		RecordName
		DryRunning
		Body map[string]any `contentType:"application/merge-patch+json"`
	}) (*projectOutput, error) {
		return s.editProject(ctx, in.DryRun, http.StatusOK, engine.Edit{What: what, Name: in.Name, Must: engine.MustExist, Project: func(p *core.Project) error {
			return changed(projectSpec(*p), in.Body, func(n api.ProjectSpec) error { return decide(n, p) })
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "set-" + kind + "-rules", Method: http.MethodPut, Path: path + "/{name}/rules", Summary: "Replace what a " + kind + " demands of its workloads", Tags: tags,
	}, func(ctx context.Context, in *struct {
		RecordName
		Body api.ProjectRules
	}) (*projectOutput, error) {
		r, err := rulesOf(in.Body)
		if err != nil {
			return nil, problem(s.log, err)
		}
		return s.editProject(ctx, false, http.StatusOK, engine.Edit{What: what, Name: in.Name, Must: engine.MustExist, Project: func(p *core.Project) error {
			p.Rules = r
			return nil
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-" + kind, Method: http.MethodDelete, Path: path + "/{name}", Summary: "Delete a " + kind + " that nothing needs any more", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *RecordName) (*struct{}, error) {
		_, err := s.control.Do(ctx, engine.Organise([]engine.Edit{{What: what, Name: in.Name, Drop: true}}, false))
		return nil, s.refusal(err)
	})
	s.projectActions(what, path)
}

// RecordName is a path that names a record; exported for the framework.
type RecordName struct {
	Name string `path:"name"`
}

// DryRunning is the wish to change nothing; exported for the framework, which
// fills it where it is embedded.
type DryRunning struct {
	DryRun bool `query:"dry_run" doc:"Check and answer as if it were done"`
}

func (s *Server) projectActions(what engine.Record, path string) {
	huma.Register(s.api, huma.Operation{
		OperationID: "act-on-" + string(what), Method: http.MethodPost, Path: path + "/{target}", Hidden: true,
	}, func(ctx context.Context, in *struct {
		DryRunning
		Target string `path:"target"`
		Body   *api.ProjectOptions
	}) (*projectOutput, error) {
		name, verb, _ := strings.Cut(in.Target, ":")
		mode, note := core.StopNone, ""
		switch verb {
		case "stop":
			mode = core.StopHold
			if in.Body != nil {
				note = in.Body.Note
				if in.Body.Mode != "" {
					mode = core.StopMode(in.Body.Mode)
				}
			}
		case "suspend":
			mode = core.StopHoldAndDrain
			if in.Body != nil {
				note = in.Body.Note
			}
		case "start", "open", "resume":
		default:
			return nil, newProblem(http.StatusNotFound, "not_found", "there is no action "+strconv.Quote(verb), "POST …/NAME:stop, :suspend or :start")
		}
		return s.editProject(ctx, in.DryRun, http.StatusOK, engine.Edit{What: what, Name: name, Must: engine.MustExist, Project: func(p *core.Project) error {
			p.StopMode, p.Note = mode, note
			return nil
		}})
	})
}

func (s *Server) listProjects(ctx context.Context, what engine.Record) (*projectsOutput, error) {
	v, err := s.control.Do(ctx, engine.Cluster())
	if err != nil {
		return nil, problem(s.log, err)
	}
	all := v.(*engine.ClusterState).Projects
	tree := treeOf(all)
	out := &projectsOutput{Body: api.ProjectList{Items: []api.Project{}}}
	for _, p := range all {
		if p.Department == (what == engine.RecordDepartment) {
			out.Body.Items = append(out.Body.Items, project(p, tree))
		}
	}
	return out, nil
}

func (s *Server) oneProject(ctx context.Context, what engine.Record, name string) (*projectOutput, error) {
	list, err := s.listProjects(ctx, what)
	if err != nil {
		return nil, err
	}
	p, err := named(string(what), name, list.Body.Items, func(p api.Project) string { return p.Name })
	return &projectOutput{Status: http.StatusOK, Body: p}, err
}

// editProject makes one edit and answers with what it has come to.
func (s *Server) editProject(ctx context.Context, dry bool, status int, e engine.Edit) (*projectOutput, error) {
	v, err := s.control.Do(ctx, engine.Organise([]engine.Edit{e}, dry))
	if err != nil {
		return nil, problem(s.log, err)
	}
	done := v.([]engine.Edited)[0]
	p := *done.After.(*core.Project)
	c, err := s.control.Do(ctx, engine.Cluster())
	if err != nil {
		return nil, problem(s.log, err)
	}
	body := project(p, treeOf(append(c.(*engine.ClusterState).Projects, p))) // of a dry run it is not there
	body.Warnings = done.Warnings
	return &projectOutput{Status: status, Body: body}, nil
}

// refusal is the problem of an error; nil: there is none.
func (s *Server) refusal(err error) error {
	if err == nil {
		return nil
	}
	return problem(s.log, err)
}

// changed applies a merge patch to a record, which do then takes.
func changed[T any](was T, patch map[string]any, do func(T) error) error {
	m, err := record(was)
	if err != nil {
		return err
	}
	var n T
	if err := strictly(merged(m, patch), "", &n); err != nil {
		return err
	}
	return do(n)
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
	var fields spec.Errors
	if errors.As(err, &fields) {
		for i := range fields {
			fields[i].Line = 0 // of a document that nobody wrote
		}
		return nil, fieldProblems(fields)
	}
	if err != nil {
		return nil, err
	}
	return doc.Checks, nil
}
