package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/musterhq/muster/api"
)

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
func (c *Client) Assets(ctx context.Context, project string) (*api.TemplateList, error) {
	return one[api.TemplateList](ctx, c, call{method: http.MethodGet, path: templates(project, "asset"), again: true})
}

func templates(project, kind string) string {
	if project == "" {
		project = AllProjects
	}
	return "/v1/projects/" + url.PathEscape(project) + "/" + kind + "s"
}

// Templates returns those of a kind that a project can use; of all projects
// where project is empty.
func (c *Client) Templates(ctx context.Context, project, kind string) (*api.TemplateList, error) {
	return one[api.TemplateList](ctx, c, call{method: http.MethodGet, path: templates(project, kind), again: true})
}

// Template returns one that a project can use, with the document of a version
// (0: the present one).
func (c *Client) Template(ctx context.Context, project, kind, name string, version int) (*api.Template, error) {
	q := url.Values{}
	if version > 0 {
		q.Set("version", strconv.Itoa(version))
	}
	return one[api.Template](ctx, c, call{method: http.MethodGet, path: templates(project, kind) + "/" + url.PathEscape(name), query: q, again: true})
}

// CreateTemplate makes one; one of that name is a conflict.
func (c *Client) CreateTemplate(ctx context.Context, project, kind string, t api.NewTemplate) (*api.Template, error) {
	body, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	return one[api.Template](ctx, c, call{method: http.MethodPost, path: templates(project, kind), body: body})
}

// ReplaceTemplate gives one another document and description.
func (c *Client) ReplaceTemplate(ctx context.Context, project, kind string, t api.NewTemplate) (*api.Template, error) {
	body, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	return one[api.Template](ctx, c, call{method: http.MethodPut, path: templates(project, kind) + "/" + url.PathEscape(t.Name), body: body, again: true})
}

// DeleteTemplate forgets one.
func (c *Client) DeleteTemplate(ctx context.Context, project, kind, name string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: templates(project, kind) + "/" + url.PathEscape(name)}, nil)
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
