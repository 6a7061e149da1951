package state

import (
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
)

// op is what an entry of the journal did.
type op uint8

const (
	Took    op = iota // a hold was made, or one that was dropped is back
	drops             // a hold that was made in this cycle is taken back
	Went              // a hold was told to go
	Stays             // a hold that was told to go is left where it is
	waits             // a hold's room is not taken now but once it is free
	Parts             // a hold that was told to go has gone
	Books             // room is kept for a task that has a time to start
	Recalls           // quota that is reserved for a job is taken back
	Returns           // and given to it again
)

// Entry is one step of a trial. Undoing all of them in reverse restores the
// state exactly.
type Entry struct {
	Op op
	H  *Hold
	at int // of one that drops: where it was among its job's holds
}

// Take gives a task of j room on s, now if it is free, else once it is.
func (st *State) Take(j *Job, group int, a *Ask, s *Site, task int, counted bool) *Hold {
	h := Draft(j, group, a, s)
	h.Task, h.Counted, h.Later = task, counted, !s.Fits(a, false)
	if a.Need.Devices > 0 {
		h.Devs = st.devices(s, a, h.Later)
		if st.joins(s, a) && s.opens(a, h.Devs, h.Later) && s.shared(a) {
			h.Devs = s.join(a)
			h.Later = true
		}
	}
	return st.Seat(h)
}

// Draft is a hold that has no devices yet.
func Draft(j *Job, group int, a *Ask, s *Site) *Hold {
	h := &Hold{Job: j, Group: int32(group), Ask: a, Site: s, cpu: a.Need.CPU, mem: a.Need.Memory, Fresh: true}
	if a.Need.Devices > 0 {
		h.Milli = s.Milli(a)
	}
	return h
}

// Seat gives a hold its room.
func (st *State) Seat(h *Hold) *Hold {
	h.Amount = h.Site.Pool.amount(h.Ask)
	h.Amount[0] = int64(len(h.Devs))*int64(h.Milli) + h.Ask.Slices
	st.Do(Entry{Op: Took, H: h})
	return h
}

// Evict tells a hold to go: its room will be free soon. One that was made in
// this cycle has not started, so it is gone at once.
func (st *State) Evict(h *Hold) {
	if h.Fresh {
		st.Do(Entry{Op: drops, H: h, at: slices.Index(h.Job.Holds, h)})
		return
	}
	h.Site.owe()
	st.Do(Entry{Op: Went, H: h})
}

// Stay takes an eviction back, or reports that others are promised the room.
func (st *State) Stay(h *Hold) bool {
	s := h.Site
	if !s.Soon.Spares(h, s.debt) || h.Fresh && !h.Later && !s.Now.Spares(h, nil) {
		return false
	}
	if h.Fresh {
		st.Do(Entry{Op: Took, H: h})
	} else {
		st.Do(Entry{Op: Stays, H: h})
	}
	return true
}

// owe notes what the site has given beyond what it has: a device has failed
// under its task, or others came. Whoever is there may go on being there.
func (s *Site) owe() {
	v := &s.Soon
	if s.debt != nil || v.Cpu >= 0 && v.Mem >= 0 && v.Pods >= 0 && !slices.ContainsFunc(v.Dev, negative) && !slices.ContainsFunc(v.Mig, negative) {
		return
	}
	d := *v
	d.Dev, d.Mig = slices.Clone(v.Dev), slices.Clone(v.Mig)
	s.debt = &d
}

func negative(n int32) bool { return n < 0 }

// Spares reports whether just the room that h had is free, where no less may
// be left than was before.
func (v *View) Spares(h *Hold, debt *View) bool {
	if debt == nil {
		debt = &noDebt
	}
	if !v.Guests.Admits(h.Ask.Alone()) || v.Pods-1 < min(debt.Pods, 0) || h.cpu > 0 && v.Cpu-h.cpu < min(debt.Cpu, 0) || h.mem > 0 && v.Mem-h.mem < min(debt.Mem, 0) {
		return false
	}
	for _, d := range h.Devs {
		if low := int32(0); v.Dev[d] < h.Milli {
			if debt.Dev != nil {
				low = min(debt.Dev[d], 0)
			}
			if v.Dev[d]-h.Milli < low {
				return false
			}
		}
	}
	for _, w := range h.Ask.Migs {
		if i := slices.Index(h.Site.Migs, w.Name); i >= 0 && v.Mig[i] < w.Count {
			if debt.Mig == nil || v.Mig[i]-w.Count < min(debt.Mig[i], 0) {
				return false
			}
		}
	}
	return true
}

var noDebt View

// Wait makes a hold wait for the others of its gang.
func (st *State) Wait(h *Hold) {
	if !h.Later {
		st.Do(Entry{Op: waits, H: h})
	}
}

func (st *State) Do(e Entry) {
	st.tick()
	st.Log = append(st.Log, e)
	st.ops++
	st.apply(e, 1)
	e.H.Site.changed()
	for _, sub := range st.Scopes {
		sub.changed(e.H.Site)
	}
}

// apply does a step (sign 1), or takes it back (-1).
func (st *State) apply(e Entry, sign int64) {
	h, s := e.H, e.H.Site
	j := h.Job
	switch e.Op {
	case Took, drops:
		taken := (e.Op == Took) == (sign > 0)
		switch {
		case !taken && e.Op == Took: // the last, for steps are taken back in reverse
			j.Holds = j.Holds[:len(j.Holds)-1]
		case !taken:
			j.Holds = slices.Delete(j.Holds, e.at, e.at+1)
		case e.Op == Took:
			j.Holds = append(j.Holds, h)
		default:
			j.Holds = slices.Insert(j.Holds, e.at, h)
		}
		st.settleFresh(h, taken)
	case Went, Stays:
		if e.Op == Stays {
			sign = -sign
		}
		h.Leaving = sign > 0
		s.move(h, sign)
		s.Pool.Moving += int(sign)
		st.count(h, -sign)
		s.tag(h, int(-sign))
	case Books:
		s.move(h, -sign)
		s.Pool.Moving += int(sign)
	case Recalls, Returns:
		if j.Marked() {
			st.mark(j, -1)
		}
		j.Recalled = (e.Op == Recalls) == (sign > 0)
		if j.Marked() {
			st.mark(j, 1)
		}
	case Parts:
		s.Pool.Moving -= int(sign)
		s.Now.Move(h, sign)
	case waits:
		h.Later = sign > 0
		s.Pool.Moving += int(sign)
		s.Now.Move(h, sign)
	}
}

// settleFresh gives a hold that was made in this cycle its room, or takes it
// from it.
func (st *State) settleFresh(h *Hold, taken bool) {
	sign, s := int64(1), h.Site
	if !taken {
		sign = -1
	}
	h.Gone = !taken
	if taken {
		s.Holds = append(s.Holds, h)
	} else {
		s.leave(h)
	}
	s.move(h, -sign)
	if h.Later {
		s.Pool.Moving += int(sign)
	} else {
		s.Now.Move(h, -sign)
	}
	if h.Counted {
		h.Job.Placed[h.Group] += int32(sign)
	}
	st.count(h, sign)
	st.chargeFresh(h.Job, taken)
	s.tag(h, int(sign))
}

// Undo takes back all steps since mark.
func (st *State) Undo(mark int) {
	for len(st.Log) > mark {
		e := st.Log[len(st.Log)-1]
		st.Log = st.Log[:len(st.Log)-1]
		st.ops++
		st.apply(e, -1)
		e.H.Site.changed()
		for _, sub := range st.Scopes {
			sub.changed(e.H.Site)
		}
	}
}

// devices chooses which devices of s a task gets.
func (st *State) devices(s *Site, a *Ask, later bool) []int32 {
	if s.Milli(a) == 1000 && s.Node.Links.Known(len(s.Node.Devices)) {
		if devs := s.Closest(a, later); devs != nil {
			return devs
		}
	}
	if s.Pool.GPU == schedule.Fill && st.Fill != nil && a.Need.Devices == 1 && s.Milli(a) < 1000 {
		if devs := st.Fill.choose(s, a, later); devs != nil {
			return devs
		}
	}
	return s.choose(a, s.Pool.Devices != schedule.Spread, later)
}
