package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/musterhq/muster/api"
)

// NotificationService is what is done with notifications.
type NotificationService struct{ c *Client }

// List returns of what the user is told.
func (s NotificationService) List(ctx context.Context) (*api.NotificationList, error) {
	return one[api.NotificationList](ctx, s.c, call{method: http.MethodGet, path: "/v1/notifications", again: true})
}

// Create has the user told of the own workloads; one of that name
// is a conflict.
func (s NotificationService) Create(ctx context.Context, n api.NewNotification) (*api.Notification, error) {
	body, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	return one[api.Notification](ctx, s.c, call{method: http.MethodPost, path: "/v1/notifications", body: body})
}

// Delete ends a notification.
func (s NotificationService) Delete(ctx context.Context, name string) error {
	return s.c.do(ctx, call{method: http.MethodDelete, path: "/v1/notifications/" + url.PathEscape(name)}, nil)
}

// Deliveries returns what was sent to the user or waits to be, the newest
// first: in a state (empty: any), at most limit (0: 100).
func (s NotificationService) Deliveries(ctx context.Context, state string, limit int) (*api.DeliveryList, error) {
	q := url.Values{}
	if state != "" {
		q.Set("state", state)
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	return one[api.DeliveryList](ctx, s.c, call{method: http.MethodGet, path: "/v1/notifications/deliveries", query: q, again: true})
}

// Redeliver has a delivery tried again.
func (s NotificationService) Redeliver(ctx context.Context, id string) (*api.Delivery, error) {
	body, err := json.Marshal(api.Redelivery{ID: id})
	if err != nil {
		return nil, err
	}
	return one[api.Delivery](ctx, s.c, call{method: http.MethodPost, path: "/v1/notifications/redeliver", body: body})
}

// Test sends a test.
func (s NotificationService) Test(ctx context.Context, t api.NotificationTest) (*api.Delivery, error) {
	body, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	return one[api.Delivery](ctx, s.c, call{method: http.MethodPost, path: "/v1/notifications/test", body: body})
}

// WeeklyReportService is reports of weeks as mail.
type WeeklyReportService struct{ c *Client }

// Mail has the server mail the report of a week, and returns once its mail server
// has taken it.
func (s WeeklyReportService) Mail(ctx context.Context, n api.NewReportMail) (*api.ReportMail, error) {
	body, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	return one[api.ReportMail](ctx, s.c, call{method: http.MethodPost, path: "/v1/report-mails", body: body})
}

// Create has the report of each week mailed on Monday.
func (s WeeklyReportService) Create(ctx context.Context, n api.NewWeeklyReport) (*api.WeeklyReport, error) {
	body, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	return one[api.WeeklyReport](ctx, s.c, call{method: http.MethodPost, path: "/v1/weekly-reports", body: body})
}

// List returns those that who asks has mailed.
func (s WeeklyReportService) List(ctx context.Context) (*api.WeeklyReportList, error) {
	return one[api.WeeklyReportList](ctx, s.c, call{method: http.MethodGet, path: "/v1/weekly-reports", again: true})
}

// Delete ends one by its id.
func (s WeeklyReportService) Delete(ctx context.Context, id string) error {
	return s.c.do(ctx, call{method: http.MethodDelete, path: "/v1/weekly-reports/" + url.PathEscape(id), again: true}, nil)
}
