package workloads

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/engine/asset"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
)

type templateOutput struct {
	Status int
	Body   api.Template
}

// TemplateName is a path that names a template; exported for the framework.
type TemplateName struct {
	Project string `path:"project" doc:"Project or department; '-': the system"`
	Name    string `path:"name"`
}

func (s *routes) templateRoutes() {
	for _, kind := range spec.AssetKinds() {
		s.templateRoutesOf(core.TemplateKind(kind))
	}
	huma.Register(s.api, huma.Operation{
		OperationID: "list-assets", Method: http.MethodGet, Path: "/v1/projects/{project}/assets", Summary: "Every asset that a project can use, of all kinds", Tags: []string{"assets"},
	}, func(ctx context.Context, in *struct {
		Project string `path:"project" doc:"'-': all"`
	}) (*struct{ Body api.TemplateList }, error) {
		return s.listTemplates(ctx, "", in.Project)
	})
}

func (s *routes) templateRoutesOf(kind core.TemplateKind) {
	id, word, tags := string(kind), spec.AssetWord(string(kind)), []string{"assets"}
	path := "/v1/projects/{project}/" + id + "s"
	huma.Register(s.api, huma.Operation{
		OperationID: "list-" + id + "s", Method: http.MethodGet, Path: path, Summary: "Every " + word + " that a project can use: its own, those of the departments above it, and those of the system", Tags: tags,
	}, func(ctx context.Context, in *struct {
		Project string `path:"project" doc:"'-': all"`
	}) (*struct{ Body api.TemplateList }, error) {
		return s.listTemplates(ctx, kind, in.Project)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: id, Method: http.MethodGet, Path: path + "/{name}", Summary: "One " + word + ", of the project or of the nearest department above it that has one", Tags: tags,
	}, func(ctx context.Context, in *struct {
		TemplateName
		Version int `query:"version" minimum:"0" doc:"Of the document; 0: the present one"`
	}) (*templateOutput, error) {
		t, v, err := s.findTemplate(ctx, kind, in.Project, in.Name, in.Version)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return s.oneTemplate(t, v, http.StatusOK)
	})
	// anyones refuses who may change neither anybody's asset nor this one, which is theirs
	// where they made it or are among its editors.
	anyones := func(ctx context.Context, verb, project, name string) (bool, error) {
		if !access.Enforced(ctx) || access.Allowed(ctx, verb, rbac.AssetNoun(kind), core.ProjectID(project), "") {
			return access.Enforced(ctx), nil
		}
		t, err := control.Do(ctx, s.Control, asset.Exactly(core.TemplateID{Project: core.ProjectID(project), Kind: kind, Name: name}))
		if err != nil || t.Edits(access.User(ctx)) {
			return false, err
		}
		return false, access.May(ctx, verb, rbac.AssetNoun(kind), core.ProjectID(project), t.User)
	}
	edit := func(ctx context.Context, project string, n api.NewTemplate, must organisation.Existence, status int) (*templateOutput, error) {
		any := false
		if must == organisation.MustExist {
			var err error
			if any, err = anyones(ctx, rbac.Update, project, n.Name); err != nil {
				return nil, problem.Of(s.Log, err)
			}
		}
		e := organisation.TemplateEdit{Must: must, Template: core.Template{
			Project: core.ProjectID(project), Kind: kind, Name: n.Name, Description: n.Description, Environment: n.Environment, SharedWith: projectIDs(n.SharedWith), Editors: n.Editors, User: access.User(ctx),
		}, Anyones: any}
		data, err := json.Marshal(n.Document)
		if err == nil {
			e.Document, err = spec.Parse(data)
		}
		if err != nil {
			return nil, problem.Of(s.Log, below("document", err))
		}
		t, err := control.Do(ctx, s.Control, organisation.EditTemplate(e))
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return s.oneTemplate(&t, t.Last(), status)
	}
	huma.Register(s.api, huma.Operation{
		OperationID: "create-" + id, Method: http.MethodPost, Path: path, Summary: "Make a " + word + ", of a project or department, or of the system with -", Tags: tags, DefaultStatus: http.StatusCreated, MaxBodyBytes: request.BodyMax + 1,
	}, func(ctx context.Context, in *struct {
		Project string `path:"project"`
		Body    api.NewTemplate
	}) (*templateOutput, error) {
		return edit(ctx, in.Project, in.Body, organisation.MustBeNew, http.StatusCreated)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "replace-" + id, Method: http.MethodPut, Path: path + "/{name}", Summary: "Give a " + word + " another description and document; another document is another version", Tags: tags, MaxBodyBytes: request.BodyMax + 1,
	}, func(ctx context.Context, in *struct {
		TemplateName
		Body api.NewTemplate
	}) (*templateOutput, error) {
		if in.Body.Name != in.Name {
			return nil, problem.BadValue("name", in.Body.Name, "is not that of the path, "+strconv.Quote(in.Name), "make them the same; a "+word+" keeps its name")
		}
		return edit(ctx, in.Project, in.Body, organisation.MustExist, http.StatusOK)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-" + id, Method: http.MethodDelete, Path: path + "/{name}", Summary: "Forget a " + word + "; workloads that were made of it stay", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *TemplateName) (*struct{}, error) {
		id := core.TemplateID{Project: core.ProjectID(in.Project), Kind: kind, Name: in.Name}
		any, err := anyones(ctx, rbac.Delete, in.Project, in.Name)
		if err == nil {
			err = s.Control.Apply(ctx, organisation.DeleteTemplate(id, access.User(ctx), any))
		}
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return nil, nil
	})
}

// below puts the errors of a document below a field.
func below(field string, err error) error {
	var errs codec.Errors
	if !errors.As(err, &errs) {
		return err
	}
	errs = slices.Clone(errs)
	for i := range errs {
		errs[i].Path, errs[i].Line = strings.TrimSuffix(field+"."+errs[i].Path, "."), 0
	}
	return errs
}

// readsAsset reports whether who asks may read an asset as a project uses it.
func readsAsset(ctx context.Context, t *core.Template, project core.ProjectID) bool {
	return access.Allowed(ctx, rbac.Read, rbac.AssetNoun(t.Kind), project, t.User)
}

func (s *routes) listTemplates(ctx context.Context, kind core.TemplateKind, project string) (*struct{ Body api.TemplateList }, error) {
	of := core.ProjectID(project)
	if project == request.AllProjects {
		of = ""
	}
	all, err := control.Do(ctx, s.Control, organisation.Templates(kind, of))
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	if project == request.AllProjects {
		all = slices.DeleteFunc(all, func(t core.Template) bool { return t.Project != core.SystemScope && !readsAsset(ctx, &t, t.Project) })
	} else {
		all = slices.DeleteFunc(all, func(t core.Template) bool { return !readsAsset(ctx, &t, of) })
	}
	out := &struct{ Body api.TemplateList }{api.TemplateList{Items: make([]api.Template, len(all))}}
	for i := range all {
		if out.Body.Items[i], err = wire.Template(&all[i], all[i].Last()); err != nil {
			return nil, problem.Of(s.Log, err)
		}
	}
	return out, nil
}

// findTemplate is the asset of that name that a project uses.
func (s *routes) findTemplate(ctx context.Context, kind core.TemplateKind, project, name string, version int) (*core.Template, core.TemplateVersion, error) {
	t, err := control.Do(ctx, s.Control, asset.Find(core.TemplateID{Project: core.ProjectID(project), Kind: kind, Name: name}))
	if err == nil && project == request.AllProjects && t.Project != core.SystemScope {
		err = access.May(ctx, rbac.Read, rbac.AssetNoun(kind), t.Project, t.User)
	}
	if err != nil {
		return nil, core.TemplateVersion{}, err
	}
	v, err := asset.VersionOf(&t, version)
	return &t, v, err
}

func (s *routes) oneTemplate(t *core.Template, v core.TemplateVersion, status int) (*templateOutput, error) {
	shown, err := wire.Template(t, v)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	return &templateOutput{Status: status, Body: shown}, nil
}

// assetResolver finds the assets of a document: those that its project uses. What was
// found once is not looked for again.
func (s *routes) assetResolver(ctx context.Context, project string) func(*spec.Document) spec.Resolve {
	return func(doc *spec.Document) spec.Resolve {
		if project == request.AllProjects {
			project = cmp.Or(doc.Project, string(core.DefaultProject))
		}
		return func(kind, ref string) (spec.Piece, error) {
			if err := access.May(ctx, rbac.Read, rbac.AssetNoun(core.TemplateKind(kind)), core.ProjectID(project), access.User(ctx)); err != nil {
				return spec.Piece{}, err
			}
			return control.Do(ctx, s.Control, asset.Take(core.ProjectID(project), kind, ref))
		}
	}
}

func projectIDs(names []string) (ids []core.ProjectID) {
	for _, n := range names {
		ids = append(ids, core.ProjectID(n))
	}
	return ids
}
