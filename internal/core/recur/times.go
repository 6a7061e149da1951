package recur

import "time"

// farthest is how far off a next time can be at most: from the 29th of February of
// 2096 to that of 2104.
const farthest = 9

// day reports whether a day is due.
func (e *Expression) day(month time.Month, day int, weekday time.Weekday) bool {
	if e.months&(1<<month) == 0 {
		return false
	}
	inMonth, inWeek := e.days&(1<<day) != 0, e.weekdays&(1<<weekday) != 0
	if e.anyDay || e.anyWeekday {
		return inMonth && inWeek
	}
	return inMonth || inWeek
}

// Next is the first time after another, by the clocks of a zone; zero: there is none.
func (e *Expression) Next(after time.Time, zone *time.Location) time.Time {
	t := after.Truncate(time.Minute).Add(time.Minute).In(zone)
	for last := t.AddDate(farthest, 0, 0); t.Before(last); {
		switch {
		case !e.day(t.Month(), t.Day(), t.Weekday()):
			t = nextDay(t, zone)
		case e.hours&(1<<t.Hour()) == 0:
			t = t.Add(time.Duration(60-t.Minute()) * time.Minute)
		case e.minutes&(1<<t.Minute()) == 0:
			next := t.Minute() + 1
			for next < 60 && e.minutes&(1<<next) == 0 {
				next++
			}
			t = t.Add(time.Duration(next-t.Minute()) * time.Minute)
		default:
			return t.UTC()
		}
	}
	return time.Time{}
}

// nextDay is the first minute of the day after that of t. Where the clocks skip
// midnight it is later than that.
func nextDay(t time.Time, zone *time.Location) time.Time {
	year, month, day := t.Date()
	n := time.Date(year, month, day+1, 0, 0, 0, 0, zone)
	for n.Day() == day || !n.After(t) { // a midnight that is skipped may be taken for an hour before it
		n = n.Add(time.Minute)
	}
	for before := n.Add(-time.Minute); before.Day() == n.Day() && before.After(t); before = n.Add(-time.Minute) {
		n = before
	}
	return n
}

// spans are how far back the last time is looked for, one after the other.
var spans = []time.Duration{time.Hour, 25 * time.Hour, 8 * 24 * time.Hour, 63 * 24 * time.Hour, 367 * 24 * time.Hour, farthest * 366 * 24 * time.Hour}

// last is the last time after from, up to a moment and with it; zero: there is none.
func (e *Expression) last(from, until time.Time, zone *time.Location) time.Time {
	for _, span := range spans {
		begin := until.Add(-span)
		if begin.Before(from) {
			begin = from
		}
		var last time.Time
		for t := e.Next(begin, zone); !t.IsZero() && !t.After(until); t = e.Next(t, zone) {
			last = t
		}
		if !last.IsZero() || begin.Equal(from) {
			return last
		}
	}
	return time.Time{}
}
