package schedule

import "slices"

// op is what an entry of the journal did.
type op uint8

const (
	took    op = iota // a hold was made, or one that was dropped is back
	drops             // a hold that was made in this cycle is taken back
	went              // a hold was told to go
	stays             // a hold that was told to go is left where it is
	waits             // a hold's room is not taken now but once it is free
	parts             // a hold that was told to go has gone
	books             // room is kept for a task that has a time to start
	recalls           // quota that is reserved for a job is taken back
	returns           // and given to it again
)

// entry is one step of a trial. Undoing all of them in reverse restores the
// state exactly.
type entry struct {
	op op
	h  *hold
	at int // of one that drops: where it was among its job's holds
}

// take gives a task of j room on s, now if it is free, else once it is.
func (st *State) take(j *job, group int, a *ask, s *site, task int, counted bool) *hold {
	h := draft(j, group, a, s)
	h.task, h.counted, h.later = task, counted, !s.fits(a, false)
	if a.need.Devices > 0 {
		h.devs = st.devices(s, a, h.later)
		if st.joins(s, a) && s.opens(a, h.devs, h.later) && s.shared(a) {
			h.devs = s.join(a)
			h.later = true
		}
	}
	return st.seat(h)
}

// draft is a hold that has no devices yet.
func draft(j *job, group int, a *ask, s *site) *hold {
	h := &hold{job: j, group: int32(group), ask: a, site: s, cpu: a.need.CPU, mem: a.need.Memory, fresh: true}
	if a.need.Devices > 0 {
		h.milli = s.milli(a)
	}
	return h
}

// seat gives a hold its room.
func (st *State) seat(h *hold) *hold {
	h.amount = h.site.pool.amount(h.ask)
	h.amount[0] = int64(len(h.devs))*int64(h.milli) + h.ask.slices
	st.do(entry{op: took, h: h})
	return h
}

// evict tells a hold to go: its room will be free soon. One that was made in
// this cycle has not started, so it is gone at once.
func (st *State) evict(h *hold) {
	if h.fresh {
		st.do(entry{op: drops, h: h, at: slices.Index(h.job.holds, h)})
		return
	}
	h.site.owe()
	st.do(entry{op: went, h: h})
}

// stay takes an eviction back, or reports that others are promised the room.
func (st *State) stay(h *hold) bool {
	s := h.site
	if !s.soon.spares(h, s.debt) || h.fresh && !h.later && !s.now.spares(h, nil) {
		return false
	}
	if h.fresh {
		st.do(entry{op: took, h: h})
	} else {
		st.do(entry{op: stays, h: h})
	}
	return true
}

// owe notes what the site has given beyond what it has: a device has failed
// under its task, or others came. Whoever is there may go on being there.
func (s *site) owe() {
	v := &s.soon
	if s.debt != nil || v.cpu >= 0 && v.mem >= 0 && v.pods >= 0 && !slices.ContainsFunc(v.dev, negative) && !slices.ContainsFunc(v.mig, negative) {
		return
	}
	d := *v
	d.dev, d.mig = slices.Clone(v.dev), slices.Clone(v.mig)
	s.debt = &d
}

func negative(n int32) bool { return n < 0 }

// spares reports whether just the room that h had is free, where no less may
// be left than was before.
func (v *view) spares(h *hold, debt *view) bool {
	if debt == nil {
		debt = &noDebt
	}
	if !v.guests.admits(h.ask.alone()) || v.pods-1 < min(debt.pods, 0) || h.cpu > 0 && v.cpu-h.cpu < min(debt.cpu, 0) || h.mem > 0 && v.mem-h.mem < min(debt.mem, 0) {
		return false
	}
	for _, d := range h.devs {
		if low := int32(0); v.dev[d] < h.milli {
			if debt.dev != nil {
				low = min(debt.dev[d], 0)
			}
			if v.dev[d]-h.milli < low {
				return false
			}
		}
	}
	for _, w := range h.ask.migs {
		if i := slices.Index(h.site.migs, w.name); i >= 0 && v.mig[i] < w.count {
			if debt.mig == nil || v.mig[i]-w.count < min(debt.mig[i], 0) {
				return false
			}
		}
	}
	return true
}

var noDebt view

// wait makes a hold wait for the others of its gang.
func (st *State) wait(h *hold) {
	if !h.later {
		st.do(entry{op: waits, h: h})
	}
}

func (st *State) do(e entry) {
	st.tick()
	st.log = append(st.log, e)
	st.ops++
	st.apply(e, 1)
	e.h.site.changed()
	for _, sub := range st.scopes {
		sub.changed(e.h.site)
	}
}

// apply does a step (sign 1), or takes it back (-1).
func (st *State) apply(e entry, sign int64) {
	h, s := e.h, e.h.site
	j := h.job
	switch e.op {
	case took, drops:
		taken := (e.op == took) == (sign > 0)
		switch {
		case !taken && e.op == took: // the last, for steps are taken back in reverse
			j.holds = j.holds[:len(j.holds)-1]
		case !taken:
			j.holds = slices.Delete(j.holds, e.at, e.at+1)
		case e.op == took:
			j.holds = append(j.holds, h)
		default:
			j.holds = slices.Insert(j.holds, e.at, h)
		}
		st.settleFresh(h, taken)
	case went, stays:
		if e.op == stays {
			sign = -sign
		}
		h.leaving = sign > 0
		s.move(h, sign)
		s.pool.moving += int(sign)
		st.count(h, -sign)
		s.tag(h, int(-sign))
	case books:
		s.move(h, -sign)
		s.pool.moving += int(sign)
	case recalls, returns:
		if j.marked() {
			st.mark(j, -1)
		}
		j.recalled = (e.op == recalls) == (sign > 0)
		if j.marked() {
			st.mark(j, 1)
		}
	case parts:
		s.pool.moving -= int(sign)
		s.now.move(h, sign)
	case waits:
		h.later = sign > 0
		s.pool.moving += int(sign)
		s.now.move(h, sign)
	}
}

// settleFresh gives a hold that was made in this cycle its room, or takes it
// from it.
func (st *State) settleFresh(h *hold, taken bool) {
	sign, s := int64(1), h.site
	if !taken {
		sign = -1
	}
	h.gone = !taken
	if taken {
		s.holds = append(s.holds, h)
	} else {
		s.leave(h)
	}
	s.move(h, -sign)
	if h.later {
		s.pool.moving += int(sign)
	} else {
		s.now.move(h, -sign)
	}
	if h.counted {
		h.job.placed[h.group] += int32(sign)
	}
	st.count(h, sign)
	st.chargeFresh(h.job, taken)
	s.tag(h, int(sign))
}

// undo takes back all steps since mark.
func (st *State) undo(mark int) {
	for len(st.log) > mark {
		e := st.log[len(st.log)-1]
		st.log = st.log[:len(st.log)-1]
		st.ops++
		st.apply(e, -1)
		e.h.site.changed()
		for _, sub := range st.scopes {
			sub.changed(e.h.site)
		}
	}
}

// devices chooses which devices of s a task gets.
func (st *State) devices(s *site, a *ask, later bool) []int32 {
	if s.milli(a) == 1000 && s.node.Links.Known(len(s.node.Devices)) {
		if devs := s.closest(a, later); devs != nil {
			return devs
		}
	}
	if s.pool.GPU == Fill && st.fill != nil && a.need.Devices == 1 && s.milli(a) < 1000 {
		if devs := st.fill.choose(s, a, later); devs != nil {
			return devs
		}
	}
	return s.choose(a, s.pool.Devices != Spread, later)
}
