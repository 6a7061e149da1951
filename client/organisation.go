package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/musterhq/muster/api"
)

// Records names a sort of record in paths.
type Records string

// The sorts of records that projects are made of.
const (
	Projects    Records = "projects"
	Departments Records = "departments"
)

// ProjectService is what is done with projects, or with departments.
type ProjectService struct {
	c  *Client
	of Records
}

// Of is what is done with one of the sorts of records that projects are made of.
func (c *Client) Of(r Records) ProjectService { return ProjectService{c, r} }

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

// List returns every project, or every department.
func (s ProjectService) List(ctx context.Context) (*api.ProjectList, error) {
	return one[api.ProjectList](ctx, s.c, call{method: http.MethodGet, path: "/v1/" + string(s.of), again: true})
}

// Create makes a project or department; one that exists is a conflict.
func (s ProjectService) Create(ctx context.Context, p api.NewProject) (*api.Project, error) {
	return send[api.Project](ctx, s.c, http.MethodPost, "/v1/"+string(s.of), p, false)
}

// Change changes some fields: patch is a JSON merge patch, in which nil
// takes a field away.
func (s ProjectService) Change(ctx context.Context, name string, patch map[string]any) (*api.Project, error) {
	return send[api.Project](ctx, s.c, http.MethodPatch, s.of.path(name), patch, false)
}

// Delete deletes a project or department that nothing needs any more.
func (s ProjectService) Delete(ctx context.Context, name string) error {
	return s.c.do(ctx, call{method: http.MethodDelete, path: s.of.path(name)}, nil)
}

// Stop keeps new work of a project, or of all below a department, from
// being queued.
func (s ProjectService) Stop(ctx context.Context, name string, o api.ProjectOptions) (*api.Project, error) {
	k := call{method: http.MethodPost, path: s.of.path(name) + ":stop", again: true}
	var err error
	if k.body, err = json.Marshal(o); err != nil {
		return nil, err
	}
	return one[api.Project](ctx, s.c, k)
}

// Start opens a stopped project or department again.
func (s ProjectService) Start(ctx context.Context, name string) (*api.Project, error) {
	return one[api.Project](ctx, s.c, call{method: http.MethodPost, path: s.of.path(name) + ":start", again: true})
}

// Suspend has what runs of a project, or of all below a department, go
// back to its queue, and keeps new work from starting; a dry run says in the
// warnings whom that would stop.
func (s ProjectService) Suspend(ctx context.Context, name string, o api.ProjectOptions, dry bool) (*api.Project, error) {
	return send[api.Project](ctx, s.c, http.MethodPost, s.of.path(name)+":suspend", o, dry)
}

// SetRules replaces what a project or department demands of workloads.
func (s ProjectService) SetRules(ctx context.Context, name string, rules api.ProjectRules) (*api.Project, error) {
	return send[api.Project](ctx, s.c, http.MethodPut, s.of.path(name)+"/rules", rules, false)
}

// PoolService is what is done with pools of nodes.
type PoolService struct{ c *Client }

// List returns every pool, with what is held of it.
func (s PoolService) List(ctx context.Context) (*api.PoolList, error) {
	return one[api.PoolList](ctx, s.c, call{method: http.MethodGet, path: "/v1/pools", again: true})
}

// Create makes a pool; one that exists is a conflict.
func (s PoolService) Create(ctx context.Context, p api.NewPool) (*api.Pool, error) {
	return send[api.Pool](ctx, s.c, http.MethodPost, "/v1/pools", p, false)
}

// Change changes some fields: patch is a JSON merge patch, in which nil
// takes a field away.
func (s PoolService) Change(ctx context.Context, name string, patch map[string]any) (*api.Pool, error) {
	return send[api.Pool](ctx, s.c, http.MethodPatch, "/v1/pools/"+url.PathEscape(name), patch, false)
}

// Delete deletes a pool that nothing needs any more.
func (s PoolService) Delete(ctx context.Context, name string) error {
	return s.c.do(ctx, call{method: http.MethodDelete, path: "/v1/pools/" + url.PathEscape(name)}, nil)
}

// NodeService is what is done with nodes.
type NodeService struct{ c *Client }

// List returns every node, with what is held of it.
func (s NodeService) List(ctx context.Context) (*api.NodeList, error) {
	return one[api.NodeList](ctx, s.c, call{method: http.MethodGet, path: "/v1/nodes", again: true})
}

// Holdings returns who holds each device, until when, and how busy it is.
func (s NodeService) Holdings(ctx context.Context) (*api.Holdings, error) {
	return one[api.Holdings](ctx, s.c, call{method: http.MethodGet, path: "/v1/holdings", again: true})
}

// Course returns who held each device between two times, and is likely to; zero: a day
// ago, and in a day.
func (s NodeService) Course(ctx context.Context, from, to time.Time) (*api.HoldingsCourse, error) {
	q := url.Values{}
	if !from.IsZero() {
		q.Set("from", from.Format(time.RFC3339Nano))
	}
	if !to.IsZero() {
		q.Set("to", to.Format(time.RFC3339Nano))
	}
	return one[api.HoldingsCourse](ctx, s.c, call{method: http.MethodGet, path: "/v1/holdings/course", query: q, again: true})
}

// Get returns one node.
func (s NodeService) Get(ctx context.Context, name string) (*api.Node, error) {
	return one[api.Node](ctx, s.c, call{method: http.MethodGet, path: "/v1/nodes/" + url.PathEscape(name), again: true})
}

// Change asks a node for a verb: cordon, uncordon, label or taint.
func (s NodeService) Change(ctx context.Context, name, verb string, o api.NodeOptions) (*api.Node, error) {
	return send[api.Node](ctx, s.c, http.MethodPost, "/v1/nodes/"+url.PathEscape(name)+"/"+verb, o, false)
}

// Drain keeps new work from a node and has what runs there move away; a dry
// run says what would become of it.
func (s NodeService) Drain(ctx context.Context, name string, o api.NodeOptions, dry bool) (*api.Drain, error) {
	return send[api.Drain](ctx, s.c, http.MethodPost, "/v1/nodes/"+url.PathEscape(name)+"/drain", o, dry)
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
func (c *Client) WhatIf(ctx context.Context, changes api.Changes) (*api.Preview, error) {
	body, err := json.Marshal(changes)
	if err != nil {
		return nil, err
	}
	return one[api.Preview](ctx, c, call{method: http.MethodPost, path: "/v1/what-if", body: body, again: true})
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
