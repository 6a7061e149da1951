package weekly

import "time"

// Hour is when on Monday the report of the week before goes out, in the time zone of who
// wants it: the week is over, and nobody is woken.
const Hour = 6

// giveUp is when in its week a report is given up that no mail server has taken.
const giveUp = 3 * 24 * time.Hour

// pause is the wait after so many failed tries in a row, up to a bound.
func pause(failed int) time.Duration {
	return min(time.Minute<<min(failed-1, 10), 2*time.Hour)
}

// due is the week whose report a subscription has yet to send at a time of its own zone;
// false: none. What a server that was away has missed it sends as long as the week is the
// last one.
func due(x *Subscription, now time.Time) (Week, bool) {
	last, _ := Of(Last, now)
	if x.Sent >= last.Name || now.Before(opens(last)) || now.Before(x.NotBefore) {
		return Week{}, false
	}
	return last, true
}

// opens is when the report of a week may go.
func opens(w Week) time.Time { return w.To.Add(Hour * time.Hour) }

// Next is when the next report goes to who has subscribed, in their zone.
func Next(x *Subscription, now time.Time) time.Time {
	last, _ := Of(Last, now)
	at := opens(last)
	if x.Sent >= last.Name {
		this, _ := Of("this", now)
		at = opens(this)
	}
	if at.Before(x.NotBefore) {
		at = x.NotBefore
	}
	return at
}

// missed notes a try that failed: another follows, until the week is too old for it or
// the mail server has said that it never takes this.
func missed(x *Subscription, w Week, never bool, why string, now time.Time) {
	x.Failed++
	x.Problem = why
	x.NotBefore = now.Add(pause(x.Failed)).UTC()
	if never || now.Sub(opens(w)) > giveUp {
		x.Sent, x.Failed, x.NotBefore = w.Name, 0, time.Time{}
	}
}

// taken notes that the mail server has a report.
func taken(x *Subscription, w Week, now time.Time) {
	x.Sent, x.SentAt, x.Failed, x.Problem, x.NotBefore = w.Name, now.UTC(), 0, "", time.Time{}
}
