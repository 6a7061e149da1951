package displace

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/place"
)

// accept places j on what has become free and puts back all who can stay or go
// elsewhere. It undoes what it did if that does not work out.
func (h *victimSearch) accept() bool {
	mark := len(h.c.St.Log)
	if !h.placeAgain() || (h.kind == schedule.Consolidate || h.wide) && !h.rehearse(mark) {
		h.c.St.Undo(mark)
		return false
	}
	h.trim(mark)
	h.agreed()
	return true
}

// agreed notes who leaves for whom, now that it is so.
func (h *victimSearch) agreed() {
	c := h.c
	for i := range h.victims {
		v := &h.victims[i]
		if !v.moved && h.placed(v) {
			continue
		}
		for _, x := range h.freed[v.job] {
			if x.job != h.j && (x.moved || !h.placed(&x)) && c.Cause[x.job].By == v.job.ID { // else it leaves for others all the same
				c.Cause[x.job] = Verdict{h.inherits(&x), h.j.ID}
				c.won[h.j] = append(c.won[h.j], x)
			}
		}
		delete(c.won, v.job)
		delete(h.freed, v.job)
		c.Cause[v.job] = Verdict{h.kind, h.j.ID}
		c.won[h.j] = append(c.won[h.j], *v)
	}
}

// mostTrimmed bounds for how many victims it is tried whether each has to leave;
// mostSpared where they are those of one whose patience was over, which is rare
// and has no order that keeps them few.
const mostTrimmed, mostSpared = 16, 128

// trim looks, for each who is to leave, for another place of the search's job that
// spares it: the job has taken the best of all that was free, not what costs
// least.
func (h *victimSearch) trim(mark int) {
	if len(h.victims) < 2 {
		return // the first of all was told to go because nothing else would do
	}
	if h.kind == schedule.Consolidate {
		h.trimMoves(mark)
		return
	}
	var left []*unit
	for i := range h.victims {
		if u := &h.victims[i]; !h.placed(u) && !u.fresh() {
			left = append(left, u)
		}
	}
	back := h.relocate
	if h.kind == Relieve {
		back = h.spares // it moves nobody
	} else if len(left) > mostTrimmed {
		return
	}
	st := h.c.St
	for _, u := range left[:min(len(left), mostSpared)] {
		end, was, had := len(st.Log), *u, h.entered
		leave(h)
		if !back(u) || !h.enter() || !h.just() {
			st.Undo(end)
			*u, h.entered = was, had
		}
	}
}

// trimMoves looks, for each who is to move, whether it can stay where it is, all
// others being placed anew.
func (h *victimSearch) trimMoves(mark int) {
	st := h.c.St
	for i := range h.victims[:min(len(h.victims), mostTrimmed)] {
		if !h.victims[i].moved {
			continue
		}
		end, was, had := len(st.Log), slices.Clone(h.victims), h.entered
		vacate(h, mark)
		u := &h.victims[i]
		u.moved, u.next = false, nil
		ok := h.spares(u) && h.enter()
		for k := len(h.victims) - 1; ok && k >= 0; k-- {
			v := &h.victims[k]
			ok = k == i || !v.moved && h.placed(v) || h.relocate(v)
		}
		if !ok || !h.rehearse(mark) {
			st.Undo(end)
			copy(h.victims, was)
			h.entered = had
		}
	}
}

// rehearse reports whether those who move, and the search's job, would all get a
// place if they came to an allocation one after another, as they do once all who
// leave have left: in the order of their promises; and where nothing keeps who
// has just moved from moving again, also by the order of service, in which they
// come if those promises are forgotten.
func (h *victimSearch) rehearse(mark int) bool {
	movers := h.movers(mark)
	if h.c.St.Cfg.MoveRest > 0 {
		return h.replay(mark, nil, movers)
	}
	h.own = true
	early, late := h.order()
	return h.replay(mark, early, late())
}

// replay is rehearse for one order: who comes before the search's job, and who
// after it.
func (h *victimSearch) replay(mark int, early, late []*unit) bool {
	st, end := h.c.St, len(h.c.St.Log)
	defer st.Undo(end)
	vacate(h, mark)
	for i := range h.victims {
		for _, x := range h.victims[i].holds {
			if x.Leaving {
				st.Do(ledger.Entry{Op: ledger.Parts, H: x})
			}
		}
	}
	for _, u := range early {
		if u.moved && !h.again(u) {
			return false
		}
	}
	if !place.PlaceIn(st, h.pool, h.j, h.tries) {
		return false
	}
	for _, u := range late {
		if u.moved && !h.again(u) {
			return false
		}
	}
	return true
}

// movers are the units that move, in the order in which they were given their
// places: that of the promises which are kept to them.
func (h *victimSearch) movers(mark int) []*unit {
	line := map[*ledger.Hold]int{}
	for i, e := range h.c.St.Log[mark:] {
		if e.Op == ledger.Took {
			line[e.H] = i
		}
	}
	var all []*unit
	for i := range h.victims {
		if u := &h.victims[i]; u.moved {
			all = append(all, u)
		}
	}
	slices.SortStableFunc(all, func(a, b *unit) int { return cmp.Compare(line[a.next[0]], line[b.next[0]]) })
	return all
}

// again places a unit as an allocation would.
func (h *victimSearch) again(u *unit) bool {
	st := h.c.St
	for _, x := range u.holds {
		s := st.Best(h.pool.PartsFor(u.job)[0], x.Ask)
		if s == nil {
			return false
		}
		st.Take(u.job, int(x.Group), x.Ask, s, x.Task, false)
	}
	return true
}

// inherits is why u, which left for a victim of the search, leaves now.
func (h *victimSearch) inherits(u *unit) schedule.Action {
	was := h.c.Cause[u.job].Cause
	switch {
	case u.moved:
		if Between(was, u.job, h.j) != was {
			return schedule.Consolidate // no right of the one is the other's, and it goes on elsewhere
		}
		return was
	case h.kind == Relieve:
		return Relieve
	}
	return Between(was, u.job, h.j)
}

func (h *victimSearch) placeAgain() bool {
	h.freed = nil
	early, late := h.turns()
	for _, u := range early {
		h.relocate(u)
	}
	if !h.enter() {
		h.blocked = blockedNow(h)
		return false
	}
	for _, u := range late() {
		if !h.relocate(u) && h.kind == schedule.Consolidate {
			return false
		}
	}
	for i := range h.victims {
		if v := &h.victims[i]; (v.moved || !h.placed(v)) && !h.release(v.job) {
			return false
		}
	}
	return h.just()
}

// just reports whether all who in the end have to leave for the search's job may
// be made to by it, also those who were told to leave for one of its victims:
// what was taken from another queue by a right may be passed on only by the
// same right, or the next cycle has it taken back.
func (h *victimSearch) just() bool {
	if h.kind == schedule.Consolidate || h.kind == Relieve || h.kind == schedule.Preempt && !h.keeps() {
		return h.kind != schedule.Preempt
	}
	var left []*unit
	if h.kind == schedule.Reclaim {
		for i := range h.victims {
			if v := &h.victims[i]; !h.placed(v) {
				left = append(left, v)
			}
		}
	}
	inherited := false
	for _, v := range h.victims {
		for i := range h.freed[v.job] {
			if u := &h.freed[v.job][i]; u.leaf != h.j.Leaf && (u.moved || !h.placed(u)) && !slices.ContainsFunc(left, u.same) {
				left = append(left, u)
				inherited = true
			}
		}
	}
	if inherited && h.kind != schedule.Reclaim {
		if a := &h.pool.Q[h.j.Leaf]; !a.Alloc.Within(a.Share) {
			return false
		}
	}
	return len(left) == 0 || h.fair(left)
}

// keeps reports whether the queue of a search for victims for one of higher priority has no
// more of what that asks for than it had, or no more than its due: what it held
// beyond, others would have it give back at once, and then those who had to
// leave take it from them again.
func (h *victimSearch) keeps() bool {
	if h.c.St.Cfg.NoQuota {
		return true
	}
	a := &h.pool.Q[h.j.Leaf]
	for r, n := range h.need {
		if n > 0 && a.Share[r] >= 0 && a.Alloc[r] > max(a.Share[r], h.had[r]) {
			return false
		}
	}
	return true
}

// release puts back whom v made leave, that was promised their room in this
// cycle and has now lost it. It reports whether those who cannot come back may
// be made to leave by the search's job as well.
func (h *victimSearch) release(v *ledger.Job) bool {
	won, known := h.freed[v]
	if !known {
		if won = slices.Clone(h.c.won[v]); len(won) == 0 { // the trial may fail
			return true
		}
		h.own = true
		if h.freed == nil {
			h.freed = map[*ledger.Job][]unit{}
		}
		h.freed[v] = won
	}
	for i := len(won) - 1; i >= 0; i-- {
		u := &won[i]
		if u.job == h.j && surplus(h, u) {
			continue
		}
		if u.moved || !h.placed(u) {
			if u.job != h.j || !comesFirst(h, u) {
				h.comeBack(u)
			}
			h.pool.Q[u.leaf].Gone = 0
		}
		if !u.moved && !h.placed(u) && !h.mayInherit(u) {
			return false
		}
	}
	return true
}

// surplus reports whether u is of the search's job, which left for a victim of its
// own, and has by now been given all that it asks for in another place.
func surplus(h *victimSearch, u *unit) bool {
	more := map[int32]int32{}
	for _, x := range u.holds {
		if x.Counted && x.Gone {
			more[x.Group]++
		}
	}
	for g, n := range more {
		asks := int32(0)
		for _, r := range h.j.Shape.Groups[g].Runs {
			asks += int32(r.Count)
		}
		if h.j.Placed[g]+n > asks {
			return true
		}
	}
	return false
}

// comesFirst puts u, which is of the search's job and moved for a victim of its own,
// back to where it was, and places anew what the job gets: else that might take u's old
// place, and u would move for nobody.
func comesFirst(h *victimSearch, u *unit) bool {
	st, mark, was, had := h.c.St, len(h.c.St.Log), *u, h.entered
	leave(h)
	if h.comeBack(u); !u.moved && h.placed(u) && h.enter() {
		return true
	}
	st.Undo(mark)
	*u, h.entered = was, had
	return false
}

// mayInherit reports whether u, which left for a victim of the search, may be made
// to leave by the search's job; what queues are due is asked for all at once.
func (h *victimSearch) mayInherit(u *unit) bool {
	if h.kind == Relieve {
		return hasHadEnough(h.c.St, u.job) && h.gives(u.job)
	}
	return u.leaf != h.j.Leaf || u.job.Priority < h.j.Priority
}

// comeBack puts a unit back where it was, also if it has another place by now.
func (h *victimSearch) comeBack(u *unit) {
	st, mark, was := h.c.St, len(h.c.St.Log), *u
	for i, y := range was.next {
		y = present(y)
		if !y.Gone && !y.Leaving { // else it has been put back where it was, and is told to go from there
			st.Evict(y)
			y.Heir = was.holds[i]
		}
	}
	if !h.relocate(u) {
		st.Undo(mark)
		*u = was
	}
}

// leave takes from the job what enter gave it last. What else it has been given since
// the search began came back to it: others had left for somebody who leaves now.
func leave(h *victimSearch) {
	for _, x := range slices.Backward(h.entered) {
		if !x.Gone {
			h.c.St.Evict(x)
		}
	}
	h.entered = nil
}

// vacate takes their places since mark from the job and its victims. Who came back
// because one of these leaves stays.
func vacate(h *victimSearch, mark int) {
	theirs := map[*ledger.Hold]bool{}
	for _, x := range h.entered {
		theirs[x] = true
	}
	for i := range h.victims {
		for _, x := range h.victims[i].holds {
			theirs[present(x)] = true
		}
		for _, x := range h.victims[i].next {
			theirs[present(x)] = true
		}
	}
	for _, e := range slices.Clone(h.c.St.Log[mark:]) {
		if e.Op == ledger.Took && !e.H.Gone && theirs[e.H] {
			h.c.St.Evict(e.H)
		}
	}
}

// enter places the job itself; it waits until others have left.
func (h *victimSearch) enter() bool {
	st, had := h.c.St, len(h.j.Holds)
	h.entered = nil
	if !h.c.Permits(h.j, h.pool, h.need) {
		h.own = true
		return false
	}
	if !place.PlaceIn(st, h.pool, h.j, h.tries) {
		return false
	}
	h.entered = slices.Clone(h.j.Holds[had:])
	if !h.vacant() {
		for _, x := range h.entered {
			st.Wait(x)
		}
	}
	return true
}

// vacant reports whether all victims have their room since this cycle only, so
// that nobody has to be waited for.
func (h *victimSearch) vacant() bool {
	if h.waits {
		return false
	}
	for i := range h.victims {
		if h.c.occupies(&h.victims[i]) {
			return false
		}
	}
	return true
}

// occupies reports whether the unit has its room since before this cycle, or others
// have who left for it.
func (c *Round) occupies(u *unit) bool {
	return len(c.won[u.job]) > 0 || slices.ContainsFunc(u.holds, func(x *ledger.Hold) bool { return !x.Fresh || x.Moves })
}
