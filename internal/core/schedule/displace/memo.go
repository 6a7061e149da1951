package displace

import (
	"cmp"
	"math"
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/place"
)

// Vain reports whether it is known that j, and all others of its job class, find
// no victims in their own queue.
func (c *Round) Vain(p *ledger.Pool, j *ledger.Job) bool {
	options := j.Options()
	if len(options) != 1 {
		return false
	}
	h := &c.probe
	h.c, h.kind, h.pool, h.j, h.tries = c, schedule.Preempt, p, j, options[0]
	return h.futile()
}

// futile reports whether a search for victims in the job's own queue must come to nothing: if
// all left who may be made to, there would not be enough room. It fails only
// what would fail.
func (h *victimSearch) futile() bool {
	l := h.j.JobClass
	if l == nil || l.Key.Own != "" || len(h.j.Holds) > 0 || len(h.j.Options()) != 1 {
		return false
	}
	if h.c.St.Forgetful {
		return !suffices(h)
	}
	h.c.note()
	m := l.Memo
	if m == nil || m.Pool != h.pool || m.Shape != h.pool.Shape || h.c.St.Now >= m.Until || !(survey{h, m}).refresh() {
		m = h.assess()
		l.Memo = m
	}
	return m != nil && !m.Enough()
}

// suffices reports what a memo would say, by telling one after the other to go.
func suffices(h *victimSearch) bool {
	st, g := h.c.St, *h
	g.leafs, g.rows, g.lost = map[int32]*candidates{}, map[int32]*row{}, map[int32]quota.Amounts{}
	g.mark = len(st.Log)
	defer st.Undo(g.mark)
	g.count()
	for !g.room.enough() {
		if !g.more() {
			return false
		}
	}
	return true
}

// survey is a memo that is brought up to date.
type survey struct {
	h *victimSearch
	m *ledger.Memo
}

// refresh looks again at the sites that have changed since m was looked at;
// false: those are too many. Where there is no room as it is, only those matter
// on which somebody of the queue holds something, or there was room.
func (v survey) refresh() bool {
	h, m, st := v.h, v.m, v.h.c.St
	all, own := &h.pool.News, &h.pool.Q[h.j.Leaf].News
	if m.Seq == all.Changes() {
		return true
	}
	from, seen := own, m.Own
	if v.open() {
		from, seen = all, m.Seq
	}
	news, ok := from.Since(seen)
	if !ok || len(news) > ledger.MostNews {
		return false
	}
	st.Sight++
	for _, s := range news {
		v.lookAt(s)
	}
	for i := range m.Asks {
		for k := len(m.Asks[i].Sites) - 1; k >= 0; k-- {
			v.lookAt(m.Asks[i].Sites[k])
		}
	}
	m.Seq, m.Own = all.Read(), own.Read()
	return true
}

// open reports whether there may be room somewhere as it is, for any of the tasks.
// What is found is true of all of a class.
func (v survey) open() bool {
	h, st, k := v.h, v.h.c.St, v.h.j.JobClass.Class
	now := ledger.Sought{Pool: h.pool, Cycle: h.c.Id, Ops: st.Ops}
	if k != nil && (k.Sought == now || k.Sought == ledger.Sought{Pool: now.Pool, Cycle: now.Cycle, Ops: now.Ops, Found: true}) {
		return k.Sought.Found
	}
	for i := range v.m.Asks {
		a := v.m.Asks[i].Ask
		now.Found = now.Found || place.Social(a) || st.Best(h.pool.Whole, a) != nil
	}
	if k != nil {
		k.Sought = now
	}
	return now.Found
}

// assess works out what there would be room for; nil: for all that is needed.
func (h *victimSearch) assess() *ledger.Memo {
	st := h.c.St
	acc := &h.pool.Q[h.j.Leaf]
	m := &ledger.Memo{Pool: h.pool, Shape: h.pool.Shape, Seq: h.pool.News.Read(), Own: acc.News.Read(), Until: ledger.Never}
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
				if m.Enough() {
					return nil
				}
			}
		}
	}
	st.Sight++
	look, least := survey{h, m}, leastOf(m)
	for _, v := range acc.Victims[acc.Gone:] {
		if v.Priority >= h.j.Priority || m.Enough() {
			break
		}
		look.of(v, least)
	}
	for _, v := range h.c.Fresh[h.j.Leaf] {
		look.of(v, least)
	}
	if m.Enough() {
		return nil
	}
	return m
}

// leastOf is how much of devices, in thousandths, has to be free on a site before
// any of the tasks has room there.
func leastOf(m *ledger.Memo) int64 {
	least := int64(math.MaxInt64)
	for i := range m.Asks {
		n := int64(0)
		if a := &m.Asks[i].Ask.Need; a.Milli == 1000 {
			n = int64(a.Devices) * 1000
		}
		least = min(least, n)
	}
	return least
}

// of looks at the sites on which j holds something, as soon as so much would be
// free there if all had left that it was called for: most have room for none of a
// large task, and looking at all who are there is dear.
func (v survey) of(j *ledger.Job, least int64) {
	for _, x := range j.Holds {
		s, now := x.Site, v.h.c.St.Sight
		if s.Summed != now {
			s.Summed, s.Sum = now, s.Soon.Sum
		}
		if s.Sum += x.Amount[quota.GPU]; s.Sum >= least || s.Parted() {
			v.lookAt(s)
		}
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
func inVain(h *victimSearch) bool {
	k := alike(h)
	if k == nil {
		return false
	}
	was, is := &k.Reclaimed, vain(h)
	if h.kind == schedule.Consolidate {
		was = &k.Consolidated
	}
	if was.Pool != is.Pool || was.Cycle != is.Cycle || was.Log != is.Log || was.Parent != is.Parent || was.Within != is.Within || was.Hard != is.Hard {
		return false
	}
	if !is.Within && (was.Expected > is.Expected || was.Since > is.Since) {
		return false // those are left alone who had enough, or may lose as much, for this one
	}
	h.shields = h.shields || was.Shields
	return true
}

// fails notes that the search has come to nothing, and another's of its class would.
func fails(h *victimSearch) {
	k := alike(h)
	switch {
	case k == nil:
	case h.kind == schedule.Consolidate:
		k.Consolidated = vain(h)
	case !h.over(h.j.Leaf, h.pool.Q[h.j.Leaf].Held(), false): // else others would find some in the one queue in which it did not look
		k.Reclaimed = vain(h)
	}
}

// vain is what is noted of the search if it comes to nothing.
func vain(h *victimSearch) ledger.Vain {
	v := ledger.Vain{Pool: h.pool, Cycle: h.c.Id, Log: len(h.c.St.Log), Since: cmp.Or(h.j.Since, ledger.Never)}
	if h.kind == schedule.Reclaim {
		v.Parent, v.Within, v.Hard, v.Shields = h.c.St.Queues.List[h.j.Leaf].ParentIndex, h.entitledAnyway(), h.hard, h.shields
		v.Expected = h.j.Expected
	}
	return v
}

// alike is the class of which all would search as h does, or nil.
func alike(h *victimSearch) *ledger.Class {
	l := h.j.JobClass
	if h.kind != schedule.Consolidate && (h.kind != schedule.Reclaim || h.wide || h.booked) || l == nil || l.Class == nil || l.Class.Key.Own || len(h.j.Holds) > 0 || len(l.Class.Options) != 1 || h.c.St.Forgetful {
		return nil
	}
	return l.Class
}
