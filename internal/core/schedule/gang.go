package schedule

import (
	"cmp"
	"slices"
)

// place puts the tries of j on sites of sub, all of them or none. What it took
// is in the journal; on failure the caller undoes it.
func (st *State) place(j *job, tries []try, sub *subset) bool {
	if !st.enough(j, tries, sub) {
		return false
	}
	mark := len(st.log)
	if !st.placeFirm(j, tries, sub) {
		st.undo(mark)
		if !st.solve(j, tries, sub) {
			return false
		}
	}
	st.gather(j)
	return true
}

// gather makes all of a gang wait if those of it that could start now would be
// less than its minimum.
func (st *State) gather(j *job) {
	short := false
	for g := range j.Shape.Groups {
		n := int(j.active[g])
		for _, h := range j.holds {
			if int(h.group) == g && h.later && !h.leaving {
				n--
			}
		}
		short = short || n < j.Shape.Groups[g].Min && int(j.active[g]) > n
	}
	if !short {
		return
	}
	for _, h := range j.holds {
		if h.fresh && !h.leaving {
			st.wait(h)
		}
	}
}

func (st *State) placeSet(j *job, set int, tries []try, sub *subset) bool {
	mine := tries[:0:0]
	for _, t := range tries {
		if j.inSet(t.group, set) {
			mine = append(mine, t)
		}
	}
	if len(mine) == 0 {
		return true
	}
	return st.inDomain(j, j.Shape.Sets[set].Topology, mine, func(g int) bool { return j.inSet(g, set) }, sub, func(sub *subset) bool {
		for s := range j.Shape.Sets {
			if s > 0 && j.Shape.Sets[s].Parent == set && !st.placeSet(j, s, mine, sub) {
				return false
			}
		}
		own := slices.DeleteFunc(slices.Clone(mine), func(t try) bool { return j.Shape.Groups[t.group].Set != set })
		slices.SortStableFunc(own, func(a, b try) int { // what is bound goes first
			return cmp.Compare(bit(j.Shape.Groups[a.group].Segment == 0), bit(j.Shape.Groups[b.group].Segment == 0))
		})
		return st.roomy(j, own, sub) && st.placeGroups(j, own, sub)
	})
}

func (st *State) placeGroup(j *job, t try, sub *subset) bool {
	for range t.count {
		a := st.nextRun(j, t.group, j.placed[t.group])
		if a == nil {
			return false
		}
		s := st.best(sub, a)
		if s == nil {
			return false
		}
		st.take(j, t.group, a, s, -1, true)
	}
	return true
}

// enough is a cheap test that fails only what cannot fit: for each ask, sites
// with room for as many.
func (st *State) enough(j *job, tries []try, sub *subset) bool {
	if len(tries) == 1 && tries[0].count == 1 {
		return true // the try itself is as cheap
	}
	need := map[*ask]int{}
	for _, t := range tries {
		for i := range int32(t.count) {
			a := st.nextRun(j, t.group, j.placed[t.group]+i)
			if a == nil {
				return false
			}
			need[a]++
		}
	}
	for a, n := range need {
		if st.roomFor(sub, a, n) < n {
			return false
		}
	}
	return true
}

// roomFor is how many tasks of a have room in sub, counted up to n.
func (st *State) roomFor(sub *subset, a *ask, n int) int {
	have := 0
	for _, s := range sub.sites {
		if have >= n {
			break
		}
		if k := s.room(a, n-have); k > 0 && st.allowed(s, a) {
			have += k
		}
	}
	return have
}

func (p *pool) domainsOf(levels []string) *domains {
	key := ""
	for _, l := range levels {
		key += l + "\x00"
	}
	if d := p.trees[key]; d != nil {
		return d
	}
	d := &domains{levels: levels}
	for i := range levels {
		d.of = append(d.of, map[*site]string{})
		d.sites = append(d.sites, map[string][]*site{})
		d.paths = append(d.paths, nil)
		d.at = append(d.at, make([]int32, len(p.sites)))
		for _, s := range p.sites {
			d.at[i][s.at] = -1
			v := label(s, levels[i])
			if v == "" {
				continue
			}
			path := v
			if i > 0 {
				up, ok := d.of[i-1][s]
				if !ok {
					continue
				}
				path = up + "\x00" + v
			}
			d.of[i][s] = path
			if len(d.sites[i][path]) == 0 {
				d.paths[i] = append(d.paths[i], path)
				d.at[i][s.at] = int32(len(d.paths[i]) - 1)
			} else {
				d.at[i][s.at] = d.at[i][d.sites[i][path][0].at]
			}
			d.sites[i][path] = append(d.sites[i][path], s)
		}
	}
	p.trees[key] = d
	return d
}

// inDomain runs fn on the domains that t asks for, the narrowest level first,
// there the fullest that may do, until one does.
func (st *State) inDomain(j *job, t *Topology, tries []try, member func(int) bool, sub *subset, fn func(*subset) bool) bool {
	if t == nil || t.Required == "" && t.Preferred == "" {
		return fn(sub)
	}
	d := sub.pool.domainsOf(t.Levels)
	required, preferred := slices.Index(t.Levels, t.Required), slices.Index(t.Levels, t.Preferred)
	if t.Required != "" && required < 0 || t.Preferred != "" && preferred < 0 {
		return false
	}
	within, fixed := st.settled(j, d, required, member, sub)
	for level := max(preferred, required); level >= max(required, 0); level-- {
		for _, dom := range st.domainsIn(within, d, level, j, tries) {
			if fixed != nil && level > required { // close to those who are there already
				if at, ok := d.of[level][fixed]; !ok || at != dom.path {
					continue
				}
			}
			if st.attempt(dom.sub(d, level, preferred, st, j, tries), fn) {
				return true
			}
		}
	}
	if required >= 0 {
		return false
	}
	all := domain{sites: within.sites, pool: within.pool}
	return st.attempt(all.sub(d, -1, preferred, st, j, tries), fn)
}

// settled narrows sub to the domain in which tasks of the same groups are
// already, if all must be in one.
func (st *State) settled(j *job, d *domains, required int, member func(int) bool, sub *subset) (*subset, *site) {
	for _, h := range j.holds {
		if h.leaving || !member(int(h.group)) {
			continue
		}
		if required < 0 {
			return sub, h.site
		}
		var sites []*site
		for _, s := range d.sites[required][d.of[required][h.site]] {
			if sub.has(s) {
				sites = append(sites, s)
			}
		}
		return &subset{pool: sub.pool, sites: sites, ranks: map[*ask]*ranking{}}, h.site
	}
	return sub, nil
}

func (sub *subset) has(s *site) bool {
	if sub == s.pool.whole {
		return true
	}
	i, ok := slices.BinarySearchFunc(sub.sites, s.at, func(x *site, at int32) int { return cmp.Compare(x.at, at) })
	return ok && sub.sites[i] == s
}

type domain struct {
	path  string
	sites []*site
	pool  *pool
	room  []int64 // of the domains it lies in, from the widest to itself
}

// domainsIn are the domains of a level that have room for the tries, the
// fullest first.
func (st *State) domainsIn(sub *subset, d *domains, level int, j *job, tries []try) []domain {
	room := make([][]int64, level+1)
	for l := range room {
		room[l] = make([]int64, len(d.paths[l]))
	}
	of := make([][]*site, len(d.paths[level]))
	for _, s := range sub.sites {
		free := s.soon.sum*1_000_000 + s.soon.cpu
		for l := range room {
			if i := d.at[l][s.at]; i >= 0 {
				room[l][i] += free
			}
		}
		if i := d.at[level][s.at]; i >= 0 {
			of[i] = append(of[i], s)
		}
	}
	var out []domain
	for i, sites := range of {
		if len(sites) == 0 || !st.enough(j, tries, &subset{pool: sub.pool, sites: sites}) {
			continue
		}
		dom := domain{path: d.paths[level][i], pool: sub.pool, sites: sites}
		for l := range room {
			dom.room = append(dom.room, room[l][d.at[l][sites[0].at]])
		}
		out = append(out, dom)
	}
	slices.SortFunc(out, func(a, b domain) int { return cmp.Or(slices.Compare(a.room, b.room), cmp.Compare(a.path, b.path)) })
	return out
}

// sub is the domain's sites; where a narrower level is preferred, those parts
// of it with the most room first.
func (dom *domain) sub(d *domains, level, preferred int, st *State, j *job, tries []try) *subset {
	sub := &subset{pool: dom.pool, sites: dom.sites, ranks: map[*ask]*ranking{}}
	if preferred <= level {
		return sub
	}
	// A part is ordered by the room of what it lies in first: of two racks that
	// in the emptier spine comes first, however full it is itself.
	room := map[string]int64{}
	parts := map[string][]string{} // what a part lies in, from the widest to itself
	for _, s := range dom.sites {
		part, ok := d.of[preferred][s]
		if !ok {
			continue
		}
		if parts[part] == nil {
			for l := level + 1; l <= preferred; l++ {
				parts[part] = append(parts[part], d.of[l][s])
			}
		}
		for _, path := range parts[part] {
			room[path] += s.soon.sum*1_000_000 + s.soon.cpu
		}
	}
	paths := sortedKeys(parts)
	slices.SortStableFunc(paths, func(a, b string) int {
		for l := range parts[a] {
			if c := cmp.Or(cmp.Compare(room[parts[b][l]], room[parts[a][l]]), cmp.Compare(parts[b][l], parts[a][l])); c != 0 {
				return c
			}
		}
		return 0
	})
	at := make(map[string]int64, len(paths))
	for i, path := range paths {
		at[path] = int64(i)
	}
	sub.order = map[*site]int64{}
	for _, s := range dom.sites {
		i, ok := at[d.of[preferred][s]]
		if !ok {
			i = int64(len(paths)) // without the label: after all that have it
		}
		sub.order[s] = i
	}
	return sub
}

// attempt runs fn with sub told of every change, and undoes what it did if it
// fails.
func (st *State) attempt(sub *subset, fn func(*subset) bool) bool {
	mark := len(st.log)
	st.scopes = append(st.scopes, sub)
	ok := fn(sub)
	st.scopes = st.scopes[:len(st.scopes)-1]
	if !ok {
		st.undo(mark)
	}
	return ok
}

// placeIn places the tries of j on one backend of p, beside what it holds there.
func (st *State) placeIn(p *pool, j *job, tries []try) bool {
	mark := len(st.log)
	for _, part := range p.partsFor(j) {
		if st.place(j, tries, part) {
			return true
		}
		st.undo(mark)
	}
	return false
}
