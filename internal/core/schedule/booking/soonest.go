package booking

import (
	"cmp"
	"slices"
	"sort"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/place"
)

// soonest finds when and where b's job has room once all have ended whose end is
// known, beside those who were given a time before it.
func (bs *Books) soonest(p *ledger.Pool, b *Booking) bool {
	st := bs.St
	mark := len(st.Log)
	defer st.Undo(mark)
	for _, other := range bs.Booked[p] {
		bs.occupy(other, false)
	}
	first, last, ok := bs.Counted(p, b)
	if !ok {
		return false
	}
	if len(first) == 1 && bs.plain(p, b.J, first[0].Ask) {
		o := st.Forecast(p, first[0].Ask, st.Now, &st.Journal)
		at, steps, _ := o.From(first[0].Count)
		b.At, b.placements = at, o.Placements(p, first[0].Count, steps)
	} else if !bs.search(p, b, last) {
		return false
	}
	if b.Announced.At != 0 && b.At > b.Announced.At+soonWithin {
		bs.yielded(p, b)
	}
	return true
}

// Counted is how many tasks of each ask b wants, and the instant before which
// there is not even room in all for them; false: never, by what is known.
func (bs *Books) Counted(p *ledger.Pool, b *Booking) (need []ledger.Placement, at int64, ok bool) {
	st := bs.St
	for _, t := range b.Tries {
		for i := range int32(t.Count) {
			a := st.NextRun(b.J, t.Group, b.J.Placed[t.Group]+i)
			if a == nil {
				return nil, 0, false
			}
			if k := slices.IndexFunc(need, func(x ledger.Placement) bool { return x.Ask == a }); k >= 0 {
				need[k].Count++
			} else {
				need = append(need, ledger.Placement{Ask: a, Count: 1})
			}
		}
	}
	for _, x := range need {
		if place.Social(x.Ask) {
			continue
		}
		from, _, ok := st.Forecast(p, x.Ask, st.Now, &st.Journal).From(x.Count)
		if !ok {
			return nil, 0, false
		}
		at = max(at, from)
	}
	return need, at, true
}

// plain reports whether tasks of a may be anywhere in p, so that there is room
// for as many as can be counted.
func (bs *Books) plain(p *ledger.Pool, j *ledger.Job, a *ledger.Ask) bool {
	n := &a.Need
	if place.Social(a) || len(p.Parts) > 0 || len(j.Holds) > 0 || n.Devices > 1 && (n.GPUMemory > 0 || n.Milli < 1000) {
		return false
	}
	loose := func(t *schedule.Topology) bool { return t == nil || t.Required == "" }
	for i := range j.Shape.Groups {
		if g := &j.Shape.Groups[i]; g.Segment > 0 || !loose(g.Topology) {
			return false
		}
	}
	return !slices.ContainsFunc(j.Shape.Sets, func(s schedule.Set) bool { return !loose(s.Topology) })
}

// search is soonest for what has to be near one another, or differs: it tries
// the known ends, from the given instant on.
func (bs *Books) search(p *ledger.Pool, b *Booking, from int64) bool {
	st := bs.St
	ends := bs.ending(p)
	i := sort.Search(len(ends), func(i int) bool { return ends[i].End(st.Now) >= from })
	instants := []int64{from}
	for _, x := range ends[i:] {
		if at := x.End(st.Now); at > instants[len(instants)-1] {
			instants = append(instants, at)
		}
	}
	n := sort.Search(len(instants), func(n int) bool { return bs.tryAt(p, b, instants[n]) })
	return n < len(instants) && bs.tryAt(p, b, instants[n])
}

// tryAt reports whether b's job has room at an instant, and where.
func (bs *Books) tryAt(p *ledger.Pool, b *Booking, at int64) bool {
	st := bs.St
	mark := len(st.Log)
	defer st.Undo(mark)
	for _, x := range bs.ending(p) {
		if x.End(st.Now) > at {
			break
		}
		Vacate(st, x)
	}
	had := len(b.J.Holds)
	if (len(p.Parts) > 0 || !place.Attempt(st, latest(p), func(sub *ledger.Subset) bool { return place.Place(st, b.J, b.Tries, sub) })) && !place.PlaceIn(st, p, b.J, b.Tries) {
		return false
	}
	b.At, b.placements = at, nil
	for _, h := range b.J.Holds[had:] {
		k := slices.IndexFunc(b.placements, func(x ledger.Placement) bool { return x.Site == h.Site && x.Ask == h.Ask })
		if k < 0 {
			k = len(b.placements)
			b.placements = append(b.placements, ledger.Placement{Site: h.Site, Ask: h.Ask})
		}
		b.placements[k].Count++
	}
	return true
}

// ending are the jobs in p whose end is known, the first to end first.
func (bs *Books) ending(p *ledger.Pool) []*ledger.Job {
	if ends, ok := bs.ends[p]; ok {
		return ends
	}
	var ends []*ledger.Job
	for _, j := range bs.St.Jobs {
		if j.Pool == p && len(j.Held) > 0 && j.End(bs.St.Now) > 0 {
			ends = append(ends, j)
		}
	}
	slices.SortFunc(ends, func(a, b *ledger.Job) int {
		return cmp.Or(cmp.Compare(a.End(bs.St.Now), b.End(bs.St.Now)), ledger.Older(a, b))
	})
	if bs.ends == nil {
		bs.ends = map[*ledger.Pool][]*ledger.Job{}
	}
	bs.ends[p] = ends
	return ends
}

// latest is the pool with what is free now sought last: what somebody will need
// only later is better taken from what is free only then.
func latest(p *ledger.Pool) *ledger.Subset {
	return &ledger.Subset{Pool: p, Sites: p.Sites, Ranks: map[*ledger.Ask]*ledger.Ranking{}, Late: true}
}
