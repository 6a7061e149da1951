package state

import (
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
)

// What a queue's share is of depends on what those wait for who are in it. That
// is counted when they come and go, so that a cycle has to divide only what is
// not as it was: a pool in which anything is held or wanted that was not.

// want counts n jobs more of a job class.
func (st *State) want(l *JobClass, n int64) {
	switch {
	case l.Leaf < 0:
	case !l.counted:
		if !l.listed {
			l.listed = true
			st.fresh = append(st.fresh, l)
		}
	case l.first != nil:
		a := &l.first.Q[l.Leaf]
		a.wanted = plus(a.wanted, l.each, n)
		l.first.unfair = true
	}
}

// Divide brings up to date what each queue is due in each pool.
func (st *State) Divide() {
	names := st.PoolNames()
	if !slices.Equal(names, st.counted) {
		st.counted, st.recount = slices.Clone(names), true
	}
	for _, name := range names {
		p := st.Pools[name]
		st.reshape(p)
		st.recount = st.recount || p.remade
		p.remade = false
	}
	if st.recount {
		st.recount, st.fresh = false, st.fresh[:0]
		for _, p := range st.Pools {
			p.unfair = true
			for i := range p.Q {
				p.Q[i].wanted = quota.Amounts{}
			}
		}
		for _, k := range st.ClassList {
			for _, l := range k.JobClasses {
				l.counted = false
			}
			st.fresh = append(st.fresh, k.JobClasses...)
		}
	}
	for _, l := range st.fresh {
		l.listed = false
		if len(l.Jobs) == 0 || l.counted {
			continue
		}
		l.first, l.counted = st.firstPool(l), true
		if l.first != nil {
			l.each = l.Jobs[0].Beyond(l.first, st.demand(l.Jobs[0], l.first))
			st.want(l, int64(len(l.Jobs)))
		}
	}
	st.fresh = st.fresh[:0]
	for _, name := range names {
		if p := st.Pools[name]; p.unfair {
			p.unfair = false
			st.shares(p)
		}
	}
}

// Passed is how many of a job class's jobs the present walk is past.
func (l *JobClass) Passed(st *State) int {
	if l.Walk != st.Walks {
		return 0
	}
	return l.Past
}

// Prices are what the options of a class count for in p, of which j is one that
// has nothing yet.
func (k *Class) Prices(st *State, p *Pool, j *Job) []quota.Amounts {
	if k.pricedIn != p || k.pricedAt != p.Shape {
		k.pricedIn, k.pricedAt, k.priced = p, p.Shape, k.priced[:0]
		for _, tries := range st.Options(j) {
			k.priced = append(k.priced, st.Cost(j, p, tries))
		}
	}
	return k.priced
}
