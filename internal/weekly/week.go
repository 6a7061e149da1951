// Package weekly is the report of one week for people who are not before the pages: as a
// text, as mail, and to whom it goes each Monday.
package weekly

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Last is the word for the week before the present one.
const Last = "last"

// Week is a week of the calendar, from Monday on, in one time zone.
type Week struct {
	Name     string // 2026-W47, as ISO 8601 counts them
	From, To time.Time
}

// Of reads the name of a week: last, this, or 2026-W47. The zone is that of now; false:
// it names none.
func Of(text string, now time.Time) (Week, bool) {
	from := monday(now)
	switch text {
	case "this":
	case Last:
		from = monday(from.AddDate(0, 0, -7))
	default:
		y, n, ok := strings.Cut(text, "-W")
		year, bad := strconv.Atoi(y)
		number, worse := strconv.Atoi(n)
		if !ok || bad != nil || worse != nil || year <= 1970 || year >= 10000 {
			return Week{}, false
		}
		from = monday(time.Date(year, 1, 4, 0, 0, 0, 0, now.Location())).AddDate(0, 0, 7*(number-1)) // the 4th of January is in the first
		if is, at := from.ISOWeek(); is != year || at != number {
			return Week{}, false
		}
	}
	return beginning(from), true
}

// beginning is the week that begins with a Monday.
func beginning(from time.Time) Week {
	year, number := from.ISOWeek()
	return Week{fmt.Sprintf("%d-W%02d", year, number), from, day(from.AddDate(0, 0, 7))}
}

// days are its first and last, as people write them.
func (w Week) days() (first, last string) {
	const form = "Mon 2 Jan 2006"
	return w.From.Format(form), w.To.AddDate(0, 0, -1).Format(form)
}

func day(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

func monday(t time.Time) time.Time { return day(t.AddDate(0, 0, -(int(t.Weekday())+6)%7)) }
