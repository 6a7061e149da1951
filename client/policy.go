package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/musterhq/muster/api"
)

// PolicyService is what is done with policies, which say what documents may. A scope is
// a project or department, or "-": the system.
type PolicyService struct{ c *Client }

// List returns the policies that hold in a scope: its own and those above it; with "-"
// all of them.
func (s PolicyService) List(ctx context.Context, scope string) (*api.PolicyList, error) {
	return one[api.PolicyList](ctx, s.c, call{method: http.MethodGet, path: policiesOf(scope), again: true})
}

// Get returns a scope's own policy for a kind.
func (s PolicyService) Get(ctx context.Context, scope, kind string) (*api.Policy, error) {
	return one[api.Policy](ctx, s.c, call{method: http.MethodGet, path: policiesOf(scope) + "/" + url.PathEscape(kind), again: true})
}

// Create makes a policy; one that exists is a conflict. A dry run says which live
// workloads it would not let in.
func (s PolicyService) Create(ctx context.Context, scope string, p api.NewPolicy, dryRun bool) (*api.Policy, error) {
	return send[api.Policy](ctx, s.c, http.MethodPost, policiesOf(scope)+dryQuery(dryRun), p, false)
}

// Set decides everything about a policy, making it where it is not there.
func (s PolicyService) Set(ctx context.Context, scope, kind string, p api.PolicySpec, dryRun bool) (*api.Policy, error) {
	return send[api.Policy](ctx, s.c, http.MethodPut, policiesOf(scope)+"/"+url.PathEscape(kind)+dryQuery(dryRun), p, false)
}

// Delete forgets a policy.
func (s PolicyService) Delete(ctx context.Context, scope, kind string) error {
	return s.c.do(ctx, call{method: http.MethodDelete, path: policiesOf(scope) + "/" + url.PathEscape(kind)}, nil)
}

// Effective returns what holds for workloads of a kind in a project.
func (s PolicyService) Effective(ctx context.Context, project, kind string) (*api.EffectivePolicy, error) {
	return one[api.EffectivePolicy](ctx, s.c, call{method: http.MethodGet, path: "/v1/projects/" + url.PathEscape(project) + "/effective-policies/" + url.PathEscape(kind), again: true})
}

func policiesOf(scope string) string { return "/v1/projects/" + url.PathEscape(scope) + "/policies" }

func dryQuery(dry bool) string {
	if dry {
		return "?dry_run=true"
	}
	return ""
}
