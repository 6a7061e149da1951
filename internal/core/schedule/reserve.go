package schedule

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/musterhq/muster/internal/core"
)

// redeem places those first for whom others were told to leave: at once where
// all of their room is free, else on the room that is about to be. Who moved
// for them comes after them, or would take its old place again.
func (c *cycle) redeem() {
	st := c.st
	var promised []*job
	for _, k := range st.classes {
		if !k.key.own {
			continue
		}
		for _, l := range k.lanes {
			if l.jobs[0].Promised || l.jobs[0].Moved {
				promised = append(promised, l.jobs[0])
			}
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

// booking is the time from which a job that does not fit yet will, by the known
// ends of what runs, and where.
type booking struct {
	j          *job
	tries      []try
	at         int64 // unix ms
	placements []placement
	told       Booking
}

// soonWithin is by how much, in ms, a start may be later than was told before
// that is worth telling: a task that starts is not up at once, and ends later by
// as much.
const soonWithin = 60_000

// open reports whether somebody may still be given a time in p.
func (c *cycle) open(p *pool) bool {
	if n := len(c.booked[p]); n < p.Reserve {
		return true
	} else if n >= 2*p.Reserve {
		return false
	}
	for _, j := range c.st.told {
		if j.Booked.Pool == p.Name && !c.has(p, j) {
			return true
		}
	}
	return false
}

func (c *cycle) has(p *pool, j *job) bool {
	return slices.ContainsFunc(c.booked[p], func(b *booking) bool { return b.j == j })
}

// book gives j a time to start in p, if it can be told. Who comes after it keeps
// out of its way. Who was told one keeps it, though others with the right to go
// first have been given theirs.
func (c *cycle) book(p *pool, j *job, tries []try) {
	if p.Reserve == 0 || j.standing > 0 || len(tries) == 0 || c.has(p, j) {
		return
	}
	told := j.Booked.At != 0 && j.Booked.Pool == p.Name
	if n := len(c.booked[p]); n >= p.Reserve && (!told || n >= 2*p.Reserve) {
		return
	}
	b := &booking{j: j, tries: tries, told: Booking{Pool: p.Name, Since: c.st.now}}
	if told {
		b.told = j.Booked
	}
	if !c.soonest(p, b) && !c.yielded(p, b) {
		return
	}
	b.tell(c.st.now)
	if c.booked == nil {
		c.booked = map[*pool][]*booking{}
	}
	c.booked[p] = append(c.booked[p], b)
}

// reach is, by pool, the last of the times that somebody has.
func (c *cycle) reach() map[*pool]int64 {
	last := map[*pool]int64{}
	for p, list := range c.booked {
		for _, b := range list {
			last[p] = max(last[p], b.at, b.told.At)
		}
	}
	return last
}

// tell says from when j starts: as it was told, unless it will be later, or much
// sooner.
func (b *booking) tell(now int64) {
	if t := &b.told; t.At == 0 || b.at > t.At+soonWithin || b.at < t.At-max(soonWithin, (t.At-t.Since)/4) && t.At > now {
		t.At = max(b.at, now)
	}
}

// soonest finds when and where b's job has room once all have ended whose end is
// known, beside those who were given a time before it.
func (c *cycle) soonest(p *pool, b *booking) bool {
	st := c.st
	mark := len(st.log)
	defer st.undo(mark)
	for _, other := range c.booked[p] {
		c.occupy(other, false)
	}
	first, last, ok := c.counted(p, b)
	if !ok {
		return false
	}
	if len(first) == 1 && c.plain(p, b.j, first[0].ask) {
		o := st.forecast(p, first[0].ask)
		at, steps, _ := o.from(first[0].count)
		b.at, b.placements = at, o.placements(p, first[0].count, steps)
	} else if !c.search(p, b, last) {
		return false
	}
	if b.told.At != 0 && b.at > b.told.At+soonWithin {
		c.yielded(p, b)
	}
	return true
}

// counted is how many tasks of each ask b wants, and the instant before which
// there is not even room in all for them; false: never, by what is known.
func (c *cycle) counted(p *pool, b *booking) (need []placement, at int64, ok bool) {
	st := c.st
	for _, t := range b.tries {
		for i := range int32(t.count) {
			a := st.nextRun(b.j, t.group, b.j.placed[t.group]+i)
			if a == nil {
				return nil, 0, false
			}
			if k := slices.IndexFunc(need, func(x placement) bool { return x.ask == a }); k >= 0 {
				need[k].count++
			} else {
				need = append(need, placement{ask: a, count: 1})
			}
		}
	}
	for _, x := range need {
		if x.ask.social() {
			continue
		}
		from, _, ok := st.forecast(p, x.ask).from(x.count)
		if !ok {
			return nil, 0, false
		}
		at = max(at, from)
	}
	return need, at, true
}

// plain reports whether tasks of a may be anywhere in p, so that there is room
// for as many as can be counted.
func (c *cycle) plain(p *pool, j *job, a *ask) bool {
	n := &a.need
	if a.social() || len(p.parts) > 0 || len(j.holds) > 0 || n.Devices > 1 && (n.Share > 0 || n.Milli < 1000) {
		return false
	}
	loose := func(t *Topology) bool { return t == nil || t.Required == "" }
	for i := range j.Shape.Groups {
		if g := &j.Shape.Groups[i]; g.Segment > 0 || !loose(g.Topology) {
			return false
		}
	}
	return !slices.ContainsFunc(j.Shape.Sets, func(s Set) bool { return !loose(s.Topology) })
}

// search is soonest for what has to be near one another, or differs: it tries
// the known ends, from the given instant on.
func (c *cycle) search(p *pool, b *booking, from int64) bool {
	st := c.st
	ends := c.ending(p)
	i := sort.Search(len(ends), func(i int) bool { return ends[i].end(st.now) >= from })
	instants := []int64{from}
	for _, x := range ends[i:] {
		if at := x.end(st.now); at > instants[len(instants)-1] {
			instants = append(instants, at)
		}
	}
	n := sort.Search(len(instants), func(n int) bool { return c.tryAt(p, b, instants[n]) })
	return n < len(instants) && c.tryAt(p, b, instants[n])
}

// tryAt reports whether b's job has room at an instant, and where.
func (c *cycle) tryAt(p *pool, b *booking, at int64) bool {
	st := c.st
	mark := len(st.log)
	defer st.undo(mark)
	for _, x := range c.ending(p) {
		if x.end(st.now) > at {
			break
		}
		st.vacate(x)
	}
	had := len(b.j.holds)
	if (len(p.parts) > 0 || !st.attempt(p.latest(), func(sub *subset) bool { return st.place(b.j, b.tries, sub) })) && !st.placeIn(p, b.j, b.tries) {
		return false
	}
	b.at, b.placements = at, nil
	for _, h := range b.j.holds[had:] {
		k := slices.IndexFunc(b.placements, func(x placement) bool { return x.site == h.site && x.ask == h.ask })
		if k < 0 {
			k = len(b.placements)
			b.placements = append(b.placements, placement{site: h.site, ask: h.ask})
		}
		b.placements[k].count++
	}
	return true
}

// ending are the jobs in p whose end is known, the first to end first.
func (c *cycle) ending(p *pool) []*job {
	if ends, ok := c.ends[p]; ok {
		return ends
	}
	var ends []*job
	for _, j := range c.st.jobs {
		if j.pool == p && len(j.Held) > 0 && j.end(c.st.now) > 0 {
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

// vacate looks ahead to when x has ended: what it holds is free then, and not
// before. Unlike evict it leaves in its place what was placed in this cycle:
// that runs until then too. To be undone.
func (st *State) vacate(x *job) {
	for _, h := range x.holds {
		if !h.leaving {
			st.do(entry{op: went, h: h})
		}
	}
}

// occupy keeps the room that b will need; with leave, who has left by then leaves
// it. False: it cannot be had any more. To be undone.
func (c *cycle) occupy(b *booking, leave bool) bool {
	st := c.st
	for _, x := range b.placements {
		s := x.site
		var gone []*hold
		for _, holds := range [][]*hold{s.holds, c.guests[s]} {
			for _, h := range holds {
				if !h.leaving && !h.gone && c.leavesBy(b, h.job) {
					s.soon.move(h, 1)
					gone = append(gone, h)
				}
			}
		}
		var kept []*hold
		for range x.count {
			h := draft(b.j, 0, x.ask, s)
			if !s.soon.fits(s, x.ask) {
				break
			}
			if h.devs = s.lastFree(x.ask); len(h.devs) < x.ask.need.Devices {
				break
			}
			s.soon.move(h, -1)
			kept = append(kept, h)
		}
		for _, h := range kept {
			s.soon.move(h, 1)
		}
		for _, h := range gone {
			s.soon.move(h, -1)
		}
		if leave {
			for _, h := range gone {
				st.do(entry{op: went, h: h})
			}
		}
		for _, h := range kept {
			st.do(entry{op: books, h: h})
		}
		if len(kept) < x.count {
			return false
		}
	}
	return true
}

// lastFree are devices for a task of a that will be free: those that are not yet,
// where there are such.
func (s *site) lastFree(a *ask) []int32 {
	m := s.milli(a)
	var out []int32
	for _, ready := range []bool{false, true} {
		for d := range s.soon.dev {
			if len(out) < a.need.Devices && s.soon.dev[d] >= m && (s.now.dev[d] >= m) == ready && s.is(d, a.need.Type) {
				out = append(out, int32(d))
			}
		}
	}
	return out
}

// leavesBy reports whether x has left when b is to start: by its known end, or
// because b's job may then make it leave.
func (c *cycle) leavesBy(b *booking, x *job) bool {
	st := c.st
	if len(x.Held) == 0 {
		if x.MaxRun > 0 && st.now+x.MaxRun <= b.at {
			return true
		}
	} else if at := x.end(st.now); at > 0 && at <= b.at {
		return true
	}
	return c.makesWay(b, x)
}

// makesWay reports whether b's job may make x leave at the time that it was told:
// x came after that was told and after it in line, and has had as long as
// everybody has who makes room for those who have waited too long; or as long as
// those who are less important.
func (c *cycle) makesWay(b *booking, x *job) bool {
	st, j := c.st, b.j
	since := x.Started
	if len(x.Held) == 0 {
		since = st.now
	}
	by := b.told.At
	if by == 0 {
		by = b.at
	}
	if !x.yields() || x == j || x.leaf != j.leaf || since <= 0 || since < b.told.Since || slices.ContainsFunc(x.holds, func(h *hold) bool { return h.ask.need.Never }) {
		return false
	}
	switch had := by - since; {
	case x.Priority < j.Priority && j.Preemptible && by >= j.Patient && st.does(Preempt) && had >= c.protected(b, x):
		return true
	case x.Priority < j.Priority || x.Priority == j.Priority && older(j, x) < 0:
		return st.cfg.Quantum > 0 && had >= st.cfg.Quantum
	}
	return false
}

// protected is for how long, in ms, x is left alone by those of its queue who are
// more important.
func (c *cycle) protected(b *booking, x *job) int64 {
	st := c.st
	if st.cfg.NoRuntime {
		return 0
	}
	least := st.queues.list[x.leaf].PreemptMin
	if p := st.pools[b.told.Pool]; p != nil {
		least = max(least, p.MinRuntime)
	}
	return least
}

// does reports whether an action is part of a cycle.
func (st *State) does(a Action) bool {
	return len(st.cfg.Actions) == 0 || slices.Contains(st.cfg.Actions, a)
}

// yielded keeps the time that b's job was told where those are in its way who
// have to leave for it by then.
func (c *cycle) yielded(p *pool, b *booking) bool {
	st := c.st
	if b.told.At == 0 || b.j.leaf < 0 {
		return false
	}
	var guests []*job
	for _, v := range p.q[b.j.leaf].victims {
		if v.Started >= b.told.Since && c.makesWay(b, v) {
			guests = append(guests, v)
		}
	}
	if len(guests) == 0 {
		return false
	}
	mark, was := len(st.log), *b
	defer st.undo(mark)
	for _, v := range guests {
		st.vacate(v)
	}
	if c.tryAt(p, b, b.told.At) {
		return true
	}
	*b = was
	return false
}

// clear reports whether none of those holds are where somebody has a time to
// start who would need them by then.
func (c *cycle) clear(p *pool, j *job, taken []*hold) bool {
	for _, b := range c.booked[p] {
		if b.j == j || b.j.standing > 0 || c.leavesBy(b, j) {
			continue
		}
		for _, h := range taken {
			if slices.ContainsFunc(b.placements, func(x placement) bool { return x.site == h.site }) {
				return false
			}
		}
	}
	return true
}

// guest notes who was placed in this cycle though others have a time: they may
// be on its room for as long as that lasts.
func (c *cycle) guest(p *pool, taken []*hold) {
	if len(c.booked[p]) == 0 {
		return
	}
	if c.guests == nil {
		c.guests = map[*site][]*hold{}
	}
	for _, h := range taken {
		c.guests[h.site] = append(c.guests[h.site], h)
	}
}

// between places j without delaying those who have a time: it leaves before that,
// or uses what they will not need.
func (c *cycle) between(p *pool, j *job, tries []try) bool {
	st := c.st
	mark := len(st.log)
	var ahead []*booking
	for _, b := range c.booked[p] {
		if b.j != j && b.j.standing == 0 && !c.leavesBy(b, j) {
			ahead = append(ahead, b)
		}
	}
	slices.SortStableFunc(ahead, func(a, b *booking) int { return cmp.Compare(a.at, b.at) })
	for _, b := range ahead {
		if at := len(st.log); !c.occupy(b, true) {
			st.undo(at) // its time has come to nothing by what was placed before j
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

// honour makes room for those whose told time has come: who began later than
// that was told, and after them in line, leaves.
func (c *cycle) honour() {
	st := c.st
	var due []*job
	for _, j := range st.told {
		if j.Booked.At <= st.now && j.standing == 0 && j.leaf >= 0 && j.lane != nil && st.gate(j) == nil {
			due = append(due, j)
		}
	}
	slices.SortFunc(due, func(a, b *job) int { return cmp.Or(cmp.Compare(a.Booked.At, b.Booked.At), older(a, b)) })
	for _, j := range due {
		p := st.pools[j.Booked.Pool]
		if p == nil || len(p.sites) == 0 || !slices.Contains(st.poolsOf(j), p) {
			continue
		}
		b := &booking{j: j, at: j.Booked.At, told: j.Booked}
		var guests []*job
		for _, v := range slices.Backward(p.q[j.leaf].victims) {
			if v.standing > 0 && v.Started >= b.told.Since && c.makesWay(b, v) {
				guests = append(guests, v)
			}
		}
		slices.SortFunc(guests, func(a, b *job) int {
			return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(b.Started, a.Started), older(b, a))
		})
		c.relief(p, j, guests, true)
	}
}

// bookings are whose time is not what they were told.
func (c *cycle) bookings() []Booked {
	st := c.st
	best := map[*job]Booking{}
	for _, list := range c.booked {
		for _, b := range list {
			if b.j.standing > 0 {
				continue
			}
			x, known := best[b.j]
			kept := b.told == b.j.Booked
			if !known || x != b.j.Booked && (kept || cmp.Or(cmp.Compare(b.told.At, x.At), cmp.Compare(b.told.Pool, x.Pool)) < 0) {
				best[b.j] = b.told
			}
		}
	}
	var out []Booked
	for j, b := range best {
		if b != j.Booked {
			out = append(out, Booked{j.ID, b})
		}
	}
	for id, j := range st.told {
		if _, still := best[j]; !still && j.standing == 0 {
			out = append(out, Booked{ID: id})
		}
	}
	slices.SortFunc(out, func(a, b Booked) int { return cmp.Compare(a.ID, b.ID) })
	return out
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
