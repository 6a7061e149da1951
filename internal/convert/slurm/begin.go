package slurm

import (
	"strings"
	"time"
	"unicode"
)

// counts are the units of now+N (slurm.schedmd.com/sbatch.html, --begin), by
// their beginning; a bare number is seconds.
var counts = []struct {
	word string
	size time.Duration
}{{"", time.Second}, {"second", time.Second}, {"minute", time.Minute}, {"hour", time.Hour}, {"day", 24 * time.Hour}, {"week", 7 * 24 * time.Hour}}

// Begin is the time that --begin says, with its zone; what it does not know it
// leaves as it is, to be refused by who reads the rest.
func Begin(text string, now time.Time) string {
	at, ok := begins(strings.TrimSpace(text), now)
	if !ok {
		return text
	}
	return at.Format(time.RFC3339)
}

func begins(text string, now time.Time) (time.Time, bool) {
	day := func(add int) time.Time {
		y, m, d := now.Date()
		return time.Date(y, m, d+add, 0, 0, 0, 0, now.Location())
	}
	next := func(at time.Time) (time.Time, bool) {
		if at.Before(now) {
			at = at.AddDate(0, 0, 1)
		}
		return at, true
	}
	switch strings.ToLower(text) {
	case "now":
		return now, true
	case "today":
		return day(0), true
	case "tomorrow":
		return day(1), true
	case "midnight":
		return day(1), true
	case "noon":
		return next(day(0).Add(12 * time.Hour))
	case "teatime":
		return next(day(0).Add(16 * time.Hour))
	}
	if rest, ok := strings.CutPrefix(strings.ToLower(text), "now+"); ok {
		return counted(rest, now)
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, true
		}
	}
	for _, layout := range []string{"15:04:05", "15:04", "3:04PM", "3PM"} {
		if at, err := time.Parse(layout, strings.ToUpper(text)); err == nil {
			return next(day(0).Add(time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute + time.Duration(at.Second())*time.Second))
		}
	}
	return time.Time{}, false
}

// counted is N units from now.
func counted(text string, now time.Time) (time.Time, bool) {
	n, unit := 0, strings.TrimLeftFunc(text, unicode.IsDigit)
	for _, r := range text[:len(text)-len(unit)] {
		if n = n*10 + int(r-'0'); n > 1e8 {
			return time.Time{}, false
		}
	}
	for _, c := range counts {
		if len(unit) < len(text) && strings.TrimSuffix(unit, "s") == c.word {
			return now.Add(time.Duration(n) * c.size), true
		}
	}
	return time.Time{}, false
}
