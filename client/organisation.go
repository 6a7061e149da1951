package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/musterhq/muster/api"
)

// Records names a sort of record in paths.
type Records string

// The sorts of records that projects are made of.
const (
	Projects    Records = "projects"
	Departments Records = "departments"
)

func (r Records) path(name string) string { return "/v1/" + string(r) + "/" + url.PathEscape(name) }

// send makes a call with a JSON body.
func send[T any](ctx context.Context, c *Client, method, path string, body any, dry bool) (*T, error) {
	k := call{method: method, path: path, again: method != http.MethodPost || dry}
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		k.body = data
	}
	if method == http.MethodPatch {
		k.header = http.Header{"Content-Type": {"application/merge-patch+json"}}
	}
	if dry {
		k.query = url.Values{"dry_run": {"true"}}
	}
	return one[T](ctx, c, k)
}

// Projects returns every project.
func (c *Client) Projects(ctx context.Context) (*api.ProjectList, error) {
	return c.ProjectsOf(ctx, Projects)
}

// ProjectsOf returns every project, or every department.
func (c *Client) ProjectsOf(ctx context.Context, r Records) (*api.ProjectList, error) {
	return one[api.ProjectList](ctx, c, call{method: http.MethodGet, path: "/v1/" + string(r), again: true})
}

// CreateProject makes a project or department; one that exists is a conflict.
func (c *Client) CreateProject(ctx context.Context, r Records, p api.NewProject) (*api.Project, error) {
	return send[api.Project](ctx, c, http.MethodPost, "/v1/"+string(r), p, false)
}

// ChangeProject changes some fields: patch is a JSON merge patch, in which nil
// takes a field away.
func (c *Client) ChangeProject(ctx context.Context, r Records, name string, patch map[string]any) (*api.Project, error) {
	return send[api.Project](ctx, c, http.MethodPatch, r.path(name), patch, false)
}

// DeleteProject deletes a project or department that nothing needs any more.
func (c *Client) DeleteProject(ctx context.Context, r Records, name string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: r.path(name)}, nil)
}

// StopProject keeps new work of a project, or of all below a department, from
// being queued.
func (c *Client) StopProject(ctx context.Context, r Records, name string, o api.ProjectOptions) (*api.Project, error) {
	k := call{method: http.MethodPost, path: r.path(name) + ":stop", again: true}
	var err error
	if k.body, err = json.Marshal(o); err != nil {
		return nil, err
	}
	return one[api.Project](ctx, c, k)
}

// StartProject opens a stopped project or department again.
func (c *Client) StartProject(ctx context.Context, r Records, name string) (*api.Project, error) {
	return one[api.Project](ctx, c, call{method: http.MethodPost, path: r.path(name) + ":start", again: true})
}

// SuspendProject has what runs of a project, or of all below a department, go
// back to its queue, and keeps new work from starting; a dry run says in the
// warnings whom that would stop.
func (c *Client) SuspendProject(ctx context.Context, r Records, name string, o api.ProjectOptions, dry bool) (*api.Project, error) {
	return send[api.Project](ctx, c, http.MethodPost, r.path(name)+":suspend", o, dry)
}

// SetRules replaces what a project or department demands of workloads.
func (c *Client) SetRules(ctx context.Context, r Records, name string, rules api.ProjectRules) (*api.Project, error) {
	return send[api.Project](ctx, c, http.MethodPut, r.path(name)+"/rules", rules, false)
}

// Pools returns every pool, with what is held of it.
func (c *Client) Pools(ctx context.Context) (*api.PoolList, error) {
	return one[api.PoolList](ctx, c, call{method: http.MethodGet, path: "/v1/pools", again: true})
}

// CreatePool makes a pool; one that exists is a conflict.
func (c *Client) CreatePool(ctx context.Context, p api.NewPool) (*api.Pool, error) {
	return send[api.Pool](ctx, c, http.MethodPost, "/v1/pools", p, false)
}

// ChangePool changes some fields: patch is a JSON merge patch, in which nil
// takes a field away.
func (c *Client) ChangePool(ctx context.Context, name string, patch map[string]any) (*api.Pool, error) {
	return send[api.Pool](ctx, c, http.MethodPatch, "/v1/pools/"+url.PathEscape(name), patch, false)
}

// DeletePool deletes a pool that nothing needs any more.
func (c *Client) DeletePool(ctx context.Context, name string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: "/v1/pools/" + url.PathEscape(name)}, nil)
}

// Nodes returns every node, with what is held of it.
func (c *Client) Nodes(ctx context.Context) (*api.NodeList, error) {
	return one[api.NodeList](ctx, c, call{method: http.MethodGet, path: "/v1/nodes", again: true})
}

// Holdings returns who holds each device, until when, and how busy it is.
func (c *Client) Holdings(ctx context.Context) (*api.Holdings, error) {
	return one[api.Holdings](ctx, c, call{method: http.MethodGet, path: "/v1/holdings", again: true})
}

// Node returns one node.
func (c *Client) Node(ctx context.Context, name string) (*api.Node, error) {
	return one[api.Node](ctx, c, call{method: http.MethodGet, path: "/v1/nodes/" + url.PathEscape(name), again: true})
}

// ChangeNode asks a node for a verb: cordon, uncordon, label or taint.
func (c *Client) ChangeNode(ctx context.Context, name, verb string, o api.NodeOptions) (*api.Node, error) {
	return send[api.Node](ctx, c, http.MethodPost, "/v1/nodes/"+url.PathEscape(name)+"/"+verb, o, false)
}

// DrainNode keeps new work from a node and has what runs there move away; a dry
// run says what would become of it.
func (c *Client) DrainNode(ctx context.Context, name string, o api.NodeOptions, dry bool) (*api.Drain, error) {
	return send[api.Drain](ctx, c, http.MethodPost, "/v1/nodes/"+url.PathEscape(name)+"/drain", o, dry)
}

// Quota returns how every project and department stands, by pool; empty names do
// not restrict.
func (c *Client) Quota(ctx context.Context, project, pool string) (*api.StandingList, error) {
	q := url.Values{}
	if project != "" {
		q.Set("project", project)
	}
	if pool != "" {
		q.Set("pool", pool)
	}
	return one[api.StandingList](ctx, c, call{method: http.MethodGet, path: "/v1/quota", query: q, again: true})
}

// WhatIf returns what changes of projects and departments would come to at once;
// it changes nothing.
func (c *Client) WhatIf(ctx context.Context, changes api.Changes) (*api.Prospect, error) {
	body, err := json.Marshal(changes)
	if err != nil {
		return nil, err
	}
	return one[api.Prospect](ctx, c, call{method: http.MethodPost, path: "/v1/what-if", body: body, again: true})
}

// Apply makes records what a manifest says, all of them or none; a dry run says
// what would change. Repeating it is harmless.
func (c *Client) Apply(ctx context.Context, m api.Manifest, dry bool) (*api.Applied, error) {
	data, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	k := call{method: http.MethodPost, path: "/v1/apply", body: data, again: true}
	if dry {
		k.query = url.Values{"dry_run": {"true"}}
	}
	return one[api.Applied](ctx, c, k)
}
