package schedule

import "slices"

// Segments divides tasks that are still to be placed into groups of size each,
// in their order: every group whole, and within a domain of its own that t asks
// for. The last has what is left. All of them have t itself.
func Segments(size int, t *Topology, runs []Run) []Group {
	var out []Group
	for _, r := range runs {
		for left := r.Count; left > 0; {
			last := len(out) - 1
			if last < 0 || out[last].Min == size {
				out = append(out, Group{Name: "segment", Topology: t, Segment: size})
				last++
			}
			g := &out[last]
			n := min(left, size-g.Min)
			g.Runs = append(g.Runs, Run{Need: r.Need, Rule: r.Rule, Count: n})
			g.Min += n
			left -= n
		}
	}
	return out
}

// alike reports whether two groups are segments that differ in nothing.
func alike(a, b *Group) bool {
	return a.Segment > 0 && a.Segment == b.Segment && a.Set == b.Set && a.Min == b.Min && a.Topology == b.Topology &&
		slices.EqualFunc(a.Runs, b.Runs, func(x, y Run) bool { return x == y })
}

// placeGroups puts the groups of the tries on sites of sub, each where its
// topology allows. One domain is as good as another for segments that are alike,
// since each takes the same of it. Before such as are not it tries every one.
func (st *State) placeGroups(j *job, tries []try, sub *subset) bool {
	if len(tries) == 0 {
		return true
	}
	t, rest := tries[0], tries[1:]
	grp := &j.Shape.Groups[t.group]
	member := func(other int) bool { return other == t.group }
	odd := grp.Segment > 0 && len(rest) > 0 && !alike(grp, &j.Shape.Groups[rest[0].group]) && len(grp.Runs) > 1
	if odd {
		return st.inDomain(j, st.near(grp), tries[:1], member, sub, func(part *subset) bool {
			return st.placeGroup(j, t, part) && st.placeGroups(j, rest, sub)
		})
	}
	return st.inDomain(j, st.near(grp), tries[:1], member, sub, func(part *subset) bool { return st.placeGroup(j, t, part) }) &&
		st.placeGroups(j, rest, sub)
}

// near is the topology of a group. While st is firm it is what a segment should
// keep to, not only what it must.
func (st *State) near(g *Group) *Topology {
	t := g.Topology
	if st.firm && g.Segment > 0 && t != nil && t.Preferred != "" {
		return &Topology{Levels: t.Levels, Required: t.Preferred}
	}
	return t
}

// placeFirm is placeSet, at first with every segment where it should be: without
// that the fullest domain of the gang is taken, though it may have no room for
// whole segments.
func (st *State) placeFirm(j *job, tries []try, sub *subset) bool {
	if !slices.ContainsFunc(j.Shape.Groups, func(g Group) bool { return g.Segment > 0 && g.Topology != nil && g.Topology.Preferred != "" }) {
		return st.placeSet(j, 0, tries, sub)
	}
	mark := len(st.log)
	st.firm = true
	ok := st.placeSet(j, 0, tries, sub)
	st.firm = false
	if ok {
		return true
	}
	st.undo(mark)
	return st.placeSet(j, 0, tries, sub)
}

// roomy reports whether the tries' segments may have room in sub, one domain for
// each. It is a cheap test that fails only what cannot fit.
func (st *State) roomy(j *job, tries []try, sub *subset) bool {
	first := slices.IndexFunc(tries, func(t try) bool { return j.Shape.Groups[t.group].Segment > 0 })
	if first < 0 || len(tries) < 2 {
		return true
	}
	tries = tries[first:]
	grp := &j.Shape.Groups[tries[0].group]
	if len(grp.Runs) > 1 && len(tries) > 1 { // the first is odd; those after it are the many
		tries = tries[1:]
		grp = &j.Shape.Groups[tries[0].group]
	}
	t := st.near(grp)
	if t == nil || t.Required == "" || len(grp.Runs) != 1 {
		return true
	}
	level := slices.Index(t.Levels, t.Required)
	if level < 0 {
		return false
	}
	size, want := tries[0].count, 0
	for _, x := range tries {
		want += bit(alike(grp, &j.Shape.Groups[x.group]) && x.count == size)
	}
	a := st.nextRun(j, tries[0].group, j.placed[tries[0].group])
	if a == nil {
		return false
	}
	return st.segmentsIn(sub, t.Levels, level, a, size, want) >= want
}

// segmentsIn is how many segments of size tasks each have room in domains of a
// level, at most limit.
func (st *State) segmentsIn(sub *subset, levels []string, level int, a *ask, size, limit int) int {
	d := sub.pool.domainsOf(levels)
	room := make([]int, len(d.paths[level]))
	n := 0
	for _, s := range sub.sites {
		i := d.at[level][s.at]
		if i < 0 || !st.allowed(s, a) {
			continue
		}
		before := room[i] / size
		room[i] += s.room(a, size*limit)
		if n += room[i]/size - before; n >= limit {
			return limit
		}
	}
	return n
}
