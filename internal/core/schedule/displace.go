package schedule

import (
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
)

// hunt is the search for those who would leave for one job.
type hunt struct {
	c       *cycle
	kind    Action
	pool    *pool
	j       *job
	tries   []try
	need    quota.Amounts
	had     quota.Amounts // by its queue when the hunt began
	leafs   map[int32]*prey
	rows    map[int32]*row // by parent
	mark    int            // the journal when the hunt began
	room    map[*ask]*tally
	victims []unit                  // in the order in which they were told to go
	lost    map[int32]quota.Amounts // by queue: what victims of this hunt held
	freed   map[*job][]unit         // by victim: who had been made to leave for it, once that is looked at again
	booked  bool                    // the time has come that its job was told
	wide    bool                    // also from queues that have no more than their due, if all of that finds another place
}

// unit is what leaves together: one task that a job can do without, or all of it.
type unit struct {
	job   *job
	holds []*hold
	leaf  int32
	whole bool
	moved bool    // it has another place in the same plan
	next  []*hold // that place
}

// prey is how far the victims of one queue have been looked at.
type prey struct {
	next int
	back []*job // looked at, and still there with less
	over bool
}

// tally counts the tasks of one ask that have room.
type tally struct {
	need, have int
	at         map[*site]int
}

func (c *cycle) consolidate(p *pool, j *job) outcome {
	if !j.Preemptible || c.st.cfg.MaxMoves == 0 {
		return hopeless
	}
	return c.displace(Consolidate, p, j)
}

func (c *cycle) reclaim(p *pool, j *job) outcome {
	if c.st.cfg.NoQuota {
		return hopeless
	}
	return c.displace(Reclaim, p, j)
}

func (c *cycle) preempt(p *pool, j *job) outcome { return c.displace(Preempt, p, j) }

// displace makes room for j, if those whom the kind of displacement allows can
// make it. Victims are told to go one by one, in their order, until j fits;
// then all who can stay, or go elsewhere, do.
func (c *cycle) displace(kind Action, p *pool, j *job) outcome {
	st := c.st
	if kind != Consolidate && st.now < j.Patient {
		return passed
	}
	if st.full(j) != nil {
		return hopeless
	}
	for _, tries := range st.options(j) {
		h := &hunt{c: c, kind: kind, pool: p, j: j, tries: tries, need: st.cost(j, p, tries)}
		if !h.entitled() || kind == Consolidate && !h.spare() {
			continue
		}
		if kind == Preempt && h.futile() {
			continue
		}
		if kind == Consolidate && h.few() || h.run() {
			return served
		}
		if kind == Reclaim && st.cfg.MaxMoves != 0 && h.spare() {
			if h.wide = true; h.run() {
				return served
			}
		}
	}
	return hopeless
}

// run is one search through all possible victims.
func (h *hunt) run() bool {
	st := h.c.st
	h.leafs, h.rows, h.lost, h.victims = map[int32]*prey{}, map[int32]*row{}, map[int32]quota.Amounts{}, nil
	mark := len(st.log)
	h.mark = mark
	if !h.prey() || h.inVain() {
		return false
	}
	h.had = h.pool.q[h.j.leaf].alloc
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
			st.undo(mark)
			if !enough && wait == 0 {
				h.fails()
			}
			return false
		}
	}
}

// entitled reports whether j may have what it asks for at others' cost.
func (h *hunt) entitled() bool {
	st := h.c.st
	switch h.kind {
	case Consolidate:
		return st.permits(h.j, h.pool, h.need)
	case Preempt:
		if h.j.Preemptible || st.cfg.NoQuota {
			return true
		}
	}
	rest := h.j.beyond(h.pool, h.need)
	for q := h.j.leaf; q >= 0; q = st.queues.list[q].parent {
		a := &h.pool.q[q]
		if !h.j.Preemptible && !allows(a.Quota.Quota, a.fixed, rest) {
			return false
		}
		if h.kind == Reclaim && q == h.j.leaf && !a.alloc.Add(rest).Within(a.share) {
			return false
		}
	}
	return true
}

// spare reports whether as much is free in all as j needs: without that no
// moving about helps.
func (h *hunt) spare() bool { return h.need.Within(h.pool.free) }

func (h *hunt) count() {
	h.room = map[*ask]*tally{}
	for _, t := range h.tries {
		for i := range int32(t.count) {
			a := h.c.st.nextRun(h.j, t.group, h.j.placed[t.group]+i)
			if h.room[a] == nil {
				h.room[a] = &tally{at: map[*site]int{}}
			}
			h.room[a].need++
		}
	}
	for a, t := range h.room {
		if !a.social() && h.c.st.best(h.pool.whole, a) == nil {
			continue
		}
		for _, s := range h.pool.sites {
			if k := s.room(a, t.need); k > 0 && h.c.st.allowed(s, a) {
				t.at[s] = k
				t.have += k
			}
		}
	}
}

func (h *hunt) enough() bool {
	for _, t := range h.room {
		if t.have < t.need {
			return false
		}
	}
	return true
}

// more tells the next victim to go; false: there is none.
func (h *hunt) more() bool {
	st := h.c.st
	if (h.kind == Consolidate || h.wide) && st.cfg.MaxMoves >= 0 {
		n := 0
		for _, v := range h.victims {
			n += len(v.holds)
		}
		if n >= st.cfg.MaxMoves {
			return false
		}
	}
	v := h.pick()
	if v == nil {
		return false
	}
	u := st.unit(v)
	h.send(u)
	for q := v.leaf; q >= 0; q = st.queues.list[q].parent {
		h.lost[q] = h.lost[q].Add(u.amount())
	}
	if !u.whole && h.eligible(v) {
		h.leafs[v.leaf].back = append(h.leafs[v.leaf].back, v)
	}
	return true
}

// send tells u to go, and counts the room that this leaves.
func (h *hunt) send(u unit) {
	st := h.c.st
	for _, x := range u.holds {
		st.evict(x)
		h.recount(x.site)
	}
	h.victims = append(h.victims, u)
}

// recount counts the room of one site anew.
func (h *hunt) recount(s *site) {
	for a, t := range h.room {
		if k := s.room(a, t.need); k != t.at[s] && h.c.st.allowed(s, a) {
			t.have += k - t.at[s]
			t.at[s] = k
		}
	}
}

// all is the whole of j that is not leaving already.
func (j *job) all() unit {
	u := unit{job: j, leaf: j.leaf, whole: true}
	for _, x := range j.holds {
		if !x.leaving {
			u.holds = append(u.holds, x)
		}
	}
	return u
}

// unit is the least of v that can leave at once: a task above a minimum, a
// group that need not be there, or all of it.
func (st *State) unit(v *job) unit {
	u := v.all()
	all := u.holds
	if len(st.deficits(v, 0, 1)) > 0 {
		return u
	}
	switch groups, every := st.shrink(v, 0); {
	case groups == nil:
		return u
	case every:
		u.holds = slices.DeleteFunc(slices.Clone(all), func(x *hold) bool { return !slices.Contains(groups, int(x.group)) })
	default:
		for i := len(all) - 1; i >= 0; i-- {
			if int(all[i].group) == groups[0] {
				u.holds = all[i : i+1]
				break
			}
		}
	}
	u.whole = len(u.holds) == len(all)
	return u
}
