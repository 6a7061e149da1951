// Package weekmail mails the report of a week: at once to whoever asks for it, and each
// Monday to who has subscribed. What a report shows is what they may see who have it
// mailed, at the time when it goes out.
package weekmail

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/usage"
	"github.com/musterhq/muster/internal/weekly"
)

// sendFor bounds one try to hand a mail over.
const sendFor = 15 * time.Second

// look is how often it is looked whose report is due: a minute late is on time.
const look = time.Minute

// Service answers the routes, and sends what is due.
type Service struct {
	*reader.Reader
	guard *access.Guard
	mail  weekly.Mail
	kept  *weekly.Kept
}

// New returns a service; without a mail server it refuses.
func New(r *reader.Reader, g *access.Guard, mail weekly.Mail, kept *weekly.Kept) *Service {
	if kept == nil {
		kept, _ = weekly.Open("") // in memory nothing can fail
	}
	return &Service{r, g, mail, kept}
}

// Register adds the routes to an API.
func (s *Service) Register(a huma.API) {
	tags := []string{"usage"}
	huma.Register(a, huma.Operation{
		OperationID: "mail-report", Method: http.MethodPost, Path: "/v1/report-mails", Summary: "Mail the report of a week", Tags: tags,
		Description: "Of what who asks may see. It answers once the mail server has taken it.",
	}, s.send)
	huma.Register(a, huma.Operation{
		OperationID: "create-weekly-report", Method: http.MethodPost, Path: "/v1/weekly-reports", Summary: "Have the report of each week mailed on Monday", Tags: tags, DefaultStatus: http.StatusCreated,
		Description: "Each shows what who asks may see when it goes out.",
	}, s.subscribe)
	huma.Register(a, huma.Operation{
		OperationID: "list-weekly-reports", Method: http.MethodGet, Path: "/v1/weekly-reports", Summary: "The reports that you have mailed each Monday; the owner of the server sees all", Tags: tags,
	}, s.list)
	huma.Register(a, huma.Operation{
		OperationID: "delete-weekly-report", Method: http.MethodDelete, Path: "/v1/weekly-reports/{id}", Summary: "Have a report mailed no more; the owner of the server ends any", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, s.end)
}

// check refuses what cannot be mailed.
func (s *Service) check(email, zone string) error {
	if s.mail == nil {
		return problem.New(http.StatusConflict, "refused", "this server sends no mail", "an administrator turns it on: muster server --smtp-server HOST:PORT --smtp-from ADDRESS")
	}
	if !spec.Address(email) {
		return problem.BadValue("email", email, "is not an address", "like ana@example.com")
	}
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
		return problem.BadValue("timeZone", zone, "is not a time zone", "like Europe/Berlin")
	}
	return nil
}

func (s *Service) send(ctx context.Context, in *struct{ Body api.NewReportMail }) (*struct{ Body api.ReportMail }, error) {
	n := in.Body
	if err := s.check(n.Email, n.TimeZone); err != nil {
		return nil, err
	}
	x := weekly.Subscription{Email: n.Email, By: access.User(ctx), Project: n.Project, User: n.User, Zone: n.TimeZone}
	now := s.Clock()
	w, ok := weekly.Of(cmp.Or(n.Week, weekly.Last), x.Local(now))
	if !ok || w.From.After(now) {
		return nil, problem.BadValue("week", n.Week, "is not a week that has begun", "write last, this, or one like 2026-W47")
	}
	x.ID = rand.Text() // each is a mail of its own
	if err := s.deliver(ctx, &x, w, now); err != nil {
		var p *api.Problem
		if errors.As(err, &p) {
			return nil, p
		}
		return nil, problem.New(http.StatusBadGateway, "unavailable", "the mail server did not take it: "+err.Error(), "try again, or ask an administrator about --smtp-server")
	}
	s.guard.Note(ctx, core.AuditEntry{Actor: access.Actor(ctx), Action: "POST /v1/report-mails", Verb: rbac.Read, Noun: rbac.Dashboards, Object: w.Name + " " + n.Email, Result: core.AuditDone})
	return &struct{ Body api.ReportMail }{api.ReportMail{Email: n.Email, Week: w.Name}}, nil
}

// deliver gathers a report as who asks may see it, and hands it to the mail server.
func (s *Service) deliver(ctx context.Context, x *weekly.Subscription, w weekly.Week, now time.Time) error {
	r, err := usage.Report(ctx, s.Reader, w.From, w.To, x.Project, x.User)
	if err != nil {
		return err
	}
	of := weekly.Whole(x.Project, x.User, "all that "+x.By+" may see")
	foot := "Sent by Muster for " + x.By + "."
	if !x.Created.IsZero() {
		foot = "Sent by Muster for " + x.By + " each Monday. End it with: muster report --end-mail " + x.ID
	}
	ctx, cancel := context.WithTimeout(ctx, sendFor)
	defer cancel()
	return s.mail(ctx, weekly.Letter{
		ID: "week-" + x.ID + "-" + w.Name, To: x.Email, Subject: "Muster, week " + w.Name + ": " + of, At: now,
		Text: weekly.Text(w, of, &r) + "\n" + foot + "\n", HTML: weekly.HTML(w, of, foot, &r),
	})
}

func (s *Service) subscribe(ctx context.Context, in *struct{ Body api.NewWeeklyReport }) (*struct{ Body api.WeeklyReport }, error) {
	n := in.Body
	if err := s.check(n.Email, n.TimeZone); err != nil {
		return nil, err
	}
	if access.Limited(ctx) {
		return nil, problem.New(http.StatusForbidden, "forbidden", "with a token that is limited no mail is ordered: each would show more than the token does", "sign in with muster login, or use a token without limits")
	}
	who, now := access.OrdererOf(ctx), s.Clock()
	x, err := s.kept.Add(weekly.Subscription{By: who.User, Owner: who.Owner, Machine: who.Machine, Email: n.Email, Project: n.Project, User: n.User, Zone: n.TimeZone}, now)
	if errors.Is(err, weekly.ErrFull) {
		return nil, problem.New(http.StatusConflict, "refused", "there are as many weekly reports as this server mails, or as it mails for you", "end some that nobody reads: muster report --end-mail ID")
	}
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	s.guard.Note(ctx, core.AuditEntry{Actor: access.Actor(ctx), Action: "POST /v1/weekly-reports", Verb: rbac.Create, Noun: rbac.Dashboards, Object: x.ID + " " + x.Email, Result: core.AuditDone})
	return &struct{ Body api.WeeklyReport }{apiOf(&x, now)}, nil
}

func apiOf(x *weekly.Subscription, now time.Time) api.WeeklyReport {
	out := api.WeeklyReport{ID: x.ID, Email: x.Email, By: x.By, Project: x.Project, User: x.User, TimeZone: x.Zone, Created: api.Time(x.Created), Next: api.Time(weekly.Next(x, x.Local(now))), Problem: x.Problem}
	if !x.SentAt.IsZero() {
		at := api.Time(x.SentAt)
		out.LastAt, out.LastWeek = &at, x.Sent
	}
	return out
}

func (s *Service) list(ctx context.Context, _ *struct{}) (*struct{ Body api.WeeklyReportList }, error) {
	out := &struct{ Body api.WeeklyReportList }{api.WeeklyReportList{Items: []api.WeeklyReport{}}}
	all, me := access.Owns(ctx), access.User(ctx)
	for _, x := range s.kept.Of(func(x *weekly.Subscription) bool { return all || x.By == me }) {
		out.Body.Items = append(out.Body.Items, apiOf(&x, s.Clock()))
	}
	return out, nil
}

func (s *Service) end(ctx context.Context, in *struct {
	ID string `path:"id"`
}) (*struct{}, error) {
	all, me := access.Owns(ctx), access.User(ctx)
	x, err := s.kept.Drop(func(x *weekly.Subscription) bool { return x.ID == in.ID && (all || x.By == me) })
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	if x == nil {
		return nil, problem.New(http.StatusNotFound, "not_found", "you have no weekly report "+strconv.Quote(in.ID)+" mailed", "muster report --mails lists them")
	}
	s.guard.Note(ctx, core.AuditEntry{Actor: access.Actor(ctx), Action: "DELETE /v1/weekly-reports/{id}", Verb: rbac.Delete, Noun: rbac.Dashboards, Object: x.ID + " " + x.Email, Result: core.AuditDone})
	return nil, nil
}

// Run mails what is due until ctx is done.
func (s *Service) Run(ctx context.Context) {
	for {
		if s.mail != nil {
			s.Send(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(look):
		}
	}
}

// Send mails what is due now, one after the other.
func (s *Service) Send(ctx context.Context) {
	all, weeks := s.kept.Due(s.Clock())
	for i := range all {
		x, w := &all[i], weeks[i]
		err := s.one(ctx, x, w)
		if ctx.Err() != nil {
			return // whoever goes on tries it anew
		}
		now := s.Clock()
		if err == nil {
			err = s.kept.Taken(x.ID, w, now)
		} else {
			s.Log.Warn("a weekly report was not mailed", "id", x.ID, "week", w.Name, "err", err)
			err = s.kept.Missed(x.ID, w, errors.Is(err, weekly.ErrNever), err.Error(), now)
		}
		if err != nil {
			s.Log.Warn("what became of a weekly report could not be written", "id", x.ID, "err", err)
		}
	}
}

func (s *Service) one(ctx context.Context, x *weekly.Subscription, w weekly.Week) error {
	ctx, ok := s.guard.As(ctx, access.Orderer{User: x.By, Owner: x.Owner, Machine: x.Machine})
	if !ok {
		return errors.New(x.By + " is let in no more")
	}
	return s.deliver(ctx, x, w, s.Clock())
}
