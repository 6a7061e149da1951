package state

import (
	"cmp"
	"slices"
)

// forecast is how many tasks of one ask will have room in a pool, and from when,
// if nobody comes and all end whose end is known. It is kept between cycles: of
// what has changed only the sites are looked at again.
type forecast struct {
	ask   *Ask
	steps []step   // in order of time
	of    [][]step // by the place of a site in the pool
	total int      // of all steps
	seen  int      // how many of the sites that are outdated it has seen
	ops   uint64   // of the state's journal, when it was last brought up to date
	trial []*Site  // that were looked at while the journal had to do with them
	marks []uint64 // by site: in which round it was last looked at
	round uint64
}

// step is room for so many tasks more on a site, from an instant on (unix ms; 0:
// at once). One without room marks an expected end after which all has to be
// looked at again: it was only likely.
type step struct {
	at   int64
	site int32
	room int32
}

func compareSteps(a, b step) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.site, b.site), cmp.Compare(a.room, b.room))
}

// maxForecasts bounds how many asks of a pool are remembered.
const maxForecasts = 64

// Outdate tells the forecasts of the pool that a site is not as it was.
func (p *Pool) Outdate(s *Site) {
	if len(p.forecasts) == 0 {
		return
	}
	if p.outdated = append(p.outdated, s); len(p.outdated) > 2*len(p.Sites)+1024 {
		p.outdatedBase += len(p.outdated)
		p.outdated = p.outdated[:0]
	}
}

// Forecast is that of an ask, as of now and with what the journal has done.
func (st *State) Forecast(p *Pool, a *Ask) *forecast {
	o := p.forecasts[a]
	if o == nil {
		if p.forecasts == nil || len(p.forecasts) >= maxForecasts {
			p.forecasts = map[*Ask]*forecast{}
		}
		o = &forecast{ask: a, seen: -1}
		p.forecasts[a] = o
	}
	end := p.outdatedBase + len(p.outdated)
	if o.seen < p.outdatedBase || len(o.of) != len(p.Sites) {
		o.anew(st, p, end)
		return o
	}
	if o.seen == end && o.ops == st.ops && !o.doubtful(st.Now) {
		return o
	}
	o.round++
	var sites []*Site
	look := func(s *Site) {
		if s.Pool == p && o.marks[s.At] != o.round {
			o.marks[s.At] = o.round
			sites = append(sites, s)
		}
	}
	for _, s := range p.outdated[o.seen-p.outdatedBase:] {
		look(s)
	}
	for _, s := range o.trial {
		look(s)
	}
	o.trial = o.trial[:0]
	for i := range st.Log {
		look(st.Log[i].H.Site)
		o.trial = append(o.trial, st.Log[i].H.Site)
	}
	for i := 0; i < len(o.steps) && o.steps[i].at <= st.Now; i++ {
		if o.steps[i].room == 0 {
			look(p.Sites[o.steps[i].site])
		}
	}
	o.seen, o.ops = end, st.ops
	o.renew(st, sites)
	return o
}

// doubtful reports whether an expected end has passed, and who should have ended
// by then has not.
func (o *forecast) doubtful(now int64) bool {
	for i := 0; i < len(o.steps) && o.steps[i].at <= now; i++ {
		if o.steps[i].room == 0 {
			return true
		}
	}
	return false
}

// anew looks at all sites.
func (o *forecast) anew(st *State, p *Pool, end int) {
	o.of, o.marks, o.steps, o.trial = make([][]step, len(p.Sites)), make([]uint64, len(p.Sites)), o.steps[:0], o.trial[:0]
	for _, s := range p.Sites {
		o.of[s.At] = st.stepsOf(s, o.ask, nil)
		o.steps = append(o.steps, o.of[s.At]...)
	}
	slices.SortFunc(o.steps, compareSteps)
	o.total = roomOf(o.steps)
	for i := range st.Log {
		o.trial = append(o.trial, st.Log[i].H.Site)
	}
	o.seen, o.ops, o.round = end, st.ops, 0
}

// few is how many sites are put in order one by one.
const few = 16

// renew looks at sites again.
func (o *forecast) renew(st *State, sites []*Site) {
	if len(sites) > few {
		o.steps = slices.DeleteFunc(o.steps, func(x step) bool { return o.marks[x.site] == o.round })
		for _, s := range sites {
			o.of[s.At] = st.stepsOf(s, o.ask, o.of[s.At][:0])
			o.steps = append(o.steps, o.of[s.At]...)
		}
		slices.SortFunc(o.steps, compareSteps)
		o.total = roomOf(o.steps)
		return
	}
	var fresh []step
	for _, s := range sites {
		fresh = st.stepsOf(s, o.ask, fresh[:0])
		if slices.Equal(fresh, o.of[s.At]) {
			continue
		}
		o.total += roomOf(fresh) - roomOf(o.of[s.At])
		for _, x := range o.of[s.At] {
			if i, ok := slices.BinarySearchFunc(o.steps, x, compareSteps); ok {
				o.steps = slices.Delete(o.steps, i, i+1)
			}
		}
		for _, x := range fresh {
			i, _ := slices.BinarySearchFunc(o.steps, x, compareSteps)
			o.steps = slices.Insert(o.steps, i, x)
		}
		o.of[s.At] = append(o.of[s.At][:0], fresh...)
	}
}

func roomOf(steps []step) int {
	n := 0
	for _, x := range steps {
		n += int(x.room)
	}
	return n
}

// plenty is more tasks than a site has room for.
const plenty = 1 << 20

// stepsOf are a site's steps, in order of time, appended to out.
func (st *State) stepsOf(s *Site, a *Ask, out []step) []step {
	if !s.Fit || a.Need.Never || !st.Allowed(s, a) {
		return out
	}
	have := s.Room(a, plenty)
	if have > 0 {
		out = append(out, step{0, s.At, int32(have)})
	}
	var ends [64]*Hold
	leave := ends[:0]
	for _, h := range s.Holds {
		if !h.Leaving && h.Job.End(st.Now) > 0 {
			leave = append(leave, h)
		}
	}
	slices.SortFunc(leave, func(a, b *Hold) int {
		return cmp.Or(cmp.Compare(a.Job.End(st.Now), b.Job.End(st.Now)), Older(a.Job, b.Job), cmp.Compare(a.Task, b.Task))
	})
	doubt := int64(0) // the first that is only likely
	n := 0
	for ; n < len(leave); n++ {
		h := leave[n]
		s.Soon.Move(h, 1)
		at := h.Job.End(st.Now)
		if doubt == 0 && at == h.Job.Likely {
			doubt = at
		}
		if k := s.Room(a, plenty); k > have {
			out = append(out, step{at, s.At, int32(k - have)})
			have = k
		}
	}
	for n--; n >= 0; n-- {
		s.Soon.Move(leave[n], -1)
	}
	if doubt > 0 {
		out = append(out, step{at: doubt, site: s.At})
	}
	return out
}

// From is the instant from which n tasks have room, and how many of the steps it
// takes; false: never, by what is known.
func (o *forecast) From(n int) (at int64, steps int, ok bool) {
	if o.total < n {
		return 0, 0, false
	}
	for i, x := range o.steps {
		if n -= int(x.room); n <= 0 {
			return x.at, i + 1, true
		}
	}
	return 0, 0, false
}

// Placements are where n tasks go that have room after so many steps: where there is
// room last first, so that what is free before is left to others.
func (o *forecast) Placements(p *Pool, n, steps int) []Placement {
	counts := map[int32]int{}
	var order []int32
	for i := steps - 1; i >= 0 && n > 0; i-- {
		x := o.steps[i]
		k := min(int(x.room), n)
		if k == 0 {
			continue
		}
		if counts[x.site] == 0 {
			order = append(order, x.site)
		}
		counts[x.site] += k
		n -= k
	}
	var out []Placement
	for _, at := range order {
		out = append(out, Placement{Site: p.Sites[at], Ask: o.ask, Count: counts[at]})
	}
	return out
}

// Placement is room for tasks of one ask on a site.
type Placement struct {
	Site  *Site
	Ask   *Ask
	Count int
}

// End is when j is expected to end: when such jobs usually have, at the latest
// when it must, be that past; 0: unknown.
func (j *Job) End(now int64) int64 {
	by := j.EndsBy
	if by == 0 && j.MaxRun > 0 && j.Started > 0 { // it is not up yet
		by = j.Started + j.MaxRun
	}
	if j.Likely > now && (by == 0 || j.Likely < by) {
		return j.Likely
	}
	return by
}
