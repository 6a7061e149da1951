package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/musterhq/muster/api"
)

// TemplateService is what is done with templates and other assets.
type TemplateService struct{ c *Client }

// The kinds of assets, which are all kept as templates are.
const (
	KindTemplate    = "template"
	KindEnvironment = "environment"
	KindCompute     = "compute"
	KindDataSource  = "datasource"
	KindDataVolume  = "datavolume"
)

// SystemScope stands where a project does for what is there for all projects.
const SystemScope = AllProjects

// Assets returns those of all kinds that a project can use; of all projects where
// project is empty.
func (s TemplateService) Assets(ctx context.Context, project string) (*api.TemplateList, error) {
	return one[api.TemplateList](ctx, s.c, call{method: http.MethodGet, path: templates(project, "asset"), again: true})
}

func templates(project, kind string) string {
	if project == "" {
		project = AllProjects
	}
	return "/v1/projects/" + url.PathEscape(project) + "/" + kind + "s"
}

// List returns those of a kind that a project can use; of all projects
// where project is empty.
func (s TemplateService) List(ctx context.Context, project, kind string) (*api.TemplateList, error) {
	return one[api.TemplateList](ctx, s.c, call{method: http.MethodGet, path: templates(project, kind), again: true})
}

// Get returns one that a project can use, with the document of a version
// (0: the present one).
func (s TemplateService) Get(ctx context.Context, project, kind, name string, version int) (*api.Template, error) {
	q := url.Values{}
	if version > 0 {
		q.Set("version", strconv.Itoa(version))
	}
	return one[api.Template](ctx, s.c, call{method: http.MethodGet, path: templates(project, kind) + "/" + url.PathEscape(name), query: q, again: true})
}

// Create makes one; one of that name is a conflict.
func (s TemplateService) Create(ctx context.Context, project, kind string, t api.NewTemplate) (*api.Template, error) {
	body, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	return one[api.Template](ctx, s.c, call{method: http.MethodPost, path: templates(project, kind), body: body})
}

// Replace gives one another document and description.
func (s TemplateService) Replace(ctx context.Context, project, kind string, t api.NewTemplate) (*api.Template, error) {
	body, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	return one[api.Template](ctx, s.c, call{method: http.MethodPut, path: templates(project, kind) + "/" + url.PathEscape(t.Name), body: body, again: true})
}

// Delete forgets one.
func (s TemplateService) Delete(ctx context.Context, project, kind, name string) error {
	return s.c.do(ctx, call{method: http.MethodDelete, path: templates(project, kind) + "/" + url.PathEscape(name)}, nil)
}

// Assembled is the document that doc stands for: what the assets that it names
// say, what it says itself, and defaults. Nothing is submitted.
func (c *Client) Assembled(ctx context.Context, doc []byte) (json.RawMessage, error) {
	d, err := one[api.Draft](ctx, c, call{method: http.MethodPost, path: "/v1/drafts", body: doc, again: true})
	switch {
	case err != nil:
		return nil, err
	case d.Spec == nil && d.Problem != nil:
		return nil, d.Problem
	}
	return d.Spec, nil
}
