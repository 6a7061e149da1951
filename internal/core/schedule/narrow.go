package schedule

// may reports whether an action could serve those of a lane that hold nothing,
// whose class it could serve: a cheap test, once for all of them, that fails only
// what would come to nothing. What it goes by only gets less while the action
// goes on.
func (c *cycle) may(a Action, p *pool, ln *lane) bool {
	st, j := c.st, ln.jobs[0]
	if st.queues.list[ln.leaf].stopped != "" {
		return false
	}
	switch k := ln.class; a {
	case Allocate:
		if len(k.bookable) == 0 {
			return true
		}
		for i, need := range k.prices(st, p, j) {
			if (k.bookable[i] || j.Booked.At != 0) && st.permits(j, p, need) {
				return true
			}
		}
		return false
	case Consolidate:
		return j.Preemptible
	case Preempt:
		if acc := &p.q[ln.leaf]; len(c.fresh[ln.leaf]) == 0 && (acc.gone == len(acc.victims) || acc.victims[acc.gone].Priority >= j.Priority) {
			return false
		}
		h := hunt{c: c, kind: a, pool: p, j: j}
		return h.prey()
	case Reclaim:
		acc := &p.q[ln.leaf]
		for _, need := range ln.class.prices(st, p, j) {
			if !acc.alloc.Add(need).Within(acc.share) {
				continue // as entitled says
			}
			h := hunt{c: c, kind: a, pool: p, j: j, need: need}
			if h.entitled() {
				return true
			}
		}
		return false
	}
	return true
}

// anywhere reports whether each of the tries' first tasks has a site, all else
// aside.
func (st *State) anywhere(p *pool, j *job, tries []try) bool {
	for _, t := range tries {
		a := st.nextRun(j, t.group, j.placed[t.group])
		if a == nil || !a.social() && st.best(p.whole, a) == nil {
			return false
		}
	}
	return true
}

// drain is what has been found out about a pool in which jobs are placed: once no
// need of those who wait has a site any more, nobody has to be looked at.
type drain struct {
	st   *State
	pool *pool
	asks map[*ask]bool
	left []*ask // that had a site when last looked at
}

// note adds what a lane needs first.
func (f *drain) note(ln *lane) {
	j := ln.jobs[0]
	for g, run := range f.st.asksOf(j) {
		for _, a := range run {
			if j.Shape.Groups[g].wants() > 0 && !f.asks[a] {
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
		if a.social() || f.st.best(f.pool.whole, a) != nil {
			return false
		}
		f.left = f.left[:len(f.left)-1]
	}
	return true
}
