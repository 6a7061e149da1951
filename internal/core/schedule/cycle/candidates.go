package cycle

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/booking"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// begins notes that a job of l was placed in this cycle.
func (c *Pass) begins(l *ledger.JobClass) {
	if l.Class == nil || l.Began == c.Id {
		return
	}
	l.Began = c.Id
	k := l.Class
	if k.Since != c.Id {
		k.Since, k.Begun = c.Id, k.Begun[:0]
	}
	k.Begun = append(k.Begun, l)
}

// candidates are the job classes of a visit whom the action could serve.
func (c *Pass) candidates(a schedule.Action, p *ledger.Pool, v *state.Visit, f *drain) []*ledger.JobClass {
	out := c.St.Picked[:0]
	for _, k := range v.Classes {
		if k.Key.Own {
			for _, l := range k.JobClasses {
				f.note(l)
			}
			out = append(out, k.JobClasses...)
			continue
		}
		all := c.suits(a, p, k)
		noted := false
		pick := k.JobClasses
		if !all {
			if k.Since != c.Id {
				continue
			}
			pick = k.Begun
		}
		for _, l := range pick {
			if (c.relieved || l.Began == c.Id) && l.Jobs[0].Standing > 0 || all && c.may(a, p, l) {
				if !noted {
					f.note(l)
					noted = true
				}
				out = append(out, l)
			}
		}
	}
	if a == schedule.Reclaim { // who takes from others changes where these stand
		slices.SortFunc(out, func(a, b *ledger.JobClass) int {
			return cmp.Or(cmp.Compare(a.Leaf, b.Leaf), cmp.Compare(a.Slot, b.Slot))
		})
	}
	c.St.Picked = out
	return out
}

// suits is may, as far as it is the same for all of a class.
func (c *Pass) suits(a schedule.Action, p *ledger.Pool, k *ledger.Class) bool {
	st := c.St
	if a == schedule.Consolidate && st.Cfg.MaxMoves == 0 || a == schedule.Reclaim && st.Cfg.NoQuota || a != schedule.Allocate && a != schedule.Consolidate && a != schedule.Reclaim && a != schedule.Preempt {
		return false
	}
	k.Bookable = k.Bookable[:0]
	i := slices.IndexFunc(k.JobClasses, func(l *ledger.JobClass) bool { return l.Jobs[0].Standing == 0 })
	if i < 0 {
		return true // each may have others behind
	}
	j := k.JobClasses[i].Jobs[0]
	if st.Win.Awaits(st.Queues, j, st.Now) != nil {
		return false
	}
	switch a {
	case schedule.Allocate:
		if slices.ContainsFunc(j.Options(), func(tries []ledger.Try) bool { return anywhere(st, p, j, tries) }) {
			return true
		}
		if p.Reserve == 0 {
			return false
		}
		for _, tries := range j.Options() {
			_, _, ok := c.Counted(p, &booking.Booking{J: j, Tries: tries})
			k.Bookable = append(k.Bookable, ok)
		}
		return slices.Contains(k.Bookable, true) || len(st.Announced) > 0
	case schedule.Consolidate:
		return slices.ContainsFunc(k.Prices(&st.Asks, p, j), func(need quota.Amounts) bool { return need.Within(p.Free) })
	}
	return true
}
