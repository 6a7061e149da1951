// Package org decides what follows from the tree of departments and projects:
// whether a change makes sense, what holds for a project because of what
// stands above it, and what has been promised twice. It is pure: it reads
// records and changes none.
package org

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Tree finds a project or department by its name; false: there is none.
type Tree func(core.ProjectID) (core.Project, bool)

// TreeOf is the tree of some projects.
func TreeOf(all []core.Project) Tree {
	byID := make(map[core.ProjectID]core.Project, len(all))
	for _, p := range all {
		byID[p.ID] = p
	}
	return func(id core.ProjectID) (core.Project, bool) { p, ok := byID[id]; return p, ok }
}

// pathMax bounds how far a path is followed; a cycle cannot be stored, and this
// keeps one that was from hanging the server.
const pathMax = 64

// Up yields a project and everything above it, itself first; nothing where
// there is no such project.
func (t Tree) Up(id core.ProjectID) iter.Seq[core.Project] {
	return func(yield func(core.Project) bool) {
		for range pathMax {
			p, ok := t(id)
			if !ok || !yield(p) || p.Parent == "" {
				return
			}
			id = p.Parent
		}
	}
}

// Path is what Up yields, as a list.
func (t Tree) Path(id core.ProjectID) []core.Project { return slices.Collect(t.Up(id)) }

// SecretOwners are whose secrets a workload of a user in a project may be given, the nearest
// first: the user's own, those of the project, of the departments above it, and of the
// system. Of two of one name the nearer holds.
func (t Tree) SecretOwners(user string, project core.ProjectID) []string {
	out := []string{user, core.SecretsOf(project)}
	for p := range t.Up(project) {
		if p.ID != project {
			out = append(out, core.SecretsOf(p.ID))
		}
	}
	return append(out, core.SecretsOf(core.SystemScope))
}

// Stopped is the strictest mode on the path of a project, and who set it.
func (t Tree) Stopped(id core.ProjectID) (core.StopMode, core.Project) {
	var by core.Project
	mode := core.StopNone
	for p := range t.Up(id) {
		if m := mode.Stricter(p.StopMode); m != mode {
			mode, by = m, p
		}
	}
	return mode, by
}

// Rules are what a project and everything above it demand: checks add up, the
// topmost first; of limits the tightest holds. The budget is the project's own,
// see Budgets.
func (t Tree) Rules(id core.ProjectID) core.Rules {
	own, ok := t(id)
	if !ok {
		return core.Rules{}
	}
	r := own.Rules
	for p := range t.Up(own.Parent) {
		r.Checks = slices.Concat(p.Checks, r.Checks)
		r.TimeLimit = tightest(r.TimeLimit, p.TimeLimit)
		r.IdleLimit = tightest(r.IdleLimit, p.IdleLimit)
	}
	return r
}

func tightest(a, b map[lifecycle.Kind]time.Duration) map[lifecycle.Kind]time.Duration {
	if len(b) == 0 {
		return a
	}
	out := maps.Clone(b)
	for k, d := range a {
		if other := out[k]; other <= 0 || d > 0 && d < other {
			out[k] = d
		}
	}
	return out
}

// Budgets are the projects and departments on a project's path that have a
// budget, its own first.
func (t Tree) Budgets(id core.ProjectID) []core.Project {
	var out []core.Project
	for p := range t.Up(id) {
		if p.Budget > 0 && p.Period > 0 {
			out = append(out, p)
		}
	}
	return out
}

// Pools is where workloads go that name no pool, in order: as the nearest says
// that says anything; nil: anywhere.
func (t Tree) Pools(id core.ProjectID) []string {
	for p := range t.Up(id) {
		if len(p.PoolOrder) > 0 {
			return p.PoolOrder
		}
	}
	return nil
}

// MinRuntime is for how long what a project has started is let alone, as the
// nearest says that says anything; of is one of the two fields.
func (t Tree) MinRuntime(id core.ProjectID, of func(*core.Project) *time.Duration) time.Duration {
	for p := range t.Up(id) {
		if d := of(&p); d != nil {
			return *d
		}
	}
	return 0
}

// NodeTypes are those that a kind of workload may use: the nearest list, less
// what a list above it does not have; nil: any.
func (t Tree) NodeTypes(id core.ProjectID, kind lifecycle.Kind) []string {
	var types []string
	for p := range t.Up(id) {
		list, ok := p.NodeTypes[kind]
		switch {
		case !ok:
		case types == nil:
			types = slices.Clone(list)
		default:
			types = slices.DeleteFunc(types, func(x string) bool { return !slices.Contains(list, x) })
		}
	}
	return types
}

// BoundsNow are what holds now for workloads of a kind in a project.
func (t Tree) BoundsNow(id core.ProjectID, kind lifecycle.Kind) core.Bounds {
	r := t.Rules(id)
	return core.Bounds{TimeLimit: r.TimeLimit[kind], IdleLimit: r.IdleLimit[kind], IdlePreemptible: r.IdleLimit[kind+core.WherePreemptible], IdleNonPreemptible: r.IdleLimit[kind+core.WhereNonPreemptible], NodeTypes: t.NodeTypes(id, kind)}
}

// BoundsOf are what holds for a workload: what did when its document became its own.
// Of one from before that was kept, what holds now.
func (t Tree) BoundsOf(w *core.Workload) core.Bounds {
	if w.Bounds != nil {
		return *w.Bounds
	}
	return t.BoundsNow(w.Project, w.Kind)
}

// Below reports whether a project is, or stands below, another.
func (t Tree) Below(id, above core.ProjectID) bool {
	for p := range t.Up(id) {
		if p.ID == above {
			return true
		}
	}
	return false
}

// PoolOf is the pool of a node: the first, by name, whose label it has, else
// the one that its backend names, else the default.
func PoolOf(n core.Node, pools map[string]core.Pool) string {
	best := ""
	for name, p := range pools {
		value, ok := n.Labels[p.Selector.Key]
		if p.Selector.Key != "" && ok && value == p.Selector.Value && (best == "" || name < best) {
			best = name
		}
	}
	switch {
	case best != "":
		return best
	case n.Pool != "":
		return n.Pool
	default:
		return core.DefaultPool
	}
}

// Set returns a node as its administrator wants it: s added to what its backend
// reports.
func Set(n core.Node, s core.NodeSetting) core.Node {
	n.Cordon = n.Cordon || s.Cordon || s.Drain
	n.Drain = n.Drain || s.Drain
	if len(s.Labels) > 0 {
		labels := maps.Clone(n.Labels)
		if labels == nil {
			labels = make(map[string]string, len(s.Labels))
		}
		maps.Copy(labels, s.Labels)
		n.Labels = labels
	}
	if len(s.Taints) > 0 {
		n.Taints = slices.Concat(n.Taints, s.Taints)
	}
	return n
}
