package schedule

import (
	"cmp"
	"slices"
	"strconv"
)

// puzzle is the search for places of tasks where taking the best site for one
// after the other has failed. It looks at every way, but at one only of those
// that differ in nothing but names: of sites with the same room under the same
// rules, and of tasks that ask for the same.
type puzzle struct {
	st     *State
	j      *job
	sub    *subset
	sites  []*site
	static [][]byte // of each site, what distinguishes it beside its room
	pieces []piece
	steps  int
}

// piece is one task; nth is its place among those of its group.
type piece struct {
	group int
	nth   int32
	ask   *ask
	site  *site
	at    int // of site among those of the puzzle
	devs  []int32
}

// The bounds of a search. What is larger is not searched: the answer is then
// that of taking the best site each time.
const (
	mostPieces = 48
	mostSteps  = 4000
)

// solve places the tries of j on sites of sub, in whatever way there is.
func (st *State) solve(j *job, tries []try, sub *subset) bool {
	if n := total(tries); n < 2 || n > mostPieces {
		return false
	}
	z := &puzzle{st: st, j: j, sub: sub}
	for _, t := range tries {
		for i := range int32(t.count) {
			nth := j.placed[t.group] + i
			a := st.nextRun(j, t.group, nth)
			if a == nil || a.need.Never {
				return false
			}
			z.pieces = append(z.pieces, piece{group: t.group, nth: nth, ask: a})
		}
	}
	if !z.branches() {
		return false
	}
	slices.SortStableFunc(z.pieces, func(a, b piece) int {
		return cmp.Or(cmp.Compare(b.ask.size(), a.ask.size()), cmp.Compare(a.ask.id, b.ask.id), cmp.Compare(a.group, b.group))
	})
	z.survey()
	mark := len(st.log)
	ok := z.put(0, 0)
	st.undo(mark)
	if !ok {
		return false
	}
	slices.SortStableFunc(z.pieces, func(a, b piece) int { return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.nth, b.nth)) })
	for i := range z.pieces {
		p := &z.pieces[i]
		st.takeOn(j, p.group, p.ask, p.site, p.devs)
	}
	return true
}

// branches reports whether there is any choice in which taking the best site
// each time can go wrong. Equal tasks of whole devices or of one share each,
// that may be anywhere, fit if their number does.
func (z *puzzle) branches() bool {
	for i := range z.pieces {
		p := &z.pieces[i]
		n := &p.ask.need
		if p.ask != z.pieces[0].ask || n.Devices > 1 && (n.Share > 0 || n.Milli < 1000) {
			return true
		}
		if r := p.ask.rule; r != nil && (r.Near != "" || r.Away != "" || r.Alone != "") {
			return true
		}
	}
	return z.j.bound()
}

// size puts first what is hard to place.
func (a *ask) size() int64 {
	n := &a.need
	milli := int64(n.Milli)
	if n.Share > 0 {
		milli = 500
	}
	return (int64(n.Devices)*milli+a.slices)<<20 + min(n.CPU, 1<<20-1)
}

// survey lists the sites that may take any of the tasks.
func (z *puzzle) survey() {
	for _, s := range z.sub.sites {
		var mark []byte
		some := false
		for i := range z.pieces {
			a := z.pieces[i].ask
			if i > 0 && a == z.pieces[i-1].ask {
				continue
			}
			ok := s.fits(a, true) && z.st.allowed(s, a)
			some = some || ok
			mark = append(mark, byte(bit(z.st.allowed(s, a))))
			if r := a.rule; r != nil {
				mark = append(append(append(mark, label(s, r.Near)...), 0), label(s, r.Away)...)
			}
		}
		if !some {
			continue
		}
		for _, t := range z.j.topologies() {
			path, _ := s.pool.domainsOf(t.Levels).path(s, t.Required)
			mark = append(append(mark, 1), path...)
		}
		for _, name := range s.migs {
			mark = append(append(mark, 2), name...)
		}
		z.sites = append(z.sites, s)
		z.static = append(z.static, mark)
	}
}

// topologies are the conditions of j's groups and sets that must hold.
func (j *job) topologies() []*Topology {
	var out []*Topology
	for i := range j.Shape.Sets {
		out = append(out, j.Shape.Sets[i].Topology)
	}
	for i := range j.Shape.Groups {
		out = append(out, j.Shape.Groups[i].Topology)
	}
	return slices.DeleteFunc(out, func(t *Topology) bool { return t == nil || t.Required == "" })
}

// path is the domain of that level in which s is.
func (d *domains) path(s *site, level string) (string, bool) {
	i := slices.Index(d.levels, level)
	if i < 0 {
		return "", false
	}
	path, ok := d.of[i][s]
	return path, ok
}

// put places the pieces from the i-th on, such a one as the one before it on
// the sites from the from-th on.
func (z *puzzle) put(i, from int) bool {
	if i == len(z.pieces) {
		return true
	}
	p := &z.pieces[i]
	if i == 0 || p.ask != z.pieces[i-1].ask || p.group != z.pieces[i-1].group {
		from = z.twin(i)
	}
	if !z.hope(i) {
		return false
	}
	seen := map[string]bool{}
	for k := from; k < len(z.sites); k++ {
		s := z.sites[k]
		if !s.fits(p.ask, true) || !z.st.allowed(s, p.ask) || !z.near(p.group, s) || p.ask.social() && !z.st.company(s, p.ask.rule) {
			continue
		}
		kind := string(s.soon.mark(z.static[k]))
		if seen[kind] {
			continue
		}
		seen[kind] = true
		for _, devs := range z.choices(s, p.ask) {
			if z.steps++; z.steps > mostSteps {
				return false
			}
			mark := len(z.st.log)
			z.st.takeOn(z.j, p.group, p.ask, s, devs)
			p.site, p.at, p.devs = s, k, devs
			if z.put(i+1, k) {
				return true
			}
			z.st.undo(mark)
		}
	}
	return false
}

// twin is where the i-th piece, the first of its group, begins: of two segments
// that are alike the second does not begin before the first, since that would be
// the same with their names exchanged.
func (z *puzzle) twin(i int) int {
	if i == 0 || z.pieces[i-1].ask != z.pieces[i].ask {
		return 0
	}
	g, before := z.pieces[i].group, z.pieces[i-1].group
	first := slices.IndexFunc(z.pieces, func(p piece) bool { return p.group == before })
	if !alike(&z.j.Shape.Groups[g], &z.j.Shape.Groups[before]) || z.pieces[first].nth != z.pieces[i].nth {
		return 0
	}
	for _, h := range z.j.holds {
		if h.task >= 0 && (int(h.group) == g || int(h.group) == before) {
			return 0 // what has a place already makes them differ
		}
	}
	return z.pieces[first].at
}

// hope reports whether, for each ask of the pieces from the i-th on, there is
// room for as many.
func (z *puzzle) hope(i int) bool {
	for i < len(z.pieces) {
		a, n := z.pieces[i].ask, 0
		for ; i < len(z.pieces) && z.pieces[i].ask == a; i++ {
			n++
		}
		for k := 0; k < len(z.sites) && n > 0; k++ {
			if z.st.allowed(z.sites[k], a) {
				n -= z.sites[k].room(a, n)
			}
		}
		if n > 0 {
			return false
		}
	}
	return true
}

func (a *ask) social() bool { return a.rule != nil && (a.rule.Near != "" || a.rule.Away != "") }

// near reports whether s is in the domains that a task of the group must share
// with those of its job that have a place.
func (z *puzzle) near(g int, s *site) bool {
	sh := z.j.Shape
	if !z.shares(sh.Groups[g].Topology, s, func(o int) bool { return o == g }) {
		return false
	}
	for set := sh.Groups[g].Set; set >= 0; set = sh.Sets[set].Parent {
		if !z.shares(sh.Sets[set].Topology, s, func(o int) bool { return z.j.inSet(o, set) }) {
			return false
		}
	}
	return true
}

func (z *puzzle) shares(t *Topology, s *site, member func(int) bool) bool {
	if t == nil || t.Required == "" {
		return true
	}
	d := s.pool.domainsOf(t.Levels)
	path, ok := d.path(s, t.Required)
	if !ok {
		return false
	}
	for _, h := range z.j.holds {
		if !h.leaving && member(int(h.group)) {
			other, _ := d.path(h.site, t.Required)
			return other == path
		}
	}
	return true
}

// mark appends to what distinguishes a site its room.
func (v *view) mark(static []byte) []byte {
	out := slices.Clip(static)
	for _, n := range []int64{v.cpu, v.mem, v.pods} {
		out = append(strconv.AppendInt(out, n, 36), ' ')
	}
	for _, d := range v.dev {
		out = append(strconv.AppendInt(out, int64(d), 36), ' ')
	}
	for _, m := range v.mig {
		out = append(strconv.AppendInt(out, int64(m), 36), ' ')
	}
	if out = append(strconv.AppendInt(out, int64(bit(v.guests.plain != 0)), 36), ' '); len(v.guests.alone) > 0 {
		for _, key := range sortedKeys(v.guests.alone) {
			out = append(append(out, key...), 0)
		}
	}
	return out
}

// choices are the devices that a task may get on s, one choice of those that
// come to the same.
func (z *puzzle) choices(s *site, a *ask) [][]int32 {
	n := a.need.Devices
	if n == 0 {
		return [][]int32{nil}
	}
	m := s.milli(a)
	type kind struct {
		product string
		free    int32
	}
	var kinds []kind
	by := map[kind][]int32{}
	for d, free := range s.soon.dev {
		if free < m || !s.is(d, a.need.Type) {
			continue
		}
		k := kind{s.node.Devices[d].Product, free}
		if by[k] == nil {
			kinds = append(kinds, k)
		}
		by[k] = append(by[k], int32(d))
	}
	slices.SortFunc(kinds, func(a, b kind) int { return cmp.Or(cmp.Compare(a.free, b.free), cmp.Compare(a.product, b.product)) })
	var out [][]int32
	var pick func(i int, sofar []int32)
	pick = func(i int, sofar []int32) {
		if len(sofar) == n {
			out = append(out, slices.Clone(sofar))
			return
		}
		if i == len(kinds) {
			return
		}
		devs := by[kinds[i]]
		for take := min(len(devs), n-len(sofar)); take >= 0; take-- {
			pick(i+1, slices.Concat(sofar, devs[:take]))
		}
	}
	pick(0, nil)
	return out
}

// takeOn is take with the devices chosen.
func (st *State) takeOn(j *job, group int, a *ask, s *site, devs []int32) *hold {
	h := draft(j, group, a, s)
	h.task, h.counted, h.devs = -1, true, devs
	h.later = !s.now.fits(s, a)
	for _, d := range devs {
		h.later = h.later || s.now.dev[d] < h.milli
	}
	return st.seat(h)
}

// bound reports whether the job's tasks must be near one another.
func (j *job) bound() bool {
	for _, s := range j.Shape.Sets {
		if s.Topology != nil && s.Topology.Required != "" {
			return true
		}
	}
	return slices.ContainsFunc(j.Shape.Groups, func(g Group) bool { return g.Topology != nil && g.Topology.Required != "" })
}
