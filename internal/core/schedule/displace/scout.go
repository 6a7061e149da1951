package displace

import (
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/place"
)

// mostOthers is how many victims are told to go beside those who have what the
// search's job gets, for each sort of task that these have: the least important,
// who make room for those. So few in all are told as they are.
const mostOthers = 32

// scouted is run for the usual search in the job's own queue, which may go through
// all of it before enough is free in one place: who would have to go until then is
// found out without telling anybody. Only those are told to go who hold something
// where the job gets its room, and some others, the least important, for whom the
// former may be exchanged. False: it has to be looked for in full.
func (h *victimSearch) scouted() bool {
	st := h.c.St
	a, need := uniform(h)
	if a == nil || st.Forgetful || st.Best(h.pool.Whole, a) != nil || !st.Permits(h.j, h.pool, h.need) {
		return false
	}
	begin(h)
	units, waits := scout(h, a, need)
	if len(units) == 0 {
		return false
	}
	begin(h)
	h.waits = waits
	h.count()
	for i := range units {
		h.send(units[i])
	}
	if !h.room.enough() || !h.accept() {
		st.Undo(h.mark)
		return false
	}
	st.Shorten(h.mark)
	return true
}

// uniform is the one ask of all that the search's job tries to place, and how many
// those are, if they may be anywhere and their places follow from what is free
// there alone; else nil.
func uniform(h *victimSearch) (*ledger.Ask, int) {
	j := h.j
	if h.kind != schedule.Preempt || len(h.tries) != 1 || len(j.Holds) > 0 || len(j.Licenses) > 0 {
		return nil, 0
	}
	t := h.tries[0]
	if g := &j.Shape.Groups[t.Group]; g.Segment > 0 || g.Topology != nil || len(g.Runs) != 1 {
		return nil, 0
	}
	if slices.ContainsFunc(j.Shape.Sets, func(s schedule.Set) bool { return s.Topology != nil }) {
		return nil, 0
	}
	a := h.c.St.NextRun(j, t.Group, j.Placed[t.Group])
	if a == nil || place.Social(a) {
		return nil, 0
	}
	return a, t.Count
}

// scout finds out who would be told to go until so many tasks of a have room, and
// leaves out those who would be told in vain; none: it does not come to that, or
// somebody would only lose a part. The second result is whether any of all would
// have to be waited for.
func scout(h *victimSearch, a *ledger.Ask, need int) (some []unit, waits bool) {
	st, units, have, all := h.c.St, h.c.tried[:0], 0, 0
	roomy := map[*ledger.Site]int{}
	for have < need {
		v := h.nextOf(h.j.Leaf)
		if v == nil {
			break
		}
		u := unitOf(st, v)
		all++
		waits = waits || h.c.occupies(&u)
		if all > mostOthers && len(u.holds) == 1 && u.holds[0].Spares(a, need) {
			continue
		}
		if units = append(units, u); !u.whole {
			break
		}
		for _, x := range u.holds {
			s := x.Site
			s.Soon.Move(x, 1)
			if k := s.Room(a, need); k > 0 && st.Allowed(s, a) {
				have += k - roomy[s]
				roomy[s] = k
			}
		}
	}
	for i := len(units) - 1; i >= 0; i-- {
		if units[i].whole {
			for _, x := range slices.Backward(units[i].holds) {
				x.Site.Soon.Move(x, -1)
			}
		}
	}
	h.c.tried = units
	if have < need {
		return nil, false
	}
	others := map[*ledger.Ask]int{}
	for _, u := range units {
		if u.at(roomy) {
			for _, x := range u.holds {
				others[x.Ask] = mostOthers
			}
		}
	}
	for _, u := range units {
		if k := others[u.holds[0].Ask]; k > 0 || all <= mostOthers || u.at(roomy) {
			others[u.holds[0].Ask] = k - 1
			some = append(some, u)
		}
	}
	return some, waits
}

// at reports whether the unit has a task on one of those sites.
func (u *unit) at(sites map[*ledger.Site]int) bool {
	return slices.ContainsFunc(u.holds, func(x *ledger.Hold) bool { return sites[x.Site] > 0 })
}
