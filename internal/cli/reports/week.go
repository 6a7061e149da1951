package reports

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/weekly"
)

// weekOf reads the name of a week, from Monday on, in the time of this machine.
func weekOf(text string, now time.Time) (weekly.Week, error) {
	w, ok := weekly.Of(text, now)
	if !ok {
		return w, session.UsageError(fmt.Sprintf("--week: %q is not a week", text), "write last, this, or one like 2026-W47")
	}
	return w, nil
}

// showWeek prints the report of a week as a text that can be read by itself.
func showWeek(ctx context.Context, s *session.Session, t session.TableFlags, w weekly.Week, q client.ReportOptions) error {
	q.From, q.To = w.From, w.To
	if f := s.Format(); f != "table" && f != "wide" {
		return showReport(ctx, s, t, q)
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	r, err := c.Report(ctx, q)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(s.IO.Out, weekly.Text(w, weekly.Whole(q.Project, q.User, "all that you may see"), r))
	return err
}

// mailing is that a report goes by mail, now or each Monday.
type mailing struct {
	to           string
	mondays      bool
	zone         string
	list         bool
	end          string
	project      string
	user, byWeek string
}

// asked reports whether anything of it was.
func (m *mailing) asked() bool { return m.to != "" || m.mondays || m.list || m.end != "" }

func (m *mailing) do(ctx context.Context, s *session.Session, t session.TableFlags) error {
	if m.mondays && m.to == "" {
		return session.UsageError("--mondays: to whom is not said", "muster report --week --mail ADDRESS --mondays")
	}
	if m.zone != "" && !m.mondays {
		return session.UsageError("--zone goes with --mondays", "a single mail is of a week in the time of the server")
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	switch {
	case m.end != "":
		if err := c.WeeklyReports.Delete(ctx, m.end); err != nil {
			return err
		}
		s.Say("Ended %s: no more reports go there", m.end)
		return nil
	case m.list:
		return listMails(ctx, s, t, c)
	case m.mondays:
		x, err := c.WeeklyReports.Create(ctx, api.NewWeeklyReport{Email: m.to, Project: m.project, User: m.user, TimeZone: m.zone})
		if err != nil {
			return err
		}
		if s.Machine() {
			return s.Document(x)
		}
		s.Say("Each Monday the report of the week before goes to %s, the first at %s. End it with muster report --end-mail %s", x.Email, s.Moments(t).Instant(session.TimeOf(x.Next)), x.ID)
		return nil
	}
	x, err := c.WeeklyReports.Mail(ctx, api.NewReportMail{Email: m.to, Week: m.byWeek, Project: m.project, User: m.user})
	if err != nil {
		return err
	}
	if s.Machine() {
		return s.Document(x)
	}
	s.Say("Mailed week %s to %s", x.Week, x.Email)
	return nil
}

func listMails(ctx context.Context, s *session.Session, t session.TableFlags, c *client.Client) error {
	all, err := c.WeeklyReports.List(ctx)
	if err != nil {
		return err
	}
	m := s.Moments(t)
	return session.Print(s, t, session.Table[api.WeeklyReport]{Items: all.Items, Name: func(x api.WeeklyReport) string { return x.ID }, Body: all, Columns: []session.Column[api.WeeklyReport]{
		{Title: "ID", Cell: func(x api.WeeklyReport) string { return x.ID }},
		{Title: "EMAIL", Cell: func(x api.WeeklyReport) string { return x.Email }},
		{Title: "OF", Cell: func(x api.WeeklyReport) string { return weekly.Whole(x.Project, x.User, "everything") }},
		{Title: "BY", Cell: func(x api.WeeklyReport) string { return x.By }},
		{Title: "LAST", Cell: func(x api.WeeklyReport) string {
			if x.Problem != "" {
				return "failed: " + x.Problem
			}
			return printers.OrDash(x.LastWeek)
		}},
		{Title: "NEXT", Cell: func(x api.WeeklyReport) string { return m.Instant(session.TimeOf(x.Next)) }},
	}})
}

// knownBy reports the first of what a report cannot be told apart by; empty: it can.
func knownBy(by []string) error {
	for _, b := range by {
		if !slices.Contains(reportBy, b) {
			return session.UsageError(fmt.Sprintf("--by: %q is not known", b), "some of "+strings.Join(reportBy, ", "))
		}
	}
	return nil
}
