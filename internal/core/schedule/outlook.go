package schedule

import (
	"cmp"
	"slices"
)

// forecast is how many tasks of one ask will have room in a pool, and from when,
// if nobody comes and all end whose end is known. It is kept between cycles: of
// what has changed only the sites are looked at again.
type forecast struct {
	ask   *ask
	steps []step   // in order of time
	of    [][]step // by the place of a site in the pool
	total int      // of all steps
	seen  int      // how many of the sites that are outdated it has seen
	ops   uint64   // of the state's journal, when it was last brought up to date
	trial []*site  // that were looked at while the journal had to do with them
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

// outdate tells the outlooks of the pool that a site is not as it was.
func (p *pool) outdate(s *site) {
	if len(p.forecasts) == 0 {
		return
	}
	if p.outdated = append(p.outdated, s); len(p.outdated) > 2*len(p.sites)+1024 {
		p.outdatedBase += len(p.outdated)
		p.outdated = p.outdated[:0]
	}
}

// forecast is that of an ask, as of now and with what the journal has done.
func (st *State) forecast(p *pool, a *ask) *forecast {
	o := p.forecasts[a]
	if o == nil {
		if p.forecasts == nil || len(p.forecasts) >= maxForecasts {
			p.forecasts = map[*ask]*forecast{}
		}
		o = &forecast{ask: a, seen: -1}
		p.forecasts[a] = o
	}
	end := p.outdatedBase + len(p.outdated)
	if o.seen < p.outdatedBase || len(o.of) != len(p.sites) {
		o.anew(st, p, end)
		return o
	}
	if o.seen == end && o.ops == st.ops && !o.doubtful(st.now) {
		return o
	}
	o.round++
	var sites []*site
	look := func(s *site) {
		if s.pool == p && o.marks[s.at] != o.round {
			o.marks[s.at] = o.round
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
	for i := range st.log {
		look(st.log[i].h.site)
		o.trial = append(o.trial, st.log[i].h.site)
	}
	for i := 0; i < len(o.steps) && o.steps[i].at <= st.now; i++ {
		if o.steps[i].room == 0 {
			look(p.sites[o.steps[i].site])
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
func (o *forecast) anew(st *State, p *pool, end int) {
	o.of, o.marks, o.steps, o.trial = make([][]step, len(p.sites)), make([]uint64, len(p.sites)), o.steps[:0], o.trial[:0]
	for _, s := range p.sites {
		o.of[s.at] = st.stepsOf(s, o.ask, nil)
		o.steps = append(o.steps, o.of[s.at]...)
	}
	slices.SortFunc(o.steps, compareSteps)
	o.total = roomOf(o.steps)
	for i := range st.log {
		o.trial = append(o.trial, st.log[i].h.site)
	}
	o.seen, o.ops, o.round = end, st.ops, 0
}

// few is how many sites are put in order one by one.
const few = 16

// renew looks at sites again.
func (o *forecast) renew(st *State, sites []*site) {
	if len(sites) > few {
		o.steps = slices.DeleteFunc(o.steps, func(x step) bool { return o.marks[x.site] == o.round })
		for _, s := range sites {
			o.of[s.at] = st.stepsOf(s, o.ask, o.of[s.at][:0])
			o.steps = append(o.steps, o.of[s.at]...)
		}
		slices.SortFunc(o.steps, compareSteps)
		o.total = roomOf(o.steps)
		return
	}
	var fresh []step
	for _, s := range sites {
		fresh = st.stepsOf(s, o.ask, fresh[:0])
		if slices.Equal(fresh, o.of[s.at]) {
			continue
		}
		o.total += roomOf(fresh) - roomOf(o.of[s.at])
		for _, x := range o.of[s.at] {
			if i, ok := slices.BinarySearchFunc(o.steps, x, compareSteps); ok {
				o.steps = slices.Delete(o.steps, i, i+1)
			}
		}
		for _, x := range fresh {
			i, _ := slices.BinarySearchFunc(o.steps, x, compareSteps)
			o.steps = slices.Insert(o.steps, i, x)
		}
		o.of[s.at] = append(o.of[s.at][:0], fresh...)
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
func (st *State) stepsOf(s *site, a *ask, out []step) []step {
	if !s.fit || a.need.Never || !st.allowed(s, a) {
		return out
	}
	have := s.room(a, plenty)
	if have > 0 {
		out = append(out, step{0, s.at, int32(have)})
	}
	var ends [64]*hold
	leave := ends[:0]
	for _, h := range s.holds {
		if !h.leaving && h.job.end(st.now) > 0 {
			leave = append(leave, h)
		}
	}
	slices.SortFunc(leave, func(a, b *hold) int {
		return cmp.Or(cmp.Compare(a.job.end(st.now), b.job.end(st.now)), older(a.job, b.job), cmp.Compare(a.task, b.task))
	})
	doubt := int64(0) // the first that is only likely
	n := 0
	for ; n < len(leave); n++ {
		h := leave[n]
		s.soon.move(h, 1)
		at := h.job.end(st.now)
		if doubt == 0 && at == h.job.Likely {
			doubt = at
		}
		if k := s.room(a, plenty); k > have {
			out = append(out, step{at, s.at, int32(k - have)})
			have = k
		}
	}
	for n--; n >= 0; n-- {
		s.soon.move(leave[n], -1)
	}
	if doubt > 0 {
		out = append(out, step{at: doubt, site: s.at})
	}
	return out
}

// from is the instant from which n tasks have room, and how many of the steps it
// takes; false: never, by what is known.
func (o *forecast) from(n int) (at int64, steps int, ok bool) {
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

// placements are where n tasks go that have room after so many steps: where there is
// room last first, so that what is free before is left to others.
func (o *forecast) placements(p *pool, n, steps int) []placement {
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
	var out []placement
	for _, at := range order {
		out = append(out, placement{site: p.sites[at], ask: o.ask, count: counts[at]})
	}
	return out
}

// placement is room for tasks of one ask on a site.
type placement struct {
	site  *site
	ask   *ask
	count int
}

// end is when j is expected to end: when such jobs usually have, at the latest
// when it must, be that past; 0: unknown.
func (j *job) end(now int64) int64 {
	by := j.EndsBy
	if by == 0 && j.MaxRun > 0 && j.Started > 0 { // it is not up yet
		by = j.Started + j.MaxRun
	}
	if j.Likely > now && (by == 0 || j.Likely < by) {
		return j.Likely
	}
	return by
}
