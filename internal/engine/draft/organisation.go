package draft

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/core/policy"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/store"
)

// OrganisationDraft is what a draft changes of departments, projects, pools and what
// is said of nodes; nil stands for what is dropped.
type OrganisationDraft struct {
	Projects     map[core.ProjectID]*core.Project
	Pools        map[string]*core.Pool
	Licenses     map[string]*core.License
	Nodes        map[core.NodeID]*core.NodeSetting
	Reservations map[string]*core.Reservation
	Policies     map[policy.ID]*core.Template
	UserBounds   map[string]*core.UserBound
	Prices       *core.Template // nil: they stay
}

// Clone is a copy that can be changed.
func (o OrganisationDraft) Clone() OrganisationDraft {
	return OrganisationDraft{maps.Clone(o.Projects), maps.Clone(o.Pools), maps.Clone(o.Licenses), maps.Clone(o.Nodes), maps.Clone(o.Reservations), maps.Clone(o.Policies), maps.Clone(o.UserBounds), o.Prices}
}

// Put sets a key of a map, which may be nil.
func Put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// Over are records with what a draft changes laid over them; a change of nil drops
// one, and of makes a record of a change.
func Over[K comparable, V, C any](was map[K]V, changes map[K]*C, of func(*C) V) map[K]V {
	if len(changes) == 0 {
		return was
	}
	all := maps.Clone(was)
	for k, c := range changes {
		if c == nil {
			delete(all, k)
		} else {
			Put(&all, k, of(c))
		}
	}
	return all
}

// write adds what o changes to a batch.
func (o OrganisationDraft) write(b *store.Batch) {
	for _, id := range slices.Sorted(maps.Keys(o.Projects)) {
		if p := o.Projects[id]; p != nil {
			b.Projects = append(b.Projects, *p)
		} else {
			b.DropProjects = append(b.DropProjects, id)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Pools)) {
		if p := o.Pools[name]; p != nil {
			b.Pools = append(b.Pools, *p)
		} else {
			b.DropPools = append(b.DropPools, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Licenses)) {
		if l := o.Licenses[name]; l != nil {
			b.Licenses = append(b.Licenses, *l)
		} else {
			b.DropLicenses = append(b.DropLicenses, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Reservations)) {
		if r := o.Reservations[name]; r != nil {
			b.Reservations = append(b.Reservations, *r)
		} else {
			b.DropReservations = append(b.DropReservations, name)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(o.Nodes)) {
		b.Nodes = append(b.Nodes, *o.Nodes[id])
	}
}

// organised makes what o changes the truth.
func (e *State) organised(o OrganisationDraft) {
	for id, p := range o.Projects {
		if p == nil {
			delete(e.Projects, id)
			continue
		}
		e.Projects[id] = *p
	}
	for name, p := range o.Pools {
		if p == nil {
			delete(e.Pools, name)
			continue
		}
		e.Pools[name] = *p
	}
	for name, l := range o.Licenses {
		if l == nil {
			delete(e.licenses, name)
			continue
		}
		e.licenses[name] = *l
	}
	for name, r := range o.Reservations {
		if r == nil {
			delete(e.Reserved, name)
			continue
		}
		e.Reserved[name] = *r
	}
	if len(o.Projects)+len(o.Policies) > 0 {
		e.Governing = nil // it follows from both
	}
	for id, t := range o.Policies {
		if t == nil {
			delete(e.Policies, id)
			continue
		}
		e.Policies[id] = ReadPolicy(*t)
	}
	for name, b := range o.UserBounds {
		if b == nil {
			delete(e.bounds, name)
			continue
		}
		Put(&e.bounds, name, *b)
	}
	if o.Prices != nil {
		e.priced = o.Prices
	}
	for id, n := range o.Nodes {
		if n.Plain() {
			delete(e.Settings, id)
			continue
		}
		e.Settings[id] = *n
	}
}

// Project returns a project or department as the draft has it.
func (tx *Tx) Project(id core.ProjectID) (core.Project, bool) {
	if p, ok := tx.Org.Projects[id]; ok {
		if p == nil {
			return core.Project{}, false
		}
		return *p, true
	}
	p, ok := tx.State.Projects[id]
	return p, ok
}

// Tree is the tree of projects as the draft has it.
func (tx *Tx) Tree() org.Tree { return tx.Project }

// EachProject yields every project and department as the draft has it, in no
// order.
func (tx *Tx) EachProject() iter.Seq[core.Project] {
	return func(yield func(core.Project) bool) {
		for id, p := range tx.State.Projects {
			if _, changed := tx.Org.Projects[id]; !changed && !yield(p) {
				return
			}
		}
		for _, p := range tx.Org.Projects {
			if p != nil && !yield(*p) {
				return
			}
		}
	}
}

// Pools are those that were made, as the draft has them.
func (tx *Tx) Pools() map[string]core.Pool {
	return Over(tx.State.Pools, tx.Org.Pools, func(x *core.Pool) core.Pool { return *x })
}

// PoolNames are the names that a quota may be about: pools that were made, and
// those that backends name.
func (tx *Tx) PoolNames() []string {
	names := map[string]bool{}
	for name := range tx.Pools() {
		names[name] = true
	}
	for _, n := range tx.State.Nodes {
		names[n.Pool] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// Setting is what was said of a node, as the draft has it.
func (tx *Tx) Setting(id core.NodeID) core.NodeSetting {
	s := tx.State.Settings[id]
	if changed := tx.Org.Nodes[id]; changed != nil {
		s = *changed
	}
	s.ID = id
	return s
}

// Survey derives every node from what its backend reports and what the draft has
// been told of it.
func (tx *Tx) Survey() {
	tx.SurveyOf(slices.Collect(maps.Keys(tx.State.Reported)))
	tx.State.Dirty, tx.State.Stale = true, true
}

// SurveyOf does so with some nodes, and forgets those that no backend has.
func (tx *Tx) SurveyOf(ids []core.NodeID) {
	pools := tx.Pools()
	for _, id := range ids {
		reported, ok := tx.State.Reported[id]
		if !ok {
			delete(tx.State.Nodes, id)
			delete(tx.State.Usage, id)
			delete(tx.State.Departed, id)
			tx.State.Renewed[id] = struct{}{}
			tx.State.Dirty = true
			continue
		}
		n := org.Set(reported, tx.Setting(id))
		n.Pool = org.PoolOf(n, pools)
		_, n.CutOff = tx.State.Cut[n.Backend]
		tx.State.Nodes[id] = n
		tx.State.Renewed[id] = struct{}{}
		if _, partly := n.Labels[core.LabelRuns]; partly && !tx.State.choosy {
			tx.State.choosy, tx.State.Regroup = true, true
		}
		for _, w := range n.UnwelcomeAt() {
			if _, live := tx.State.Live[w]; live && !tx.State.shunned[w] {
				maps.DeleteFunc(tx.State.shunned, func(w core.WorkloadID, _ bool) bool { _, live := tx.State.Live[w]; return !live })
				tx.State.shunned[w], tx.State.Regroup = true, true
			}
		}
		tx.State.Dirty = true
	}
}

// Workloads yields the live ones and those that the draft has made, in order:
// the same commands make the same history.
func (tx *Tx) Workloads() iter.Seq[core.WorkloadID] {
	ids := make([]core.WorkloadID, 0, len(tx.State.Live))
	for id := range tx.State.Live {
		ids = append(ids, id)
	}
	for id := range tx.Drafts {
		if _, ok := tx.State.Live[id]; !ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Values(ids)
}

// Licenses are those that were made, as the draft has them.
func (tx *Tx) Licenses() map[string]core.License {
	return Over(tx.State.licenses, tx.Org.Licenses, func(x *core.License) core.License { return *x })
}

// LicensesFor are the licenses as the scheduler counts them.
func (tx *Tx) LicensesFor() []schedule.License {
	var out []schedule.License
	for name, l := range tx.Licenses() {
		out = append(out, schedule.License{Name: name, Total: l.Total})
	}
	return out
}

// LicensesExist refuses a document that asks for a license which nobody knows,
// or for more than there are.
func (tx *Tx) LicensesExist(doc *spec.Document) error {
	all := tx.Licenses()
	for _, name := range slices.Sorted(maps.Keys(doc.Licenses)) {
		l, ok := all[name]
		switch n := int64(doc.Licenses[name]); {
		case !ok && len(all) == 0:
			return &Error{Code: CodeInvalid, Field: "licenses." + name, Message: fmt.Sprintf("license %q does not exist: none is counted here", name), Hint: "muster license set " + name + " NUMBER begins to count it"}
		case !ok:
			return &Error{Code: CodeInvalid, Field: "licenses." + name, Message: fmt.Sprintf("license %q does not exist", name), Hint: "there are " + strings.Join(slices.Sorted(maps.Keys(all)), ", ")}
		case n > l.Total:
			return &Error{Code: CodeUnschedulable, Field: "licenses." + name, Message: fmt.Sprintf("it asks for %d of license %s, and there are %d in all", n, name, l.Total), Hint: "ask for fewer"}
		}
	}
	return nil
}
