package schedule

import (
	"slices"
)

// whySegments says that j's segments find no room, each in one domain of its
// own, if all else of j does; the second result is false otherwise. Of the
// reason only what is about segments is filled in.
func (st *State) whySegments(p *pool, j *job, tries []try) (Reason, bool) {
	first := slices.IndexFunc(tries, func(t try) bool {
		g := &j.Shape.Groups[t.group]
		return g.Segment > 0 && g.Topology != nil && g.Topology.Required != ""
	})
	if first < 0 || !st.fitsLoose(p, j, tries) {
		return Reason{}, false
	}
	t := j.Shape.Groups[tries[first].group].Topology
	level := slices.Index(t.Levels, t.Required)
	if level < 0 {
		return Reason{}, false
	}
	r := Reason{Domain: t.Required, Segment: int64(j.Shape.Groups[tries[first].group].Segment)}
	one := tries[first : first+1]
	for _, b := range st.blocks(p, j, one, t, level) {
		b.Fitting = min(b.Fitting, r.Segment)
		r.Blocks = append(r.Blocks, b)
	}
	r.Blocks = r.Blocks[:min(len(r.Blocks), blocksShown)]
	segments := slices.DeleteFunc(slices.Clone(tries), func(t try) bool { return j.Shape.Groups[t.group].Segment == 0 })
	r.Tasks, r.Fitting = int64(len(segments)), st.mostSegments(p, j, segments)
	if root, _ := j.required(); root != nil {
		r.Note = root.Required
	}
	return r, true
}

// fitsLoose reports whether j has room in p if its segments may be anywhere.
func (st *State) fitsLoose(p *pool, j *job, tries []try) bool {
	groups := slices.Clone(j.Shape.Groups)
	for g := range groups {
		if groups[g].Segment > 0 {
			groups[g].Topology = nil
		}
	}
	x := *j
	x.Shape, x.lane, x.asks, x.holds = NewShape(j.Shape.Sets, groups), nil, nil, slices.Clone(j.holds)
	mark := len(st.log)
	ok := st.placeIn(p, &x, tries)
	st.undo(mark)
	return ok
}

// mostSegments is how many of the segments have room together, those in front.
func (st *State) mostSegments(p *pool, j *job, segments []try) int64 {
	if n, ok := st.countSegments(p, j, segments); ok {
		return n
	}
	lo, hi := 0, len(segments)-1 // all of them have no room together
	for lo < hi {
		n, mark := (lo+hi+1)/2, len(st.log)
		if st.placeIn(p, j, segments[:n]) {
			lo = n
		} else {
			hi = n - 1
		}
		st.undo(mark)
	}
	return int64(lo)
}

// countSegments is mostSegments by arithmetic, where all but the last are alike
// and of equal tasks that may be anywhere.
func (st *State) countSegments(p *pool, j *job, segments []try) (int64, bool) {
	first := segments[0]
	grp, t := &j.Shape.Groups[first.group], j.Shape.Groups[first.group].Topology
	a := st.nextRun(j, first.group, j.placed[first.group])
	level := slices.Index(t.Levels, t.Required)
	if a == nil || a.social() || len(grp.Runs) != 1 || level < 0 || len(j.holds) > 0 {
		return 0, false
	}
	alikes := 0
	for _, x := range segments {
		alikes += bit(alike(grp, &j.Shape.Groups[x.group]))
	}
	if alikes < len(segments)-1 {
		return 0, false
	}
	subs := p.partsFor(j)
	if root, at := j.required(); root != nil {
		subs = nil
		for _, sites := range p.domainsOf(root.Levels).sites[at] {
			subs = append(subs, &subset{pool: p, sites: sites})
		}
	}
	most := 0
	for _, sub := range subs {
		most = max(most, st.segmentsIn(sub, t.Levels, level, a, first.count, alikes))
	}
	return int64(min(most, len(segments)-1)), true
}
