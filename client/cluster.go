package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/musterhq/muster/api"
)

// Cluster returns all nodes with what is held of them.
func (c *Client) Cluster(ctx context.Context) (*api.Cluster, error) {
	return one[api.Cluster](ctx, c, call{method: http.MethodGet, path: "/v1/cluster", again: true})
}

// Projects returns every project.
func (c *Client) Projects(ctx context.Context) (*api.ProjectList, error) {
	return one[api.ProjectList](ctx, c, call{method: http.MethodGet, path: "/v1/projects", again: true})
}

// CreateProject makes a project; one that exists is a conflict.
func (c *Client) CreateProject(ctx context.Context, name string) (*api.Project, error) {
	body, err := json.Marshal(map[string]string{"name": name})
	if err != nil {
		return nil, err
	}
	return one[api.Project](ctx, c, call{method: http.MethodPost, path: "/v1/projects", body: body})
}

// StopProject keeps new work of a project from being queued.
func (c *Client) StopProject(ctx context.Context, name string, o api.ProjectOptions) (*api.Project, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return one[api.Project](ctx, c, call{method: http.MethodPost, path: "/v1/projects/" + url.PathEscape(name) + ":stop", body: body, again: true})
}

// StartProject opens a stopped project again.
func (c *Client) StartProject(ctx context.Context, name string) (*api.Project, error) {
	return one[api.Project](ctx, c, call{method: http.MethodPost, path: "/v1/projects/" + url.PathEscape(name) + ":start", again: true})
}

// Lifecycle returns the machine: phases, rules and a diagram, as the server
// writes them.
func (c *Client) Lifecycle(ctx context.Context) (json.RawMessage, error) {
	var out json.RawMessage
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/lifecycle", again: true}, &out)
	return out, err
}

// Version says what the server is.
func (c *Client) Version(ctx context.Context) (*api.Version, error) {
	return one[api.Version](ctx, c, call{method: http.MethodGet, path: "/version", again: true})
}

// Server returns the server's process, address and data directory.
func (c *Client) Server(ctx context.Context) (*api.ServerStatus, error) {
	return one[api.ServerStatus](ctx, c, call{method: http.MethodGet, path: "/v1/server", again: true})
}

// Ready fails unless the server answers and can take work.
func (c *Client) Ready(ctx context.Context) error {
	return c.do(ctx, call{method: http.MethodGet, path: "/readyz"}, nil)
}
