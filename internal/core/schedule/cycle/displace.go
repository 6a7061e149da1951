package cycle

import (
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/place"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// victimSearch is the search for those who would leave for one job.
type victimSearch struct {
	c       *Pass
	kind    schedule.Action
	pool    *state.Pool
	j       *state.Job
	tries   []state.Try
	need    quota.Amounts
	had     quota.Amounts // by its queue when the search began
	leafs   map[int32]*candidates
	rows    map[int32]*row // by parent
	mark    int            // the journal when the search began
	room    map[*state.Ask]*tally
	victims []unit                  // in the order in which they were told to go
	lost    map[int32]quota.Amounts // by queue: what victims of this search held
	freed   map[*state.Job][]unit   // by victim: who had been made to leave for it, once that is looked at again
	booked  bool                    // the time has come that its job was told
	wide    bool                    // also from queues that have no more than their due, if all of that finds another place
}

// unit is what leaves together: one task that a job can do without, or all of it.
type unit struct {
	job   *state.Job
	holds []*state.Hold
	leaf  int32
	whole bool
	moved bool          // it has another place in the same plan
	next  []*state.Hold // that place
}

// candidates is how far the victims of one queue have been looked at.
type candidates struct {
	next int
	back []*state.Job // looked at, and still there with less
	over bool
}

// tally counts the tasks of one ask that have room.
type tally struct {
	need, have int
	at         map[*state.Site]int
}

func (c *Pass) consolidate(p *state.Pool, j *state.Job) outcome {
	if !j.Preemptible || c.St.Cfg.MaxMoves == 0 {
		return Hopeless
	}
	return c.displace(schedule.Consolidate, p, j)
}

func (c *Pass) reclaim(p *state.Pool, j *state.Job) outcome {
	if c.St.Cfg.NoQuota {
		return Hopeless
	}
	return c.displace(schedule.Reclaim, p, j)
}

func (c *Pass) preempt(p *state.Pool, j *state.Job) outcome {
	return c.displace(schedule.Preempt, p, j)
}

// displace makes room for j, if those whom the kind of displacement allows can
// make it. Victims are told to go one by one, in their order, until j fits;
// then all who can stay, or go elsewhere, do.
func (c *Pass) displace(kind schedule.Action, p *state.Pool, j *state.Job) outcome {
	st := c.St
	if kind != schedule.Consolidate && st.Now < j.Patient {
		return passed
	}
	if st.Full(j) != nil {
		return Hopeless
	}
	for _, tries := range st.Options(j) {
		h := &victimSearch{c: c, kind: kind, pool: p, j: j, tries: tries, need: st.Cost(j, p, tries)}
		if !h.entitled() || kind == schedule.Consolidate && !h.spare() {
			continue
		}
		if kind == schedule.Preempt && h.futile() {
			continue
		}
		if kind == schedule.Consolidate && h.few() || h.run() {
			return served
		}
		if kind == schedule.Reclaim && st.Cfg.MaxMoves != 0 && h.spare() {
			if h.wide = true; h.run() {
				return served
			}
		}
	}
	return Hopeless
}

// run is one search through all possible victims.
func (h *victimSearch) run() bool {
	st := h.c.St
	h.leafs, h.rows, h.lost, h.victims = map[int32]*candidates{}, map[int32]*row{}, map[int32]quota.Amounts{}, nil
	mark := len(st.Log)
	h.mark = mark
	if !h.candidates() || h.inVain() {
		return false
	}
	h.had = h.pool.Q[h.j.Leaf].Alloc
	h.count()
	for wait, enough := 0, false; ; {
		switch {
		case wait > 0:
			wait--
		case h.enough():
			if enough = true; h.settle() {
				return true
			}
			wait = len(h.victims) / 8 // a failed try is dear: not after each
		}
		if !h.more() {
			if wait > 0 && h.enough() && h.settle() {
				return true
			}
			st.Undo(mark)
			if !enough && wait == 0 {
				h.fails()
			}
			return false
		}
	}
}

// entitled reports whether j may have what it asks for at others' cost.
func (h *victimSearch) entitled() bool {
	st := h.c.St
	switch h.kind {
	case schedule.Consolidate:
		return st.Permits(h.j, h.pool, h.need)
	case schedule.Preempt:
		if h.j.Preemptible || st.Cfg.NoQuota {
			return true
		}
	}
	rest := h.j.Beyond(h.pool, h.need)
	for q := h.j.Leaf; q >= 0; q = st.Queues.List[q].ParentIndex {
		a := &h.pool.Q[q]
		if !h.j.Preemptible && !state.Allows(a.Quota.Quota, a.Fixed, rest) {
			return false
		}
		if h.kind == schedule.Reclaim && q == h.j.Leaf && !a.Alloc.Add(rest).Within(a.Share) {
			return false
		}
	}
	return true
}

// spare reports whether as much is free in all as j needs: without that no
// moving about helps.
func (h *victimSearch) spare() bool { return h.need.Within(h.pool.Free) }

func (h *victimSearch) count() {
	h.room = map[*state.Ask]*tally{}
	for _, t := range h.tries {
		for i := range int32(t.Count) {
			a := h.c.St.NextRun(h.j, t.Group, h.j.Placed[t.Group]+i)
			if h.room[a] == nil {
				h.room[a] = &tally{at: map[*state.Site]int{}}
			}
			h.room[a].need++
		}
	}
	for a, t := range h.room {
		if !place.Social(a) && h.c.St.Best(h.pool.Whole, a) == nil {
			continue
		}
		for _, s := range h.pool.Sites {
			if k := s.Room(a, t.need); k > 0 && h.c.St.Allowed(s, a) {
				t.at[s] = k
				t.have += k
			}
		}
	}
}

func (h *victimSearch) enough() bool {
	for _, t := range h.room {
		if t.have < t.need {
			return false
		}
	}
	return true
}

// more tells the next victim to go; false: there is none.
func (h *victimSearch) more() bool {
	st := h.c.St
	if (h.kind == schedule.Consolidate || h.wide) && st.Cfg.MaxMoves >= 0 {
		n := 0
		for _, v := range h.victims {
			n += len(v.holds)
		}
		if n >= st.Cfg.MaxMoves {
			return false
		}
	}
	v := h.pick()
	if v == nil {
		return false
	}
	u := unitOf(st, v)
	h.send(u)
	for q := v.Leaf; q >= 0; q = st.Queues.List[q].ParentIndex {
		h.lost[q] = h.lost[q].Add(u.amount())
	}
	if !u.whole && h.eligible(v) {
		h.leafs[v.Leaf].back = append(h.leafs[v.Leaf].back, v)
	}
	return true
}

// send tells u to go, and counts the room that this leaves.
func (h *victimSearch) send(u unit) {
	st := h.c.St
	for _, x := range u.holds {
		st.Evict(x)
		h.recount(x.Site)
	}
	h.victims = append(h.victims, u)
}

// recount counts the room of one site anew.
func (h *victimSearch) recount(s *state.Site) {
	for a, t := range h.room {
		if k := s.Room(a, t.need); k != t.at[s] && h.c.St.Allowed(s, a) {
			t.have += k - t.at[s]
			t.at[s] = k
		}
	}
}

// all is the whole of j that is not leaving already.
func all(j *state.Job) unit {
	u := unit{job: j, leaf: j.Leaf, whole: true}
	for _, x := range j.Holds {
		if !x.Leaving {
			u.holds = append(u.holds, x)
		}
	}
	return u
}

// unitOf is the least of v that can leave at once: a task above a minimum, a
// group that need not be there, or all of it.
func unitOf(st *state.State, v *state.Job) unit {
	u := all(v)
	all := u.holds
	if len(st.Deficits(v, 0, 1)) > 0 {
		return u
	}
	switch groups, every := st.Shrink(v, 0); {
	case groups == nil:
		return u
	case every:
		u.holds = slices.DeleteFunc(slices.Clone(all), func(x *state.Hold) bool { return !slices.Contains(groups, int(x.Group)) })
	default:
		for i := len(all) - 1; i >= 0; i-- {
			if int(all[i].Group) == groups[0] {
				u.holds = all[i : i+1]
				break
			}
		}
	}
	u.whole = len(u.holds) == len(all)
	return u
}
