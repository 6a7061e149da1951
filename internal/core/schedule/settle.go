package schedule

import (
	"cmp"
	"slices"
)

// settle places j on what has become free and puts back all who can stay or go
// elsewhere. It undoes what it did if that does not work out.
func (h *hunt) settle() bool {
	mark := len(h.c.st.log)
	if !h.resettle() || (h.kind == Consolidate || h.wide) && !h.rehearse(mark) {
		h.c.st.undo(mark)
		return false
	}
	h.trim(mark)
	h.agreed()
	return true
}

// agreed notes who leaves for whom, now that it is so.
func (h *hunt) agreed() {
	c := h.c
	for i := range h.victims {
		v := &h.victims[i]
		if !v.moved && h.placed(v) {
			continue
		}
		for _, x := range h.freed[v.job] {
			if (x.moved || !h.placed(&x)) && c.cause[x.job].by == v.job.ID { // else it leaves for others all the same
				c.cause[x.job] = verdictOf{h.inherits(&x), h.j.ID}
				c.won[h.j] = append(c.won[h.j], x)
			}
		}
		delete(c.won, v.job)
		delete(h.freed, v.job)
		c.cause[v.job] = verdictOf{h.kind, h.j.ID}
		c.won[h.j] = append(c.won[h.j], *v)
	}
}

// mostTrimmed bounds for how many victims it is tried whether each has to leave;
// mostSpared where they are those of one whose patience was over, which is rare
// and has no order that keeps them few.
const mostTrimmed, mostSpared = 16, 128

// trim looks, for each who is to leave, for another place of the hunt's job that
// spares it: the job has taken the best of all that was free, not what costs
// least.
func (h *hunt) trim(mark int) {
	if len(h.victims) < 2 {
		return // the first of all was told to go because nothing else would do
	}
	if h.kind == Consolidate {
		h.trimMoves(mark)
		return
	}
	var left []*unit
	for i := range h.victims {
		if u := &h.victims[i]; !h.placed(u) && !u.fresh() {
			left = append(left, u)
		}
	}
	back := h.rehouse
	if h.kind == Relieve {
		back = h.spares // it moves nobody
	} else if len(left) > mostTrimmed {
		return
	}
	st := h.c.st
	for _, u := range left[:min(len(left), mostSpared)] {
		end, was := len(st.log), *u
		for _, e := range slices.Clone(st.log[mark:]) {
			if e.op == took && e.h.job == h.j && !e.h.gone {
				st.evict(e.h)
			}
		}
		if !back(u) || !h.enter() || !h.just() {
			st.undo(end)
			*u = was
		}
	}
}

// trimMoves looks, for each who is to move, whether it can stay where it is, all
// others being placed anew.
func (h *hunt) trimMoves(mark int) {
	st := h.c.st
	for i := range h.victims[:min(len(h.victims), mostTrimmed)] {
		if !h.victims[i].moved {
			continue
		}
		end, was := len(st.log), slices.Clone(h.victims)
		for _, e := range slices.Clone(st.log[mark:]) {
			if e.op == took && !e.h.gone {
				st.evict(e.h)
			}
		}
		u := &h.victims[i]
		u.moved, u.next = false, nil
		ok := h.spares(u) && h.enter()
		for k := len(h.victims) - 1; ok && k >= 0; k-- {
			v := &h.victims[k]
			ok = k == i || !v.moved && h.placed(v) || h.rehouse(v)
		}
		if !ok || !h.rehearse(mark) {
			st.undo(end)
			copy(h.victims, was)
		}
	}
}

// fresh reports whether the unit has its room since this cycle only: it costs
// nothing that it does not start.
func (u *unit) fresh() bool {
	return !slices.ContainsFunc(u.holds, func(x *hold) bool { return !x.fresh })
}

// rehearse reports whether those who move, and the hunt's job, would all get a
// place if they came to an allocation one after another, as they do once all who
// leave have left: in the order of their promises; and where nothing keeps who
// has just moved from moving again, also by the order of service, in which they
// come if those promises are forgotten.
func (h *hunt) rehearse(mark int) bool {
	movers := h.movers(mark)
	if h.c.st.cfg.MoveRest > 0 {
		return h.replay(mark, nil, movers)
	}
	early, late := h.order()
	return h.replay(mark, early, late)
}

// replay is rehearse for one order: who comes before the hunt's job, and who
// after it.
func (h *hunt) replay(mark int, early, late []*unit) bool {
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

// movers are the units that move, in the order in which they were given their
// places: that of the promises which are kept to them.
func (h *hunt) movers(mark int) []*unit {
	line := map[*hold]int{}
	for i, e := range h.c.st.log[mark:] {
		if e.op == took {
			line[e.h] = i
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

// inherits is why u, which left for a victim of the hunt, leaves now.
func (h *hunt) inherits(u *unit) Action {
	was := h.c.cause[u.job].cause
	switch {
	case u.moved:
		return was
	case h.kind == Relieve:
		return Relieve
	}
	return was.between(u.job, h.j)
}

// between is a cause for which v leaves for j, once it has left for another for
// that cause.
func (was Action) between(v, j *job) Action {
	switch {
	case was == Reclaim && v.leaf == j.leaf:
		return Preempt
	case was == Preempt && v.leaf != j.leaf:
		return Reclaim
	}
	return was
}

func (h *hunt) resettle() bool {
	h.freed = nil
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
	return h.just()
}

// just reports whether all who in the end have to leave for the hunt's job may
// be made to by it, also those who were told to leave for one of its victims:
// what was taken from another queue by a right may be passed on only by the
// same right, or the next cycle has it taken back.
func (h *hunt) just() bool {
	if h.kind == Consolidate || h.kind == Relieve || h.kind == Preempt && !h.keeps() {
		return h.kind != Preempt
	}
	var left []*unit
	if h.kind == Reclaim {
		for i := range h.victims {
			if v := &h.victims[i]; !h.placed(v) {
				left = append(left, v)
			}
		}
	}
	inherited := false
	for _, v := range h.victims {
		for i := range h.freed[v.job] {
			if u := &h.freed[v.job][i]; u.leaf != h.j.leaf && (u.moved || !h.placed(u)) && !slices.ContainsFunc(left, u.same) {
				left = append(left, u)
				inherited = true
			}
		}
	}
	if inherited && h.kind != Reclaim {
		if a := &h.pool.q[h.j.leaf]; !a.alloc.Within(a.share) {
			return false
		}
	}
	return len(left) == 0 || h.fair(left)
}

// keeps reports whether the queue of a hunt for one of higher priority has no
// more of what that asks for than it had, or no more than its due: what it held
// beyond, others would have it give back at once, and then those who had to
// leave take it from them again.
func (h *hunt) keeps() bool {
	if h.c.st.cfg.NoQuota {
		return true
	}
	a := &h.pool.q[h.j.leaf]
	for r, n := range h.need {
		if n > 0 && a.share[r] >= 0 && a.alloc[r] > max(a.share[r], h.had[r]) {
			return false
		}
	}
	return true
}

// same reports whether u and v are of the same holds.
func (u *unit) same(v *unit) bool { return u.job == v.job && u.holds[0] == v.holds[0] }

// release puts back whom v made leave, that was promised their room in this
// cycle and has now lost it. It reports whether those who cannot come back may
// be made to leave by the hunt's job as well.
func (h *hunt) release(v *job) bool {
	won, known := h.freed[v]
	if !known {
		if won = slices.Clone(h.c.won[v]); len(won) == 0 { // the trial may fail
			return true
		}
		if h.freed == nil {
			h.freed = map[*job][]unit{}
		}
		h.freed[v] = won
	}
	for i := len(won) - 1; i >= 0; i-- {
		u := &won[i]
		if u.moved || !h.placed(u) {
			h.comeBack(u)
			h.pool.q[u.leaf].gone = 0
		}
		if !u.moved && !h.placed(u) && !h.mayInherit(u) {
			return false
		}
	}
	return true
}

// mayInherit reports whether u, which left for a victim of the hunt, may be made
// to leave by the hunt's job; what queues are due is asked for all at once.
func (h *hunt) mayInherit(u *unit) bool {
	if h.kind == Relieve {
		return h.c.st.hasHadEnough(u.job) && h.gives(u.job)
	}
	return u.leaf != h.j.leaf || u.job.Priority < h.j.Priority
}

// comeBack puts a unit back where it was, also if it has another place by now.
func (h *hunt) comeBack(u *unit) {
	st, mark, was := h.c.st, len(h.c.st.log), *u
	for i, y := range was.next {
		y = y.present()
		if !y.gone && !y.leaving { // else it has been put back where it was, and is told to go from there
			st.evict(y)
			y.heir = was.holds[i]
		}
	}
	if !h.rehouse(u) {
		st.undo(mark)
		*u = was
	}
}

// present is the hold that its task has by now. Two may have followed each
// other several times.
func (x *hold) present() *hold {
	for range 8 {
		if !x.gone || x.heir == nil {
			break
		}
		x = x.heir
	}
	return x
}

// enter places the job itself; it waits until others have left.
func (h *hunt) enter() bool {
	st, mark := h.c.st, len(h.c.st.log)
	if !h.c.permits(h.j, h.pool, h.need) || !st.placeIn(h.pool, h.j, h.tries) {
		return false
	}
	if !h.vacant() {
		for _, e := range slices.Clone(st.log[mark:]) {
			if e.op == took && !e.h.gone {
				st.wait(e.h)
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
