package schedule

import (
	"slices"
)

// futile reports whether a hunt in the job's own queue must come to nothing: if
// all left who may be made to, there would not be enough room. It fails only
// what would fail.
func (h *hunt) futile() bool {
	l := h.j.lane
	if l == nil || l.key.own != "" || len(h.j.holds) > 0 || len(h.c.st.options(h.j)) != 1 || h.c.st.forgetful {
		return false
	}
	m := l.memo
	if m == nil || m.pool != h.pool || m.shape != h.pool.shape || m.seq < h.pool.first || h.c.st.now >= m.until || !h.refresh(m) {
		m = h.assess()
		l.memo = m
	}
	if m == nil {
		return false
	}
	h.pool.read = len(h.pool.news)
	m.seq, m.cycle, m.log = h.pool.first+uint64(h.pool.read), h.c.id, len(h.c.st.log)
	for i := range m.asks {
		if m.asks[i].have < m.asks[i].need {
			return true
		}
	}
	return false
}

// refresh looks again at the sites that have changed since m was looked at;
// false: those are too many.
func (h *hunt) refresh(m *memo) bool {
	log := h.c.st.log
	if m.cycle == h.c.id {
		log = log[m.log:]
	}
	news := h.pool.news[m.seq-h.pool.first:]
	if m.cycle == h.c.id {
		news = nil // the journal has it all
	}
	if len(log)+len(news) > mostNews {
		return false
	}
	h.c.st.sight++
	for _, s := range news {
		h.lookAt(m, s)
	}
	for i := range log {
		h.lookAt(m, log[i].h.site)
	}
	return true
}

// assess works out what there would be room for; nil: for all that is needed.
func (h *hunt) assess() *memo {
	st := h.c.st
	m := &memo{pool: h.pool, shape: h.pool.shape, until: never}
	for _, t := range h.tries {
		for i := range int32(t.count) {
			a := st.nextRun(h.j, t.group, h.j.placed[t.group]+i)
			k := slices.IndexFunc(m.asks, func(x tallied) bool { return x.ask == a })
			if k < 0 {
				k = len(m.asks)
				m.asks = append(m.asks, tallied{ask: a})
			}
			m.asks[k].need++
		}
	}
	h.pool.watched = true
	for i := range m.asks {
		t := &m.asks[i]
		if !t.ask.social() && st.best(h.pool.whole, t.ask) == nil {
			continue
		}
		for _, s := range h.pool.sites {
			if k := s.room(t.ask, t.need); k > 0 && st.allowed(s, t.ask) {
				t.set(s, k)
			}
		}
	}
	st.sight++
	acc := &h.pool.q[h.j.leaf]
	for _, v := range acc.victims[acc.gone:] {
		if v.Priority >= h.j.Priority {
			break
		}
		h.survey(m, v)
	}
	for _, v := range h.c.fresh[h.j.leaf] {
		h.survey(m, v)
	}
	if !slices.ContainsFunc(m.asks, func(t tallied) bool { return t.have < t.need }) {
		return nil
	}
	return m
}

// survey looks at the sites on which v holds something.
func (h *hunt) survey(m *memo, v *job) {
	for _, x := range v.holds {
		h.lookAt(m, x.site)
	}
}

// lookAt is reassess, once for each site.
func (h *hunt) lookAt(m *memo, s *site) {
	if s.pool == h.pool && s.seen != h.c.st.sight {
		s.seen = h.c.st.sight
		h.reassess(m, s)
	}
}

// reassess works out for how many tasks there would be room on s.
func (h *hunt) reassess(m *memo, s *site) {
	st := h.c.st
	var room [16]*hold
	gone := room[:0]
	for _, x := range s.holds {
		if v := x.job; v.leaf == h.j.leaf && v.yields() && v.Priority < h.j.Priority && !x.leaving && h.takes(m, v) {
			s.soon.move(x, 1)
			gone = append(gone, x)
		}
	}
	for i := range m.asks {
		t := &m.asks[i]
		k := s.room(t.ask, t.need)
		if k > 0 && !st.allowed(s, t.ask) {
			k = 0
		}
		t.set(s, k)
	}
	for i := len(gone) - 1; i >= 0; i-- {
		s.soon.move(gone[i], -1)
	}
}

// takes reports whether anything of v could be taken, and notes from when.
func (h *hunt) takes(m *memo, v *job) bool {
	if h.eligible(v) {
		return true
	}
	if v.Started > 0 && h.sheltered(v) {
		if v.lane != nil {
			return true // it may grow, and what it has above its minimum is not sheltered
		}
		m.until = min(m.until, v.Started+h.shelter(v))
	}
	return false
}

func (t *tallied) set(s *site, k int) {
	i := slices.Index(t.sites, s)
	switch {
	case i < 0 && k == 0:
		return
	case i < 0:
		t.sites, t.room = append(t.sites, s), append(t.room, 0)
		i = len(t.sites) - 1
	}
	t.have += k - t.room[i]
	if t.room[i] = k; k == 0 {
		last := len(t.sites) - 1
		t.sites[i], t.room[i] = t.sites[last], t.room[last]
		t.sites, t.room = t.sites[:last], t.room[:last]
	}
}

// inVain reports whether another of its class has tried the same in vain.
func (h *hunt) inVain() bool {
	k := h.alike()
	return k != nil && k.vain == vain{h.pool, h.c.id, h.mark, 0}
}

// fails notes that the hunt has not found enough room.
func (h *hunt) fails() {
	if k := h.alike(); k != nil {
		k.vain = vain{h.pool, h.c.id, h.mark, 0}
	}
}

// alike is the class of which all would hunt as h does, or nil.
func (h *hunt) alike() *class {
	l := h.j.lane
	if h.kind != Consolidate || l == nil || l.class == nil || l.class.key.own || len(h.j.holds) > 0 || len(l.class.options) != 1 || h.c.st.forgetful {
		return nil
	}
	return l.class
}

// keepsOut reports whether j has room in p, and keeps out of it for the sake of
// those who have a time to start: it needs nobody to make any.
func (c *cycle) keepsOut(p *pool, j *job) bool {
	if c.kept[j] == p {
		return true
	}
	k := c.keptAlike(p, j)
	return k != nil && k.keeps == room{p, c.id}
}

// keptAlike is the class of which all would be kept from p's room as j is, for
// the sake of those who have a time to start, or nil. They are alike where none
// of them leaves by itself, or would be made to, before somebody starts.
func (c *cycle) keptAlike(p *pool, j *job) *class {
	l := j.lane
	if l == nil || l.class == nil || l.class.key.own || l.limited > 0 || len(j.holds) > 0 || len(c.st.options(j)) != 1 || c.st.forgetful {
		return nil
	}
	if slices.ContainsFunc(c.booked[p], func(b *booking) bool { return b.j.leaf == j.leaf }) {
		return nil
	}
	return l.class
}
