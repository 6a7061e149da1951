package state

import (
	"cmp"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
)

// Subset is sites among which a place is sought, with their rankings.
type Subset struct {
	Pool  *Pool
	Sites []*Site
	Ranks map[*Ask]*Ranking
	news  []*Site         // sites that changed, in order
	base  int             // how many were dropped from the front of news
	Order map[*Site]int64 // sites to be used first; nil: all alike
	Late  bool            // sites that are free now come last
}

// Ranking is a heap of the sites that serve one ask, the best on top. A site
// that has changed gets a new entry beside its old one, which is dropped when it
// comes up.
type Ranking struct {
	items []rank
	at    int // how much of the subset's news it has seen
}

// rank is how well a site serves, as it was at that turn; lower is better.
type rank struct {
	first, second int64
	site          *Site
	turn          uint32
}

func (a *rank) less(b *rank) bool {
	if c := cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.second, b.second)); c != 0 {
		return c < 0
	}
	return a.site.At < b.site.At
}

// forget makes the subset rank anew.
func (sub *Subset) forget() {
	clear(sub.Ranks)
	sub.base, sub.news = 0, sub.news[:0]
}

// maxRanks bounds how many rankings a pool keeps, and maxRanked how many sites
// they have together.
const (
	maxRanks  = 1024
	maxRanked = 1 << 22
)

func (sub *Subset) changed(s *Site) {
	if len(sub.Ranks) == 0 {
		return
	}
	sub.news = append(sub.news, s)
	if len(sub.news) > 4*len(sub.Sites)+1024 {
		n := len(sub.news) / 2
		sub.base += n
		sub.news = append(sub.news[:0], sub.news[n:]...)
	}
}

// Best returns the site that serves a best now or soon, or nil.
func (st *State) Best(sub *Subset, a *Ask) *Site {
	if a.Need.Never {
		return nil
	}
	if a.Rule != nil && (a.Rule.Near != "" || a.Rule.Away != "") {
		return st.Scan(sub, a)
	}
	r := sub.Ranks[a]
	switch end := sub.base + len(sub.news); {
	case r == nil || r.at < sub.base || len(r.items) > 4*len(sub.Sites)+64:
		r = st.rankAll(sub, a)
	default:
		for _, s := range sub.news[r.at-sub.base:] {
			if s.Fits(a, true) && st.Allowed(s, a) {
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

func (st *State) rankAll(sub *Subset, a *Ask) *Ranking {
	if len(sub.Ranks) >= maxRanks || len(sub.Ranks)*len(sub.Sites) > maxRanked {
		clear(sub.Ranks)
	}
	r := &Ranking{at: sub.base + len(sub.news)}
	for _, s := range sub.Sites {
		if s.Fits(a, true) && st.Allowed(s, a) {
			r.items = append(r.items, sub.rank(st, s, a))
		}
	}
	for i := len(r.items)/2 - 1; i >= 0; i-- {
		r.down(i)
	}
	sub.Ranks[a] = r
	return r
}

// Scan is best for those whose place depends on who else is where.
func (st *State) Scan(sub *Subset, a *Ask) *Site {
	var best rank
	for _, s := range sub.Sites {
		if !s.Fits(a, true) || !st.Allowed(s, a) || !st.Company(s, a.Rule) {
			continue
		}
		if r := sub.rank(st, s, a); best.site == nil || r.less(&best) {
			best = r
		}
	}
	return best.site
}

// Company reports whether those are in s's domain whom the rule wants near, and
// none of those whom it wants away. The first of those who want to be near each
// other goes anywhere.
func (st *State) Company(s *Site, r *schedule.Rule) bool {
	if r == nil {
		return true
	}
	if r.Away != "" && st.tagged(s, r.Away, r.Tags) > 0 {
		return false
	}
	if r.Near == "" || st.tagged(s, r.Near, r.Tags) > 0 {
		return true
	}
	for _, other := range s.Pool.Sites {
		if other.Tags[r.Tags] > 0 {
			return false
		}
	}
	return true
}

func (st *State) tagged(s *Site, key, tags string) int {
	n, value := 0, Label(s, key)
	for _, other := range s.Pool.Sites {
		if Label(other, key) == value {
			n += other.Tags[tags]
		}
	}
	return n
}

// Label is a node's label; every node is its own hostname.
func Label(s *Site, key string) string {
	if v, ok := s.Node.Labels[key]; ok {
		return v
	}
	if key == "kubernetes.io/hostname" {
		return string(s.Node.ID)
	}
	return ""
}

// Allowed reports whether a may go to s at all, whatever is free.
func (st *State) Allowed(s *Site, a *Ask) bool {
	known := a.ok[s.Pool]
	if len(known) != len(s.Pool.Sites) {
		known = make([]int8, len(s.Pool.Sites))
		a.ok[s.Pool] = known
	}
	if known[s.At] == 0 {
		known[s.At] = -1
		if s.Admits(a.Pass) && (st.Cfg.NoFilters || kindAllows(s, a) && Tolerated(s.Node.Taints, a.Rule) && matches(s, a.Rule)) {
			known[s.At] = 1
		}
	}
	return known[s.At] > 0
}

// kindAllows keeps whole devices off nodes that are cut into partitions, and
// shares off all nodes with a strategy for them, or that give none.
func kindAllows(s *Site, a *Ask) bool {
	if OnlyWhole(s, a) {
		return false
	}
	if s.Node.MIGStrategy == "" || a.Need.Devices == 0 {
		return true
	}
	return s.Node.MIGStrategy != "mixed" && a.Need.Share == 0 && a.Need.Milli >= 1000
}

// OnlyWhole reports whether a asks for a part of a device, and s gives none.
func OnlyWhole(s *Site, a *Ask) bool {
	return s.Node.Whole && a.Need.Devices > 0 && (a.Need.Share > 0 || a.Need.Milli < 1000)
}

func Tolerated(taints []core.Taint, r *schedule.Rule) bool {
	for _, t := range taints {
		if t.Effect == core.PreferNoSchedule {
			continue
		}
		if r == nil || !slices.ContainsFunc(r.Tolerates, func(x schedule.Toleration) bool {
			return (x.Key == "" || x.Key == t.Key) && (x.Value == "" || x.Value == t.Value) && (x.Effect == "" || x.Effect == string(t.Effect))
		}) {
			return false
		}
	}
	return true
}

func matches(s *Site, r *schedule.Rule) bool {
	if r == nil {
		return true
	}
	all := func(terms []schedule.Term) bool {
		return !slices.ContainsFunc(terms, func(t schedule.Term) bool { return !Holds(&t, s) })
	}
	return all(r.Terms) && (len(r.Any) == 0 || slices.ContainsFunc(r.Any, all))
}

func Holds(t *schedule.Term, s *Site) bool {
	v, has := s.Node.Labels[t.Key]
	if !has && t.Key == "kubernetes.io/hostname" {
		v, has = string(s.Node.ID), true
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

func (sub *Subset) rank(st *State, s *Site, a *Ask) rank {
	r := st.rank(s, a)
	if sub.Late {
		r.first ^= 4
	}
	if sub.Order != nil {
		r.first |= sub.Order[s] << 8
	}
	return r
}

// rank says how well s serves a: shares go to devices that are shared already,
// what is free now comes before what will be, work without GPUs stays off GPU
// nodes; then the pool's strategy, then the name.
func (st *State) rank(s *Site, a *Ask) rank {
	r := rank{site: s, turn: s.turn}
	if st.joins(s, a) && !s.shared(a) {
		r.first |= 8
	}
	if !st.Cfg.NoAvailability && !s.Fits(a, false) {
		r.first |= 4
	}
	if !a.Gpus() && (len(s.Soon.Dev) > 0 || s.parted) {
		r.first |= 2
	}
	if slices.ContainsFunc(s.Node.Taints, func(t core.Taint) bool { return t.Effect == core.PreferNoSchedule }) {
		r.first |= 1
	}
	strategy, free, total := s.Pool.GPU, s.Soon.Sum, s.cap
	for i := range s.Soon.Mig {
		free += int64(s.Soon.Mig[i]) * s.slices[i]
		total += int64(s.Node.MIG[s.Migs[i]]) * s.slices[i]
	}
	if !a.Gpus() {
		strategy, free, total = s.Pool.CPU, s.Soon.Cpu, s.Node.CPU
	}
	switch {
	case strategy == schedule.Spread:
		r.second = -free * 1_000_000 / max(total, 1)
	case strategy == schedule.Fill && st.Fill != nil:
		r.second = st.Fill.delta(s, a)
	default:
		r.second = free
	}
	return r
}

func (r *Ranking) push(x rank) {
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

func (r *Ranking) pop() {
	last := len(r.items) - 1
	r.items[0] = r.items[last]
	r.items = r.items[:last]
	r.down(0)
}

func (r *Ranking) down(i int) {
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
