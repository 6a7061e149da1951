package cycle

import (
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/place"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// futile reports whether a search for victims in the job's own queue must come to nothing: if
// all left who may be made to, there would not be enough room. It fails only
// what would fail.
func (h *victimSearch) futile() bool {
	l := h.j.JobClass
	if l == nil || l.Key.Own != "" || len(h.j.Holds) > 0 || len(h.c.St.Options(h.j)) != 1 || h.c.St.Forgetful {
		return false
	}
	m := l.Memo
	if m == nil || m.Pool != h.pool || m.Shape != h.pool.Shape || m.Seq < h.pool.First || h.c.St.Now >= m.Until || !h.refresh(m) {
		m = h.assess()
		l.Memo = m
	}
	if m == nil {
		return false
	}
	h.pool.Read = len(h.pool.News)
	m.Seq, m.Cycle, m.Log = h.pool.First+uint64(h.pool.Read), h.c.id, len(h.c.St.Log)
	for i := range m.Asks {
		if m.Asks[i].Have < m.Asks[i].Need {
			return true
		}
	}
	return false
}

// refresh looks again at the sites that have changed since m was looked at;
// false: those are too many.
func (h *victimSearch) refresh(m *state.Memo) bool {
	log := h.c.St.Log
	if m.Cycle == h.c.id {
		log = log[m.Log:]
	}
	news := h.pool.News[m.Seq-h.pool.First:]
	if m.Cycle == h.c.id {
		news = nil // the journal has it all
	}
	if len(log)+len(news) > state.MostNews {
		return false
	}
	h.c.St.Sight++
	for _, s := range news {
		h.lookAt(m, s)
	}
	for i := range log {
		h.lookAt(m, log[i].H.Site)
	}
	return true
}

// assess works out what there would be room for; nil: for all that is needed.
func (h *victimSearch) assess() *state.Memo {
	st := h.c.St
	m := &state.Memo{Pool: h.pool, Shape: h.pool.Shape, Until: state.Never}
	for _, t := range h.tries {
		for i := range int32(t.Count) {
			a := st.NextRun(h.j, t.Group, h.j.Placed[t.Group]+i)
			k := slices.IndexFunc(m.Asks, func(x state.Tallied) bool { return x.Ask == a })
			if k < 0 {
				k = len(m.Asks)
				m.Asks = append(m.Asks, state.Tallied{Ask: a})
			}
			m.Asks[k].Need++
		}
	}
	h.pool.Watched = true
	for i := range m.Asks {
		t := &m.Asks[i]
		if !place.Social(t.Ask) && st.Best(h.pool.Whole, t.Ask) == nil {
			continue
		}
		for _, s := range h.pool.Sites {
			if k := s.Room(t.Ask, t.Need); k > 0 && st.Allowed(s, t.Ask) {
				set(t, s, k)
			}
		}
	}
	st.Sight++
	acc := &h.pool.Q[h.j.Leaf]
	for _, v := range acc.Victims[acc.Gone:] {
		if v.Priority >= h.j.Priority {
			break
		}
		h.survey(m, v)
	}
	for _, v := range h.c.fresh[h.j.Leaf] {
		h.survey(m, v)
	}
	if !slices.ContainsFunc(m.Asks, func(t state.Tallied) bool { return t.Have < t.Need }) {
		return nil
	}
	return m
}

// survey looks at the sites on which v holds something.
func (h *victimSearch) survey(m *state.Memo, v *state.Job) {
	for _, x := range v.Holds {
		h.lookAt(m, x.Site)
	}
}

// lookAt is reassess, once for each site.
func (h *victimSearch) lookAt(m *state.Memo, s *state.Site) {
	if s.Pool == h.pool && s.Seen != h.c.St.Sight {
		s.Seen = h.c.St.Sight
		h.reassess(m, s)
	}
}

// reassess works out for how many tasks there would be room on s.
func (h *victimSearch) reassess(m *state.Memo, s *state.Site) {
	st := h.c.St
	var room [16]*state.Hold
	gone := room[:0]
	for _, x := range s.Holds {
		if v := x.Job; v.Leaf == h.j.Leaf && v.Yields() && v.Priority < h.j.Priority && !x.Leaving && h.takes(m, v) {
			s.Soon.Move(x, 1)
			gone = append(gone, x)
		}
	}
	for i := range m.Asks {
		t := &m.Asks[i]
		k := s.Room(t.Ask, t.Need)
		if k > 0 && !st.Allowed(s, t.Ask) {
			k = 0
		}
		set(t, s, k)
	}
	for i := len(gone) - 1; i >= 0; i-- {
		s.Soon.Move(gone[i], -1)
	}
}

// takes reports whether anything of v could be taken, and notes from when.
func (h *victimSearch) takes(m *state.Memo, v *state.Job) bool {
	if h.eligible(v) {
		return true
	}
	if v.Started > 0 && h.sheltered(v) {
		if v.JobClass != nil {
			return true // it may grow, and what it has above its minimum is not sheltered
		}
		m.Until = min(m.Until, v.Started+h.shelter(v))
	}
	return false
}

func set(t *state.Tallied, s *state.Site, k int) {
	i := slices.Index(t.Sites, s)
	switch {
	case i < 0 && k == 0:
		return
	case i < 0:
		t.Sites, t.Room = append(t.Sites, s), append(t.Room, 0)
		i = len(t.Sites) - 1
	}
	t.Have += k - t.Room[i]
	if t.Room[i] = k; k == 0 {
		last := len(t.Sites) - 1
		t.Sites[i], t.Room[i] = t.Sites[last], t.Room[last]
		t.Sites, t.Room = t.Sites[:last], t.Room[:last]
	}
}

// inVain reports whether another of its class has tried the same in vain.
func (h *victimSearch) inVain() bool {
	k := h.alike()
	return k != nil && k.Vain == state.Vain{Pool: h.pool, Cycle: h.c.id, Log: h.mark, Booked: 0}
}

// fails notes that the search has not found enough room.
func (h *victimSearch) fails() {
	if k := h.alike(); k != nil {
		k.Vain = state.Vain{Pool: h.pool, Cycle: h.c.id, Log: h.mark, Booked: 0}
	}
}

// alike is the class of which all would search as h does, or nil.
func (h *victimSearch) alike() *state.Class {
	l := h.j.JobClass
	if h.kind != schedule.Consolidate || l == nil || l.Class == nil || l.Class.Key.Own || len(h.j.Holds) > 0 || len(l.Class.Options) != 1 || h.c.St.Forgetful {
		return nil
	}
	return l.Class
}

// keepsOut reports whether j has room in p, and keeps out of it for the sake of
// those who have a time to start: it needs nobody to make any.
func (c *Pass) keepsOut(p *state.Pool, j *state.Job) bool {
	if c.kept[j] == p {
		return true
	}
	k := c.keptAlike(p, j)
	return k != nil && k.Keeps == state.Room{Pool: p, Cycle: c.id}
}

// keptAlike is the class of which all would be kept from p's room as j is, for
// the sake of those who have a time to start, or nil. They are alike where none
// of them leaves by itself, or would be made to, before somebody starts.
func (c *Pass) keptAlike(p *state.Pool, j *state.Job) *state.Class {
	l := j.JobClass
	if l == nil || l.Class == nil || l.Class.Key.Own || l.Limited > 0 || len(j.Holds) > 0 || len(c.St.Options(j)) != 1 || c.St.Forgetful {
		return nil
	}
	if slices.ContainsFunc(c.Booked[p], func(b *booking) bool { return b.J.Leaf == j.Leaf }) {
		return nil
	}
	return l.Class
}
