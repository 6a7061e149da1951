package state

import (
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
)

// What a queue's share is of depends on what those wait for who are in it. That
// is counted when they come and go, so that a cycle has to divide only what is
// not as it was: a pool in which anything is held or wanted that was not.

// Divide brings up to date what each queue is due in each pool.
func (st *State) Divide() {
	names := st.PoolNames()
	if !slices.Equal(names, st.counted) {
		st.counted, st.recount = slices.Clone(names), true
	}
	for _, name := range names {
		p := st.Pools[name]
		st.reshape(p)
		st.recount = st.recount || p.Remade
		p.Remade = false
	}
	if st.recount {
		st.recount, st.fresh = false, st.fresh[:0]
		for _, p := range st.Pools {
			p.Unfair = true
			for i := range p.Q {
				p.Q[i].Wanted = quota.Amounts{}
			}
		}
		for _, k := range st.ClassList {
			for _, l := range k.JobClasses {
				l.Counted = false
			}
			st.fresh = append(st.fresh, k.JobClasses...)
		}
	}
	for _, l := range st.fresh {
		l.Listed = false
		if len(l.Jobs) == 0 || l.Counted {
			continue
		}
		l.First, l.Counted = st.FirstPool(l), true
		if l.First != nil {
			l.Each = l.Jobs[0].Beyond(l.First, st.Demand(l.Jobs[0], l.First))
			st.want(l, int64(len(l.Jobs)))
		}
	}
	st.fresh = st.fresh[:0]
	for _, name := range names {
		if p := st.Pools[name]; p.Unfair {
			p.Unfair = false
			st.Shares(p)
		}
	}
}
