package weekly

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
)

func at(text string) time.Time {
	t, err := time.ParseInLocation("2006-01-02 15:04", text, time.UTC)
	if err != nil {
		panic(err)
	}
	return t
}

// A report goes once for each week, from Monday morning on, whatever the server was doing.
func TestAReportIsDueOnceAWeek(t *testing.T) {
	x := &Subscription{Sent: "2026-W47", Zone: "UTC"} // of the week until Sunday, 22 November
	for _, step := range []struct {
		now, due, next string
	}{
		{"2026-11-27 15:00", "", "2026-11-30 06:00"},
		{"2026-11-30 05:59", "", "2026-11-30 06:00"},
		{"2026-11-30 06:00", "2026-W48", "2026-11-30 06:00"},
		{"2026-12-02 11:00", "2026-W48", "2026-11-30 06:00"}, // the server was away
		{"2027-01-04 08:00", "2026-W53", "2027-01-04 06:00"}, // for longer: the last week is what people want
	} {
		now := at(step.now)
		w, is := due(x, now)
		if w.Name != step.due || is != (step.due != "") {
			t.Errorf("at %s %q is due, want %q", step.now, w.Name, step.due)
		}
		if next := Next(x, now).Format("2006-01-02 15:04"); next != step.next {
			t.Errorf("at %s the next goes at %s, want %s", step.now, next, step.next)
		}
	}
	now := at("2026-11-30 06:00")
	w, _ := due(x, now)
	missed(x, w, false, "busy", now)
	if _, is := due(x, now.Add(30*time.Second)); is || x.Problem != "busy" {
		t.Errorf("tried again at once: %+v", x)
	}
	if _, is := due(x, now.Add(time.Minute)); !is {
		t.Errorf("not tried again: %+v", x)
	}
	taken(x, w, now.Add(time.Minute))
	if _, is := due(x, now.Add(time.Hour)); is || x.Problem != "" || x.Failed != 0 {
		t.Errorf("sent twice: %+v", x)
	}
	for _, never := range []bool{true, false} {
		x := &Subscription{Sent: "2026-W47", Zone: "UTC"}
		late := now
		if !never {
			late = at("2026-12-03 06:01")
		}
		missed(x, w, never, "no such user", late)
		if _, is := due(x, late.Add(24*time.Hour)); is || x.Problem == "" {
			t.Errorf("never %v: it is not given up: %+v", never, x)
		}
	}
	if pause(1) != time.Minute || pause(3) != 4*time.Minute || pause(100) != 2*time.Hour {
		t.Errorf("pauses %v %v %v", pause(1), pause(3), pause(100))
	}
}

// Weeks begin where who has subscribed is.
func TestAWeekBeginsWhereItsReaderIs(t *testing.T) {
	x := &Subscription{Sent: "2026-W47", Zone: "Asia/Tokyo"}
	now := at("2026-11-29 21:00") // Monday, six in the morning there
	if w, is := due(x, x.Local(now)); !is || w.From.UTC() != at("2026-11-22 15:00") || w.To.UTC() != at("2026-11-29 15:00") {
		t.Errorf("%+v, %v", w, is)
	}
	if _, is := due(x, x.Local(now.Add(-time.Minute))); is {
		t.Error("it is due too early")
	}
}

func TestSubscriptionsAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weekly.json")
	k, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	now := at("2026-11-27 15:00")
	a, err := k.Add(Subscription{By: "ann", Email: "ann@example.com", Zone: "UTC"}, now)
	if err != nil || a.Sent != "2026-W47" || a.ID == "" {
		t.Fatalf("%+v, %v", a, err)
	}
	for range mostOne {
		_, err = k.Add(Subscription{By: "bob", Zone: "UTC"}, now)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Add(Subscription{By: "bob", Zone: "UTC"}, now); err != ErrFull {
		t.Errorf("one more of bob's: %v", err)
	}
	w, _ := Of("2026-W48", now)
	if err := k.Taken(a.ID, w, at("2026-11-30 06:00")); err != nil {
		t.Fatal(err)
	}
	if x, err := k.Drop(func(x *Subscription) bool { return x.By == "bob" }); x == nil || err != nil {
		t.Fatal(x, err)
	}
	if k, err = Open(path); err != nil {
		t.Fatal(err)
	}
	all := k.Of(func(*Subscription) bool { return true })
	if len(all) != mostOne || all[0].Sent != "2026-W48" || !all[0].SentAt.Equal(at("2026-11-30 06:00")) {
		t.Errorf("%d, %+v", len(all), all[0])
	}
	if due, weeks := k.Due(at("2026-11-30 07:00")); len(due) != mostOne-1 || weeks[0].Name != "2026-W48" || due[0].By != "bob" {
		t.Errorf("%d are due: %+v", len(due), due[0])
	}
}

// Nothing that somebody has named is markup in a mail.
func TestAMailIsNoMarkupOfItsOwn(t *testing.T) {
	w, _ := Of("2026-W47", at("2026-11-27 15:00"))
	page := HTML(w, `<script>x</script>`, `a & "b"`, &api.UsageReport{
		By: []string{"user"}, Items: []api.ReportRow{{User: `<img src=x onerror=y>`, GPUHours: 1}},
		Largest: []api.ReportRun{{Project: "p", Name: `"><b>`, User: "u"}}, Waited: []api.WaitedFor{{Reason: "<i>", Hours: 1}}, Missing: []string{"</body>"},
	})
	for _, not := range []string{"<script", "<img", "<b>", "<i>", "</body>\n<p", "& \""} {
		if strings.Contains(page, not) {
			t.Errorf("it has %q:\n%s", not, page)
		}
	}
	for _, want := range []string{"Muster, week 2026-W47", "&lt;img src=x", "What ran most", "Why it waited"} {
		if !strings.Contains(page, want) {
			t.Errorf("it lacks %q:\n%s", want, page)
		}
	}
}
