package schedule

import (
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
)

// spare leaves those where they are, in the end, whose room nobody has been
// given: each was told to go because one hunt could not do without, and a later
// one may have made that needless. Who leaves for somebody that has been given
// nothing after all leaves for the one that has the room.
func (c *cycle) spare() {
	victims, told := c.victims()
	for _, j := range slices.Backward(victims) {
		if !c.spares(j, told) {
			c.attribute(j)
		}
	}
	some := false
	for tries, again := 0, true; again && tries < mostReseats; {
		again = false
		for _, j := range slices.Backward(victims) {
			if tries++; c.reseats(j, told) {
				some, again = true, true
				break
			}
		}
	}
	if some {
		c.walk(Allocate) // a pool that one has left for another may have room
	}
}

// mostReseats bounds for how many victims of a cycle it is tried whether the one
// they leave for finds another place by now.
const mostReseats = 64

// reseats leaves victim j where it is and gives the one it leaves for another
// place, if there is one by now: its hunt looked for that before later hunts
// made room that they did not use up.
func (c *cycle) reseats(j *job, told map[*hold]bool) bool {
	st, by := c.st, c.st.jobs[c.cause[j].by]
	if by == nil || by == j || c.cause[j].cause == Consolidate {
		return false
	}
	var left []*hold
	for _, x := range j.holds {
		switch {
		case x.leaving && told[x]:
			left = append(left, x)
		case x.leaving || x.fresh:
			return false
		}
	}
	if len(left) == 0 {
		return false
	}
	var tries []try
	var held []*hold
	waits := false
	for _, x := range by.holds {
		if !x.fresh || x.leaving || x.moves {
			return false
		}
		held, waits = append(held, x), waits || x.later
		if i := slices.IndexFunc(tries, func(t try) bool { return t.group == int(x.group) }); i >= 0 {
			tries[i].count++
		} else {
			tries = append(tries, try{group: int(x.group), count: 1})
		}
	}
	if len(held) == 0 {
		return false
	}
	mark := len(st.log)
	for _, x := range slices.Backward(held) {
		st.evict(x)
	}
	if !c.remain(j, left, nil) || !c.seat(by, tries, held[0].site.pool) {
		st.undo(mark)
		return false
	}
	if waits {
		for _, x := range by.holds {
			st.wait(x)
		}
	}
	return true
}

// seat gives j a place: in p, or else in another pool that it may use.
func (c *cycle) seat(j *job, tries []try, p *pool) bool {
	st := c.st
	pools := []*pool{p}
	for _, name := range st.poolNames() {
		if q := st.pools[name]; q != p && (len(j.Pools) == 0 || slices.Contains(j.Pools, name)) {
			pools = append(pools, q)
		}
	}
	if st.full(j) != nil {
		return false
	}
	mark := len(st.log)
	for _, q := range pools {
		if st.permits(j, q, st.cost(j, q, tries)) && st.placeIn(q, j, tries) && c.clear(q, j, j.holds) {
			return true
		}
		st.undo(mark)
	}
	return false
}

// victims are those whom hunts of this cycle make leave, in the order in which
// they were told to, and which holds were told to go in it.
func (c *cycle) victims() (all []*job, told map[*hold]bool) {
	seen := map[*job]bool{}
	told = map[*hold]bool{}
	for _, e := range c.st.log {
		if e.op != went {
			continue
		}
		told[e.h] = true
		if !e.h.leaving || seen[e.h.job] {
			continue
		}
		seen[e.h.job] = true
		if slices.Contains([]Action{Reclaim, Preempt, Relieve, Consolidate}, c.cause[e.h.job].cause) {
			all = append(all, e.h.job)
		}
	}
	return all, told
}

// spares leaves j, or of one that only loses some tasks each of these, where it
// is; false: something of it goes all the same.
func (c *cycle) spares(j *job, told map[*hold]bool) bool {
	st := c.st
	var left, moved []*hold
	for _, x := range j.holds {
		switch {
		case x.leaving && told[x]:
			left = append(left, x)
		case x.fresh && x.moves:
			moved = append(moved, x)
		}
	}
	if c.remain(j, left, moved) {
		return true
	}
	if j.standing == 0 || len(moved) > 0 || len(st.deficits(j, 0, 1)) > 0 {
		return false
	}
	all := true
	for _, x := range left {
		all = c.remain(j, []*hold{x}, nil) && all
	}
	return all
}

// remain leaves those holds where they are instead of where they were to move
// to, or does nothing.
func (c *cycle) remain(j *job, left, moved []*hold) bool {
	st := c.st
	mark := len(st.log)
	for _, y := range moved {
		st.evict(y)
	}
	var amount quota.Amounts
	for _, x := range left {
		amount = amount.Add(x.amount)
	}
	ok := st.crowded(j) == nil && st.permits(j, left[0].site.pool, amount)
	for i := 0; ok && i < len(left); i++ {
		ok = st.stay(left[i])
	}
	if !ok {
		st.undo(mark)
		return false
	}
	st.gather(j)
	return true
}

// attribute notes who has the room of j, if that is not the one it was to leave
// for.
func (c *cycle) attribute(j *job) {
	if by := c.st.jobs[c.cause[j].by]; by != nil && slices.ContainsFunc(by.holds, func(x *hold) bool { return x.fresh && !x.leaving }) {
		return
	}
	for _, e := range c.st.log {
		if e.op == took && !e.h.gone && e.h.job != j && slices.ContainsFunc(j.holds, func(x *hold) bool { return x.leaving && x.site == e.h.site }) {
			c.cause[j] = verdictOf{c.cause[j].cause.between(j, e.h.job), e.h.job.ID}
			return
		}
	}
}
