package recur

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones do not depend on the machine

	"github.com/musterhq/muster/internal/core"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func parsed(t *testing.T, text string) *Expression {
	t.Helper()
	e, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e
}

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestTheNextTimesOfAnExpression(t *testing.T) {
	for _, c := range []struct {
		text, zone, after string
		want              []string // as the zone's clocks show them
	}{
		{"0 2 * * *", "UTC", "2026-11-26T02:00:00Z", []string{"2026-11-27T02:00:00Z", "2026-11-28T02:00:00Z"}},
		{"*/20 9-10 * * *", "UTC", "2026-11-26T09:19:59Z", []string{"2026-11-26T09:20:00Z", "2026-11-26T09:40:00Z", "2026-11-26T10:00:00Z"}},
		{"5/25 0 * * *", "UTC", "2026-01-01T00:00:00Z", []string{"2026-01-01T00:05:00Z", "2026-01-01T00:30:00Z", "2026-01-01T00:55:00Z", "2026-01-02T00:05:00Z"}},
		{"0 0 * * MON-fri", "UTC", "2026-11-26T12:00:00Z", []string{"2026-11-27T00:00:00Z", "2026-11-30T00:00:00Z"}},
		{"0 0 * * fri-sun", "UTC", "2026-11-26T12:00:00Z", []string{"2026-11-27T00:00:00Z", "2026-11-28T00:00:00Z", "2026-11-29T00:00:00Z", "2026-12-04T00:00:00Z"}},
		{"0 0 * * 7", "UTC", "2026-11-26T12:00:00Z", []string{"2026-11-29T00:00:00Z", "2026-12-06T00:00:00Z"}},
		{"30 6 1,15 jan,Jul *", "UTC", "2026-01-02T00:00:00Z", []string{"2026-01-15T06:30:00Z", "2026-07-01T06:30:00Z"}},
		// Where day of the month and of the week are both given either is enough.
		{"0 0 13 * fri", "UTC", "2026-11-07T00:00:00Z", []string{"2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z", "2026-11-27T00:00:00Z", "2026-12-04T00:00:00Z", "2026-12-11T00:00:00Z", "2026-12-13T00:00:00Z"}},
		{"0 0 29 2 *", "UTC", "2096-02-29T00:00:00Z", []string{"2104-02-29T00:00:00Z"}},
		{"@hourly", "UTC", "2026-11-26T23:30:00Z", []string{"2026-11-27T00:00:00Z"}},
		{"@weekly", "UTC", "2026-11-26T23:30:00Z", []string{"2026-11-29T00:00:00Z"}},
		{"@yearly", "UTC", "2026-11-26T23:30:00Z", []string{"2027-01-01T00:00:00Z"}},
		// 02:30 is skipped on the 29th of March in Berlin, and comes twice on the 25th of October.
		{"30 2 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z", []string{"2026-03-28T02:30:00+01:00", "2026-03-30T02:30:00+02:00"}},
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", []string{"2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-26T02:30:00+01:00"}},
		// Every hour comes every hour, whatever the clocks do.
		{"0 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", []string{"2026-03-29T03:00:00+02:00", "2026-03-29T04:00:00+02:00"}},
		{"0 * * * *", "Europe/Berlin", "2026-10-24T23:30:00Z", []string{"2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"}},
		// The clocks of Lord Howe move by half an hour.
		{"*/30 2 * * *", "Australia/Lord_Howe", "2026-10-02T16:00:00Z", []string{"2026-10-04T02:30:00+11:00", "2026-10-05T02:00:00+11:00"}},
		// In Beirut the day begins at 01:00 when summer does: midnight is skipped.
		{"0 0 * * *", "Asia/Beirut", "2026-03-27T23:00:00Z", []string{"2026-03-30T00:00:00+03:00"}},
		{"0 1 29 3 *", "Asia/Beirut", "2026-03-27T23:00:00Z", []string{"2026-03-29T01:00:00+03:00"}},
	} {
		z := zone(t, c.zone)
		var got []string
		for _, at := range Upcoming(parsed(t, c.text), z, instant(t, c.after), len(c.want)) {
			got = append(got, at.In(z).Format(time.RFC3339))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q in %s after %s:\n have %v\n want %v", c.text, c.zone, c.after, got, c.want)
		}
	}
}

// Minute by minute is slow and plainly right: Next has to say the same.
func TestNextAgreesWithLookingAtEveryMinute(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut", "America/Havana", "Asia/Kathmandu"} {
		z := zone(t, name)
		for _, text := range []string{"0 0 * * *", "30 2 * * *", "*/7 1-3 * mar,oct,nov,apr sun", "15 0,23 1,25-31 * mon", "0 */5 * * *"} {
			e := parsed(t, text)
			for _, begin := range []string{"2026-03-07T00:00:00Z", "2026-03-27T00:00:00Z", "2026-10-02T00:00:00Z", "2026-10-23T00:00:00Z", "2026-10-31T00:00:00Z"} {
				from := instant(t, begin)
				var want []time.Time
				for at := from.Add(time.Minute); at.Before(from.AddDate(0, 0, 4)); at = at.Add(time.Minute) {
					l := at.In(z)
					if e.day(l.Month(), l.Day(), l.Weekday()) && e.hours&(1<<l.Hour()) != 0 && e.minutes&(1<<l.Minute()) != 0 {
						want = append(want, at)
					}
				}
				if got := Upcoming(e, z, from, len(want)); !slices.EqualFunc(got, want, time.Time.Equal) {
					t.Errorf("%q in %s after %s: %v, want %v", text, name, begin, got, want)
				}
				if len(want) > 0 {
					if got := e.last(from, from.AddDate(0, 0, 4).Add(-time.Second), z); !got.Equal(want[len(want)-1]) {
						t.Errorf("%q in %s: the last is %v, want %v", text, name, got, want[len(want)-1])
					}
				}
			}
		}
	}
}

func TestWrongExpressionsSayWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "is missing",
		"0 2 * *":               "has 4 fields",
		"0 0 2 * * *":           "has 6 fields",
		"60 * * * *":            "from 0 to 59",
		"* 24 * * *":            "from 0 to 23",
		"* * 0 * *":             "from 1 to 31",
		"* * * 13 *":            "jan to dec",
		"* * * * 8":             "sun to sat",
		"* * * foo *":           `month "foo" is not`,
		"*/0 * * * *":           "not a step",
		"9-5 * * * *":           "ends before it begins",
		"+5 * * * *":            `minute "`,
		"0 0 30 2 *":            "never comes",
		"0 0 31 feb,apr *":      "never comes",
		"@reboot":               "not a word",
		"@every 1h":             "not a word",
		"TZ=UTC 0 2 * * *":      "timeZone",
		"1, * * * *":            `minute "`,
		"CRON_TZ=UTC 0 0 * * *": "timeZone",
	} {
		_, err := Parse(text)
		var p *Problem
		if !errors.As(err, &p) || !strings.Contains(err.Error(), want) || p.Hint == "" {
			t.Errorf("%q: %v, want something with %q", text, err, want)
		}
	}
	parsed(t, "0 0 31 2 mon") // its Mondays come
}

func TestWhatIsDue(t *testing.T) {
	const day = "2026-11-26T"
	at := func(clock string) time.Time { return instant(t, day+clock+":00Z") }
	none := time.Time{}
	for name, c := range map[string]struct {
		q    Question
		now  time.Time
		want Answer
	}{
		"nothing yet":              {Question{From: at("01:00")}, at("01:59"), Answer{Next: at("02:00")}},
		"on the minute":            {Question{From: at("01:00")}, at("02:00"), Answer{Start: at("02:00"), Next: at("03:00")}},
		"seen to":                  {Question{From: at("02:00")}, at("02:30"), Answer{Next: at("03:00")}},
		"only the last of many":    {Question{From: at("01:00")}, at("05:10"), Answer{Start: at("05:00"), Missed: 3, Next: at("06:00")}},
		"suspended":                {Question{From: at("01:00"), Suspended: true}, at("05:10"), Answer{}},
		"too late":                 {Question{From: at("01:00"), Within: 5 * time.Minute}, at("03:06"), Answer{TooLate: at("03:00"), Missed: 1, Next: at("04:00")}},
		"late, and in time":        {Question{From: at("02:00"), Within: 5 * time.Minute}, at("03:05"), Answer{Start: at("03:00"), Next: at("04:00")}},
		"beside another":           {Question{From: at("02:00"), Concurrency: core.ConcurrencyAllow, Running: 2}, at("03:00"), Answer{Start: at("03:00"), Next: at("04:00")}},
		"behind another":           {Question{From: at("02:00"), Concurrency: core.ConcurrencyForbid, Running: 1}, at("03:00"), Answer{Held: at("03:00"), Next: at("04:00")}},
		"behind another, for long": {Question{From: at("02:00"), Concurrency: core.ConcurrencyForbid, Running: 1}, at("05:00"), Answer{Held: at("05:00"), Missed: 2, Next: at("06:00")}},
		"behind another, for a while": {Question{From: at("02:00"), Within: time.Minute, Concurrency: core.ConcurrencyForbid, Running: 1}, at("03:00"),
			Answer{Held: at("03:00"), Next: at("03:01").Add(time.Second)}},
		"the other has ended": {Question{From: at("02:00"), Concurrency: core.ConcurrencyForbid}, at("03:40"), Answer{Start: at("03:00"), Next: at("04:00")}},
		"instead of another":  {Question{From: at("02:00"), Concurrency: core.ConcurrencyReplace, Running: 1}, at("03:00"), Answer{Start: at("03:00"), Replace: true, Next: at("04:00")}},
		"instead of none":     {Question{From: at("02:00"), Concurrency: core.ConcurrencyReplace}, at("03:00"), Answer{Start: at("03:00"), Next: at("04:00")}},
		"very many":           {Question{From: at("02:00").AddDate(-1, 0, 0)}, at("03:00"), Answer{Start: at("03:00"), Missed: ManyMissed + 1, Next: at("04:00")}},
		"the clock went back": {Question{From: at("05:00")}, at("03:00"), Answer{Next: at("06:00")}},
		"from nothing on":     {Question{From: none}, at("03:00"), Answer{Start: at("03:00"), Missed: ManyMissed + 1, Next: at("04:00")}},
	} {
		c.q.Expression, c.q.Zone = parsed(t, "@hourly"), time.UTC
		if got := Decide(c.q, c.now); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A round asks every schedule of a server that was away for a year.
func TestAYearOfMinutesIsNotCounted(t *testing.T) {
	e := parsed(t, "* * * * *")
	now := instant(t, "2026-11-26T03:00:00Z")
	n := 0
	for ; n < 50; n++ {
		if a := Decide(Question{Expression: e, Zone: time.UTC, From: now.AddDate(-1, 0, 0)}, now); !a.Start.Equal(now) || a.Missed != ManyMissed+1 {
			t.Fatalf("%+v", a)
		}
	}
}

func TestNamesOfRuns(t *testing.T) {
	at := instant(t, "2026-10-25T02:30:00+02:00")
	again := instant(t, "2026-10-25T02:30:00+01:00")
	if a, b := RunName("night", at), RunName("night", again); a != "night-202610250030" || a == b {
		t.Errorf("%s and %s", a, b)
	}
	if n := LongestName(52); len(RunName(strings.Repeat("x", n), at)) != 52 {
		t.Errorf("%d characters are left", n)
	}
}
