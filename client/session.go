package client

import (
	"context"
	"net/http"
	"strings"

	"github.com/musterhq/muster/api"
)

// LoginCode asks for a code that lets one browser in, once.
func (c *Client) LoginCode(ctx context.Context) (*api.LoginCode, error) {
	var out api.LoginCode
	return &out, c.do(ctx, call{method: http.MethodPost, path: "/v1/session/codes"}, &out)
}

// Page is the URL of a page for which a code was made. A server that was reached
// over its socket says itself where browsers find it.
func (c *Client) Page(l *api.LoginCode) string { return c.At(l, l.Path) }

// At is the URL of another path of the server at which that page is.
func (c *Client) At(l *api.LoginCode, path string) string {
	base := l.Address
	if base == "" {
		base = c.base
	}
	return strings.TrimSuffix(base, "/") + "/" + path
}
