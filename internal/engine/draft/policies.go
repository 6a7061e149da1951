package draft

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/policy"
	"github.com/musterhq/muster/internal/store"
)

// Policy is a record of a policy with what it says.
type Policy struct {
	core.Template
	Policy *policy.Policy
	Unread error // why what it says could not be read; then Policy is nil
}

// governed is of which workloads it is that policies decide.
type governed struct {
	project core.ProjectID
	kind    lifecycle.Kind
}

// PolicyID names the policy that a record keeps.
func PolicyID(t *core.Template) policy.ID { return policy.ID{Scope: t.Project, For: t.Name} }

// governedBy reads what a record says.
func governedBy(t core.Template) Policy {
	p, err := policy.Parse([]byte(t.Last().Document))
	if err != nil {
		return Policy{Template: t, Unread: err}
	}
	return Policy{Template: t, Policy: p}
}

// Policies are all of them as the draft has them, by scope and kind.
func (tx *Tx) Policies() map[policy.ID]Policy {
	if len(tx.Org.Policies) == 0 {
		return tx.State.Policies
	}
	all := maps.Clone(tx.State.Policies)
	for id, t := range tx.Org.Policies {
		if t == nil {
			delete(all, id)
			continue
		}
		all[id] = governedBy(*t)
	}
	return all
}

// SourceOf is a policy as sentences name it.
func (tx *Tx) SourceOf(id policy.ID) policy.Source {
	p, _ := tx.Project(id.Scope)
	return policy.Source{ID: id, Department: p.Department}
}

// Branch are the policies that a project, department or the system is below, nearest
// first. It fails where one of them cannot be read: what it forbids is not known.
func (tx *Tx) Branch(scope core.ProjectID) ([]policy.Sourced, error) {
	all := tx.Policies()
	if len(all) == 0 {
		return nil, nil
	}
	var line []core.ProjectID
	if scope != core.SystemScope {
		for p := range tx.Tree().Up(scope) {
			line = append(line, p.ID)
		}
	}
	var out []policy.Sourced
	for _, at := range append(line, core.SystemScope) {
		for _, of := range policy.For() {
			id := policy.ID{Scope: at, For: of}
			p, ok := all[id]
			if !ok {
				continue
			}
			source := tx.SourceOf(id)
			if p.Policy == nil {
				return nil, &Error{Code: CodeUnavailable, Message: fmt.Sprintf("%s cannot be read: %v", source, p.Unread), Hint: "who may change it has to write it anew, with muster policy apply"}
			}
			out = append(out, policy.Sourced{Source: source, Policy: p.Policy})
		}
	}
	return out, nil
}

// Governing is what policies come to for workloads of a kind in a project; nil: there
// are none.
func (tx *Tx) Governing(project core.ProjectID, kind lifecycle.Kind) (*policy.Effective, error) {
	if len(tx.State.Policies)+len(tx.Org.Policies) == 0 {
		return nil, nil
	}
	committed, key := len(tx.Org.Policies)+len(tx.Org.Projects) == 0, governed{project, kind}
	if e, ok := tx.State.governing[key]; ok && committed {
		return e, nil
	}
	branch, err := tx.Branch(project)
	if err != nil {
		return nil, err
	}
	e := policy.Merge(kind, branch)
	if e.None() {
		e = nil
	}
	if committed {
		Put(&tx.State.governing, key, e)
	}
	return e, nil
}

// writePolicies puts what changes of policies into the batch. Those of a project or
// department go with it.
func (tx *Tx) writePolicies(b *store.Batch) {
	for id := range tx.State.Policies {
		if slices.Contains(b.DropProjects, id.Scope) {
			Put(&tx.Org.Policies, id, nil)
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(tx.Org.Policies), ComparePolicies) {
		if t := tx.Org.Policies[id]; t != nil {
			b.Templates = append(b.Templates, *t)
		} else {
			b.DropTemplates = append(b.DropTemplates, core.TemplateID{Project: id.Scope, Kind: core.TemplatePolicy, Name: id.For})
		}
	}
}

// ComparePolicies orders policies by scope, and then as policy.For has them.
func ComparePolicies(a, b policy.ID) int {
	return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(slices.Index(policy.For(), a.For), slices.Index(policy.For(), b.For)))
}
