package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/notify"
	"github.com/musterhq/muster/internal/server"
	"github.com/musterhq/muster/internal/testing/fakebackend"
	"github.com/musterhq/muster/internal/testing/memstore"
	"github.com/musterhq/muster/internal/testing/postbox"
	"github.com/musterhq/muster/internal/weekly"
)

// newWorldThatMails is newWorld with a mail server.
func newWorldThatMails(t *testing.T) (*world, *postbox.Box) {
	t.Helper()
	box := postbox.New(t)
	return newWorldSet(t, memstore.New(), func(c *server.Config) {
		m := notify.Mail{Server: box.At, From: "muster@example.com"}
		c.Mail = func(ctx context.Context, l weekly.Letter) error {
			err := m.Send(ctx, notify.Letter(l))
			if notify.Never(err) {
				return errors.Join(err, weekly.ErrNever)
			}
			return err
		}
	}, fakebackend.Node("node-1", 64000, 64<<30, 4, "Fake A100")), box
}

// mondayMorning sets the clock to the n-th Monday from now, after reports go out.
func (w *world) mondayMorning(n int) {
	now := time.Now()
	days := (8 - int(now.Weekday())) % 7
	if days == 0 {
		days = 7
	}
	at := time.Date(now.Year(), now.Month(), now.Day()+days+7*(n-1), 9, 0, 0, 0, now.Location())
	w.ahead.Store(int64(at.Sub(now)))
}

// sends runs what mails reports, until something is so.
func (w *world) sends(what string, so func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.server.Weekly(ctx)
	}()
	await(w.t, what, so)
	cancel()
	<-ended
}

func TestAReportIsMailed(t *testing.T) {
	w, box := newWorldThatMails(t)
	w.submit(`{"name":"ran-once","command":["fake","run=10ms"],"resources":{"gpu":1,"cpu":1}}`)
	w.await("ran-once", "Completed")
	var sent api.ReportMail
	w.ok("POST", "/v1/report-mails", `{"email":"ana@example.com","week":"this"}`, http.StatusOK, &sent)
	all := box.Letters()
	if len(all) != 1 || all[0].To != "ana@example.com" || !strings.Contains(all[0].Subject, sent.Week) {
		t.Fatalf("%+v: %+v", sent, all)
	}
	for kind, text := range all[0].Parts {
		for _, want := range []string{"1 workloads", "default/ran-once", "1 Completed", "Sent by Muster for"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", kind, want, text)
			}
		}
	}
	if len(all[0].Parts) != 2 {
		t.Errorf("parts %v", all[0].Parts)
	}
	for body, says := range map[string]string{
		`{"email":"ana"}`: "is not an address", `{"email":"ana@example.com","week":"2999-W01"}`: "has begun", `{"email":"ana@example.com","week":"soon"}`: "is not a week",
		`{"email":"ana@example.com","timeZone":"Mars/Olympus"}`: "is not a time zone",
	} {
		if p := w.refused("POST", "/v1/report-mails", body, http.StatusUnprocessableEntity, "invalid"); !strings.Contains(p.Detail, says) {
			t.Errorf("%s: %s", body, p.Detail)
		}
	}
	if p := w.refused("POST", "/v1/report-mails", `{"email":"nobody@example.com"}`, http.StatusBadGateway, "unavailable"); !strings.Contains(p.Detail, "no such user") {
		t.Errorf("to nobody: %s", p.Detail)
	}
	if p := newWorld(t).refused("POST", "/v1/weekly-reports", `{"email":"ana@example.com"}`, http.StatusConflict, "refused"); !strings.Contains(p.Hint, "--smtp-server") {
		t.Errorf("without a mail server: %+v", p)
	}
}

func TestAReportGoesOutEachMonday(t *testing.T) {
	w, box := newWorldThatMails(t)
	var made api.WeeklyReport
	w.ok("POST", "/v1/weekly-reports", `{"email":"ana@example.com"}`, http.StatusCreated, &made)
	w.ok("POST", "/v1/weekly-reports", `{"email":"nobody@example.com"}`, http.StatusCreated, nil)
	list := func() (all api.WeeklyReportList) {
		w.ok("GET", "/v1/weekly-reports", "", http.StatusOK, &all)
		return all
	}
	if all := list(); len(all.Items) != 2 || all.Items[0].LastWeek != "" || !time.Time(all.Items[0].Next).After(time.Now()) {
		t.Fatalf("%+v", all)
	}
	w.mondayMorning(1)
	box.Busy(1)
	w.sends("a first try to fail", func() bool { all := list(); return all.Items[0].Problem != "" && all.Items[1].Problem != "" })
	if n := len(box.Letters()); n != 0 {
		t.Fatalf("%d letters", n)
	}
	w.ahead.Add(int64(time.Hour))
	w.sends("the next try", func() bool { return len(box.Letters()) == 1 && list().Items[0].LastWeek != "" })
	all := list()
	if x := all.Items[0]; x.Problem != "" || !strings.Contains(box.Letters()[0].Parts["text/html"], "week "+x.LastWeek) {
		t.Errorf("%+v", x)
	}
	if x := all.Items[1]; x.LastWeek != "" || !strings.Contains(x.Problem, "no such user") || !time.Time(x.Next).After(time.Time(all.Items[0].Next).Add(-time.Second)) {
		t.Errorf("what is refused for good waits for the next week: %+v", x)
	}
	w.mondayMorning(2)
	w.sends("the second week", func() bool { return len(box.Letters()) == 2 })
	if ids := []string{box.Letters()[0].Head.Get("Message-Id"), box.Letters()[1].Head.Get("Message-Id")}; ids[0] == ids[1] {
		t.Errorf("ids %v", ids)
	}
	w.ok("DELETE", "/v1/weekly-reports/"+made.ID, "", http.StatusNoContent, nil)
	w.refused("DELETE", "/v1/weekly-reports/"+made.ID, "", http.StatusNotFound, "not_found")
	w.ok("POST", "/v1/weekly-reports", `{"email":"new@example.com"}`, http.StatusCreated, nil)
	w.mondayMorning(3)
	w.sends("the third week", func() bool { return len(box.Letters()) == 3 })
	if to := box.Letters()[2].To; to != "new@example.com" {
		t.Errorf("the third went to %s", to)
	}
}

// What a mail shows is what its orderer may see when it goes out.
func TestAMailShowsWhatItsOrdererMaySee(t *testing.T) {
	w, box := newWorldThatMails(t)
	r := newRealmOver(t, w)
	r.person("ann", rbac.ProjectLead, "vision")
	r.person("bob", rbac.ProjectLead, "zq-hidden")
	for user, project := range map[string]string{"ann": "vision", "bob": "zq-hidden"} {
		r.submits(user, `{"name":"of-`+user+`","project":"`+project+`","command":["fake","run=10ms"],"resources":{"gpu":1,"cpu":1}}`)
		await(t, "it ran", func() bool {
			var x api.Workload
			r.must("GET", "/v1/projects/"+project+"/workloads/of-"+user, "", &x)
			return x.Phase == "Completed"
		})
	}
	shows := func(l *postbox.Letter, want, not string) {
		t.Helper()
		for kind, text := range l.Parts {
			if want != "" && !strings.Contains(text, want) || strings.Contains(text, not) {
				t.Errorf("%s to %s:\n%s", kind, l.To, text)
			}
		}
	}
	if status, text := r.as("ann", "POST", "/v1/report-mails", `{"email":"ann@example.com","week":"this"}`); status != http.StatusOK {
		t.Fatal(status, text)
	}
	shows(&box.Letters()[0], "vision/of-ann", "hidden")
	r.rule("ann", rbac.ProjectLead, "zq-hidden")
	status, text := r.as("ann", "POST", "/v1/weekly-reports", `{"email":"ann@example.com"}`)
	var made api.WeeklyReport
	if err := json.Unmarshal([]byte(text), &made); err != nil || status != http.StatusCreated || made.By != "ann" {
		t.Fatal(status, text)
	}
	if status, _ := r.as("bob", "DELETE", "/v1/weekly-reports/"+made.ID, ""); status != http.StatusNotFound {
		t.Errorf("bob ends ann's: %d", status)
	}
	if _, text := r.as("bob", "GET", "/v1/weekly-reports", ""); strings.Contains(text, made.ID) {
		t.Errorf("bob sees ann's: %s", text)
	}
	var rules api.AccessRuleList
	r.must("GET", "/v1/access-rules", "", &rules)
	for _, x := range rules.Items {
		if x.Subject == "user:ann" && x.Scope == "zq-hidden" {
			r.must("DELETE", "/v1/access-rules/"+x.ID, "", nil)
		}
	}
	r.mondayMorning(1)
	r.sends("Monday's", func() bool { return len(box.Letters()) == 2 })
	shows(&box.Letters()[1], "vision", "hidden")
	r.must("PATCH", "/v1/users/ann", `{"disabled":true}`, nil)
	r.mondayMorning(2)
	r.sends("a refusal", func() bool {
		var all api.WeeklyReportList
		r.must("GET", "/v1/weekly-reports", "", &all)
		return strings.Contains(all.Items[0].Problem, "let in no more")
	})
	if n := len(box.Letters()); n != 2 {
		t.Errorf("%d letters", n)
	}
	var token api.MadeToken
	r.must("POST", "/v1/tokens", `{"user":"bob","permissions":["read:dashboards"]}`, &token)
	r.tokens["bob"] = token.Text
	if status, text := r.as("bob", "POST", "/v1/weekly-reports", `{"email":"bob@example.com"}`); status != http.StatusForbidden || !strings.Contains(text, "limited") {
		t.Errorf("with a limited token: %d %s", status, text)
	}
}
