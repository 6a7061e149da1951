package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
)

// Cluster returns all nodes with what is held of them.
func (c *Client) Cluster(ctx context.Context) (*api.Cluster, error) {
	return one[api.Cluster](ctx, c, call{method: http.MethodGet, path: "/v1/cluster", again: true})
}

// Clusters returns what each cluster is, whether it answers and what is free.
func (c *Client) Clusters(ctx context.Context) (*api.ClusterList, error) {
	return one[api.ClusterList](ctx, c, call{method: http.MethodGet, path: "/v1/clusters", again: true})
}

// ClusterInfo returns one cluster.
func (c *Client) ClusterInfo(ctx context.Context, name string) (*api.ClusterInfo, error) {
	return one[api.ClusterInfo](ctx, c, call{method: http.MethodGet, path: "/v1/clusters/" + url.PathEscape(name), again: true})
}

// UsageOptions select charged GPU time. Zero fields do not restrict.
type UsageOptions struct {
	Project, User string
	From, To      time.Time     // default: the last 30 days
	By            []string      // project, user, workload; default project
	Every         time.Duration // 0: not split by time
}

// Usage returns charged GPU time by group.
func (c *Client) Usage(ctx context.Context, o UsageOptions) (*api.UsageList, error) {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("project", o.Project)
	set("user", o.User)
	set("from", instant(o.From))
	set("to", instant(o.To))
	set("by", strings.Join(o.By, ","))
	if o.Every > 0 {
		q.Set("every", o.Every.String())
	}
	return one[api.UsageList](ctx, c, call{method: http.MethodGet, path: "/v1/usage", query: q, again: true})
}

// SecretService is what is done with secrets.
type SecretService struct{ c *Client }

// List returns the user's secrets, without their values.
func (s SecretService) List(ctx context.Context) (*api.SecretList, error) {
	return one[api.SecretList](ctx, s.c, call{method: http.MethodGet, path: "/v1/secrets", again: true})
}

// Create stores a secret; one of that name is a conflict.
func (s SecretService) Create(ctx context.Context, n api.NewSecret) (*api.Secret, error) {
	body, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	return one[api.Secret](ctx, s.c, call{method: http.MethodPost, path: "/v1/secrets", body: body})
}

// ListIn returns the secrets that workloads of a project may name beside their users'
// own; those of the departments above it and of the system are among them.
func (s SecretService) ListIn(ctx context.Context, project string) (*api.SecretList, error) {
	return one[api.SecretList](ctx, s.c, call{method: http.MethodGet, path: "/v1/projects/" + url.PathEscape(project) + "/secrets", again: true})
}

// CreateIn stores a secret for all who submit in a project or department, or with
// "-" in the system; one of that name there is a conflict.
func (s SecretService) CreateIn(ctx context.Context, project string, n api.NewSecret) (*api.Secret, error) {
	body, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	return one[api.Secret](ctx, s.c, call{method: http.MethodPost, path: "/v1/projects/" + url.PathEscape(project) + "/secrets", body: body})
}

// DeleteIn forgets a secret of a project or department, or with "-" of the system.
func (s SecretService) DeleteIn(ctx context.Context, project, name string) error {
	return s.c.do(ctx, call{method: http.MethodDelete, path: "/v1/projects/" + url.PathEscape(project) + "/secrets/" + url.PathEscape(name)}, nil)
}

// Delete forgets a secret.
func (s SecretService) Delete(ctx context.Context, name string) error {
	return s.c.do(ctx, call{method: http.MethodDelete, path: "/v1/secrets/" + url.PathEscape(name)}, nil)
}

// Lifecycle returns the machine: phases, rules and a diagram, as the server
// writes them; with a dialect also that platform's vocabulary and its own
// diagrams.
func (c *Client) Lifecycle(ctx context.Context, dialect string) (json.RawMessage, error) {
	var out json.RawMessage
	q := url.Values{}
	if dialect != "" {
		q.Set("dialect", dialect)
	}
	err := c.do(ctx, call{method: http.MethodGet, path: "/v1/lifecycle", query: q, again: true}, &out)
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

// MoveIn gives the records of another machine to a server that awaits them, as a stream
// that is read to its end. It is not tried again: whether it arrived is in the Moved of
// Server.
func (c *Client) MoveIn(ctx context.Context, records io.Reader) (*api.Moved, error) {
	return one[api.Moved](ctx, c, call{
		method: http.MethodPut, path: "/v1/server/move", stream: records, header: http.Header{"Content-Type": {"application/gzip"}},
	})
}

// Ready fails unless the server answers and can take work.
func (c *Client) Ready(ctx context.Context) error {
	return c.do(ctx, call{method: http.MethodGet, path: "/readyz"}, nil)
}

// BudgetService is what is done with budgets and prices.
type BudgetService struct{ c *Client }

// List returns how budgets stand, of one project or department or of all.
func (s BudgetService) List(ctx context.Context, project string) (*api.BudgetList, error) {
	k := call{method: http.MethodGet, path: "/v1/budgets", again: true}
	if project != "" {
		k.query = url.Values{"project": {project}}
	}
	return one[api.BudgetList](ctx, s.c, k)
}

// Prices returns what GPUs cost.
func (s BudgetService) Prices(ctx context.Context) (*api.Prices, error) {
	return one[api.Prices](ctx, s.c, call{method: http.MethodGet, path: "/v1/prices", again: true})
}

// SetPrices says anew what GPUs cost, where nobody has changed it since it was read.
func (s BudgetService) SetPrices(ctx context.Context, p api.Prices) (*api.Prices, error) {
	return send[api.Prices](ctx, s.c, http.MethodPut, "/v1/prices", p, false)
}

// UserLimits returns what users may have at once over all projects.
func (s BudgetService) UserLimits(ctx context.Context) (*api.UserBoundList, error) {
	return one[api.UserBoundList](ctx, s.c, call{method: http.MethodGet, path: "/v1/user-limits", again: true})
}

// ChangeUserLimit changes the named fields of what a user may have over all projects;
// nil takes one away.
func (s BudgetService) ChangeUserLimit(ctx context.Context, user string, patch map[string]any) (*api.UserBound, error) {
	return send[api.UserBound](ctx, s.c, http.MethodPatch, "/v1/user-limits/"+url.PathEscape(user), patch, false)
}

// DeleteUserLimit bounds a user no more.
func (s BudgetService) DeleteUserLimit(ctx context.Context, user string) error {
	return s.c.do(ctx, call{method: http.MethodDelete, path: "/v1/user-limits/" + url.PathEscape(user)}, nil)
}

// ReportOptions select what a report is of. Zero fields do not restrict.
type ReportOptions struct {
	From, To time.Time // default: the last 30 days
	By       []string  // department, project, pool, user, gpu-type; default project
	Project  string    // or a department
	User     string
}

// Report returns what was used, what it cost, and how long work waited.
func (c *Client) Report(ctx context.Context, o ReportOptions) (*api.UsageReport, error) {
	q := url.Values{}
	for name, value := range map[string]string{"from": instant(o.From), "to": instant(o.To), "by": strings.Join(o.By, ","), "project": o.Project, "user": o.User} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return one[api.UsageReport](ctx, c, call{method: http.MethodGet, path: "/v1/report", query: q, again: true})
}
