package state

import (
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"slices"
)

// Take gives a task of j room on s, now if it is free, else once it is.
func (st *State) Take(j *ledger.Job, group int, a *ledger.Ask, s *ledger.Site, task int, counted bool) *ledger.Hold {
	h := ledger.Draft(j, group, a, s)
	h.Task, h.Counted, h.Later = task, counted, !s.Fits(a, false)
	if a.Need.Devices > 0 {
		h.Devs = st.Devices(s, a, h.Later)
		if st.Joins(s, a) && s.Opens(a, h.Devs, h.Later) && s.Shared(a) {
			h.Devs = s.Join(a)
			h.Later = true
		}
	}
	return st.Seat(h)
}

// Seat gives a hold its room.
func (st *State) Seat(h *ledger.Hold) *ledger.Hold {
	h.Amount = h.Site.Pool.Amount(h.Ask)
	h.Amount[0] = int64(len(h.Devs))*int64(h.Milli) + h.Ask.Slices
	st.Do(ledger.Entry{Op: ledger.Took, H: h})
	return h
}

// Evict tells a hold to go: its room will be free soon. One that was made in
// this cycle has not started, so it is gone at once.
func (st *State) Evict(h *ledger.Hold) {
	if h.Fresh {
		st.Do(ledger.Entry{Op: ledger.Drops, H: h, At: slices.Index(h.Job.Holds, h)})
		return
	}
	h.Site.Owe()
	st.Do(ledger.Entry{Op: ledger.Went, H: h})
}

// Stay takes an eviction back, or reports that others are promised the room.
func (st *State) Stay(h *ledger.Hold) bool {
	s := h.Site
	if !s.Soon.Spares(h, s.Debt) || h.Fresh && !h.Later && !s.Now.Spares(h, nil) {
		return false
	}
	if h.Fresh {
		st.Do(ledger.Entry{Op: ledger.Took, H: h})
	} else {
		st.Do(ledger.Entry{Op: ledger.Stays, H: h})
	}
	return true
}

// Wait makes a hold wait for the others of its gang.
func (st *State) Wait(h *ledger.Hold) {
	if !h.Later {
		st.Do(ledger.Entry{Op: ledger.Waits, H: h})
	}
}

// Do does a step, and notes it in the journal.
func (st *State) Do(e ledger.Entry) {
	st.tick()
	st.Log = append(st.Log, e)
	st.Ops++
	st.apply(e, 1)
	e.H.Site.Changed()
	for _, sub := range st.Scopes {
		sub.Changed(e.H.Site)
	}
}

// apply does a step (sign 1), or takes it back (-1).
func (st *State) apply(e ledger.Entry, sign int64) {
	h, s := e.H, e.H.Site
	j := h.Job
	switch e.Op {
	case ledger.Took, ledger.Drops:
		taken := (e.Op == ledger.Took) == (sign > 0)
		switch {
		case !taken && e.Op == ledger.Took: // the last, for steps are taken back in reverse
			j.Holds = j.Holds[:len(j.Holds)-1]
		case !taken:
			j.Holds = slices.Delete(j.Holds, e.At, e.At+1)
		case e.Op == ledger.Took:
			j.Holds = append(j.Holds, h)
		default:
			j.Holds = slices.Insert(j.Holds, e.At, h)
		}
		st.applyFresh(h, taken)
	case ledger.Went, ledger.Stays:
		if e.Op == ledger.Stays {
			sign = -sign
		}
		h.Leaving = sign > 0
		s.Move(h, sign)
		s.Pool.Moving += int(sign)
		st.count(h, -sign)
		s.Tag(h, int(-sign))
	case ledger.Books:
		s.Move(h, -sign)
		s.Pool.Moving += int(sign)
	case ledger.Recalls, ledger.Returns:
		if j.Marked() {
			st.mark(j, -1)
		}
		j.Recalled = (e.Op == ledger.Recalls) == (sign > 0)
		if j.Marked() {
			st.mark(j, 1)
		}
	case ledger.Parts:
		s.Pool.Moving -= int(sign)
		s.Now.Move(h, sign)
	case ledger.Waits:
		h.Later = sign > 0
		s.Pool.Moving += int(sign)
		s.Now.Move(h, sign)
	}
}

// applyFresh gives a hold that was made in this cycle its room, or takes it
// from it.
func (st *State) applyFresh(h *ledger.Hold, taken bool) {
	sign, s := int64(1), h.Site
	if !taken {
		sign = -1
	}
	h.Gone = !taken
	if taken {
		s.Holds = append(s.Holds, h)
	} else {
		s.Leave(h)
	}
	s.Move(h, -sign)
	if h.Later {
		s.Pool.Moving += int(sign)
	} else {
		s.Now.Move(h, -sign)
	}
	if h.Counted {
		h.Job.Placed[h.Group] += int32(sign)
	}
	st.count(h, sign)
	st.Lic.chargeFresh(h.Job, taken)
	s.Tag(h, int(sign))
}

// Shorten takes out of the journal what has come to nothing since mark: that
// somebody was told to go, and left where it is. What came between, and comes, is
// the same without. Who reads the journal sees only what is otherwise by it.
func (st *State) Shorten(mark int) {
	if st.went == nil {
		st.went = map[*ledger.Hold]int{}
	}
	log := st.Log[mark:]
	for i := range log {
		switch e := &log[i]; e.Op {
		case ledger.Went:
			st.went[e.H] = i
		case ledger.Stays:
			if k, ok := st.went[e.H]; ok {
				delete(st.went, e.H)
				log[k].H, e.H = nil, nil
			}
		}
	}
	clear(st.went)
	st.Log = append(st.Log[:mark], slices.DeleteFunc(log, func(e ledger.Entry) bool { return e.H == nil })...)
}

// Undo takes back all steps since mark.
func (st *State) Undo(mark int) {
	for len(st.Log) > mark {
		e := st.Log[len(st.Log)-1]
		st.Log = st.Log[:len(st.Log)-1]
		st.Ops++
		st.apply(e, -1)
		e.H.Site.Changed()
		for _, sub := range st.Scopes {
			sub.Changed(e.H.Site)
		}
	}
}
