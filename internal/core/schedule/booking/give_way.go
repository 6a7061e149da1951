package booking

import (
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Vacate looks ahead to when x has ended: what it holds is free then, and not
// before. Unlike evict it leaves in its place what was placed in this cycle:
// that runs until then too. To be undone.
func Vacate(st *state.State, x *ledger.Job) {
	for _, h := range x.Holds {
		if !h.Leaving {
			st.Do(ledger.Entry{Op: ledger.Went, H: h})
		}
	}
}

// leavesBy reports whether x has left when b is to start: by its known end, or
// because b's job may then make it leave.
func (bs *Books) leavesBy(b *Booking, x *ledger.Job) bool {
	st := bs.St
	if len(x.Held) == 0 {
		if x.MaxRun > 0 && st.Now+x.MaxRun <= b.At {
			return true
		}
	} else if at := x.End(st.Now); at > 0 && at <= b.At {
		return true
	}
	return bs.MakesWay(b, x)
}

// MakesWay reports whether b's job may make x leave at the time that it was told:
// x came after that was told and after it in line, and has had as long as
// everybody has who makes room for those who have waited too long; or as long as
// those who are less important.
func (bs *Books) MakesWay(b *Booking, x *ledger.Job) bool {
	st, j := bs.St, b.J
	since := x.Started
	if len(x.Held) == 0 {
		since = st.Now
	}
	by := b.Announced.At
	if by == 0 {
		by = b.At
	}
	if !x.Yields() || x == j || x.Leaf != j.Leaf || since <= 0 || since < b.Announced.Since || slices.ContainsFunc(x.Holds, func(h *ledger.Hold) bool { return h.Ask.Need.Never }) {
		return false
	}
	switch had := by - since; {
	case x.Priority < j.Priority && j.Preemptible && by >= j.Patient && does(st, schedule.Preempt) && had >= bs.protected(b, x):
		return true
	case x.Priority < j.Priority || x.Priority == j.Priority && ledger.Older(j, x) < 0:
		return st.Cfg.Quantum > 0 && had >= st.Cfg.Quantum
	}
	return false
}

// protected is for how long, in ms, x is left alone by those of its queue who are
// more important.
func (bs *Books) protected(b *Booking, x *ledger.Job) int64 {
	st := bs.St
	if st.Cfg.NoRuntime {
		return 0
	}
	least := st.Queues.List[x.Leaf].PreemptMin
	if p := st.Pools[b.Announced.Pool]; p != nil {
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
func (bs *Books) yielded(p *ledger.Pool, b *Booking) bool {
	st := bs.St
	if b.Announced.At == 0 || b.J.Leaf < 0 {
		return false
	}
	var guests []*ledger.Job
	for _, v := range p.Q[b.J.Leaf].Victims {
		if v.Started >= b.Announced.Since && bs.MakesWay(b, v) {
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
	if bs.tryAt(p, b, b.Announced.At) {
		return true
	}
	*b = was
	return false
}
