package displace

import (
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Relief makes room for j at the cost of its own queue, and of queues that hold
// more than their quota.
func (c *Round) Relief(p *ledger.Pool, j *ledger.Job, served []*ledger.Job, booked bool) bool {
	st := c.St
	st.BeginLook(Relieve, j)
	_, tries := j.Next()
	if len(tries) == 0 {
		return false
	}
	h := &victimSearch{c: c, kind: Relieve, pool: p, j: j, tries: tries, need: st.Cost(j, p, tries), booked: booked}
	if !h.couldRelieve(served) {
		return false
	}
	mark := len(st.Log)
	h.count()
	for next := 0; ; {
		if h.room.enough() && h.comeIn() {
			return true
		}
		for next < len(served) && !h.yields(served[next]) {
			next++
		}
		if next >= len(served) {
			st.Undo(mark)
			return false
		}
		u := unitOf(st, served[next]) // what can do without some of its tasks gives those first
		if h.send(u); u.whole {
			next++
		}
	}
}

// couldRelieve is a cheap test that fails only what cannot be helped: whether
// as much is free, or with those who could leave, as j needs.
func (h *victimSearch) couldRelieve(served []*ledger.Job) bool {
	have := h.pool.Free
	for _, v := range served {
		if h.need.Within(have) {
			break
		}
		if h.yields(v) {
			for _, x := range v.Holds {
				have = have.Add(x.Amount)
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
func (h *victimSearch) yields(v *ledger.Job) bool { return v.Standing > 0 && v != h.j && h.gives(v) }

// hasHadEnough reports whether v has run for as long as everyone may.
func hasHadEnough(st *state.State, v *ledger.Job) bool {
	return v.Started > 0 && st.Now-v.Started >= st.Cfg.Quantum
}

// gives reports whether room of v's may be given to the search's job.
func (h *victimSearch) gives(v *ledger.Job) bool {
	a := &h.pool.Q[v.Leaf]
	switch {
	case h.protects(v):
		return false
	case v.Leaf == h.j.Leaf:
		return v.Priority <= h.j.Priority
	}
	return h.overdue() || !a.Alloc.Within(a.Quota.Quota)
}

// overdue reports whether the search's job has been due in vain for too long.
func (h *victimSearch) overdue() bool {
	st := h.c.St
	return st.Now-h.j.Due >= overdue*st.Cfg.Quantum
}

// comeIn places the job, and leaves those where they are whose room it does
// not need, the last told first.
func (h *victimSearch) comeIn() bool {
	st := h.c.St
	mark := len(st.Log)
	h.freed = nil
	if !h.enter() {
		st.Undo(mark)
		return false
	}
	for i := len(h.victims) - 1; i >= 0; i-- {
		h.spares(&h.victims[i])
	}
	h.trim(mark)
	for i := range h.victims {
		if v := &h.victims[i]; !h.placed(v) && !h.release(v.job) {
			st.Undo(mark)
			return false
		}
	}
	h.agreed()
	return true
}

// spares leaves a unit where it is, if it may have that and nobody is promised
// its room.
func (h *victimSearch) spares(u *unit) bool {
	if !u.whole && len(u.job.Deficits(0, 1)) > 0 {
		return false // what it could do without is of no use without the rest
	}
	return h.mayReturn(u) && h.stays(u)
}

// stays leaves a unit where it is, if nobody is promised its room.
func (h *victimSearch) stays(u *unit) bool {
	mark := len(h.c.St.Log)
	for _, x := range u.holds {
		if !h.c.St.Stay(x) {
			h.c.St.Undo(mark)
			return false
		}
	}
	return true
}
