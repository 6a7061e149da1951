package document

import (
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core/spec"
)

// weekdays are the days of the week as people shorten them.
var weekdays = map[string]time.Weekday{
	"sun": time.Sunday, "mon": time.Monday, "tue": time.Tuesday, "wed": time.Wednesday, "thu": time.Thursday, "fri": time.Friday, "sat": time.Saturday,
}

// Until reads an instant to come as people write it, by the clock and the zone of
// now: "fri 09:00", "tomorrow 18:00", "18:00", "2027-01-31 09:00", "2h" from now,
// or 2027-01-31T08:00:00Z. What it does not know it leaves as it is, to be
// refused by who reads the document.
func Until(text string, now time.Time) string {
	if at, ok := comesTo(strings.ToLower(strings.TrimSpace(text)), now); ok {
		return at.Format(time.RFC3339)
	}
	return text
}

func comesTo(text string, now time.Time) (time.Time, bool) {
	if d, err := spec.ParseDuration(text); err == nil {
		return now.Add(d.Std()).UTC(), true
	}
	for _, layout := range []string{"2006-01-02t15:04:05", "2006-01-02t15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, true
		}
	}
	day, clock, two := strings.Cut(text, " ")
	if !two {
		day, clock = "", text
	}
	hour, err := time.Parse("15:04", strings.TrimSpace(clock))
	if err != nil {
		return time.Time{}, false
	}
	y, m, d := now.Date()
	on := func(days int) time.Time {
		return time.Date(y, m, d+days, hour.Hour(), hour.Minute(), 0, 0, now.Location())
	}
	weekday, known := weekdays[day[:min(len(day), 3)]]
	switch {
	case day == "" || day == "today":
		if at := on(0); day == "today" || at.After(now) {
			return at, true
		}
		return on(1), true
	case day == "tomorrow":
		return on(1), true
	case known && strings.HasPrefix(strings.ToLower(weekday.String()), day):
		days := (int(weekday) - int(now.Weekday()) + 7) % 7
		if at := on(days); at.After(now) {
			return at, true
		}
		return on(days + 7), true
	}
	return time.Time{}, false
}
