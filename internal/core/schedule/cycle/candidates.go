package cycle

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// begins notes that a job of l was placed in this cycle.
func (c *Pass) begins(l *state.JobClass) {
	if l.Class == nil || l.Began == c.id {
		return
	}
	l.Began = c.id
	k := l.Class
	if k.Since != c.id {
		k.Since, k.Begun = c.id, k.Begun[:0]
	}
	k.Begun = append(k.Begun, l)
}

// candidates are the job classes of a visit whom the action could serve.
func (c *Pass) candidates(a schedule.Action, p *state.Pool, v *state.Visit, f *drain) []*state.JobClass {
	out := c.jobClasses[:0]
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
			if k.Since != c.id {
				continue
			}
			pick = k.Begun
		}
		for _, l := range pick {
			if l.Jobs[0].Standing > 0 || all && c.may(a, p, l) {
				if !noted {
					f.note(l)
					noted = true
				}
				out = append(out, l)
			}
		}
	}
	if a == schedule.Reclaim { // who takes from others changes where these stand
		slices.SortFunc(out, func(a, b *state.JobClass) int {
			return cmp.Or(cmp.Compare(a.Leaf, b.Leaf), cmp.Compare(a.Slot, b.Slot))
		})
	}
	c.jobClasses = out
	return out
}

// suits is may, as far as it is the same for all of a class.
func (c *Pass) suits(a schedule.Action, p *state.Pool, k *state.Class) bool {
	st := c.St
	if a == schedule.Consolidate && st.Cfg.MaxMoves == 0 || a == schedule.Reclaim && st.Cfg.NoQuota || a != schedule.Allocate && a != schedule.Consolidate && a != schedule.Reclaim && a != schedule.Preempt {
		return false
	}
	k.Bookable = k.Bookable[:0]
	i := slices.IndexFunc(k.JobClasses, func(l *state.JobClass) bool { return l.Jobs[0].Standing == 0 })
	if i < 0 {
		return true // each may have others behind
	}
	j := k.JobClasses[i].Jobs[0]
	if st.Awaits(j) != nil {
		return false
	}
	switch a {
	case schedule.Allocate:
		if slices.ContainsFunc(st.Options(j), func(tries []state.Try) bool { return anywhere(st, p, j, tries) }) {
			return true
		}
		if p.Reserve == 0 {
			return false
		}
		for _, tries := range st.Options(j) {
			_, _, ok := c.counted(p, &booking{J: j, tries: tries})
			k.Bookable = append(k.Bookable, ok)
		}
		return slices.Contains(k.Bookable, true) || len(st.Told) > 0
	case schedule.Consolidate:
		return slices.ContainsFunc(k.Prices(st, p, j), func(need quota.Amounts) bool { return need.Within(p.Free) })
	}
	return true
}
