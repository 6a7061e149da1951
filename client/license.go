package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/musterhq/muster/api"
)

// LicenseService is what is done with licenses, which are counted for the whole site.
type LicenseService struct{ c *Client }

// List returns what is counted for the whole site, with who holds it.
func (s LicenseService) List(ctx context.Context) (*api.LicenseList, error) {
	return one[api.LicenseList](ctx, s.c, call{method: http.MethodGet, path: "/v1/licenses", again: true})
}

// Create begins to count a license; one that exists is a conflict.
func (s LicenseService) Create(ctx context.Context, l api.NewLicense) (*api.License, error) {
	return send[api.License](ctx, s.c, http.MethodPost, "/v1/licenses", l, false)
}

// Set decides everything about a license, making it where it is not
// there.
func (s LicenseService) Set(ctx context.Context, name string, l api.LicenseSpec) (*api.License, error) {
	return send[api.License](ctx, s.c, http.MethodPut, "/v1/licenses/"+url.PathEscape(name), l, false)
}

// Change changes some fields: patch is a JSON merge patch, in which nil
// takes a field away.
func (s LicenseService) Change(ctx context.Context, name string, patch map[string]any) (*api.License, error) {
	return send[api.License](ctx, s.c, http.MethodPatch, "/v1/licenses/"+url.PathEscape(name), patch, false)
}

// Delete forgets a license that no workload asks for any more.
func (s LicenseService) Delete(ctx context.Context, name string) error {
	return s.c.do(ctx, call{method: http.MethodDelete, path: "/v1/licenses/" + url.PathEscape(name)}, nil)
}
