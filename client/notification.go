package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/musterhq/muster/api"
)

// Notifications returns of what the user is told.
func (c *Client) Notifications(ctx context.Context) (*api.NotificationList, error) {
	return one[api.NotificationList](ctx, c, call{method: http.MethodGet, path: "/v1/notifications", again: true})
}

// CreateNotification has the user told of the own workloads; one of that name
// is a conflict.
func (c *Client) CreateNotification(ctx context.Context, n api.NewNotification) (*api.Notification, error) {
	body, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	return one[api.Notification](ctx, c, call{method: http.MethodPost, path: "/v1/notifications", body: body})
}

// DeleteNotification ends a notification.
func (c *Client) DeleteNotification(ctx context.Context, name string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: "/v1/notifications/" + url.PathEscape(name)}, nil)
}

// Deliveries returns what was sent to the user or waits to be, the newest
// first: in a state (empty: any), at most limit (0: 100).
func (c *Client) Deliveries(ctx context.Context, state string, limit int) (*api.DeliveryList, error) {
	q := url.Values{}
	if state != "" {
		q.Set("state", state)
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	return one[api.DeliveryList](ctx, c, call{method: http.MethodGet, path: "/v1/notifications/deliveries", query: q, again: true})
}

// Redeliver has a delivery tried again.
func (c *Client) Redeliver(ctx context.Context, id string) (*api.Delivery, error) {
	body, err := json.Marshal(api.Redelivery{ID: id})
	if err != nil {
		return nil, err
	}
	return one[api.Delivery](ctx, c, call{method: http.MethodPost, path: "/v1/notifications/redeliver", body: body})
}

// TestNotification sends a test.
func (c *Client) TestNotification(ctx context.Context, t api.NotificationTest) (*api.Delivery, error) {
	body, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	return one[api.Delivery](ctx, c, call{method: http.MethodPost, path: "/v1/notifications/test", body: body})
}
