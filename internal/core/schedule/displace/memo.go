package displace

import (
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/place"
)

// futile reports whether a search for victims in the job's own queue must come to nothing: if
// all left who may be made to, there would not be enough room. It fails only
// what would fail.
func (h *victimSearch) futile() bool {
	l := h.j.JobClass
	if l == nil || l.Key.Own != "" || len(h.j.Holds) > 0 || len(h.j.Options()) != 1 || h.c.St.Forgetful {
		return false
	}
	m := l.Memo
	if m == nil || m.Pool != h.pool || m.Shape != h.pool.Shape || m.Seq < h.pool.First || h.c.St.Now >= m.Until || !(survey{h, m}).refresh() {
		m = h.assess()
		l.Memo = m
	}
	if m == nil {
		return false
	}
	h.pool.Read = len(h.pool.News)
	m.Seq, m.Cycle, m.Log = h.pool.First+uint64(h.pool.Read), h.c.Id, len(h.c.St.Log)
	for i := range m.Asks {
		if m.Asks[i].Have < m.Asks[i].Need {
			return true
		}
	}
	return false
}

// survey is a memo that is brought up to date.
type survey struct {
	h *victimSearch
	m *ledger.Memo
}

// refresh looks again at the sites that have changed since m was looked at;
// false: those are too many.
func (v survey) refresh() bool {
	h, m := v.h, v.m
	log := h.c.St.Log
	if m.Cycle == h.c.Id {
		log = log[m.Log:]
	}
	news := h.pool.News[m.Seq-h.pool.First:]
	if m.Cycle == h.c.Id {
		news = nil // the journal has it all
	}
	if len(log)+len(news) > ledger.MostNews {
		return false
	}
	h.c.St.Sight++
	for _, s := range news {
		v.lookAt(s)
	}
	for i := range log {
		v.lookAt(log[i].H.Site)
	}
	return true
}

// assess works out what there would be room for; nil: for all that is needed.
func (h *victimSearch) assess() *ledger.Memo {
	st := h.c.St
	m := &ledger.Memo{Pool: h.pool, Shape: h.pool.Shape, Until: ledger.Never}
	for _, t := range h.tries {
		for i := range int32(t.Count) {
			a := st.NextRun(h.j, t.Group, h.j.Placed[t.Group]+i)
			k := slices.IndexFunc(m.Asks, func(x ledger.Tallied) bool { return x.Ask == a })
			if k < 0 {
				k = len(m.Asks)
				m.Asks = append(m.Asks, ledger.Tallied{Ask: a})
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
	look := survey{h, m}
	acc := &h.pool.Q[h.j.Leaf]
	for _, v := range acc.Victims[acc.Gone:] {
		if v.Priority >= h.j.Priority {
			break
		}
		look.of(v)
	}
	for _, v := range h.c.Fresh[h.j.Leaf] {
		look.of(v)
	}
	if !slices.ContainsFunc(m.Asks, func(t ledger.Tallied) bool { return t.Have < t.Need }) {
		return nil
	}
	return m
}

// of looks at the sites on which j holds something.
func (v survey) of(j *ledger.Job) {
	for _, x := range j.Holds {
		v.lookAt(x.Site)
	}
}

// lookAt is reassess, once for each site.
func (v survey) lookAt(s *ledger.Site) {
	if st := v.h.c.St; s.Pool == v.h.pool && s.Seen != st.Sight {
		s.Seen = st.Sight
		v.reassess(s)
	}
}

// reassess works out for how many tasks there would be room on s.
func (v survey) reassess(s *ledger.Site) {
	h, m, st := v.h, v.m, v.h.c.St
	var room [16]*ledger.Hold
	gone := room[:0]
	for _, x := range s.Holds {
		if j := x.Job; j.Leaf == h.j.Leaf && j.Yields() && j.Priority < h.j.Priority && !x.Leaving && v.takes(j) {
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

// takes reports whether anything of j could be taken, and notes from when.
func (v survey) takes(j *ledger.Job) bool {
	if v.h.eligible(j) {
		return true
	}
	if j.Started > 0 && v.h.sheltered(j) {
		if j.JobClass != nil {
			return true // it may grow, and what it has above its minimum is not sheltered
		}
		v.m.Until = min(v.m.Until, j.Started+v.h.shelter(j))
	}
	return false
}

func set(t *ledger.Tallied, s *ledger.Site, k int) {
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
	return k != nil && k.Vain == ledger.Vain{Pool: h.pool, Cycle: h.c.Id, Log: h.mark, Booked: 0}
}

// fails notes that the search has not found enough room.
func (h *victimSearch) fails() {
	if k := h.alike(); k != nil {
		k.Vain = ledger.Vain{Pool: h.pool, Cycle: h.c.Id, Log: h.mark, Booked: 0}
	}
}

// alike is the class of which all would search as h does, or nil.
func (h *victimSearch) alike() *ledger.Class {
	l := h.j.JobClass
	if h.kind != schedule.Consolidate || l == nil || l.Class == nil || l.Class.Key.Own || len(h.j.Holds) > 0 || len(l.Class.Options) != 1 || h.c.St.Forgetful {
		return nil
	}
	return l.Class
}
