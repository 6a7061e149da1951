package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
)

// MetricsOptions say which time is meant; the zero value is the last hour.
type MetricsOptions struct {
	Since, Until string // a length of time like 30m, or a time; a time
	Step         string // like 1m; empty: so that a chart can show it
	Attempt      int    // of a workload; negative: the latest that has begun
	Tasks        []int  // of a workload; none: all
	Project      string // of the cluster; empty: all
}

func (o MetricsOptions) query() url.Values {
	q := url.Values{}
	for k, v := range map[string]string{"since": o.Since, "until": o.Until, "step": o.Step, "project": o.Project} {
		if v != "" {
			q.Set(k, v)
		}
	}
	var tasks []string
	for _, t := range o.Tasks {
		tasks = append(tasks, strconv.Itoa(t))
	}
	if len(tasks) > 0 {
		q.Set("task", strings.Join(tasks, ","))
	}
	return q
}

// WorkloadMetrics is what the tasks of an attempt used.
func (c *Client) WorkloadMetrics(ctx context.Context, project, name string, o MetricsOptions) (*api.Metrics, error) {
	q := o.query()
	q.Set("attempt", strconv.Itoa(o.Attempt))
	return one[api.Metrics](ctx, c, call{method: http.MethodGet, path: workload(project, name) + "/metrics", query: q, again: true})
}

// Metrics is what everything on a node used, and how its GPUs fared.
func (s NodeService) Metrics(ctx context.Context, node string, o MetricsOptions) (*api.Metrics, error) {
	return one[api.Metrics](ctx, s.c, call{method: http.MethodGet, path: "/v1/nodes/" + url.PathEscape(node) + "/metrics", query: o.query(), again: true})
}

// Metrics is how much of all GPUs was allocated and busy, and what waited.
func (c *Client) Metrics(ctx context.Context, o MetricsOptions) (*api.Metrics, error) {
	return one[api.Metrics](ctx, c, call{method: http.MethodGet, path: "/v1/metrics", query: o.query(), again: true})
}
