package review

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/admission"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/engine/checking"
	"github.com/musterhq/muster/internal/engine/draft"
)

const (
	delegationsMost = 50 // of one who delegates
	delegatedMost   = 90 * 24 * time.Hour
	commentLongest  = 500 // characters
	// delegationKept is for how long one is still shown that is over.
	delegationKept = 30 * 24 * time.Hour
)

// delegationID names that somebody decides for another in a scope.
func delegationID(d admission.Delegation) core.TemplateID {
	return core.TemplateID{Project: d.Scope, Kind: core.TemplateDelegation, Name: d.From + "=" + d.To}
}

// Delegate has another decide for somebody, in a scope and until a time; one that is
// there ends then instead. asks is who says so: whoever delegates, as rules know them;
// owner, whoever the server belongs to.
func Delegate(d admission.Delegation, asks rbac.Caller, bound bool) draft.Command[admission.Delegation] {
	return func(tx *draft.Tx) (admission.Delegation, error) {
		bad := func(code draft.Code, field, message, hint string) (admission.Delegation, error) {
			return d, &draft.Error{Code: code, Field: field, Message: message, Hint: hint}
		}
		rights := tx.Rights()
		if err := exists(tx, d.Scope); err != nil {
			return d, err
		}
		switch u, known := rights.User(d.To); {
		case d.To == d.From:
			return bad(draft.CodeInvalid, "to", "one decides for oneself anyway", "name somebody else")
		case d.To == "" || len(d.To) > 200:
			return bad(draft.CodeInvalid, "to", fmt.Sprintf("%.60q is nobody's name", d.To), "name a user; muster user list shows them")
		case bound && (!known || u.Disabled || u.Kind != core.SubjectUser):
			return bad(draft.CodeNotFound, "to", fmt.Sprintf("there is no user %q who is let in", d.To), "muster user list shows who there is")
		}
		if bound && !rights.AnyOf(asks, rbac.Approve, rbac.Workloads, d.Scope) {
			return bad(draft.CodeForbidden, "scope", fmt.Sprintf("%s may not approve workloads in %s, and delegates no more than that", d.From, scopeWord(d.Scope)), "name a project or department where they may: muster auth can-i approve workloads --project P")
		}
		switch left := d.Until.Sub(tx.Now); {
		case left <= 0:
			return bad(draft.CodeInvalid, "until", d.Until.UTC().Format(time.RFC3339)+" is over", "write a time to come, or a length like 7d")
		case left > delegatedMost:
			return bad(draft.CodeInvalid, "until", fmt.Sprintf("is more than %d days from now", int(delegatedMost.Hours()/24)), "delegate for less, and again when that is over")
		}
		if n := len([]rune(d.Comment)); n > commentLongest {
			return bad(draft.CodeInvalid, "comment", fmt.Sprintf("has %d characters, more than %d", n, commentLongest), "shorten it")
		}
		checking.ForgetDelegations(tx, tx.Now.Add(-delegationKept))
		mine := 0
		for id, x := range checking.Delegations(tx) {
			mine += core.Bit(x.From == d.From && id != delegationID(d))
		}
		if mine >= delegationsMost {
			return bad(draft.CodeInvalid, "to", fmt.Sprintf("%s has %d delegations, the most there may be", d.From, mine), "muster approvals revoke TO ends one")
		}
		if err := tx.Roomy(); err != nil {
			return d, err
		}
		text, err := json.Marshal(d)
		if err != nil {
			return d, err
		}
		id := delegationID(d)
		t := core.Template{Project: id.Project, Kind: id.Kind, Name: id.Name, User: d.From, CreatedAt: tx.Now}
		t.Revise(string(text), d.From, tx.Now, 1)
		checking.Keep(tx, t)
		return d, nil
	}
}

// Revoke ends a delegation.
func Revoke(from, to string, scope core.ProjectID) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		if !mayDrop(tx, delegationID(admission.Delegation{From: from, To: to, Scope: scope})) {
			return nil, &draft.Error{Code: draft.CodeNotFound, Message: fmt.Sprintf("%s has delegated nothing to %s in %s", from, to, scopeWord(scope)), Hint: "muster approvals delegations shows what there is"}
		}
		return nil, nil
	}
}

// Delegations are those from or to somebody; of all where the name is empty.
func Delegations(name string) draft.Command[[]admission.Delegation] {
	return func(tx *draft.Tx) ([]admission.Delegation, error) {
		ids, all := delegationsInOrder(tx)
		var out []admission.Delegation
		for _, id := range ids {
			if d := all[id]; name == "" || d.From == name || d.To == name {
				out = append(out, d)
			}
		}
		return out, nil
	}
}

// Delegated reports whether somebody who may approve in a project has had another decide
// there for them. Whether that holds for a check is looked at when it is decided.
func Delegated(name string, project core.ProjectID) draft.Command[bool] {
	return func(tx *draft.Tx) (bool, error) { return len(checking.DelegatedTo(tx, name, project)) > 0, nil }
}
