// Package governance reads off a draft what policies hold, and where.
package governance

import (
	"fmt"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/policy"
	"github.com/musterhq/muster/internal/engine/draft"
)

// Policies are all of them as the draft has them, by scope and kind.
func Policies(tx *draft.Tx) map[policy.ID]draft.Policy {
	return draft.Over(tx.State.Policies, tx.Org.Policies, func(t *core.Template) draft.Policy { return draft.ReadPolicy(*t) })
}

// SourceOf is a policy as sentences name it.
func SourceOf(tx *draft.Tx, id policy.ID) policy.Source {
	p, _ := tx.Project(id.Scope)
	return policy.Source{ID: id, Department: p.Department}
}

// Branch are the policies that a project, department or the system is below, nearest
// first. It fails where one of them cannot be read: what it forbids is not known.
func Branch(tx *draft.Tx, scope core.ProjectID) ([]policy.Sourced, error) {
	all := Policies(tx)
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
			source := SourceOf(tx, id)
			if p.Policy == nil {
				return nil, &draft.Error{Code: draft.CodeUnavailable, Message: fmt.Sprintf("%s cannot be read: %v", source, p.Unread), Hint: "who may change it has to write it anew, with muster policy apply"}
			}
			out = append(out, policy.Sourced{Source: source, Policy: p.Policy})
		}
	}
	return out, nil
}

// Effective is what policies come to for workloads of a kind in a project; nil: there
// are none.
func Effective(tx *draft.Tx, project core.ProjectID, kind lifecycle.Kind) (*policy.Effective, error) {
	if len(tx.State.Policies)+len(tx.Org.Policies) == 0 {
		return nil, nil
	}
	committed, key := len(tx.Org.Policies)+len(tx.Org.Projects) == 0, draft.Governed{Project: project, Kind: kind}
	if e, ok := tx.State.Governing[key]; ok && committed {
		return e, nil
	}
	branch, err := Branch(tx, project)
	if err != nil {
		return nil, err
	}
	e := policy.Merge(kind, branch)
	if e.None() {
		e = nil
	}
	if committed {
		draft.Put(&tx.State.Governing, key, e)
	}
	return e, nil
}
