package table

import (
	"strconv"
	"strings"
	"time"
)

// Midnight is when the day began.
func Midnight(now time.Time) time.Time {
	y, m, d := now.Local().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.Local)
}

// PastInstant reads a time as sacct takes it (slurm.schedmd.com/sacct.html,
// --starttime): what has no date is of today.
func PastInstant(text string, now time.Time) (time.Time, bool) {
	text = strings.TrimSpace(text)
	today := Midnight(now)
	word := strings.ToLower(text)
	if at, ok := map[string]time.Duration{"today": 0, "midnight": 0, "noon": 12 * time.Hour, "fika": 15 * time.Hour, "teatime": 16 * time.Hour}[word]; ok {
		return today.Add(at), true
	}
	if rest, ok := strings.CutPrefix(word, "now"); ok {
		return fromNow(rest, now)
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02-15:04:05", "2006-01-02-15:04", time.DateOnly, time.RFC3339} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at, true
		}
	}
	for _, layout := range []string{"15:04:05", "15:04", "3:04:05PM", "3:04PM"} {
		if at, err := time.Parse(layout, strings.ToUpper(text)); err == nil {
			return today.Add(time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute + time.Duration(at.Second())*time.Second), true
		}
	}
	for _, date := range []string{"0102", "010206", "1.2", "1.2.06", "1/2", "1/2/06", "1/2/2006"} {
		for _, clock := range []string{"", "-15:04", "-15:04:05"} {
			at, err := time.ParseInLocation(date+clock, text, time.Local)
			if err != nil {
				continue
			}
			if !strings.Contains(date, "06") { // of this year
				at = at.AddDate(today.Year()-at.Year(), 0, 0)
			}
			return at, true
		}
	}
	return time.Time{}, false
}

// fromNow reads what follows now: nothing, or +N or -N with a unit.
func fromNow(text string, now time.Time) (time.Time, bool) {
	if text == "" {
		return now, true
	}
	digits := strings.TrimLeft(text, "+-0123456789")
	n, err := strconv.Atoi(text[:len(text)-len(digits)])
	if err != nil || text[0] != '+' && text[0] != '-' || n > 1e8 || n < -1e8 {
		return time.Time{}, false
	}
	for _, unit := range []struct {
		word string
		size time.Duration
	}{{"second", time.Second}, {"minute", time.Minute}, {"hour", time.Hour}, {"day", 24 * time.Hour}, {"week", 7 * 24 * time.Hour}} {
		if w := strings.TrimSuffix(digits, "s"); digits == "" || w != "" && strings.HasPrefix(unit.word, w) {
			return now.Add(time.Duration(n) * unit.size), true
		}
	}
	return time.Time{}, false
}
