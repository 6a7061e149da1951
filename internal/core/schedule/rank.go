package schedule

import (
	"cmp"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
)

// subset is sites among which a place is sought, with their rankings.
type subset struct {
	pool  *pool
	sites []*site
	ranks map[*ask]*ranking
	news  []*site         // sites that changed, in order
	base  int             // how many were dropped from the front of news
	order map[*site]int64 // sites to be used first; nil: all alike
	late  bool            // sites that are free now come last
}

// ranking is a heap of the sites that serve one ask, the best on top. A site
// that has changed gets a new entry beside its old one, which is dropped when it
// comes up.
type ranking struct {
	items []rank
	at    int // how much of the subset's news it has seen
}

// rank is how well a site serves, as it was at that turn; lower is better.
type rank struct {
	first, second int64
	site          *site
	turn          uint32
}

func (a *rank) less(b *rank) bool {
	if c := cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.second, b.second)); c != 0 {
		return c < 0
	}
	return a.site.at < b.site.at
}

// forget makes the subset rank anew.
func (sub *subset) forget() {
	clear(sub.ranks)
	sub.base, sub.news = 0, sub.news[:0]
}

// maxRanks bounds how many rankings a pool keeps, and maxRanked how many sites
// they have together.
const (
	maxRanks  = 1024
	maxRanked = 1 << 22
)

func (sub *subset) changed(s *site) {
	if len(sub.ranks) == 0 {
		return
	}
	sub.news = append(sub.news, s)
	if len(sub.news) > 4*len(sub.sites)+1024 {
		n := len(sub.news) / 2
		sub.base += n
		sub.news = append(sub.news[:0], sub.news[n:]...)
	}
}

// best returns the site that serves a best now or soon, or nil.
func (st *State) best(sub *subset, a *ask) *site {
	if a.need.Never {
		return nil
	}
	if a.rule != nil && (a.rule.Near != "" || a.rule.Away != "") {
		return st.scan(sub, a)
	}
	r := sub.ranks[a]
	switch end := sub.base + len(sub.news); {
	case r == nil || r.at < sub.base || len(r.items) > 4*len(sub.sites)+64:
		r = st.rankAll(sub, a)
	default:
		for _, s := range sub.news[r.at-sub.base:] {
			if s.fits(a, true) && st.allowed(s, a) {
				r.push(sub.rank(st, s, a))
			}
		}
		r.at = end
	}
	for len(r.items) > 0 {
		if top := &r.items[0]; top.turn == top.site.turn {
			return top.site
		}
		r.pop()
	}
	return nil
}

func (st *State) rankAll(sub *subset, a *ask) *ranking {
	if len(sub.ranks) >= maxRanks || len(sub.ranks)*len(sub.sites) > maxRanked {
		clear(sub.ranks)
	}
	r := &ranking{at: sub.base + len(sub.news)}
	for _, s := range sub.sites {
		if s.fits(a, true) && st.allowed(s, a) {
			r.items = append(r.items, sub.rank(st, s, a))
		}
	}
	for i := len(r.items)/2 - 1; i >= 0; i-- {
		r.down(i)
	}
	sub.ranks[a] = r
	return r
}

// scan is best for those whose place depends on who else is where.
func (st *State) scan(sub *subset, a *ask) *site {
	var best rank
	for _, s := range sub.sites {
		if !s.fits(a, true) || !st.allowed(s, a) || !st.company(s, a.rule) {
			continue
		}
		if r := sub.rank(st, s, a); best.site == nil || r.less(&best) {
			best = r
		}
	}
	return best.site
}

// company reports whether those are in s's domain whom the rule wants near, and
// none of those whom it wants away. The first of those who want to be near each
// other goes anywhere.
func (st *State) company(s *site, r *Rule) bool {
	if r == nil {
		return true
	}
	if r.Away != "" && st.tagged(s, r.Away, r.Tags) > 0 {
		return false
	}
	if r.Near == "" || st.tagged(s, r.Near, r.Tags) > 0 {
		return true
	}
	for _, other := range s.pool.sites {
		if other.tags[r.Tags] > 0 {
			return false
		}
	}
	return true
}

func (st *State) tagged(s *site, key, tags string) int {
	n, value := 0, label(s, key)
	for _, other := range s.pool.sites {
		if label(other, key) == value {
			n += other.tags[tags]
		}
	}
	return n
}

// label is a node's label; every node is its own hostname.
func label(s *site, key string) string {
	if v, ok := s.node.Labels[key]; ok {
		return v
	}
	if key == "kubernetes.io/hostname" {
		return string(s.node.ID)
	}
	return ""
}

// allowed reports whether a may go to s at all, whatever is free.
func (st *State) allowed(s *site, a *ask) bool {
	known := a.ok[s.pool]
	if len(known) != len(s.pool.sites) {
		known = make([]int8, len(s.pool.sites))
		a.ok[s.pool] = known
	}
	if known[s.at] == 0 {
		known[s.at] = -1
		if s.admits(a.pass) && (st.cfg.NoFilters || kindAllows(s, a) && tolerated(s.node.Taints, a.rule) && matches(s, a.rule)) {
			known[s.at] = 1
		}
	}
	return known[s.at] > 0
}

// kindAllows keeps whole devices off nodes that are cut into partitions, and
// shares off all nodes with a strategy for them, or that give none.
func kindAllows(s *site, a *ask) bool {
	if onlyWhole(s, a) {
		return false
	}
	if s.node.MIGStrategy == "" || a.need.Devices == 0 {
		return true
	}
	return s.node.MIGStrategy != "mixed" && a.need.Share == 0 && a.need.Milli >= 1000
}

// onlyWhole reports whether a asks for a part of a device, and s gives none.
func onlyWhole(s *site, a *ask) bool {
	return s.node.Whole && a.need.Devices > 0 && (a.need.Share > 0 || a.need.Milli < 1000)
}

func tolerated(taints []core.Taint, r *Rule) bool {
	for _, t := range taints {
		if t.Effect == core.PreferNoSchedule {
			continue
		}
		if r == nil || !slices.ContainsFunc(r.Tolerates, func(x Toleration) bool {
			return (x.Key == "" || x.Key == t.Key) && (x.Value == "" || x.Value == t.Value) && (x.Effect == "" || x.Effect == string(t.Effect))
		}) {
			return false
		}
	}
	return true
}

func matches(s *site, r *Rule) bool {
	if r == nil {
		return true
	}
	all := func(terms []Term) bool {
		return !slices.ContainsFunc(terms, func(t Term) bool { return !t.holds(s) })
	}
	return all(r.Terms) && (len(r.Any) == 0 || slices.ContainsFunc(r.Any, all))
}

func (t *Term) holds(s *site) bool {
	v, has := s.node.Labels[t.Key]
	if !has && t.Key == "kubernetes.io/hostname" {
		v, has = string(s.node.ID), true
	}
	switch t.Op {
	case "In":
		return has && slices.Contains(t.Values, v)
	case "NotIn":
		return !has || !slices.Contains(t.Values, v)
	case "Exists":
		return has
	case "DoesNotExist":
		return !has
	case "Gt", "Lt":
		return has && len(t.Values) == 1 && compareNumbers(v, t.Values[0]) == map[string]int{"Gt": 1, "Lt": -1}[t.Op]
	default:
		return false
	}
}

// compareNumbers compares two decimal integers; 0 where one is none.
func compareNumbers(a, b string) int {
	digits := func(s string) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	}
	if !digits(a) || !digits(b) {
		return 0
	}
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

func (sub *subset) rank(st *State, s *site, a *ask) rank {
	r := st.rank(s, a)
	if sub.late {
		r.first ^= 4
	}
	if sub.order != nil {
		r.first |= sub.order[s] << 8
	}
	return r
}

// rank says how well s serves a: shares go to devices that are shared already,
// what is free now comes before what will be, work without GPUs stays off GPU
// nodes; then the pool's strategy, then the name.
func (st *State) rank(s *site, a *ask) rank {
	r := rank{site: s, turn: s.turn}
	if st.joins(s, a) && !s.shared(a) {
		r.first |= 8
	}
	if !st.cfg.NoAvailability && !s.fits(a, false) {
		r.first |= 4
	}
	if !a.gpus() && (len(s.soon.dev) > 0 || s.parted) {
		r.first |= 2
	}
	if slices.ContainsFunc(s.node.Taints, func(t core.Taint) bool { return t.Effect == core.PreferNoSchedule }) {
		r.first |= 1
	}
	strategy, free, total := s.pool.GPU, s.soon.sum, s.cap
	for i := range s.soon.mig {
		free += int64(s.soon.mig[i]) * s.slices[i]
		total += int64(s.node.MIG[s.migs[i]]) * s.slices[i]
	}
	if !a.gpus() {
		strategy, free, total = s.pool.CPU, s.soon.cpu, s.node.CPU
	}
	switch {
	case strategy == Spread:
		r.second = -free * 1_000_000 / max(total, 1)
	case strategy == Fill && st.fill != nil:
		r.second = st.fill.delta(s, a)
	default:
		r.second = free
	}
	return r
}

func (r *ranking) push(x rank) {
	r.items = append(r.items, x)
	for i := len(r.items) - 1; i > 0; {
		up := (i - 1) / 2
		if !r.items[i].less(&r.items[up]) {
			return
		}
		r.items[i], r.items[up] = r.items[up], r.items[i]
		i = up
	}
}

func (r *ranking) pop() {
	last := len(r.items) - 1
	r.items[0] = r.items[last]
	r.items = r.items[:last]
	r.down(0)
}

func (r *ranking) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(r.items) {
			return
		}
		if c+1 < len(r.items) && r.items[c+1].less(&r.items[c]) {
			c++
		}
		if !r.items[c].less(&r.items[i]) {
			return
		}
		r.items[i], r.items[c] = r.items[c], r.items[i]
		i = c
	}
}
