package schedule

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
)

// begins notes that a job of l was placed in this cycle.
func (c *cycle) begins(l *lane) {
	if l.class == nil || l.began == c.id {
		return
	}
	l.began = c.id
	k := l.class
	if k.since != c.id {
		k.since, k.begun = c.id, k.begun[:0]
	}
	k.begun = append(k.begun, l)
}

// candidates are the lanes of a visit whom the action could serve.
func (c *cycle) candidates(a Action, p *pool, v *visit, f *drain) []*lane {
	out := c.lanes[:0]
	for _, k := range v.classes {
		if k.key.own {
			for _, l := range k.lanes {
				f.note(l)
			}
			out = append(out, k.lanes...)
			continue
		}
		all := c.suits(a, p, k)
		noted := false
		pick := k.lanes
		if !all {
			if k.since != c.id {
				continue
			}
			pick = k.begun
		}
		for _, l := range pick {
			if l.jobs[0].standing > 0 || all && c.may(a, p, l) {
				if !noted {
					f.note(l)
					noted = true
				}
				out = append(out, l)
			}
		}
	}
	if a == Reclaim { // who takes from others changes where these stand
		slices.SortFunc(out, func(a, b *lane) int { return cmp.Or(cmp.Compare(a.leaf, b.leaf), cmp.Compare(a.slot, b.slot)) })
	}
	c.lanes = out
	return out
}

// suits is may, as far as it is the same for all of a class.
func (c *cycle) suits(a Action, p *pool, k *class) bool {
	st := c.st
	if a == Consolidate && st.cfg.MaxMoves == 0 || a == Reclaim && st.cfg.NoQuota || a != Allocate && a != Consolidate && a != Reclaim && a != Preempt {
		return false
	}
	k.bookable = k.bookable[:0]
	i := slices.IndexFunc(k.lanes, func(l *lane) bool { return l.jobs[0].standing == 0 })
	if i < 0 {
		return true // each may have others behind
	}
	j := k.lanes[i].jobs[0]
	if st.awaits(j) != nil {
		return false
	}
	switch a {
	case Allocate:
		if slices.ContainsFunc(st.options(j), func(tries []try) bool { return st.anywhere(p, j, tries) }) {
			return true
		}
		if p.Reserve == 0 {
			return false
		}
		for _, tries := range st.options(j) {
			_, _, ok := c.counted(p, &booking{j: j, tries: tries})
			k.bookable = append(k.bookable, ok)
		}
		return slices.Contains(k.bookable, true) || len(st.told) > 0
	case Consolidate:
		return slices.ContainsFunc(k.prices(st, p, j), func(need quota.Amounts) bool { return need.Within(p.free) })
	}
	return true
}
