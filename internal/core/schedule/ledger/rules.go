package ledger

import (
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
)

// Company reports whether those are in s's domain whom the rule wants near, and
// none of those whom it wants away. The first of those who want to be near each
// other goes anywhere.
func (s *Site) Company(r *schedule.Rule) bool {
	if r == nil {
		return true
	}
	if r.Away != "" && s.tagged(r.Away, r.Tags) > 0 {
		return false
	}
	if r.Near == "" || s.tagged(r.Near, r.Tags) > 0 {
		return true
	}
	for _, other := range s.Pool.Sites {
		if other.Tags[r.Tags] > 0 {
			return false
		}
	}
	return true
}

func (s *Site) tagged(key, tags string) int {
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
func (n *Nodes) Allowed(s *Site, a *Ask) bool {
	known := a.Ok[s.Pool]
	if len(known) != len(s.Pool.Sites) {
		known = make([]int8, len(s.Pool.Sites))
		a.Ok[s.Pool] = known
	}
	if known[s.At] == 0 {
		known[s.At] = -1
		if s.Admits(a.Pass) && (n.Cfg.NoFilters || kindAllows(s, a) && Tolerated(s.Node.Taints, a.Rule) && matches(s, a.Rule)) {
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
	return s.Node.MIGStrategy != "mixed" && a.Need.GPUMemory == 0 && a.Need.Milli >= 1000
}

// OnlyWhole reports whether a asks for a part of a device, and s gives none.
func OnlyWhole(s *Site, a *Ask) bool {
	return s.Node.Whole && a.Need.Devices > 0 && (a.Need.GPUMemory > 0 || a.Need.Milli < 1000)
}

// Tolerated reports whether a rule tolerates all taints that keep tasks off.
func Tolerated(taints []core.Taint, r *schedule.Rule) bool {
	for _, t := range taints {
		if t.Effect == core.PreferNoSchedule {
			continue
		}
		if r == nil || !slices.ContainsFunc(r.Tolerates, func(x schedule.Toleration) bool {
			return spec.Toleration(x).Tolerates(t.Key, t.Value, string(t.Effect))
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

// Holds reports whether a term is true of a site.
func Holds(t *schedule.Term, s *Site) bool {
	v, has := s.Node.Labels[t.Key]
	if !has && t.Key == "kubernetes.io/hostname" {
		v, has = string(s.Node.ID), true
	}
	return spec.NodeTerm(*t).Allows(v, has)
}

// Admits reports whether one with the pass may go to s.
func (s *Site) Admits(p Pass) bool {
	if p.Only < 0 || p.Only > 0 && !slices.Contains(s.Windows, p.Only-1) {
		return false
	}
	return !slices.ContainsFunc(s.Windows, p.Bars)
}
