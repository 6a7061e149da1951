package schedule

import (
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
)

// permits is State.permits, where reservations that j has a better right to may
// be taken back for it. The caller undoes that where nothing comes of it.
func (c *cycle) permits(j *job, p *pool, more quota.Amounts) bool {
	st := c.st
	if st.permits(j, p, more) {
		return true
	}
	mark := len(st.log)
	var taken []*job
	for _, v := range c.recallable(j, p, more) {
		st.do(entry{op: recalls, h: &hold{job: v, site: p.sites[0]}})
		taken = append(taken, v)
		if !st.permits(j, p, more) {
			continue
		}
		for _, x := range taken {
			if !c.returns(x, j, p, more) {
				c.cause[x] = verdictOf{Preempt, j.ID}
				if x.leaf != j.leaf {
					c.cause[x] = verdictOf{Reclaim, j.ID}
				}
			}
		}
		return true
	}
	st.undo(mark)
	return false
}

// returns gives back what was taken from v, where j can do without.
func (c *cycle) returns(v, j *job, p *pool, more quota.Amounts) bool {
	st, mark := c.st, len(c.st.log)
	st.do(entry{op: returns, h: &hold{job: v, site: p.sites[0]}})
	if st.permits(j, p, more) {
		return true
	}
	st.undo(mark)
	return false
}

// recallable are those whose reservations in p j may have taken back, in the
// order in which they lose them: those of less important work of its own queue,
// and those of queues that have more than their due where its own asks for what
// it is due.
func (c *cycle) recallable(j *job, p *pool, more quota.Amounts) []*job {
	st := c.st
	if len(st.marks) == 0 || len(p.sites) == 0 || j.leaf < 0 {
		return nil
	}
	claim := hunt{c: c, kind: Reclaim, pool: p, j: j, need: more}
	due := !st.cfg.NoQuota && claim.entitled()
	var out []*job
	for _, v := range st.marks {
		if v == j || !v.marked() || v.Earmark.Pool != p.Name || !v.yields() {
			continue
		}
		if v.leaf == j.leaf && v.Priority < j.Priority || v.leaf != j.leaf && due && claim.beyondDue(v.leaf) {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b *job) int {
		if own := a.leaf == j.leaf; own != (b.leaf == j.leaf) {
			if own {
				return -1
			}
			return 1
		}
		return victimOrder(a, b)
	})
	return out
}

// recalled are the reservations that the cycle takes back, by ID.
func (c *cycle) recalled() []Eviction {
	var out []Eviction
	for _, id := range sortedIDs(c.st.marks) {
		if j := c.st.marks[id]; j.recalled && j.standing == 0 {
			out = append(out, Eviction{ID: id, Cause: c.cause[j].cause, For: c.cause[j].by, Whole: true})
		}
	}
	return out
}
