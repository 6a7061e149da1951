package schedule

import (
	"math"
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
)

// hunt is the search for those who would leave for one job.
type hunt struct {
	c       *cycle
	kind    Action
	pool    *pool
	j       *job
	tries   []try
	need    quota.Amounts
	leafs   map[int32]*prey
	room    map[*ask]*tally
	victims []unit                  // in the order in which they were told to go
	lost    map[int32]quota.Amounts // by queue: what victims of this hunt held
	freed   map[*job][]unit         // by victim: who had been made to leave for it, once that is looked at again
	wide    bool                    // also from queues that have no more than their due, if all of that finds another place
}

// unit is what leaves together: one task that a job can do without, or all of it.
type unit struct {
	job   *job
	holds []*hold
	leaf  int32
	whole bool
	moved bool    // it has another place in the same plan
	next  []*hold // that place
}

// prey is how far the victims of one queue have been looked at.
type prey struct {
	next int
	back []*job // looked at, and still there with less
	over bool
}

// tally counts the tasks of one ask that have room.
type tally struct {
	need, have int
	at         map[*site]int
}

func (c *cycle) consolidate(p *pool, j *job) outcome {
	if !j.Preemptible || c.st.cfg.MaxMoves == 0 {
		return hopeless
	}
	return c.displace(Consolidate, p, j)
}

func (c *cycle) reclaim(p *pool, j *job) outcome {
	if c.st.cfg.NoQuota {
		return hopeless
	}
	return c.displace(Reclaim, p, j)
}

func (c *cycle) preempt(p *pool, j *job) outcome { return c.displace(Preempt, p, j) }

// displace makes room for j, if those whom the kind of displacement allows can
// make it. Victims are told to go one by one, in their order, until j fits;
// then all who can stay, or go elsewhere, do.
func (c *cycle) displace(kind Action, p *pool, j *job) outcome {
	st := c.st
	if kind != Consolidate && st.now < j.Patient {
		return passed
	}
	if st.crowded(j) != nil {
		return hopeless
	}
	for _, tries := range st.options(j) {
		h := &hunt{c: c, kind: kind, pool: p, j: j, tries: tries, need: st.cost(j, p, tries)}
		if !h.entitled() || kind == Consolidate && !h.spare() {
			continue
		}
		if h.run() {
			return served
		}
		if kind == Reclaim && st.cfg.MaxMoves != 0 && h.spare() {
			if h.wide = true; h.run() {
				return served
			}
		}
	}
	return hopeless
}

// run is one search through all possible victims.
func (h *hunt) run() bool {
	st := h.c.st
	h.leafs, h.lost, h.victims = map[int32]*prey{}, map[int32]quota.Amounts{}, nil
	if !h.prey() {
		return false
	}
	mark := len(st.log)
	h.count()
	for wait := 0; ; {
		switch {
		case wait > 0:
			wait--
		case h.enough():
			if h.settle() {
				return true
			}
			wait = len(h.victims) / 8 // a failed try is dear: not after each
		}
		if !h.more() {
			if wait > 0 && h.enough() && h.settle() {
				return true
			}
			st.undo(mark)
			return false
		}
	}
}

// entitled reports whether j may have what it asks for at others' cost.
func (h *hunt) entitled() bool {
	st := h.c.st
	switch h.kind {
	case Consolidate:
		return st.permits(h.j, h.pool, h.need)
	case Preempt:
		if h.j.Preemptible || st.cfg.NoQuota {
			return true
		}
	}
	for q := h.j.leaf; q >= 0; q = st.queues.list[q].parent {
		a := &h.pool.q[q]
		if !h.j.Preemptible && !a.fixed.Add(h.need).Within(a.Quota.Quota) {
			return false
		}
		if h.kind == Reclaim && q == h.j.leaf && !a.alloc.Add(h.need).Within(a.share) {
			return false
		}
	}
	return true
}

// spare reports whether as much is free in all as j needs: without that no
// moving about helps.
func (h *hunt) spare() bool { return h.need.Within(h.pool.free) }

func (h *hunt) count() {
	h.room = map[*ask]*tally{}
	for _, t := range h.tries {
		for i := range int32(t.count) {
			a := h.c.st.nextRun(h.j, t.group, h.j.placed[t.group]+i)
			if h.room[a] == nil {
				h.room[a] = &tally{at: map[*site]int{}}
			}
			h.room[a].need++
		}
	}
	for a, t := range h.room {
		for _, s := range h.pool.sites {
			if k := s.room(a, t.need); k > 0 && h.c.st.allowed(s, a) {
				t.at[s] = k
				t.have += k
			}
		}
	}
}

func (h *hunt) enough() bool {
	for _, t := range h.room {
		if t.have < t.need {
			return false
		}
	}
	return true
}

// more tells the next victim to go; false: there is none.
func (h *hunt) more() bool {
	st := h.c.st
	if (h.kind == Consolidate || h.wide) && st.cfg.MaxMoves >= 0 {
		n := 0
		for _, v := range h.victims {
			n += len(v.holds)
		}
		if n >= st.cfg.MaxMoves {
			return false
		}
	}
	v := h.pick()
	if v == nil {
		return false
	}
	u := st.unit(v)
	for _, x := range u.holds {
		st.evict(x)
		for q := v.leaf; q >= 0; q = st.queues.list[q].parent {
			h.lost[q] = h.lost[q].Add(x.amount)
		}
		for a, t := range h.room {
			if k := x.site.room(a, t.need); k != t.at[x.site] && st.allowed(x.site, a) {
				t.have += k - t.at[x.site]
				t.at[x.site] = k
			}
		}
	}
	h.victims = append(h.victims, u)
	if !u.whole && h.eligible(v) {
		h.leafs[v.leaf].back = append(h.leafs[v.leaf].back, v)
	}
	return true
}

// unit is the least of v that can leave at once: a task above a minimum, a
// group that need not be there, or all of it.
func (st *State) unit(v *job) unit {
	var all []*hold
	for _, x := range v.holds {
		if !x.leaving {
			all = append(all, x)
		}
	}
	u := unit{job: v, leaf: v.leaf, holds: all, whole: true}
	if len(st.deficits(v, 0, 1)) > 0 {
		return u
	}
	best, ratio := -1, 0.0
	for g := range v.Shape.Groups {
		if have, need := int(v.active[g]), v.Shape.Groups[g].Min; have > need {
			if r := float64(have) / float64(max(need, 1)); best < 0 || r >= ratio {
				best, ratio = g, r
			}
		}
	}
	if best < 0 {
		best = st.optional(v)
		if best < 0 {
			return u
		}
		u.holds = slices.DeleteFunc(slices.Clone(all), func(x *hold) bool { return int(x.group) != best })
	} else {
		for i := len(all) - 1; i >= 0; i-- {
			if int(all[i].group) == best {
				u.holds = all[i : i+1]
				break
			}
		}
	}
	u.whole = len(u.holds) == len(all)
	return u
}

// optional is the last whole group that its set can do without; negative: none.
func (st *State) optional(v *job) int {
	for g := len(v.Shape.Groups) - 1; g >= 0; g-- {
		grp := &v.Shape.Groups[g]
		m := v.Shape.Sets[grp.Set].MinGroups
		if m == 0 || v.active[g] == 0 {
			continue
		}
		whole := 0
		for o := range v.Shape.Groups {
			if other := &v.Shape.Groups[o]; other.Set == grp.Set && int(v.active[o]) >= other.Min {
				whole++
			}
		}
		if whole > m {
			return g
		}
	}
	return -1
}

// settle places j on what has become free and puts back all who can stay or go
// elsewhere. It undoes what it did if that does not work out.
func (h *hunt) settle() bool {
	mark := len(h.c.st.log)
	if !h.resettle() || (h.kind == Consolidate || h.wide) && !h.rehearse(mark) {
		h.c.st.undo(mark)
		return false
	}
	c := h.c
	for i := range h.victims {
		v := &h.victims[i]
		if !v.moved && h.placed(v) {
			continue
		}
		for _, x := range h.freed[v.job] {
			if x.moved || !h.placed(&x) {
				c.cause[x.job] = verdictOf{x.cause(c.cause[x.job].cause, h.j), h.j.ID}
				c.won[h.j] = append(c.won[h.j], x)
			}
		}
		delete(c.won, v.job)
		delete(h.freed, v.job)
		c.cause[v.job] = verdictOf{h.kind, h.j.ID}
		c.won[h.j] = append(c.won[h.j], *v)
	}
	return true
}

// rehearse reports whether those who move, and the hunt's job, would all get a
// place if they came to an allocation in their order: what was settled since
// mark may be forgotten by then, and must not have been for nothing.
func (h *hunt) rehearse(mark int) bool {
	st, end := h.c.st, len(h.c.st.log)
	defer st.undo(end)
	for _, e := range slices.Clone(st.log[mark:end]) {
		if e.op == took && !e.h.gone {
			st.evict(e.h)
		}
	}
	for i := range h.victims {
		for _, x := range h.victims[i].holds {
			if x.leaving {
				st.do(entry{op: parts, h: x})
			}
		}
	}
	early, late := h.order()
	for _, u := range early {
		if u.moved && !h.again(u) {
			return false
		}
	}
	if !st.placeIn(h.pool, h.j, h.tries) {
		return false
	}
	for _, u := range late {
		if u.moved && !h.again(u) {
			return false
		}
	}
	return true
}

// again places a unit as an allocation would.
func (h *hunt) again(u *unit) bool {
	st := h.c.st
	for _, x := range u.holds {
		s := st.best(h.pool.partsFor(u.job)[0], x.ask)
		if s == nil {
			return false
		}
		st.take(u.job, int(x.group), x.ask, s, x.task, false)
	}
	return true
}

// cause is why u leaves, now that it leaves for j.
func (u *unit) cause(was Action, j *job) Action {
	switch {
	case was == Reclaim && u.leaf == j.leaf:
		return Preempt
	case was == Preempt && u.leaf != j.leaf:
		return Reclaim
	}
	return was
}

func (h *hunt) resettle() bool {
	h.freed = map[*job][]unit{}
	early, late := h.turns()
	for _, u := range early {
		h.rehouse(u)
	}
	if !h.enter() {
		return false
	}
	for _, u := range late {
		if !h.rehouse(u) && h.kind == Consolidate {
			return false
		}
	}
	for i := range h.victims {
		if v := &h.victims[i]; (v.moved || !h.placed(v)) && !h.release(v.job) {
			return false
		}
	}
	return h.kind != Reclaim || h.fair()
}

// release puts back whom v made leave, that was promised their room in this
// cycle and has now lost it. It reports whether those who cannot come back may
// be made to leave by the hunt's job as well.
func (h *hunt) release(v *job) bool {
	won, known := h.freed[v]
	if !known {
		won = slices.Clone(h.c.won[v]) // the trial may fail
		h.freed[v] = won
	}
	for i := len(won) - 1; i >= 0; i-- {
		u := &won[i]
		if u.moved || !h.placed(u) {
			h.comeBack(u)
		}
		if !u.moved && !h.placed(u) && u.leaf == h.j.leaf && u.job.Priority >= h.j.Priority {
			return false
		}
	}
	return true
}

// comeBack puts a unit back where it was, also if it has another place by now.
func (h *hunt) comeBack(u *unit) {
	st, mark, was := h.c.st, len(h.c.st.log), *u
	for _, y := range u.next {
		for y.gone && y.heir != nil {
			y = y.heir
		}
		if !y.gone {
			st.evict(y)
		}
	}
	if !h.rehouse(u) {
		st.undo(mark)
		*u = was
	}
}

// enter places the job itself; it waits until others have left.
func (h *hunt) enter() bool {
	st := h.c.st
	if !st.permits(h.j, h.pool, h.need) || !st.placeIn(h.pool, h.j, h.tries) {
		return false
	}
	if !h.vacant() {
		for _, x := range h.j.holds {
			if x.fresh {
				st.wait(x)
			}
		}
	}
	return true
}

// vacant reports whether all victims have their room since this cycle only, so
// that nobody has to be waited for.
func (h *hunt) vacant() bool {
	for i := range h.victims {
		if len(h.c.won[h.victims[i].job]) > 0 {
			return false
		}
		for _, x := range h.victims[i].holds {
			if !x.fresh || x.moves {
				return false
			}
		}
	}
	return true
}

// rehouse leaves a victim where it is, or finds it another place.
func (h *hunt) rehouse(u *unit) bool {
	st := h.c.st
	u.moved, u.next = false, nil
	if !u.whole && len(st.deficits(u.job, 0, 1)) > 0 {
		return false // what it could do without is of no use without the rest
	}
	if !st.permits(u.job, h.pool, u.amount()) {
		return false
	}
	mark := len(st.log)
	stay := true
	for _, x := range u.holds {
		if !st.stay(x) {
			stay = false
			break
		}
	}
	if stay {
		return true
	}
	st.undo(mark)
	for _, x := range u.holds {
		if x.ask.need.Never {
			st.undo(mark)
			return false
		}
		s := st.best(h.pool.partsFor(u.job)[0], x.ask)
		if s == nil || u.job.bound() || st.queues.list[u.leaf].stopped != "" {
			st.undo(mark)
			return false
		}
		y := st.take(u.job, int(x.group), x.ask, s, x.task, x.counted)
		y.moves = x.moves || !x.fresh
		x.heir = y
		if y.moves || x.later {
			st.wait(y)
		}
		u.next = append(u.next, y)
	}
	st.gather(u.job)
	u.moved = true
	return true
}

// bound reports whether the job's tasks must be near one another.
func (j *job) bound() bool {
	for _, s := range j.Shape.Sets {
		if s.Topology != nil && s.Topology.Required != "" {
			return true
		}
	}
	return slices.ContainsFunc(j.Shape.Groups, func(g Group) bool { return g.Topology != nil && g.Topology.Required != "" })
}

// fair reports whether all who in the end have to leave may be made to: each
// from a queue that, until then, has more than its due; and that no queue that
// takes is served better than the one it took from.
func (h *hunt) fair() bool {
	st := h.c.st
	limit := max(st.cfg.Saturation, 1)
	gone := map[int32]quota.Amounts{} // of what is gone in the end, what was not gone yet at that point
	var left []*unit
	for i := range h.victims {
		v := &h.victims[i]
		if !h.placed(v) {
			left = append(left, v)
			for q := v.leaf; q >= 0; q = st.queues.list[q].parent {
				gone[q] = gone[q].Add(v.amount())
			}
		}
	}
	for _, v := range left {
		if !h.exceeds(v.leaf, gone, true) {
			return false
		}
		for q := v.leaf; q >= 0; q = st.queues.list[q].parent {
			gone[q] = gone[q].Sub(v.amount())
		}
	}
	for _, v := range left {
		a, b := st.queues.fork(h.j.leaf, v.leaf)
		x, y := &h.pool.q[a], &h.pool.q[b]
		for r, n := range h.need.Add(v.amount()) {
			if n == 0 || x.alloc[r] <= x.share[r] || y.share[r] <= 0 {
				continue
			}
			if saturation(x.alloc[r], x.share[r])*limit >= saturation(y.alloc[r], y.share[r]) {
				return false
			}
		}
	}
	return true
}

// placed reports whether the unit stays or has another place.
func (h *hunt) placed(u *unit) bool {
	if u.moved {
		return true
	}
	for _, x := range u.holds {
		if x.leaving || x.gone {
			return false
		}
	}
	return true
}

func (u *unit) amount() quota.Amounts {
	var sum quota.Amounts
	for _, x := range u.holds {
		sum = sum.Add(x.amount)
	}
	return sum
}

func saturation(have, share int64) float64 {
	if share <= 0 {
		return math.Inf(1)
	}
	return float64(have) / float64(share)
}
