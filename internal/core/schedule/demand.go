package schedule

import (
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
)

// What a queue's share is of depends on what those wait for who are in it. That
// is counted when they come and go, so that a cycle has to divide only what is
// not as it was: a pool in which anything is held or wanted that was not.

// want counts n jobs more of a lane.
func (st *State) want(l *lane, n int64) {
	switch {
	case l.leaf < 0:
	case !l.counted:
		if !l.listed {
			l.listed = true
			st.fresh = append(st.fresh, l)
		}
	case l.first != nil:
		a := &l.first.q[l.leaf]
		a.wanted = plus(a.wanted, l.each, n)
		l.first.unfair = true
	}
}

// divide brings up to date what each queue is due in each pool.
func (st *State) divide() {
	names := st.poolNames()
	if !slices.Equal(names, st.counted) {
		st.counted, st.recount = slices.Clone(names), true
	}
	for _, name := range names {
		p := st.pools[name]
		st.reshape(p)
		st.recount = st.recount || p.remade
		p.remade = false
	}
	if st.recount {
		st.recount, st.fresh = false, st.fresh[:0]
		for _, p := range st.pools {
			p.unfair = true
			for i := range p.q {
				p.q[i].wanted = quota.Amounts{}
			}
		}
		for _, k := range st.classes {
			for _, l := range k.lanes {
				l.counted = false
			}
			st.fresh = append(st.fresh, k.lanes...)
		}
	}
	for _, l := range st.fresh {
		l.listed = false
		if len(l.jobs) == 0 || l.counted {
			continue
		}
		l.first, l.counted = st.firstPool(l), true
		if l.first != nil {
			l.each = l.jobs[0].beyond(l.first, st.demand(l.jobs[0], l.first))
			st.want(l, int64(len(l.jobs)))
		}
	}
	st.fresh = st.fresh[:0]
	for _, name := range names {
		if p := st.pools[name]; p.unfair {
			p.unfair = false
			st.shares(p)
		}
	}
}

// passed is how many of a lane's jobs the present walk is past.
func (l *lane) passed(st *State) int {
	if l.walk != st.walks {
		return 0
	}
	return l.past
}

// prices are what the options of a class count for in p, of which j is one that
// has nothing yet.
func (k *class) prices(st *State, p *pool, j *job) []quota.Amounts {
	if k.pricedIn != p || k.pricedAt != p.shape {
		k.pricedIn, k.pricedAt, k.priced = p, p.shape, k.priced[:0]
		for _, tries := range st.options(j) {
			k.priced = append(k.priced, st.cost(j, p, tries))
		}
	}
	return k.priced
}
