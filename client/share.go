package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/musterhq/muster/api"
)

// Share makes a link that shows a workload without an account; its Path is told this
// once.
func (c *Client) Share(ctx context.Context, n api.NewShare) (*api.Share, error) {
	body, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	return one[api.Share](ctx, c, call{method: http.MethodPost, path: "/v1/shares", body: body})
}

// Shares returns the links that who asks has made, of the workload with an id; empty: of
// all.
func (c *Client) Shares(ctx context.Context, id string) (*api.ShareList, error) {
	q := url.Values{}
	if id != "" {
		q.Set("workload", id)
	}
	return one[api.ShareList](ctx, c, call{method: http.MethodGet, path: "/v1/shares", query: q, again: true})
}

// Unshare revokes a link by its id.
func (c *Client) Unshare(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: "/v1/shares/" + url.PathEscape(id), again: true}, nil)
}
