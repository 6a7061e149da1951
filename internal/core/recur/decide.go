package recur

import (
	"time"

	"github.com/musterhq/muster/internal/core"
)

// ManyMissed is from how many on missed times are not counted any more.
const ManyMissed = 100

// Question is what there is to know of a schedule at one moment.
type Question struct {
	Expression  *Expression
	Zone        *time.Location
	From        time.Time // times up to this one have been seen to, or do not count
	Suspended   bool
	Within      time.Duration // a run starts at most so long after its time; 0: however late
	Concurrency core.Concurrency
	Running     int // runs that have not ended
}

// Answer is what follows from it.
type Answer struct {
	// Start is the time for which a run is to start now; zero: none is. Replace says
	// that those which have not ended are stopped for it.
	Start   time.Time
	Replace bool
	// Held is the time of a run that is due and waits until those before it have ended;
	// TooLate that of one which is given up, as it would start too late. Zero: none.
	Held    time.Time
	TooLate time.Time
	// Missed is how many times have come before that one, and have had no run; more
	// than ManyMissed: they were not all counted.
	Missed int
	// Next is when to ask again by the clock alone; zero: never.
	Next time.Time
}

// Decide says what is due at a moment. Of several times that have come only the last
// has a run, as with a CronJob.
func Decide(q Question, now time.Time) Answer {
	if q.Suspended {
		return Answer{}
	}
	first := q.Expression.Next(q.From, q.Zone)
	if first.IsZero() || first.After(now) {
		return Answer{Next: first}
	}
	last := q.Expression.last(q.From, now, q.Zone)
	a := Answer{Next: q.Expression.Next(last, q.Zone)}
	for t := first; t.Before(last) && a.Missed <= ManyMissed; t = q.Expression.Next(t, q.Zone) {
		a.Missed++
	}
	latest := last.Add(q.Within)
	switch {
	case q.Within > 0 && now.After(latest):
		a.TooLate = last
	case q.Concurrency == core.ConcurrencyForbid && q.Running > 0:
		a.Held = last
		if over := latest.Add(time.Second); q.Within > 0 && over.Before(a.Next) {
			a.Next = over
		}
	default:
		a.Start, a.Replace = last, q.Concurrency == core.ConcurrencyReplace && q.Running > 0
	}
	return a
}

// Upcoming are the next times after a moment, at most n.
func Upcoming(e *Expression, zone *time.Location, after time.Time, n int) []time.Time {
	var out []time.Time
	for t := e.Next(after, zone); !t.IsZero() && len(out) < n; t = e.Next(t, zone) {
		out = append(out, t)
	}
	return out
}

// RunName is the name of the run of a schedule for one of its times: one name for
// each, so that no time can have two runs.
func RunName(schedule string, at time.Time) string {
	return schedule + "-" + at.UTC().Format("200601021504")
}

// LongestName is of how many characters the name of a schedule may be, so that those
// of its runs are names too, when names are of at most so many.
func LongestName(of int) int { return of - len("-200601021504") }
