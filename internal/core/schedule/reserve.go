package schedule

import (
	"cmp"
	"math"
	"slices"

	"github.com/musterhq/muster/internal/core"
)

// redeem places those first for whom others were told to leave: at once where
// all of their room is free, else on the room that is about to be. Who moved
// for them comes after them, or would take its old place again.
func (c *cycle) redeem() {
	st := c.st
	var promised []*job
	for _, l := range st.lanes {
		if l.jobs[0].Promised || l.jobs[0].Moved {
			promised = append(promised, l.jobs[0])
		}
	}
	slices.SortFunc(promised, func(a, b *job) int {
		return cmp.Or(cmp.Compare(rank0(a), rank0(b)), cmp.Compare(bit(a.Moved), bit(b.Moved)), cmp.Compare(b.Priority, a.Priority), older(a, b))
	})
	for _, j := range promised {
		if st.gate(j) != nil {
			continue
		}
		for _, p := range st.poolsOf(j) {
			if c.redeemIn(p, j) {
				break
			}
		}
	}
}

// redeemIn places as many tasks of j in p as it was promised, step by step; what
// it wants beyond that waits for its turn. It reports whether any were placed.
// Others have left for it by a right that no booking takes away, so that it asks
// for none and keeps out of nobody's way.
func (c *cycle) redeemIn(p *pool, j *job) bool {
	had := len(j.holds)
	for c.redeemStep(p, j) && len(j.holds)-had < j.Owed && c.st.wants(j) {
	}
	return len(j.holds) > had
}

func (c *cycle) redeemStep(p *pool, j *job) bool {
	st := c.st
	st.turn(Allocate, j)
	if st.crowded(j) != nil {
		return false
	}
	for _, tries := range st.options(j) {
		if st.permits(j, p, st.cost(j, p, tries)) && st.placeIn(p, j, tries) {
			return true
		}
	}
	return false
}

// rank0 is a promised job's place in line: as the plan placed them, so that they
// fit again as they did then; those of whom no plan has spoken come last.
func rank0(j *job) int {
	if j.Rank == 0 {
		return math.MaxInt
	}
	return j.Rank
}

// booking is the time from which a gang that does not fit yet will, by the known
// ends of what runs.
type booking struct {
	j     *job
	tries []try
	at    int64
}

// book gives j a time to start in p, if it can be told. What is placed after it
// in this cycle keeps out of its way.
func (c *cycle) book(p *pool, j *job, tries []try) {
	if len(c.booked[p]) >= p.Reserve || j.standing > 0 || len(tries) == 0 {
		return
	}
	ends := c.ending(p)
	mark := len(c.st.log)
	n, found := slices.BinarySearchFunc(ends, true, func(x *job, _ bool) int {
		defer c.st.undo(mark)
		c.leaveUntil(ends, x.end(c.st.now))
		if c.st.placeIn(p, j, tries) {
			return 0
		}
		return -1
	})
	if !found && n == len(ends) {
		return
	}
	if c.booked == nil {
		c.booked = map[*pool][]booking{}
	}
	c.booked[p] = append(c.booked[p], booking{j, tries, ends[n].end(c.st.now)})
}

// ending are the jobs in p whose end is known, the first to end first.
func (c *cycle) ending(p *pool) []*job {
	if ends, ok := c.ends[p]; ok {
		return ends
	}
	var ends []*job
	for _, j := range c.st.jobs {
		if j.pool == p && j.standing > 0 && j.end(c.st.now) > 0 {
			ends = append(ends, j)
		}
	}
	slices.SortFunc(ends, func(a, b *job) int { return cmp.Or(cmp.Compare(a.end(c.st.now), b.end(c.st.now)), older(a, b)) })
	if c.ends == nil {
		c.ends = map[*pool][]*job{}
	}
	c.ends[p] = ends
	return ends
}

// end is when j is expected to end: when such jobs usually do, at the latest
// when it must; 0: unknown.
func (j *job) end(now int64) int64 {
	switch {
	case j.Likely > now && (j.EndsBy == 0 || j.Likely < j.EndsBy):
		return j.Likely
	case j.EndsBy > 0:
		return max(j.EndsBy, now)
	default:
		return 0
	}
}

// leaveUntil tells all to go who will have ended by then.
func (c *cycle) leaveUntil(ends []*job, then int64) {
	for _, x := range ends {
		if x.end(c.st.now) > then {
			return
		}
		c.st.vacate(x)
	}
}

// vacate looks ahead to when x has ended: what it holds is free then, and not
// before. Unlike evict it leaves in its place what was placed in this cycle:
// that runs until then too. To be undone.
func (st *State) vacate(x *job) {
	for _, h := range x.holds {
		if !h.leaving {
			h.site.owe()
			st.do(entry{op: went, h: h})
		}
	}
}

// between places j, which nobody may displace, without delaying those who have
// a time: it leaves before that, or uses what they will not need.
func (c *cycle) between(p *pool, j *job, tries []try) bool {
	st := c.st
	mark := len(st.log)
	for _, b := range c.booked[p] {
		if b.j == j || b.j.standing > 0 || j.MaxRun > 0 && st.now+j.MaxRun <= b.at {
			continue
		}
		c.leaveUntil(c.ending(p), b.at)
		if (len(p.parts) > 0 || !st.attempt(p.latest(), func(sub *subset) bool { return st.place(b.j, b.tries, sub) })) && !st.placeIn(p, b.j, b.tries) {
			st.undo(mark) // its time has come to nothing by what was placed before j
			return st.placeIn(p, j, tries)
		}
		for _, h := range b.j.holds {
			if h.fresh && !h.leaving {
				st.wait(h)
			}
		}
	}
	had := len(j.holds)
	if !st.placeIn(p, j, tries) {
		st.undo(mark)
		return false
	}
	taken := slices.Clone(j.holds[had:])
	for _, h := range taken {
		if h.later { // it would wait for those who are only expected to go
			st.undo(mark)
			return false
		}
	}
	st.undo(mark)
	for _, h := range taken {
		if s := h.site; !s.now.spares(h, nil) || !s.soon.spares(h, nil) {
			st.undo(mark) // it is promised to somebody who would have ended by then
			return false
		}
		again := *h
		st.do(entry{op: took, h: &again})
	}
	return true
}

// latest is the pool with what is free now sought last: what somebody will need
// only later is better taken from what is free only then.
func (p *pool) latest() *subset {
	return &subset{pool: p, sites: p.sites, ranks: map[*ask]*ranking{}, late: true}
}

// Nodes are the nodes that are known, by name.
func (st *State) Nodes() []core.NodeID {
	ids := make([]core.NodeID, 0, len(st.sites))
	for id := range st.sites {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
