package cycle

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Relieve bounds how long anyone waits: who is due makes those leave who have
// had the most. It is the sixth action; a Config names it, or has Quantum set.
const Relieve schedule.Action = "relieve"

// Relieve looks at those whose patience is over, the longest due first. Of a
// job class that cannot be helped the others cannot be either.
func (c *Pass) Relieve() {
	st := c.St
	if st.Now < st.Due {
		return
	}
	var due []*state.Job
	st.Due = state.Never
	for _, k := range st.ClassList {
		for _, l := range k.JobClasses {
			if l.Due <= st.Now && len(l.Jobs[0].Holds) == 0 {
				n := len(due)
				if due = append(due, longestDue(l, st.Now)...); len(due) == n {
					l.Due = nextDue(l) // whoever was due has left
				}
			}
			st.Due = min(st.Due, l.Due)
		}
	}
	slices.SortFunc(due, state.LongerDue)
	sorted := map[*state.Pool][]*state.Job{}
	hopelessJobClasses := map[*state.JobClass]bool{}
	for _, j := range due {
		if hopelessJobClasses[j.JobClass] || len(j.Holds) > 0 || st.Gate(j) != nil {
			continue
		}
		helped := false
		for _, p := range st.PoolsOf(j) {
			if sorted[p] == nil {
				sorted[p] = hadEnough(st, p)
			}
			if helped = c.relief(p, j, sorted[p], false); helped {
				break
			}
		}
		if helped {
			clear(hopelessJobClasses)
		} else {
			hopelessJobClasses[j.JobClass] = true
		}
	}
}

// nextDue is when the first of a job class is due.
func nextDue(l *state.JobClass) int64 {
	if len(l.Dues) == 0 {
		return state.Never
	}
	return l.Dues[0].Due
}

// dueLooked bounds how many of a job class are looked at who are due: the longest.
const dueLooked = 64

// longestDue are those of a job class whose patience is over, as many as are looked
// at. Age is no guide to them: who had to leave is old, and is due later.
func longestDue(l *state.JobClass, now int64) []*state.Job {
	n := 0
	for n < min(len(l.Dues), dueLooked) && l.Dues[n].Due <= now {
		n++
	}
	return l.Dues[:n]
}

// hadEnough are those who could be asked to leave, who has had the most first.
func hadEnough(st *state.State, p *state.Pool) []*state.Job {
	var all []*state.Job
	for q := range p.Q {
		for _, v := range p.Q[q].Victims {
			if hasHadEnough(st, v) {
				all = append(all, v)
			}
		}
	}
	slices.SortFunc(all, func(a, b *state.Job) int {
		return cmp.Or(cmp.Compare(spent(b), spent(a)), state.Older(a, b))
	})
	return all
}

// spent is what j has had by now, less what it would lose of that, as of no
// particular instant: it orders jobs.
func spent(j *state.Job) int64 {
	if j.Unsaved {
		return j.Started
	}
	return j.Attained - j.Started
}

// relief makes room for j at the cost of its own queue, and of queues that hold
// more than their quota.
func (c *Pass) relief(p *state.Pool, j *state.Job, served []*state.Job, booked bool) bool {
	st := c.St
	st.BeginLook(Relieve, j)
	_, tries := st.Next(j)
	if len(tries) == 0 {
		return false
	}
	h := &victimSearch{c: c, kind: Relieve, pool: p, j: j, tries: tries, need: st.Cost(j, p, tries), booked: booked}
	if !h.couldRelieve(served) {
		return false
	}
	mark := len(st.Log)
	h.count()
	for next := 0; ; next++ {
		if h.enough() && h.comeIn() {
			return true
		}
		for next < len(served) && !h.yields(served[next]) {
			next++
		}
		if next >= len(served) {
			st.Undo(mark)
			return false
		}
		h.send(all(served[next]))
	}
}

// couldRelieve is a cheap test that fails only what cannot be helped: whether
// as much is free, or with those who could leave, as j needs.
func (h *victimSearch) couldRelieve(served []*state.Job) bool {
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
func (h *victimSearch) yields(v *state.Job) bool { return v.Standing > 0 && v != h.j && h.gives(v) }

// hasHadEnough reports whether v has run for as long as everyone may.
func hasHadEnough(st *state.State, v *state.Job) bool {
	return v.Started > 0 && st.Now-v.Started >= st.Cfg.Quantum
}

// gives reports whether room of v's may be given to the search's job.
func (h *victimSearch) gives(v *state.Job) bool {
	a := &h.pool.Q[v.Leaf]
	switch {
	case h.wastes(v):
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
func (h *victimSearch) spares(u *unit) bool { return h.mayReturn(u) && h.stays(u) }

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
