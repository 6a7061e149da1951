// Package organisation serves the records of a place: projects, departments, pools,
// licenses, reservations, nodes and clusters, and changes of many of them at once.
package organisation

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
)

// routes serve records.
type routes struct {
	*reader.Reader
	api huma.API
}

// Register adds the routes of records to an API.
func Register(r *reader.Reader, a huma.API) {
	s := &routes{r, a}
	s.clusterRoutes()
	s.projectRoutes()
	s.poolRoutes()
	s.licenseRoutes()
	s.userLimitRoutes()
	s.policyRoutes()
	budgetRoutes(r, a)
	s.reservationRoutes()
	s.nodeRoutes()
	s.routes()
	s.previewRoute()
}

// drop deletes a record of one sort by its name.
func (s *routes) drop(what organisation.Record) func(context.Context, *request.RecordName) (*struct{}, error) {
	return func(ctx context.Context, in *request.RecordName) (*struct{}, error) {
		err := s.Control.Apply(ctx, organisation.Organise([]organisation.Edit{{What: what, Name: in.Name, Drop: true}}, false))
		return nil, problem.OrNil(s.Log, err)
	}
}

type projectOutput struct {
	Status int
	Body   api.Project
}

type projectsOutput struct{ Body api.ProjectList }

// projectRoutes serves projects and departments, which differ in what they are
// called and in that departments take no workloads.
func (s *routes) projectRoutes() {
	s.projectRoutesOf(organisation.RecordProject, "/v1/projects")
	s.projectRoutesOf(organisation.RecordDepartment, "/v1/departments")
}

func (s *routes) projectRoutesOf(what organisation.Record, path string) {
	kind, tags := string(what), []string{string(what) + "s"}
	huma.Register(s.api, huma.Operation{
		OperationID: "list-" + kind + "s", Method: http.MethodGet, Path: path, Summary: "Every " + kind, Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*projectsOutput, error) { return s.listProjects(ctx, what) })
	huma.Register(s.api, huma.Operation{
		OperationID: kind, Method: http.MethodGet, Path: path + "/{name}", Summary: "One " + kind, Tags: tags,
	}, func(ctx context.Context, in *request.RecordName) (*projectOutput, error) {
		return s.oneProject(ctx, what, in.Name)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "create-" + kind, Method: http.MethodPost, Path: path, Summary: "Make a " + kind, Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct {
		request.DryRunning
		Body api.NewProject
	}) (*projectOutput, error) {
		return s.editProject(ctx, in.DryRun, http.StatusCreated, organisation.Edit{What: what, Name: in.Body.Name, Must: organisation.MustBeNew, Project: func(p *core.Project) error {
			return wire.DecideProject(in.Body.ProjectSpec, p)
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "replace-" + kind, Method: http.MethodPut, Path: path + "/{name}", Summary: "Decide everything about a " + kind + " anew, making it where it is not there", Tags: tags,
	}, func(ctx context.Context, in *struct {
		request.RecordName
		request.DryRunning
		Body api.ProjectSpec
	}) (*projectOutput, error) {
		return s.editProject(ctx, in.DryRun, http.StatusOK, organisation.Edit{What: what, Name: in.Name, Project: func(p *core.Project) error {
			return wire.DecideProject(in.Body, p)
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "change-" + kind, Method: http.MethodPatch, Path: path + "/{name}", Summary: "Change some fields of a " + kind + ": a JSON merge patch, in which null takes a field away", Tags: tags,
	}, func(ctx context.Context, in *struct {
		request.RecordName
		request.DryRunning
		Body map[string]any `contentType:"application/merge-patch+json"`
	}) (*projectOutput, error) {
		return s.editProject(ctx, in.DryRun, http.StatusOK, organisation.Edit{What: what, Name: in.Name, Must: organisation.MustExist, Project: func(p *core.Project) error {
			return request.Patch(wire.ProjectSpec(*p), in.Body, func(n api.ProjectSpec) error { return wire.DecideProject(n, p) })
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "set-" + kind + "-rules", Method: http.MethodPut, Path: path + "/{name}/rules", Summary: "Replace what a " + kind + " demands of its workloads", Tags: tags,
	}, func(ctx context.Context, in *struct {
		request.RecordName
		Body api.ProjectRules
	}) (*projectOutput, error) {
		r, err := wire.RulesOf(in.Body)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return s.editProject(ctx, false, http.StatusOK, organisation.Edit{What: what, Name: in.Name, Must: organisation.MustExist, Project: func(p *core.Project) error {
			p.Rules = r
			return nil
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-" + kind, Method: http.MethodDelete, Path: path + "/{name}", Summary: "Delete a " + kind + " that nothing needs any more", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, s.drop(what))
	s.projectActions(what, path)
}

func (s *routes) projectActions(what organisation.Record, path string) {
	huma.Register(s.api, huma.Operation{
		OperationID: "act-on-" + string(what), Method: http.MethodPost, Path: path + "/{target}", Hidden: true,
	}, func(ctx context.Context, in *struct {
		request.DryRunning
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
			return nil, problem.New(http.StatusNotFound, "not_found", "there is no action "+strconv.Quote(verb), "POST …/NAME:stop, :suspend or :start")
		}
		return s.editProject(ctx, in.DryRun, http.StatusOK, organisation.Edit{What: what, Name: name, Must: organisation.MustExist, Project: func(p *core.Project) error {
			p.StopMode, p.Note = mode, note
			return nil
		}})
	})
}

func (s *routes) listProjects(ctx context.Context, what organisation.Record) (*projectsOutput, error) {
	st, err := control.Do(ctx, s.Control, report.Cluster())
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	all := st.Projects
	tree := org.TreeOf(all)
	out := &projectsOutput{Body: api.ProjectList{Items: []api.Project{}}}
	for _, p := range all {
		if p.Department == (what == organisation.RecordDepartment) && reader.ReadsRecord(ctx, string(p.ID), p.Department) {
			out.Body.Items = append(out.Body.Items, wire.Project(p, tree))
		}
	}
	return out, nil
}

func (s *routes) oneProject(ctx context.Context, what organisation.Record, name string) (*projectOutput, error) {
	list, err := s.listProjects(ctx, what)
	if err != nil {
		return nil, err
	}
	p, err := request.Find(string(what), name, list.Body.Items, func(p api.Project) string { return p.Name })
	return &projectOutput{Status: http.StatusOK, Body: p}, err
}

// editProject makes one edit and answers with what it has come to.
func (s *routes) editProject(ctx context.Context, dry bool, status int, e organisation.Edit) (*projectOutput, error) {
	if err := s.mayEdit(ctx, []organisation.Edit{e}); err != nil {
		return nil, problem.Of(s.Log, err)
	}
	edited, err := control.Do(ctx, s.Control, organisation.Organise([]organisation.Edit{e}, dry))
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	done := edited[0]
	p := *done.After.Project
	st, err := control.Do(ctx, s.Control, report.Cluster())
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	body := wire.Project(p, org.TreeOf(append(st.Projects, p))) // of a dry run it is not there
	body.Warnings = done.Warnings
	return &projectOutput{Status: status, Body: body}, nil
}
