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
