package place

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// puzzle is the search for places of tasks where taking the best site for one
// after the other has failed. It looks at every way, but at one only of those
// that differ in nothing but names: of sites with the same room under the same
// rules, and of tasks that ask for the same.
type puzzle struct {
	st     *state.State
	j      *ledger.Job
	sub    *ledger.Subset
	sites  []*ledger.Site
	static [][]byte // of each site, what distinguishes it beside its room
	pieces []piece
	steps  int
}

// piece is one task; nth is its place among those of its group.
type piece struct {
	group int
	nth   int32
	ask   *ledger.Ask
	site  *ledger.Site
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
func solve(st *state.State, j *ledger.Job, tries []ledger.Try, sub *ledger.Subset) bool {
	if n := ledger.Total(tries); n < 2 || n > mostPieces {
		return false
	}
	z := &puzzle{st: st, j: j, sub: sub}
	for _, t := range tries {
		for i := range int32(t.Count) {
			nth := j.Placed[t.Group] + i
			a := st.NextRun(j, t.Group, nth)
			if a == nil || a.Need.Never {
				return false
			}
			z.pieces = append(z.pieces, piece{group: t.Group, nth: nth, ask: a})
		}
	}
	if !z.branches() {
		return false
	}
	slices.SortStableFunc(z.pieces, func(a, b piece) int {
		return cmp.Or(cmp.Compare(size(b.ask), size(a.ask)), cmp.Compare(a.ask.Id, b.ask.Id), cmp.Compare(a.group, b.group))
	})
	z.survey()
	mark := len(st.Log)
	ok := z.put(0, 0)
	st.Undo(mark)
	if !ok {
		return false
	}
	slices.SortStableFunc(z.pieces, func(a, b piece) int { return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.nth, b.nth)) })
	for i := range z.pieces {
		p := &z.pieces[i]
		takeOn(st, j, p.group, p.ask, p.site, p.devs)
	}
	return true
}

// branches reports whether there is any choice in which taking the best site
// each time can go wrong. Equal tasks of whole devices or of one share each,
// that may be anywhere, fit if their number does.
func (z *puzzle) branches() bool {
	for i := range z.pieces {
		p := &z.pieces[i]
		n := &p.ask.Need
		if p.ask != z.pieces[0].ask || n.Devices > 1 && (n.GPUMemory > 0 || n.Milli < 1000) {
			return true
		}
		if r := p.ask.Rule; r != nil && (r.Near != "" || r.Away != "" || r.Alone != "") {
			return true
		}
	}
	return Bound(z.j)
}

// size puts first what is hard to place.
func size(a *ledger.Ask) int64 {
	n := &a.Need
	milli := int64(n.Milli)
	if n.GPUMemory > 0 {
		milli = 500
	}
	return (int64(n.Devices)*milli+a.Slices)<<20 + min(n.CPU, 1<<20-1)
}

// survey lists the sites that may take any of the tasks.
func (z *puzzle) survey() {
	for _, s := range z.sub.Sites {
		var mark []byte
		some := false
		for i := range z.pieces {
			a := z.pieces[i].ask
			if i > 0 && a == z.pieces[i-1].ask {
				continue
			}
			ok := s.Fits(a, true) && z.st.Allowed(s, a)
			some = some || ok
			mark = append(mark, byte(ledger.Bit(z.st.Allowed(s, a))))
			if r := a.Rule; r != nil {
				mark = append(append(append(mark, ledger.Label(s, r.Near)...), 0), ledger.Label(s, r.Away)...)
			}
		}
		if !some {
			continue
		}
		for _, t := range topologies(z.j) {
			path, _ := path(DomainsOf(s.Pool, t.Levels), s, t.Required)
			mark = append(append(mark, 1), path...)
		}
		for _, name := range s.Migs {
			mark = append(append(mark, 2), name...)
		}
		z.sites = append(z.sites, s)
		z.static = append(z.static, mark)
	}
}

// topologies are the conditions of j's groups and sets that must hold.
func topologies(j *ledger.Job) []*schedule.Topology {
	var out []*schedule.Topology
	for i := range j.Shape.Sets {
		out = append(out, j.Shape.Sets[i].Topology)
	}
	for i := range j.Shape.Groups {
		out = append(out, j.Shape.Groups[i].Topology)
	}
	return slices.DeleteFunc(out, func(t *schedule.Topology) bool { return t == nil || t.Required == "" })
}

// path is the domain of that level in which s is.
func path(d *ledger.Domains, s *ledger.Site, level string) (string, bool) {
	i := slices.Index(d.Levels, level)
	if i < 0 {
		return "", false
	}
	path, ok := d.Of[i][s]
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
		if !s.Fits(p.ask, true) || !z.st.Allowed(s, p.ask) || !z.near(p.group, s) || Social(p.ask) && !s.Company(p.ask.Rule) {
			continue
		}
		kind := string(mark(&s.Soon, z.static[k]))
		if seen[kind] {
			continue
		}
		seen[kind] = true
		for _, devs := range z.choices(s, p.ask) {
			if z.steps++; z.steps > mostSteps {
				return false
			}
			mark := len(z.st.Log)
			takeOn(z.st, z.j, p.group, p.ask, s, devs)
			p.site, p.at, p.devs = s, k, devs
			if z.put(i+1, k) {
				return true
			}
			z.st.Undo(mark)
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
	if !Alike(&z.j.Shape.Groups[g], &z.j.Shape.Groups[before]) || z.pieces[first].nth != z.pieces[i].nth {
		return 0
	}
	for _, h := range z.j.Holds {
		if h.Task >= 0 && (int(h.Group) == g || int(h.Group) == before) {
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
			if z.st.Allowed(z.sites[k], a) {
				n -= z.sites[k].Room(a, n)
			}
		}
		if n > 0 {
			return false
		}
	}
	return true
}

func Social(a *ledger.Ask) bool { return a.Rule != nil && (a.Rule.Near != "" || a.Rule.Away != "") }

// near reports whether s is in the domains that a task of the group must share
// with those of its job that have a place.
func (z *puzzle) near(g int, s *ledger.Site) bool {
	sh := z.j.Shape
	if !z.shares(sh.Groups[g].Topology, s, func(o int) bool { return o == g }) {
		return false
	}
	for set := sh.Groups[g].Set; set >= 0; set = sh.Sets[set].Parent {
		if !z.shares(sh.Sets[set].Topology, s, func(o int) bool { return z.j.InSet(o, set) }) {
			return false
		}
	}
	return true
}

func (z *puzzle) shares(t *schedule.Topology, s *ledger.Site, member func(int) bool) bool {
	if t == nil || t.Required == "" {
		return true
	}
	d := DomainsOf(s.Pool, t.Levels)
	own, ok := path(d, s, t.Required)
	if !ok {
		return false
	}
	for _, h := range z.j.Holds {
		if !h.Leaving && member(int(h.Group)) {
			other, _ := path(d, h.Site, t.Required)
			return other == own
		}
	}
	return true
}

// mark appends to what distinguishes a site its room.
func mark(v *ledger.View, static []byte) []byte {
	out := slices.Clip(static)
	for _, n := range []int64{v.Cpu, v.Mem, v.Pods} {
		out = append(strconv.AppendInt(out, n, 36), ' ')
	}
	for _, d := range v.Dev {
		out = append(strconv.AppendInt(out, int64(d), 36), ' ')
	}
	for _, m := range v.Mig {
		out = append(strconv.AppendInt(out, int64(m), 36), ' ')
	}
	if out = append(strconv.AppendInt(out, int64(ledger.Bit(v.Guests.Plain != 0)), 36), ' '); len(v.Guests.Alone) > 0 {
		for _, key := range ledger.SortedKeys(v.Guests.Alone) {
			out = append(append(out, key...), 0)
		}
	}
	return out
}

// choices are the devices that a task may get on s, one choice of those that
// come to the same.
func (z *puzzle) choices(s *ledger.Site, a *ledger.Ask) [][]int32 {
	n := a.Need.Devices
	if n == 0 {
		return [][]int32{nil}
	}
	m := s.Milli(a)
	type kind struct {
		product string
		free    int32
	}
	var kinds []kind
	by := map[kind][]int32{}
	for d, free := range s.Soon.Dev {
		if free < m || !s.Is(d, a.Need.Type) {
			continue
		}
		k := kind{s.Node.Devices[d].Product, free}
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
func takeOn(st *state.State, j *ledger.Job, group int, a *ledger.Ask, s *ledger.Site, devs []int32) *ledger.Hold {
	h := ledger.Draft(j, group, a, s)
	h.Task, h.Counted, h.Devs = -1, true, devs
	h.Later = !s.Now.Fits(s, a)
	for _, d := range devs {
		h.Later = h.Later || s.Now.Dev[d] < h.Milli
	}
	return st.Seat(h)
}

// Bound reports whether the job's tasks must be near one another.
func Bound(j *ledger.Job) bool {
	for _, s := range j.Shape.Sets {
		if s.Topology != nil && s.Topology.Required != "" {
			return true
		}
	}
	return slices.ContainsFunc(j.Shape.Groups, func(g schedule.Group) bool { return g.Topology != nil && g.Topology.Required != "" })
}
