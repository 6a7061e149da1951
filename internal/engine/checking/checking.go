// Package checking reads off a draft what checks of scopes there are, whom they ask, and
// who decides for whom.
package checking

import (
	"cmp"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/admission"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/engine/draft"
)

// One is one check as the draft has it.
func One(tx *draft.Tx, id core.TemplateID) (draft.ScopeCheck, bool) {
	for i := range tx.Templated.Put {
		if t := &tx.Templated.Put[i]; t.ID() == id {
			return draft.ReadCheck(*t), true
		}
	}
	if slices.Contains(tx.Templated.Gone, id) {
		return draft.ScopeCheck{}, false
	}
	c, ok := tx.State.Checks[id]
	return c, ok
}

// All are all checks as the draft has them, by scope and name.
func All(tx *draft.Tx) []draft.ScopeCheck {
	var ids []core.TemplateID
	for id := range tx.State.Checks {
		ids = append(ids, id)
	}
	for i := range tx.Templated.Put {
		if id := tx.Templated.Put[i].ID(); id.Kind == core.TemplateCheck && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, draft.CompareTemplates)
	var out []draft.ScopeCheck
	for _, id := range ids {
		if c, ok := One(tx, id); ok {
			out = append(out, c)
		}
	}
	return out
}

// Above are the checks that a project or department stands below, its own first.
func Above(tx *draft.Tx, scope core.ProjectID) []draft.ScopeCheck {
	all := All(tx)
	if len(all) == 0 {
		return nil
	}
	line := line(tx, scope)
	all = slices.DeleteFunc(all, func(c draft.ScopeCheck) bool { return !slices.Contains(line, c.Project) })
	slices.SortStableFunc(all, func(a, b draft.ScopeCheck) int {
		return cmp.Compare(slices.Index(line, a.Project), slices.Index(line, b.Project))
	})
	return all
}

// line is a scope with all that it stands below, nearest first.
func line(tx *draft.Tx, scope core.ProjectID) (line []core.ProjectID) {
	if scope != core.SystemScope {
		for p := range tx.Tree().Up(scope) {
			line = append(line, p.ID)
		}
	}
	return append(line, core.SystemScope)
}

// Reviewed tells of images whether somebody has looked at them for a check.
func Reviewed(tx *draft.Tx, scope core.ProjectID, check string) func(key string) bool {
	return func(key string) bool {
		_, ok := tx.Template(draft.ReviewedID(scope, check, key))
		return ok
	}
}

// Keep puts a record into the draft.
func Keep(tx *draft.Tx, t core.Template) {
	tx.Templated.Drop(t.ID())
	tx.Templated.Put = append(tx.Templated.Put, t)
}

// Drop takes a record out of the draft.
func Drop(tx *draft.Tx, id core.TemplateID) {
	tx.Templated.Drop(id)
	tx.Templated.Gone = append(tx.Templated.Gone, id)
}

// Delegations are all as the draft has them, by name, those that are over too.
func Delegations(tx *draft.Tx) map[core.TemplateID]admission.Delegation {
	all := map[core.TemplateID]admission.Delegation{}
	for id, d := range tx.State.Delegations {
		if !slices.Contains(tx.Templated.Gone, id) {
			all[id] = d
		}
	}
	for i := range tx.Templated.Put {
		if t := &tx.Templated.Put[i]; t.Kind == core.TemplateDelegation {
			if d, ok := draft.ReadDelegation(t); ok {
				all[t.ID()] = d
			}
		}
	}
	return all
}

// DelegatedTo are the delegations to somebody that hold in a project now, in the order
// of who delegates.
func DelegatedTo(tx *draft.Tx, name string, project core.ProjectID) (out []admission.Delegation) {
	if len(tx.State.Delegations) == 0 && len(tx.Templated.Put) == 0 {
		return nil
	}
	line := line(tx, project)
	for _, d := range Delegations(tx) {
		if d.To != name || d.From == name || !slices.Contains(line, d.Scope) || !tx.Now.Before(d.Until) {
			continue
		}
		if u, _ := tx.Rights().User(d.From); !u.Disabled { // whoever is let in no more decides nothing by others
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b admission.Delegation) int {
		return cmp.Or(cmp.Compare(a.From, b.From), a.Until.Compare(b.Until))
	})
	return out
}

// People is what is known of who may decide a workload. Owner says that who decides is
// whoever the server belongs to: rules do not bind them. Where access control is off
// everybody may approve, and roles are those that rules give all the same.
func People(tx *draft.Tx, w *core.Workload, asks string, owner bool) *admission.People {
	rights := tx.Rights()
	known := func(name string) (rbac.Caller, bool) {
		c, ok := rights.Known(name)
		if _, there := rights.User(name); !there {
			c, ok = rbac.Caller{Name: name, Kind: core.SubjectUser}, true
		}
		c.Owner = owner && name == asks
		return c, ok || c.Owner
	}
	return &admission.People{
		Has: func(name, role string) bool {
			c, ok := known(name)
			return ok && rights.Holds(c, role, w.Project)
		},
		May: func(name string) bool {
			c, ok := known(name)
			return ok && (!rights.Enabled() || rights.Allows(c, rbac.Approve, rbac.NounOf(w.Kind), w.Project, name == w.User))
		},
		For: func(name string) []admission.Delegation { return DelegatedTo(tx, name, w.Project) },
	}
}

// ForgetDelegations drops those that were over before a time.
func ForgetDelegations(tx *draft.Tx, before time.Time) {
	for id, d := range Delegations(tx) {
		if d.Until.Before(before) {
			Drop(tx, id)
		}
	}
}
