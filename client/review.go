package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/musterhq/muster/api"
)

// CheckService is what is done with checks of scopes, which workloads have to pass before
// they run. A scope is a project or department, or "-": the system.
type CheckService struct{ c *Client }

// List returns the checks that a scope stands below: its own and those above it; with
// "-" all of them.
func (s CheckService) List(ctx context.Context, scope string) (*api.ScopeCheckList, error) {
	return one[api.ScopeCheckList](ctx, s.c, call{method: http.MethodGet, path: checksOf(scope), again: true})
}

// Get returns a scope's own check.
func (s CheckService) Get(ctx context.Context, scope, name string) (*api.ScopeCheck, error) {
	return one[api.ScopeCheck](ctx, s.c, call{method: http.MethodGet, path: checkOf(scope, name), again: true})
}

// Create makes a check; one that exists is a conflict.
func (s CheckService) Create(ctx context.Context, scope string, k api.NewScopeCheck, dryRun bool) (*api.ScopeCheck, error) {
	return send[api.ScopeCheck](ctx, s.c, http.MethodPost, checksOf(scope), k, dryRun)
}

// Set decides everything about a check, making it where it is not there.
func (s CheckService) Set(ctx context.Context, scope, name string, k api.ScopeCheckSpec, dryRun bool) (*api.ScopeCheck, error) {
	return send[api.ScopeCheck](ctx, s.c, http.MethodPut, checkOf(scope, name), k, dryRun)
}

// Delete forgets a check; what waits for it alone goes on.
func (s CheckService) Delete(ctx context.Context, scope, name string) error {
	return s.c.do(ctx, call{method: http.MethodDelete, path: checkOf(scope, name)}, nil)
}

// Test asks a check about a workload that is not submitted.
func (s CheckService) Test(ctx context.Context, scope, name string, t api.CheckTest) (*api.CheckTrial, error) {
	return send[api.CheckTrial](ctx, s.c, http.MethodPost, checkOf(scope, name)+"/test", t, false)
}

// Images returns the images that somebody has approved for a check.
func (s CheckService) Images(ctx context.Context, scope, name string) (*api.ReviewedImageList, error) {
	return one[api.ReviewedImageList](ctx, s.c, call{method: http.MethodGet, path: checkOf(scope, name) + "/images", again: true})
}

// ForgetImage has an image looked at again before its next use.
func (s CheckService) ForgetImage(ctx context.Context, scope, name, image string) error {
	return s.c.do(ctx, call{method: http.MethodDelete, path: checkOf(scope, name) + "/images", query: url.Values{"image": {image}}}, nil)
}

func checksOf(scope string) string { return "/v1/projects/" + url.PathEscape(scope) + "/checks" }

func checkOf(scope, name string) string { return checksOf(scope) + "/" + url.PathEscape(name) }

// ApprovalService is what waits for people, and who decides for whom.
type ApprovalService struct{ c *Client }

// List returns every check that waits for people, of workloads that one may see.
func (s ApprovalService) List(ctx context.Context) (*api.ApprovalList, error) {
	return one[api.ApprovalList](ctx, s.c, call{method: http.MethodGet, path: "/v1/approvals", again: true})
}

// Delegations returns who decides in whose place.
func (s ApprovalService) Delegations(ctx context.Context) (*api.DelegationList, error) {
	return one[api.DelegationList](ctx, s.c, call{method: http.MethodGet, path: "/v1/delegations", again: true})
}

// Delegate has another decide in one's place, for a time.
func (s ApprovalService) Delegate(ctx context.Context, d api.NewDelegation) (*api.Delegation, error) {
	return send[api.Delegation](ctx, s.c, http.MethodPost, "/v1/delegations", d, false)
}

// Revoke ends a delegation; from is empty for one's own.
func (s ApprovalService) Revoke(ctx context.Context, from, to, scope string) error {
	q := url.Values{"to": {to}, "scope": {scope}}
	if from != "" {
		q.Set("from", from)
	}
	return s.c.do(ctx, call{method: http.MethodDelete, path: "/v1/delegations", query: q}, nil)
}
