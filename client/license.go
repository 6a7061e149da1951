package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/musterhq/muster/api"
)

// Licenses returns what is counted for the whole site, with who holds it.
func (c *Client) Licenses(ctx context.Context) (*api.LicenseList, error) {
	return one[api.LicenseList](ctx, c, call{method: http.MethodGet, path: "/v1/licenses", again: true})
}

// CreateLicense begins to count a license; one that exists is a conflict.
func (c *Client) CreateLicense(ctx context.Context, l api.NewLicense) (*api.License, error) {
	return send[api.License](ctx, c, http.MethodPost, "/v1/licenses", l, false)
}

// SetLicense decides everything about a license, making it where it is not
// there.
func (c *Client) SetLicense(ctx context.Context, name string, l api.LicenseSpec) (*api.License, error) {
	return send[api.License](ctx, c, http.MethodPut, "/v1/licenses/"+url.PathEscape(name), l, false)
}

// ChangeLicense changes some fields: patch is a JSON merge patch, in which nil
// takes a field away.
func (c *Client) ChangeLicense(ctx context.Context, name string, patch map[string]any) (*api.License, error) {
	return send[api.License](ctx, c, http.MethodPatch, "/v1/licenses/"+url.PathEscape(name), patch, false)
}

// DeleteLicense forgets a license that no workload asks for any more.
func (c *Client) DeleteLicense(ctx context.Context, name string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: "/v1/licenses/" + url.PathEscape(name)}, nil)
}
