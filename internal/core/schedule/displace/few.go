package displace

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/place"
)

// The search for few who move tries fewTries sets of them, and accepts fewAccepts
// of these that leave enough room; it looks at sets of up to fewAtOnce units.
const fewTries, fewAccepts, fewAtOnce = 2048, 96, 4

// few seeks a small set of those who could move, so that the job has room and
// all of them have another place: each alone first, then two that share a node,
// and so on; and where there are only few, any set of them. Who is displaced
// first moves first.
func (h *victimSearch) few() bool {
	h.victims = nil
	h.count()
	f := &fewest{h: h, mark: len(h.c.St.Log)}
	f.all = f.movable()
	most := len(f.all)
	if most > fewAny {
		most = fewAtOnce
	}
	for f.size = 1; f.size <= most; f.size++ {
		for i := range f.all {
			if f.with(i, nil, f.size-1) {
				return true
			}
			if f.tried >= fewTries || f.accepted >= fewAccepts {
				return false
			}
		}
	}
	return false
}

// fewAny is of how many that could move every set is tried, whether they share
// nodes or not.
const fewAny = 8

// fewest is a search for few who move.
type fewest struct {
	h               *victimSearch
	mark            int
	all             []unit
	size            int
	tried, accepted int
}

// with tries all sets that are i, those of set, and so many before i.
func (f *fewest) with(i int, set []int, more int) bool {
	set = append(set, i)
	if more == 0 {
		return f.try(set)
	}
	for k := range i {
		if len(f.all) > fewAny && !f.all[k].near(&f.all[set[0]]) {
			continue
		}
		if f.with(k, set, more-1) {
			return true
		}
		if f.tried >= fewTries || f.accepted >= fewAccepts {
			return false
		}
	}
	return false
}

// try tells a set to go, and places all.
func (f *fewest) try(set []int) bool {
	h, tasks := f.h, 0
	for _, i := range set {
		tasks += len(f.all[i].holds)
	}
	if most := h.c.St.Cfg.MaxMoves; most >= 0 && tasks > most {
		return false
	}
	f.tried++
	set = slices.Clone(set)
	for first := true; ; first = false {
		for _, i := range set {
			h.send(f.all[i])
		}
		enough := h.room.enough()
		if enough {
			f.accepted++
			if h.accept() {
				return true
			}
		}
		h.recall(f.mark)
		if !enough || len(set) == 1 || !first {
			return false
		}
		// Those of a set are placed in turn: once more with the largest first.
		slices.SortStableFunc(set, func(a, b int) int { return cmp.Compare(f.all[a].size(), f.all[b].size()) })
	}
}

// recall takes back that any have been told to go.
func (h *victimSearch) recall(mark int) {
	st := h.c.St
	victims := h.victims
	h.victims = h.victims[:0]
	st.Undo(mark)
	for _, u := range victims {
		for _, x := range u.holds {
			h.room.recount(st, x.Site)
		}
	}
}

// movable are the units that could move, the least of each job. Where they are
// many, those only that could have another place by themselves, and of nodes
// where something that the job needs is free already. Those of the fewest tasks
// come first, among them who is displaced first.
func (f *fewest) movable() []unit {
	h, st := f.h, f.h.c.St
	var all []unit
	f.eachMovable(func(v *ledger.Job) bool {
		all = append(all, unitOf(st, v))
		return len(all) <= fewAny
	})
	if len(all) > fewAny {
		all = nil
		c := chances{h: h, room: map[*ledger.Ask]bool{}, near: map[*ledger.Site]bool{}}
		f.eachMovable(func(v *ledger.Job) bool {
			if u := unitOf(st, v); c.has(&u) {
				all = append(all, u)
			}
			return true
		})
	}
	slices.SortStableFunc(all, func(a, b unit) int {
		return cmp.Or(cmp.Compare(len(a.holds), len(b.holds)), ledger.VictimOrder(a.job, b.job))
	})
	return all
}

// eachMovable are all that could move.
func (f *fewest) eachMovable(yield func(*ledger.Job) bool) {
	h := f.h
	for q := range h.pool.Q {
		for _, v := range h.pool.Q[q].Victims {
			if h.eligible(v) && !place.Bound(v) && !yield(v) {
				return
			}
		}
		for _, v := range h.c.Fresh[int32(q)] {
			if v.Home() == h.pool && h.eligible(v) && !place.Bound(v) && !yield(v) {
				return
			}
		}
	}
}

// chances remembers what of units that could move is the same for many.
type chances struct {
	h    *victimSearch
	room map[*ledger.Ask]bool  // whether there is any for that
	near map[*ledger.Site]bool // whether something that the job needs is free there
}

func (c *chances) has(u *unit) bool {
	for _, x := range u.holds {
		room, known := c.room[x.Ask]
		if !known {
			room = c.h.c.St.Best(c.h.pool.PartsFor(u.job)[0], x.Ask) != nil
			c.room[x.Ask] = room
		}
		if !room {
			return false
		}
	}
	return slices.ContainsFunc(u.holds, func(x *ledger.Hold) bool {
		near, known := c.near[x.Site]
		if !known {
			near = c.h.room.partly(c.h.c.St, x.Site)
			c.near[x.Site] = near
		}
		return near
	})
}

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
		if all > mostOthers && len(u.holds) == 1 && useless(u.holds[0], a, need) {
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

// useless reports whether so many tasks of a, which asks for devices, have no use
// for x's room: it has none, and there is enough of all else without.
func useless(x *ledger.Hold, a *ledger.Ask, n int) bool {
	v := &x.Site.Soon
	return a.Need.Devices > 0 && len(x.Devs) == 0 && x.Ask.Migs == nil && a.Migs == nil && x.Ask.Alone() == "" && a.Alone() == "" &&
		v.Cpu >= int64(n)*a.Need.CPU && v.Mem >= int64(n)*a.Need.Memory && v.Pods >= int64(n)
}
