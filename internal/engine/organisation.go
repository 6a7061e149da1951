package engine

import (
	"iter"
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/store"
)

// organisation is what a draft changes of departments, projects, pools and what
// is said of nodes; nil stands for what is dropped.
type organisation struct {
	projects     map[core.ProjectID]*core.Project
	pools        map[string]*core.Pool
	licenses     map[string]*core.License
	nodes        map[core.NodeID]*core.NodeSetting
	reservations map[string]*core.Reservation
}

func (o organisation) clone() organisation {
	return organisation{maps.Clone(o.projects), maps.Clone(o.pools), maps.Clone(o.licenses), maps.Clone(o.nodes), maps.Clone(o.reservations)}
}

func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// write adds what o changes to a batch.
func (o organisation) write(b *store.Batch) {
	for _, id := range SortedKeys(o.projects) {
		if p := o.projects[id]; p != nil {
			b.Projects = append(b.Projects, *p)
		} else {
			b.DropProjects = append(b.DropProjects, id)
		}
	}
	for _, name := range SortedKeys(o.pools) {
		if p := o.pools[name]; p != nil {
			b.Pools = append(b.Pools, *p)
		} else {
			b.DropPools = append(b.DropPools, name)
		}
	}
	for _, name := range SortedKeys(o.licenses) {
		if l := o.licenses[name]; l != nil {
			b.Licenses = append(b.Licenses, *l)
		} else {
			b.DropLicenses = append(b.DropLicenses, name)
		}
	}
	for _, name := range SortedKeys(o.reservations) {
		if r := o.reservations[name]; r != nil {
			b.Reservations = append(b.Reservations, *r)
		} else {
			b.DropReservations = append(b.DropReservations, name)
		}
	}
	for _, id := range SortedKeys(o.nodes) {
		b.Nodes = append(b.Nodes, *o.nodes[id])
	}
}

// organised makes what o changes the truth.
func (e *Engine) organised(o organisation) {
	for id, p := range o.projects {
		if p == nil {
			delete(e.projects, id)
			continue
		}
		e.projects[id] = *p
	}
	for name, p := range o.pools {
		if p == nil {
			delete(e.pools, name)
			continue
		}
		e.pools[name] = *p
	}
	for name, l := range o.licenses {
		if l == nil {
			delete(e.licenses, name)
			continue
		}
		e.licenses[name] = *l
	}
	for name, r := range o.reservations {
		if r == nil {
			delete(e.reserved, name)
			continue
		}
		e.reserved[name] = *r
	}
	for id, n := range o.nodes {
		if n.Plain() {
			delete(e.settings, id)
			continue
		}
		e.settings[id] = *n
	}
}

// project returns a project or department as the draft has it.
func (tx *tx) project(id core.ProjectID) (core.Project, bool) {
	if p, ok := tx.org.projects[id]; ok {
		if p == nil {
			return core.Project{}, false
		}
		return *p, true
	}
	p, ok := tx.e.projects[id]
	return p, ok
}

// tree is the tree of projects as the draft has it.
func (tx *tx) tree() org.Tree { return tx.project }

// eachProject yields every project and department as the draft has it, in no
// order.
func (tx *tx) eachProject() iter.Seq[core.Project] {
	return func(yield func(core.Project) bool) {
		for id, p := range tx.e.projects {
			if _, changed := tx.org.projects[id]; !changed && !yield(p) {
				return
			}
		}
		for _, p := range tx.org.projects {
			if p != nil && !yield(*p) {
				return
			}
		}
	}
}

// pools are those that were made, as the draft has them.
func (tx *tx) pools() map[string]core.Pool {
	if len(tx.org.pools) == 0 {
		return tx.e.pools
	}
	all := maps.Clone(tx.e.pools)
	for name, p := range tx.org.pools {
		if p == nil {
			delete(all, name)
			continue
		}
		all[name] = *p
	}
	return all
}

// poolNames are the names that a quota may be about: pools that were made, and
// those that backends name.
func (tx *tx) poolNames() []string {
	names := map[string]bool{}
	for name := range tx.pools() {
		names[name] = true
	}
	for _, n := range tx.e.nodes {
		names[n.Pool] = true
	}
	return SortedKeys(names)
}

func (tx *tx) setting(id core.NodeID) core.NodeSetting {
	s := tx.e.settings[id]
	if changed := tx.org.nodes[id]; changed != nil {
		s = *changed
	}
	s.ID = id
	return s
}

// survey derives every node from what its backend reports and what the draft has
// been told of it.
func (tx *tx) survey() {
	tx.surveyOf(slices.Collect(maps.Keys(tx.e.reported)))
	tx.e.dirty, tx.e.stale = true, true
}

// surveyOf does so with some nodes, and forgets those that no backend has.
func (tx *tx) surveyOf(ids []core.NodeID) {
	pools := tx.pools()
	for _, id := range ids {
		reported, ok := tx.e.reported[id]
		if !ok {
			delete(tx.e.nodes, id)
			delete(tx.e.usage, id)
			delete(tx.e.departed, id)
			tx.e.renewed[id] = struct{}{}
			tx.e.dirty = true
			continue
		}
		n := org.Set(reported, tx.setting(id))
		n.Pool = org.PoolOf(n, pools)
		_, n.CutOff = tx.e.cut[n.Backend]
		tx.e.nodes[id] = n
		tx.e.renewed[id] = struct{}{}
		if _, partly := n.Labels[core.LabelRuns]; partly && !tx.e.choosy {
			tx.e.choosy, tx.e.regroup = true, true
		}
		for _, w := range n.UnwelcomeAt() {
			if _, live := tx.e.live[w]; live && !tx.e.shunned[w] {
				maps.DeleteFunc(tx.e.shunned, func(w core.WorkloadID, _ bool) bool { _, live := tx.e.live[w]; return !live })
				tx.e.shunned[w], tx.e.regroup = true, true
			}
		}
		tx.e.dirty = true
	}
}

// workloads yields the live ones and those that the draft has made, in order:
// the same commands make the same history.
func (tx *tx) workloads() iter.Seq[core.WorkloadID] {
	ids := make([]core.WorkloadID, 0, len(tx.e.live))
	for id := range tx.e.live {
		ids = append(ids, id)
	}
	for id := range tx.drafts {
		if _, ok := tx.e.live[id]; !ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Values(ids)
}
