package ledger

import (
	"cmp"
	"slices"
)

// maxForecasts bounds how many asks of a pool are remembered.
const maxForecasts = 64

// Forecast is that of an ask, as of now and with what the journal has done.
func (n *Nodes) Forecast(p *Pool, a *Ask, now int64, done *Journal) *forecast {
	o := p.Forecasts[a]
	if o == nil {
		if p.Forecasts == nil || len(p.Forecasts) >= maxForecasts {
			p.Forecasts = map[*Ask]*forecast{}
		}
		o = &forecast{ask: a, seen: -1}
		p.Forecasts[a] = o
	}
	end := p.outdatedBase + len(p.outdated)
	if o.seen < p.outdatedBase || len(o.of) != len(p.Sites) {
		o.anew(n, p, end, now, done)
		return o
	}
	if o.seen == end && o.ops == done.Ops && !o.doubtful(now) {
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
	for i := range done.Log {
		look(done.Log[i].H.Site)
		o.trial = append(o.trial, done.Log[i].H.Site)
	}
	o.steps.until(now, func(x step) bool {
		if x.room == 0 {
			look(p.Sites[x.site])
		}
		return true
	})
	o.seen, o.ops = end, done.Ops
	o.renew(n, sites, now)
	return o
}

// doubtful reports whether an expected end has passed, and who should have ended
// by then has not.
func (o *forecast) doubtful(now int64) (doubt bool) {
	o.steps.until(now, func(x step) bool {
		doubt = x.room == 0
		return !doubt
	})
	return doubt
}

// anew looks at all sites.
func (o *forecast) anew(n *Nodes, p *Pool, end int, now int64, done *Journal) {
	o.of, o.marks, o.trial = make([][]step, len(p.Sites)), make([]uint64, len(p.Sites)), o.trial[:0]
	for _, s := range p.Sites {
		o.of[s.At] = n.stepsOf(s, o.ask, now, nil)
	}
	o.arrange()
	for i := range done.Log {
		o.trial = append(o.trial, done.Log[i].H.Site)
	}
	o.seen, o.ops, o.round = end, done.Ops, 0
}

// arrange puts the steps of all sites in order.
func (o *forecast) arrange() {
	all := slices.Concat(o.of...)
	o.steps.fill(all)
	o.total = roomOf(all)
}

// renew looks at sites again. Where they are a large part of all it is cheaper to
// put all in order than one by one.
func (o *forecast) renew(n *Nodes, sites []*Site, now int64) {
	var fresh []step
	many := len(sites) > 16 && len(sites) > len(o.of)/4
	for _, s := range sites {
		fresh = n.stepsOf(s, o.ask, now, fresh[:0])
		was := o.of[s.At]
		if slices.Equal(fresh, was) {
			continue
		}
		if !many {
			o.total += roomOf(fresh) - roomOf(was)
			for _, x := range was {
				o.steps.remove(x)
			}
			for _, x := range fresh {
				o.steps.insert(x)
			}
		}
		o.of[s.At] = append(was[:0], fresh...)
	}
	if many {
		o.arrange()
	}
}

// plenty is more tasks than a site has room for.
const plenty = 1 << 20

// stepsOf are a site's steps, in order of time, appended to out.
func (n *Nodes) stepsOf(s *Site, a *Ask, now int64, out []step) []step {
	if !s.Fit || a.Need.Never || !n.Allowed(s, a) {
		return out
	}
	have := s.Room(a, plenty)
	if have > 0 {
		out = append(out, step{0, s.At, int32(have)})
	}
	var ends [64]*Hold
	leave := ends[:0]
	for _, h := range s.Holds {
		if !h.Leaving && h.Job.End(now) > 0 {
			leave = append(leave, h)
		}
	}
	slices.SortFunc(leave, func(a, b *Hold) int {
		return cmp.Or(cmp.Compare(a.Job.End(now), b.Job.End(now)), Older(a.Job, b.Job), cmp.Compare(a.Task, b.Task))
	})
	doubt := int64(0) // the first that is only likely
	k := 0
	for ; k < len(leave); k++ {
		h := leave[k]
		s.Soon.Move(h, 1)
		at := h.Job.End(now)
		if doubt == 0 && at == h.Job.Likely {
			doubt = at
		}
		if more := s.Room(a, plenty); more > have {
			out = append(out, step{at, s.At, int32(more - have)})
			have = more
		}
	}
	for k--; k >= 0; k-- {
		s.Soon.Move(leave[k], -1)
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
	for c := range o.steps.chunks {
		k := &o.steps.chunks[c]
		if n > k.room {
			n, steps = n-k.room, steps+len(k.list)
			continue
		}
		for i, x := range k.list {
			if n -= int(x.room); n <= 0 {
				return x.at, steps + i + 1, true
			}
		}
	}
	return 0, 0, false
}

// Placements are where n tasks go that have room after so many steps: where there is
// room last first, so that what is free before is left to others.
func (o *forecast) Placements(p *Pool, n, steps int) []Placement {
	counts := map[int32]int{}
	var order []int32
	o.steps.back(steps, func(x step) bool {
		k := min(int(x.room), n)
		if k > 0 && counts[x.site] == 0 {
			order = append(order, x.site)
		}
		counts[x.site] += k
		n -= k
		return n > 0
	})
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
