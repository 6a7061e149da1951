package schedule

import (
	"cmp"
	"slices"
)

// Relieve bounds how long anyone waits: who is due makes those leave who have
// had the most. It is the sixth action; a Config names it, or has Quantum set.
const Relieve Action = "relieve"

// relieve looks at those whose patience is over, the longest due first. Of a
// lane that cannot be helped the others cannot be either.
func (c *cycle) relieve() {
	st := c.st
	if st.now < st.due {
		return
	}
	var due []*job
	st.due = never
	for _, k := range st.classes {
		for _, l := range k.lanes {
			if l.due <= st.now && len(l.jobs[0].holds) == 0 {
				n := len(due)
				if due = append(due, l.longestDue(st.now)...); len(due) == n {
					l.due = l.nextDue() // whoever was due has left
				}
			}
			st.due = min(st.due, l.due)
		}
	}
	slices.SortFunc(due, longerDue)
	sorted := map[*pool][]*job{}
	hopelessLanes := map[*lane]bool{}
	for _, j := range due {
		if hopelessLanes[j.lane] || len(j.holds) > 0 || st.gate(j) != nil {
			continue
		}
		helped := false
		for _, p := range st.poolsOf(j) {
			if sorted[p] == nil {
				sorted[p] = st.served(p)
			}
			if helped = c.relief(p, j, sorted[p], false); helped {
				break
			}
		}
		if helped {
			clear(hopelessLanes)
		} else {
			hopelessLanes[j.lane] = true
		}
	}
}

// nextDue is when the first of a lane is due.
func (l *lane) nextDue() int64 {
	if len(l.dues) == 0 {
		return never
	}
	return l.dues[0].Due
}

// dueLooked bounds how many of a lane are looked at who are due: the longest.
const dueLooked = 64

// longestDue are those of a lane whose patience is over, as many as are looked
// at. Age is no guide to them: who had to leave is old, and is due later.
func (l *lane) longestDue(now int64) []*job {
	n := 0
	for n < min(len(l.dues), dueLooked) && l.dues[n].Due <= now {
		n++
	}
	return l.dues[:n]
}

// served are those who could be asked to leave, who has had the most first.
func (st *State) served(p *pool) []*job {
	var all []*job
	for q := range p.q {
		for _, v := range p.q[q].victims {
			if st.hasHadEnough(v) {
				all = append(all, v)
			}
		}
	}
	slices.SortFunc(all, func(a, b *job) int {
		return cmp.Or(cmp.Compare(b.spent(), a.spent()), older(a, b))
	})
	return all
}

// spent is what j has had by now, less what it would lose of that, as of no
// particular instant: it orders jobs.
func (j *job) spent() int64 {
	if j.Unsaved {
		return j.Started
	}
	return j.Attained - j.Started
}

// relief makes room for j at the cost of its own queue, and of queues that hold
// more than their quota.
func (c *cycle) relief(p *pool, j *job, served []*job, booked bool) bool {
	st := c.st
	st.turn(Relieve, j)
	_, tries := st.next(j)
	if len(tries) == 0 {
		return false
	}
	h := &hunt{c: c, kind: Relieve, pool: p, j: j, tries: tries, need: st.cost(j, p, tries), booked: booked}
	if !h.couldRelieve(served) {
		return false
	}
	mark := len(st.log)
	h.count()
	for next := 0; ; next++ {
		if h.enough() && h.comeIn() {
			return true
		}
		for next < len(served) && !h.yields(served[next]) {
			next++
		}
		if next >= len(served) {
			st.undo(mark)
			return false
		}
		h.send(served[next].all())
	}
}

// couldRelieve is a cheap test that fails only what cannot be helped: whether
// as much is free, or with those who could leave, as j needs.
func (h *hunt) couldRelieve(served []*job) bool {
	have := h.pool.free
	for _, v := range served {
		if h.need.Within(have) {
			break
		}
		if h.yields(v) {
			for _, x := range v.holds {
				have = have.Add(x.amount)
			}
		}
	}
	return h.need.Within(have)
}

// overdue is for how many quanta a job may be due in vain. After that everyone
// makes room for it who has had a quantum: what is larger than its queue's quota
// is otherwise shut out for as long as the other queues use all of theirs.
const overdue = 96

// yields reports whether v may be asked to leave.
func (h *hunt) yields(v *job) bool { return v.standing > 0 && v != h.j && h.gives(v) }

// hasHadEnough reports whether v has run for as long as everyone may.
func (st *State) hasHadEnough(v *job) bool {
	return v.Started > 0 && st.now-v.Started >= st.cfg.Quantum
}

// gives reports whether room of v's may be given to the hunt's job.
func (h *hunt) gives(v *job) bool {
	a := &h.pool.q[v.leaf]
	switch {
	case h.wastes(v):
		return false
	case v.leaf == h.j.leaf:
		return v.Priority <= h.j.Priority
	}
	return h.overdue() || !a.alloc.Within(a.Quota.Quota)
}

// overdue reports whether the hunt's job has been due in vain for too long.
func (h *hunt) overdue() bool {
	st := h.c.st
	return st.now-h.j.Due >= overdue*st.cfg.Quantum
}

// comeIn places the job, and leaves those where they are whose room it does
// not need, the last told first.
func (h *hunt) comeIn() bool {
	st := h.c.st
	mark := len(st.log)
	h.freed = nil
	if !h.enter() {
		st.undo(mark)
		return false
	}
	for i := len(h.victims) - 1; i >= 0; i-- {
		h.spares(&h.victims[i])
	}
	h.trim(mark)
	for i := range h.victims {
		if v := &h.victims[i]; !h.placed(v) && !h.release(v.job) {
			st.undo(mark)
			return false
		}
	}
	h.agreed()
	return true
}

// spares leaves a unit where it is, if it may have that and nobody is promised
// its room.
func (h *hunt) spares(u *unit) bool { return h.mayReturn(u) && h.stays(u) }

// stays leaves a unit where it is, if nobody is promised its room.
func (h *hunt) stays(u *unit) bool {
	mark := len(h.c.st.log)
	for _, x := range u.holds {
		if !h.c.st.stay(x) {
			h.c.st.undo(mark)
			return false
		}
	}
	return true
}
