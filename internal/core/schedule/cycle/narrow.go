package cycle

import (
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/place"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// may reports whether an action could serve those of a job class that hold nothing,
// whose class it could serve: a cheap test, once for all of them, that fails only
// what would come to nothing. What it goes by only gets less while the action
// goes on.
func (c *Pass) may(a schedule.Action, p *ledger.Pool, ln *ledger.JobClass) bool {
	st := c.St
	switch a { // what needs no look at any of them
	case schedule.Preempt:
		if !c.Outranks(p, ln) {
			ln.Vain = 0
			return false
		}
	case schedule.Reclaim:
		if !ln.Class.Short(p, ln.Leaf) {
			return false
		}
	}
	j := ln.Jobs[0]
	if st.Queues.List[ln.Leaf].StoppedBy != "" {
		return false
	}
	switch k := ln.Class; a {
	case schedule.Allocate:
		if len(k.Bookable) == 0 {
			return true
		}
		for i, need := range k.Prices(&st.Asks, p, j) {
			if (k.Bookable[i] || j.Booked.At != 0) && st.Permits(j, p, need) {
				return true
			}
		}
		return false
	case schedule.Consolidate:
		return j.Preemptible
	case schedule.Preempt:
		ln.Vain = 0 // what was true of another pool
		if !c.MayPreempt(p, j) {
			return false
		}
		if c.Vain(p, j) {
			ln.Vain = st.Walks
			return false
		}
		return true
	case schedule.Reclaim:
		return slices.ContainsFunc(k.Prices(&st.Asks, p, j), func(need quota.Amounts) bool { return c.MayReclaim(p, j, need) })
	}
	return true
}

// anywhere reports whether each of the tries' first tasks has a site, all else
// aside.
func anywhere(st *state.State, p *ledger.Pool, j *ledger.Job, tries []ledger.Try) bool {
	for _, t := range tries {
		a := st.NextRun(j, t.Group, j.Placed[t.Group])
		if a == nil || !place.Social(a) && st.Best(p.Whole, a) == nil {
			return false
		}
	}
	return true
}

// drain is what has been found out about a pool in which jobs are placed: once no
// need of those who wait has a site any more, nobody has to be looked at.
type drain struct {
	st   *state.State
	pool *ledger.Pool
	asks map[*ledger.Ask]bool
	left []*ledger.Ask // that had a site when last looked at
}

// note adds what a job class needs first.
func (f *drain) note(ln *ledger.JobClass) {
	j := ln.Jobs[0]
	for g, run := range f.st.AsksOf(j) {
		for _, a := range run {
			if j.Shape.Groups[g].Wants() > 0 && !f.asks[a] {
				f.asks[a] = true
				f.left = append(f.left, a)
			}
		}
	}
}

// over reports whether no need has a site any more.
func (f *drain) over() bool {
	for len(f.left) > 0 {
		a := f.left[len(f.left)-1]
		if place.Social(a) || f.st.Best(f.pool.Whole, a) != nil {
			return false
		}
		f.left = f.left[:len(f.left)-1]
	}
	return true
}
