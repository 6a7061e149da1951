package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/musterhq/muster/api"
)

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
