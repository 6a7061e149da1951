package cycle

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/place"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Redeem places those first for whom others were told to leave: at once where
// all of their room is free, else on the room that is about to be. Who moved
// for them comes after them, or would take its old place again.
func (c *Pass) Redeem() {
	st := c.St
	var promised []*state.Job
	for _, k := range st.ClassList {
		if !k.Key.Own {
			continue
		}
		for _, l := range k.JobClasses {
			if l.Jobs[0].Promised || l.Jobs[0].Moved {
				promised = append(promised, l.Jobs[0])
			}
		}
	}
	slices.SortFunc(promised, func(a, b *state.Job) int {
		return cmp.Or(cmp.Compare(rank0(a), rank0(b)), cmp.Compare(state.Bit(a.Moved), state.Bit(b.Moved)), cmp.Compare(b.Priority, a.Priority), state.Older(a, b))
	})
	for _, j := range promised {
		if st.Gate(j) != nil {
			continue
		}
		for _, p := range st.PoolsOf(j) {
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
func (c *Pass) redeemIn(p *state.Pool, j *state.Job) bool {
	had := len(j.Holds)
	for c.redeemStep(p, j) && len(j.Holds)-had < j.Owed && c.St.Wants(j) {
	}
	return len(j.Holds) > had
}

func (c *Pass) redeemStep(p *state.Pool, j *state.Job) bool {
	st := c.St
	st.BeginLook(schedule.Allocate, j)
	if st.Crowded(j) != nil {
		return false
	}
	for _, tries := range st.Options(j) {
		if st.Permits(j, p, st.Cost(j, p, tries)) && place.PlaceIn(st, p, j, tries) {
			return true
		}
	}
	return false
}

// rank0 is a promised job's place in line: as the plan placed them, so that they
// fit again as they did then; those of whom no plan has spoken come last.
func rank0(j *state.Job) int {
	if j.Rank == 0 {
		return math.MaxInt
	}
	return j.Rank
}

// booking is the time from which a job that does not fit yet will, by the known
// ends of what runs, and where.
type booking struct {
	J          *state.Job
	tries      []state.Try
	At         int64 // unix ms
	placements []state.Placement
	told       schedule.Booking
}

// soonWithin is by how much, in ms, a start may be later than was told before
// that is worth telling: a task that starts is not up at once, and ends later by
// as much.
const soonWithin = 60_000

// open reports whether somebody may still be given a time in p.
func (c *Pass) open(p *state.Pool) bool {
	if n := len(c.Booked[p]); n < p.Reserve {
		return true
	} else if n >= 2*p.Reserve {
		return false
	}
	for _, j := range c.St.Told {
		if j.Booked.Pool == p.Name && !c.has(p, j) {
			return true
		}
	}
	return false
}

func (c *Pass) has(p *state.Pool, j *state.Job) bool {
	return slices.ContainsFunc(c.Booked[p], func(b *booking) bool { return b.J == j })
}

// book gives j a time to start in p, if it can be told. Who comes after it keeps
// out of its way. Who was told one keeps it, though others with the right to go
// first have been given theirs.
func (c *Pass) book(p *state.Pool, j *state.Job, tries []state.Try) {
	if p.Reserve == 0 || j.Standing > 0 || len(tries) == 0 || c.has(p, j) {
		return
	}
	told := j.Booked.At != 0 && j.Booked.Pool == p.Name
	if n := len(c.Booked[p]); n >= p.Reserve && (!told || n >= 2*p.Reserve) {
		return
	}
	b := &booking{J: j, tries: tries, told: schedule.Booking{Pool: p.Name, Since: c.St.Now}}
	if told {
		b.told = j.Booked
	}
	if !c.soonest(p, b) && !c.yielded(p, b) {
		return
	}
	b.tell(c.St.Now)
	if c.Booked == nil {
		c.Booked = map[*state.Pool][]*booking{}
	}
	c.Booked[p] = append(c.Booked[p], b)
}

// reach is, by pool, the last of the times that somebody has.
func (c *Pass) reach() map[*state.Pool]int64 {
	last := map[*state.Pool]int64{}
	for p, list := range c.Booked {
		for _, b := range list {
			last[p] = max(last[p], b.At, b.told.At)
		}
	}
	return last
}

// tell says from when j starts: as it was told, unless it will be later, or much
// sooner.
func (b *booking) tell(now int64) {
	if t := &b.told; t.At == 0 || b.At > t.At+soonWithin || b.At < t.At-max(soonWithin, (t.At-t.Since)/4) && t.At > now {
		t.At = max(b.At, now)
	}
}

// soonest finds when and where b's job has room once all have ended whose end is
// known, beside those who were given a time before it.
func (c *Pass) soonest(p *state.Pool, b *booking) bool {
	st := c.St
	mark := len(st.Log)
	defer st.Undo(mark)
	for _, other := range c.Booked[p] {
		c.occupy(other, false)
	}
	first, last, ok := c.counted(p, b)
	if !ok {
		return false
	}
	if len(first) == 1 && c.plain(p, b.J, first[0].Ask) {
		o := st.Forecast(p, first[0].Ask)
		at, steps, _ := o.From(first[0].Count)
		b.At, b.placements = at, o.Placements(p, first[0].Count, steps)
	} else if !c.search(p, b, last) {
		return false
	}
	if b.told.At != 0 && b.At > b.told.At+soonWithin {
		c.yielded(p, b)
	}
	return true
}

// counted is how many tasks of each ask b wants, and the instant before which
// there is not even room in all for them; false: never, by what is known.
func (c *Pass) counted(p *state.Pool, b *booking) (need []state.Placement, at int64, ok bool) {
	st := c.St
	for _, t := range b.tries {
		for i := range int32(t.Count) {
			a := st.NextRun(b.J, t.Group, b.J.Placed[t.Group]+i)
			if a == nil {
				return nil, 0, false
			}
			if k := slices.IndexFunc(need, func(x state.Placement) bool { return x.Ask == a }); k >= 0 {
				need[k].Count++
			} else {
				need = append(need, state.Placement{Ask: a, Count: 1})
			}
		}
	}
	for _, x := range need {
		if place.Social(x.Ask) {
			continue
		}
		from, _, ok := st.Forecast(p, x.Ask).From(x.Count)
		if !ok {
			return nil, 0, false
		}
		at = max(at, from)
	}
	return need, at, true
}

// plain reports whether tasks of a may be anywhere in p, so that there is room
// for as many as can be counted.
func (c *Pass) plain(p *state.Pool, j *state.Job, a *state.Ask) bool {
	n := &a.Need
	if place.Social(a) || len(p.Parts) > 0 || len(j.Holds) > 0 || n.Devices > 1 && (n.Share > 0 || n.Milli < 1000) {
		return false
	}
	loose := func(t *schedule.Topology) bool { return t == nil || t.Required == "" }
	for i := range j.Shape.Groups {
		if g := &j.Shape.Groups[i]; g.Segment > 0 || !loose(g.Topology) {
			return false
		}
	}
	return !slices.ContainsFunc(j.Shape.Sets, func(s schedule.Set) bool { return !loose(s.Topology) })
}

// search is soonest for what has to be near one another, or differs: it tries
// the known ends, from the given instant on.
func (c *Pass) search(p *state.Pool, b *booking, from int64) bool {
	st := c.St
	ends := c.ending(p)
	i := sort.Search(len(ends), func(i int) bool { return ends[i].End(st.Now) >= from })
	instants := []int64{from}
	for _, x := range ends[i:] {
		if at := x.End(st.Now); at > instants[len(instants)-1] {
			instants = append(instants, at)
		}
	}
	n := sort.Search(len(instants), func(n int) bool { return c.tryAt(p, b, instants[n]) })
	return n < len(instants) && c.tryAt(p, b, instants[n])
}

// tryAt reports whether b's job has room at an instant, and where.
func (c *Pass) tryAt(p *state.Pool, b *booking, at int64) bool {
	st := c.St
	mark := len(st.Log)
	defer st.Undo(mark)
	for _, x := range c.ending(p) {
		if x.End(st.Now) > at {
			break
		}
		Vacate(st, x)
	}
	had := len(b.J.Holds)
	if (len(p.Parts) > 0 || !place.Attempt(st, latest(p), func(sub *state.Subset) bool { return place.Place(st, b.J, b.tries, sub) })) && !place.PlaceIn(st, p, b.J, b.tries) {
		return false
	}
	b.At, b.placements = at, nil
	for _, h := range b.J.Holds[had:] {
		k := slices.IndexFunc(b.placements, func(x state.Placement) bool { return x.Site == h.Site && x.Ask == h.Ask })
		if k < 0 {
			k = len(b.placements)
			b.placements = append(b.placements, state.Placement{Site: h.Site, Ask: h.Ask})
		}
		b.placements[k].Count++
	}
	return true
}

// ending are the jobs in p whose end is known, the first to end first.
func (c *Pass) ending(p *state.Pool) []*state.Job {
	if ends, ok := c.ends[p]; ok {
		return ends
	}
	var ends []*state.Job
	for _, j := range c.St.Jobs {
		if j.Pool == p && len(j.Held) > 0 && j.End(c.St.Now) > 0 {
			ends = append(ends, j)
		}
	}
	slices.SortFunc(ends, func(a, b *state.Job) int {
		return cmp.Or(cmp.Compare(a.End(c.St.Now), b.End(c.St.Now)), state.Older(a, b))
	})
	if c.ends == nil {
		c.ends = map[*state.Pool][]*state.Job{}
	}
	c.ends[p] = ends
	return ends
}

// Vacate looks ahead to when x has ended: what it holds is free then, and not
// before. Unlike evict it leaves in its place what was placed in this cycle:
// that runs until then too. To be undone.
func Vacate(st *state.State, x *state.Job) {
	for _, h := range x.Holds {
		if !h.Leaving {
			st.Do(state.Entry{Op: state.Went, H: h})
		}
	}
}

// occupy keeps the room that b will need; with leave, who has left by then leaves
// it. False: it cannot be had any more. To be undone.
func (c *Pass) occupy(b *booking, leave bool) bool {
	st := c.St
	for _, x := range b.placements {
		s := x.Site
		var gone []*state.Hold
		for _, holds := range [][]*state.Hold{s.Holds, c.guests[s]} {
			for _, h := range holds {
				if !h.Leaving && !h.Gone && c.leavesBy(b, h.Job) {
					s.Soon.Move(h, 1)
					gone = append(gone, h)
				}
			}
		}
		var kept []*state.Hold
		for range x.Count {
			h := state.Draft(b.J, 0, x.Ask, s)
			if !s.Soon.Fits(s, x.Ask) {
				break
			}
			if h.Devs = lastFree(s, x.Ask); len(h.Devs) < x.Ask.Need.Devices {
				break
			}
			s.Soon.Move(h, -1)
			kept = append(kept, h)
		}
		for _, h := range kept {
			s.Soon.Move(h, 1)
		}
		for _, h := range gone {
			s.Soon.Move(h, -1)
		}
		if leave {
			for _, h := range gone {
				st.Do(state.Entry{Op: state.Went, H: h})
			}
		}
		for _, h := range kept {
			st.Do(state.Entry{Op: state.Books, H: h})
		}
		if len(kept) < x.Count {
			return false
		}
	}
	return true
}

// lastFree are devices for a task of a that will be free: those that are not yet,
// where there are such.
func lastFree(s *state.Site, a *state.Ask) []int32 {
	m := s.Milli(a)
	var out []int32
	for _, ready := range []bool{false, true} {
		for d := range s.Soon.Dev {
			if len(out) < a.Need.Devices && s.Soon.Dev[d] >= m && (s.Now.Dev[d] >= m) == ready && s.Is(d, a.Need.Type) {
				out = append(out, int32(d))
			}
		}
	}
	return out
}

// leavesBy reports whether x has left when b is to start: by its known end, or
// because b's job may then make it leave.
func (c *Pass) leavesBy(b *booking, x *state.Job) bool {
	st := c.St
	if len(x.Held) == 0 {
		if x.MaxRun > 0 && st.Now+x.MaxRun <= b.At {
			return true
		}
	} else if at := x.End(st.Now); at > 0 && at <= b.At {
		return true
	}
	return c.makesWay(b, x)
}

// makesWay reports whether b's job may make x leave at the time that it was told:
// x came after that was told and after it in line, and has had as long as
// everybody has who makes room for those who have waited too long; or as long as
// those who are less important.
func (c *Pass) makesWay(b *booking, x *state.Job) bool {
	st, j := c.St, b.J
	since := x.Started
	if len(x.Held) == 0 {
		since = st.Now
	}
	by := b.told.At
	if by == 0 {
		by = b.At
	}
	if !x.Yields() || x == j || x.Leaf != j.Leaf || since <= 0 || since < b.told.Since || slices.ContainsFunc(x.Holds, func(h *state.Hold) bool { return h.Ask.Need.Never }) {
		return false
	}
	switch had := by - since; {
	case x.Priority < j.Priority && j.Preemptible && by >= j.Patient && does(st, schedule.Preempt) && had >= c.protected(b, x):
		return true
	case x.Priority < j.Priority || x.Priority == j.Priority && state.Older(j, x) < 0:
		return st.Cfg.Quantum > 0 && had >= st.Cfg.Quantum
	}
	return false
}

// protected is for how long, in ms, x is left alone by those of its queue who are
// more important.
func (c *Pass) protected(b *booking, x *state.Job) int64 {
	st := c.St
	if st.Cfg.NoRuntime {
		return 0
	}
	least := st.Queues.List[x.Leaf].PreemptMin
	if p := st.Pools[b.told.Pool]; p != nil {
		least = max(least, p.MinRuntime)
	}
	return least
}

// does reports whether an action is part of a cycle.
func does(st *state.State, a schedule.Action) bool {
	return len(st.Cfg.Actions) == 0 || slices.Contains(st.Cfg.Actions, a)
}

// yielded keeps the time that b's job was told where those are in its way who
// have to leave for it by then.
func (c *Pass) yielded(p *state.Pool, b *booking) bool {
	st := c.St
	if b.told.At == 0 || b.J.Leaf < 0 {
		return false
	}
	var guests []*state.Job
	for _, v := range p.Q[b.J.Leaf].Victims {
		if v.Started >= b.told.Since && c.makesWay(b, v) {
			guests = append(guests, v)
		}
	}
	if len(guests) == 0 {
		return false
	}
	mark, was := len(st.Log), *b
	defer st.Undo(mark)
	for _, v := range guests {
		Vacate(st, v)
	}
	if c.tryAt(p, b, b.told.At) {
		return true
	}
	*b = was
	return false
}

// clear reports whether none of those holds are where somebody has a time to
// start who would need them by then.
func (c *Pass) clear(p *state.Pool, j *state.Job, taken []*state.Hold) bool {
	for _, b := range c.Booked[p] {
		if b.J == j || b.J.Standing > 0 || c.leavesBy(b, j) {
			continue
		}
		for _, h := range taken {
			if slices.ContainsFunc(b.placements, func(x state.Placement) bool { return x.Site == h.Site }) {
				return false
			}
		}
	}
	return true
}

// guest notes who was placed in this cycle though others have a time: they may
// be on its room for as long as that lasts.
func (c *Pass) guest(p *state.Pool, taken []*state.Hold) {
	if len(c.Booked[p]) == 0 {
		return
	}
	if c.guests == nil {
		c.guests = map[*state.Site][]*state.Hold{}
	}
	for _, h := range taken {
		c.guests[h.Site] = append(c.guests[h.Site], h)
	}
}

// between places j without delaying those who have a time: it leaves before that,
// or uses what they will not need.
func (c *Pass) between(p *state.Pool, j *state.Job, tries []state.Try) bool {
	st := c.St
	mark := len(st.Log)
	var ahead []*booking
	for _, b := range c.Booked[p] {
		if b.J != j && b.J.Standing == 0 && !c.leavesBy(b, j) {
			ahead = append(ahead, b)
		}
	}
	slices.SortStableFunc(ahead, func(a, b *booking) int { return cmp.Compare(a.At, b.At) })
	for _, b := range ahead {
		if at := len(st.Log); !c.occupy(b, true) {
			st.Undo(at) // its time has come to nothing by what was placed before j
		}
	}
	had := len(j.Holds)
	if !place.PlaceIn(st, p, j, tries) {
		st.Undo(mark)
		return false
	}
	taken := slices.Clone(j.Holds[had:])
	for _, h := range taken {
		if h.Later { // it would wait for those who are only expected to go
			st.Undo(mark)
			return false
		}
	}
	st.Undo(mark)
	for _, h := range taken {
		if s := h.Site; !s.Now.Spares(h, nil) || !s.Soon.Spares(h, nil) {
			st.Undo(mark) // it is promised to somebody who would have ended by then
			return false
		}
		again := *h
		st.Do(state.Entry{Op: state.Took, H: &again})
	}
	return true
}

// Honour makes room for those whose told time has come: who began later than
// that was told, and after them in line, leaves.
func (c *Pass) Honour() {
	st := c.St
	var due []*state.Job
	for _, j := range st.Told {
		if j.Booked.At <= st.Now && j.Standing == 0 && j.Leaf >= 0 && j.JobClass != nil && st.Gate(j) == nil {
			due = append(due, j)
		}
	}
	slices.SortFunc(due, func(a, b *state.Job) int { return cmp.Or(cmp.Compare(a.Booked.At, b.Booked.At), state.Older(a, b)) })
	for _, j := range due {
		p := st.Pools[j.Booked.Pool]
		if p == nil || len(p.Sites) == 0 || !slices.Contains(st.PoolsOf(j), p) {
			continue
		}
		b := &booking{J: j, At: j.Booked.At, told: j.Booked}
		var guests []*state.Job
		for _, v := range slices.Backward(p.Q[j.Leaf].Victims) {
			if v.Standing > 0 && v.Started >= b.told.Since && c.makesWay(b, v) {
				guests = append(guests, v)
			}
		}
		slices.SortFunc(guests, func(a, b *state.Job) int {
			return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(b.Started, a.Started), state.Older(b, a))
		})
		c.relief(p, j, guests, true)
	}
}

// bookings are whose time is not what they were told.
func (c *Pass) bookings() []schedule.Booked {
	st := c.St
	best := map[*state.Job]schedule.Booking{}
	for _, list := range c.Booked {
		for _, b := range list {
			if b.J.Standing > 0 {
				continue
			}
			x, known := best[b.J]
			kept := b.told == b.J.Booked
			if !known || x != b.J.Booked && (kept || cmp.Or(cmp.Compare(b.told.At, x.At), cmp.Compare(b.told.Pool, x.Pool)) < 0) {
				best[b.J] = b.told
			}
		}
	}
	var out []schedule.Booked
	for j, b := range best {
		if b != j.Booked {
			out = append(out, schedule.Booked{ID: j.ID, Booking: b})
		}
	}
	for id, j := range st.Told {
		if _, still := best[j]; !still && j.Standing == 0 {
			out = append(out, schedule.Booked{ID: id})
		}
	}
	slices.SortFunc(out, func(a, b schedule.Booked) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// latest is the pool with what is free now sought last: what somebody will need
// only later is better taken from what is free only then.
func latest(p *state.Pool) *state.Subset {
	return &state.Subset{Pool: p, Sites: p.Sites, Ranks: map[*state.Ask]*state.Ranking{}, Late: true}
}

// Nodes are the nodes that are known, by name.
func Nodes(st *state.State) []core.NodeID {
	ids := make([]core.NodeID, 0, len(st.Sites))
	for id := range st.Sites {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
