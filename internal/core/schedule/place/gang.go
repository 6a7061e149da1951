// Package place finds room for a job's tasks, all of them or none. It is given a
// state, a job and how many tasks of each group are to be placed, and puts what
// it finds into the state's journal.
package place

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Place puts the tries of j on sites of sub, all of them or none. What it took
// is in the journal; on failure the caller undoes it.
func Place(st *state.State, j *ledger.Job, tries []ledger.Try, sub *ledger.Subset) bool {
	if !enough(st, j, tries, sub) {
		return false
	}
	mark := len(st.Log)
	if !placeFirm(st, j, tries, sub) {
		st.Undo(mark)
		if !solve(st, j, tries, sub) {
			return false
		}
	}
	Gather(st, j)
	return true
}

// Gather makes all of a gang wait if those of it that could start now would be
// less than its minimum.
func Gather(st *state.State, j *ledger.Job) {
	short := false
	for g := range j.Shape.Groups {
		n := int(j.Active[g])
		for _, h := range j.Holds {
			if int(h.Group) == g && h.Later && !h.Leaving {
				n--
			}
		}
		short = short || n < j.Shape.Groups[g].Min && int(j.Active[g]) > n
	}
	if !short {
		return
	}
	for _, h := range j.Holds {
		if h.Fresh && !h.Leaving {
			st.Wait(h)
		}
	}
}

func placeSet(st *state.State, j *ledger.Job, set int, tries []ledger.Try, sub *ledger.Subset) bool {
	mine := tries[:0:0]
	for _, t := range tries {
		if j.InSet(t.Group, set) {
			mine = append(mine, t)
		}
	}
	if len(mine) == 0 {
		return true
	}
	return inDomain(st, j, j.Shape.Sets[set].Topology, mine, func(g int) bool { return j.InSet(g, set) }, sub, func(sub *ledger.Subset) bool {
		for s := range j.Shape.Sets {
			if s > 0 && j.Shape.Sets[s].Parent == set && !placeSet(st, j, s, mine, sub) {
				return false
			}
		}
		own := slices.DeleteFunc(slices.Clone(mine), func(t ledger.Try) bool { return j.Shape.Groups[t.Group].Set != set })
		slices.SortStableFunc(own, func(a, b ledger.Try) int { // what is bound goes first
			return cmp.Compare(ledger.Bit(j.Shape.Groups[a.Group].Segment == 0), ledger.Bit(j.Shape.Groups[b.Group].Segment == 0))
		})
		return roomy(st, j, own, sub) && placeGroups(st, j, own, sub)
	})
}

func PlaceGroup(st *state.State, j *ledger.Job, t ledger.Try, sub *ledger.Subset) bool {
	for range t.Count {
		a := st.NextRun(j, t.Group, j.Placed[t.Group])
		if a == nil {
			return false
		}
		s := st.Best(sub, a)
		if s == nil {
			return false
		}
		st.Take(j, t.Group, a, s, -1, true)
	}
	return true
}

// enough is a cheap test that fails only what cannot fit: for each ask, sites
// with room for as many.
func enough(st *state.State, j *ledger.Job, tries []ledger.Try, sub *ledger.Subset) bool {
	if len(tries) == 1 && tries[0].Count == 1 {
		return true // the try itself is as cheap
	}
	need := map[*ledger.Ask]int{}
	for _, t := range tries {
		for i := range int32(t.Count) {
			a := st.NextRun(j, t.Group, j.Placed[t.Group]+i)
			if a == nil {
				return false
			}
			need[a]++
		}
	}
	for a, n := range need {
		if RoomFor(st, sub, a, n) < n {
			return false
		}
	}
	return true
}

// RoomFor is how many tasks of a have room in sub, counted up to n.
func RoomFor(st *state.State, sub *ledger.Subset, a *ledger.Ask, n int) int {
	have := 0
	for _, s := range sub.Sites {
		if have >= n {
			break
		}
		if k := s.Room(a, n-have); k > 0 && st.Allowed(s, a) {
			have += k
		}
	}
	return have
}

func DomainsOf(p *ledger.Pool, levels []string) *ledger.Domains {
	key := ""
	for _, l := range levels {
		key += l + "\x00"
	}
	if d := p.Trees[key]; d != nil {
		return d
	}
	d := &ledger.Domains{Levels: levels}
	for i := range levels {
		d.Of = append(d.Of, map[*ledger.Site]string{})
		d.Sites = append(d.Sites, map[string][]*ledger.Site{})
		d.Paths = append(d.Paths, nil)
		d.At = append(d.At, make([]int32, len(p.Sites)))
		for _, s := range p.Sites {
			d.At[i][s.At] = -1
			v := ledger.Label(s, levels[i])
			if v == "" {
				continue
			}
			path := v
			if i > 0 {
				up, ok := d.Of[i-1][s]
				if !ok {
					continue
				}
				path = up + "\x00" + v
			}
			d.Of[i][s] = path
			if len(d.Sites[i][path]) == 0 {
				d.Paths[i] = append(d.Paths[i], path)
				d.At[i][s.At] = int32(len(d.Paths[i]) - 1)
			} else {
				d.At[i][s.At] = d.At[i][d.Sites[i][path][0].At]
			}
			d.Sites[i][path] = append(d.Sites[i][path], s)
		}
	}
	p.Trees[key] = d
	return d
}

// inDomain runs fn on the domains that t asks for, the narrowest level first,
// there the fullest that may do, until one does.
func inDomain(st *state.State, j *ledger.Job, t *schedule.Topology, tries []ledger.Try, member func(int) bool, sub *ledger.Subset, fn func(*ledger.Subset) bool) bool {
	if t == nil || t.Required == "" && t.Preferred == "" {
		return fn(sub)
	}
	d := DomainsOf(sub.Pool, t.Levels)
	required, preferred := slices.Index(t.Levels, t.Required), slices.Index(t.Levels, t.Preferred)
	if t.Required != "" && required < 0 || t.Preferred != "" && preferred < 0 {
		return false
	}
	within, fixed := narrowed(st, j, d, required, member, sub)
	for level := max(preferred, required); level >= max(required, 0); level-- {
		for _, dom := range domainsIn(st, within, d, level, j, tries) {
			if fixed != nil && level > required { // close to those who are there already
				if at, ok := d.Of[level][fixed]; !ok || at != dom.path {
					continue
				}
			}
			if Attempt(st, dom.sub(d, level, preferred, st, j, tries), fn) {
				return true
			}
		}
	}
	if required >= 0 {
		return false
	}
	all := domain{sites: within.Sites, pool: within.Pool}
	return Attempt(st, all.sub(d, -1, preferred, st, j, tries), fn)
}

// narrowed limits sub to the domain in which tasks of the same groups are
// already, if all must be in one.
func narrowed(st *state.State, j *ledger.Job, d *ledger.Domains, required int, member func(int) bool, sub *ledger.Subset) (*ledger.Subset, *ledger.Site) {
	for _, h := range j.Holds {
		if h.Leaving || !member(int(h.Group)) {
			continue
		}
		if required < 0 {
			return sub, h.Site
		}
		var sites []*ledger.Site
		for _, s := range d.Sites[required][d.Of[required][h.Site]] {
			if has(sub, s) {
				sites = append(sites, s)
			}
		}
		return &ledger.Subset{Pool: sub.Pool, Sites: sites, Ranks: map[*ledger.Ask]*ledger.Ranking{}}, h.Site
	}
	return sub, nil
}

func has(sub *ledger.Subset, s *ledger.Site) bool {
	if sub == s.Pool.Whole {
		return true
	}
	i, ok := slices.BinarySearchFunc(sub.Sites, s.At, func(x *ledger.Site, at int32) int { return cmp.Compare(x.At, at) })
	return ok && sub.Sites[i] == s
}

type domain struct {
	path  string
	sites []*ledger.Site
	pool  *ledger.Pool
	room  []int64 // of the domains it lies in, from the widest to itself
}

// domainsIn are the domains of a level that have room for the tries, the
// fullest first.
func domainsIn(st *state.State, sub *ledger.Subset, d *ledger.Domains, level int, j *ledger.Job, tries []ledger.Try) []domain {
	room := make([][]int64, level+1)
	for l := range room {
		room[l] = make([]int64, len(d.Paths[l]))
	}
	of := make([][]*ledger.Site, len(d.Paths[level]))
	for _, s := range sub.Sites {
		free := s.Soon.Sum*1_000_000 + s.Soon.Cpu
		for l := range room {
			if i := d.At[l][s.At]; i >= 0 {
				room[l][i] += free
			}
		}
		if i := d.At[level][s.At]; i >= 0 {
			of[i] = append(of[i], s)
		}
	}
	var out []domain
	for i, sites := range of {
		if len(sites) == 0 || !enough(st, j, tries, &ledger.Subset{Pool: sub.Pool, Sites: sites}) {
			continue
		}
		dom := domain{path: d.Paths[level][i], pool: sub.Pool, sites: sites}
		for l := range room {
			dom.room = append(dom.room, room[l][d.At[l][sites[0].At]])
		}
		out = append(out, dom)
	}
	slices.SortFunc(out, func(a, b domain) int { return cmp.Or(slices.Compare(a.room, b.room), cmp.Compare(a.path, b.path)) })
	return out
}

// sub is the domain's sites; where a narrower level is preferred, those parts
// of it with the most room first.
func (dom *domain) sub(d *ledger.Domains, level, preferred int, st *state.State, j *ledger.Job, tries []ledger.Try) *ledger.Subset {
	sub := &ledger.Subset{Pool: dom.pool, Sites: dom.sites, Ranks: map[*ledger.Ask]*ledger.Ranking{}}
	if preferred <= level {
		return sub
	}
	// A part is ordered by the room of what it lies in first: of two racks that
	// in the emptier spine comes first, however full it is itself.
	room := map[string]int64{}
	parts := map[string][]string{} // what a part lies in, from the widest to itself
	for _, s := range dom.sites {
		part, ok := d.Of[preferred][s]
		if !ok {
			continue
		}
		if parts[part] == nil {
			for l := level + 1; l <= preferred; l++ {
				parts[part] = append(parts[part], d.Of[l][s])
			}
		}
		for _, path := range parts[part] {
			room[path] += s.Soon.Sum*1_000_000 + s.Soon.Cpu
		}
	}
	paths := ledger.SortedKeys(parts)
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
	sub.Order = map[*ledger.Site]int64{}
	for _, s := range dom.sites {
		i, ok := at[d.Of[preferred][s]]
		if !ok {
			i = int64(len(paths)) // without the label: after all that have it
		}
		sub.Order[s] = i
	}
	return sub
}

// Attempt runs fn with sub told of every change, and undoes what it did if it
// fails.
func Attempt(st *state.State, sub *ledger.Subset, fn func(*ledger.Subset) bool) bool {
	mark := len(st.Log)
	st.Scopes = append(st.Scopes, sub)
	ok := fn(sub)
	st.Scopes = st.Scopes[:len(st.Scopes)-1]
	if !ok {
		st.Undo(mark)
	}
	return ok
}

// PlaceIn places the tries of j on one backend of p, beside what it holds there.
func PlaceIn(st *state.State, p *ledger.Pool, j *ledger.Job, tries []ledger.Try) bool {
	mark := len(st.Log)
	for _, part := range p.PartsFor(j) {
		if Place(st, j, tries, part) {
			return true
		}
		st.Undo(mark)
	}
	return false
}
