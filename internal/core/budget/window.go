package budget

import (
	"cmp"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// Key says what is counted together: what a project or department uses in a period,
// or one user in it.
type Key struct {
	Scope       core.ProjectID
	User        string // empty: all
	Each        bool   // each user has a budget of their own
	Period      core.BudgetPeriod
	From, Until int64 // unix seconds, of a budget for once
}

// KeyOf is where a budget of a scope is counted, for a user where each has one.
func KeyOf(scope core.ProjectID, b *core.Budget, user string) Key {
	k := Key{Scope: scope, Period: b.Period, Each: b.EachUser}
	if b.EachUser {
		k.User = user
	}
	if b.Period == core.BudgetOnce {
		k.From, k.Until = b.From.Unix(), b.Until.Unix()
	}
	return k
}

// Window is the time that is counted together and that now is in, [from, until); of a
// budget for once that of the budget, whenever now is.
func (k Key) Window(now time.Time) (from, until time.Time) {
	now = now.UTC()
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	switch k.Period {
	case core.BudgetDay:
		return day, day.AddDate(0, 0, 1)
	case core.BudgetWeek:
		monday := day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
		return monday, monday.AddDate(0, 0, 7)
	case core.BudgetOnce:
		return time.Unix(k.From, 0).UTC(), time.Unix(k.Until, 0).UTC()
	default:
		first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
		return first, first.AddDate(0, 1, 0)
	}
}

// Next is when the budget is counted anew after a window; zero: never.
func (k Key) Next(until time.Time) time.Time {
	if k.Period == core.BudgetOnce {
		return time.Time{}
	}
	return until
}

// Less orders keys.
func (k Key) Less(o Key) bool {
	return cmp.Or(cmp.Compare(k.Scope, o.Scope), cmp.Compare(k.User, o.User), cmp.Compare(core.Bit(k.Each), core.Bit(o.Each)), cmp.Compare(k.Period, o.Period), cmp.Compare(k.From, o.From), cmp.Compare(k.Until, o.Until)) < 0
}
