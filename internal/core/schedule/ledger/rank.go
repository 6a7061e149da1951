package ledger

import (
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
)

// maxRanks bounds how many rankings a pool keeps, and maxRanked how many sites
// they have together.
const (
	maxRanks  = 1024
	maxRanked = 1 << 22
)

// Best returns the site that serves a best now or soon, or nil.
func (n *Nodes) Best(sub *Subset, a *Ask) *Site {
	if a.Need.Never {
		return nil
	}
	if a.Rule != nil && (a.Rule.Near != "" || a.Rule.Away != "") {
		return n.Scan(sub, a)
	}
	r := sub.Ranks[a]
	switch end := sub.base + len(sub.news); {
	case r == nil || r.at < sub.base || len(r.items) > 4*len(sub.Sites)+64:
		r = n.rankAll(sub, a)
	default:
		for _, s := range sub.news[r.at-sub.base:] {
			if s.Fits(a, true) && n.Allowed(s, a) {
				r.push(sub.rank(n, s, a))
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

func (n *Nodes) rankAll(sub *Subset, a *Ask) *Ranking {
	if len(sub.Ranks) >= maxRanks || len(sub.Ranks)*len(sub.Sites) > maxRanked {
		clear(sub.Ranks)
	}
	r := &Ranking{at: sub.base + len(sub.news)}
	for _, s := range sub.Sites {
		if s.Fits(a, true) && n.Allowed(s, a) {
			r.items = append(r.items, sub.rank(n, s, a))
		}
	}
	for i := len(r.items)/2 - 1; i >= 0; i-- {
		r.down(i)
	}
	sub.Ranks[a] = r
	return r
}

// Scan is best for those whose place depends on who else is where.
func (n *Nodes) Scan(sub *Subset, a *Ask) *Site {
	var best rank
	for _, s := range sub.Sites {
		if !s.Fits(a, true) || !n.Allowed(s, a) || !s.Company(a.Rule) {
			continue
		}
		if r := sub.rank(n, s, a); best.site == nil || r.less(&best) {
			best = r
		}
	}
	return best.site
}

func (sub *Subset) rank(n *Nodes, s *Site, a *Ask) rank {
	r := n.rank(s, a)
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
func (n *Nodes) rank(s *Site, a *Ask) rank {
	r := rank{site: s, turn: s.turn}
	if n.Joins(s, a) && !s.Shared(a) {
		r.first |= 8
	}
	if !n.Cfg.NoAvailability && !s.Fits(a, false) {
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
	case strategy == schedule.Fill && n.Fill != nil:
		r.second = n.Fill.delta(s, a)
	default:
		r.second = free
	}
	return r
}

// Joins reports whether a, a share of devices, goes to devices that others have
// shares of already rather than open others. Where Fill knows the work, that is
// for it to judge; so it is for a pool that spreads.
func (n *Nodes) Joins(s *Site, a *Ask) bool {
	return a.Need.Milli < 1000 && a.Need.Devices > 0 && !n.Cfg.NoSharing && s.Pool.Devices != schedule.Spread && !(s.Pool.GPU == schedule.Fill && n.Fill != nil)
}
