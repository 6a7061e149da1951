package client

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
)

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

// ReportOptions select what a report is of. Zero fields do not restrict.
type ReportOptions struct {
	From, To time.Time // default: the last 30 days
	By       []string  // department, project, pool, user, gpu-type; default project
}

// Report returns what was used, what it cost, and how long work waited.
func (c *Client) Report(ctx context.Context, o ReportOptions) (*api.UsageReport, error) {
	q := url.Values{}
	for name, value := range map[string]string{"from": instant(o.From), "to": instant(o.To), "by": strings.Join(o.By, ",")} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return one[api.UsageReport](ctx, c, call{method: http.MethodGet, path: "/v1/report", query: q, again: true})
}
