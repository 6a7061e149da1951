// Package access has the use cases of those who say who may do what: access control
// itself, users and service accounts, roles, access rules and tokens; and what is
// written to the audit log beside changes.
package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
)

// Switch turns access control on or off.
func Switch(on bool, by string) draft.Command[core.AccessControl] {
	return func(tx *draft.Tx) (core.AccessControl, error) {
		was := tx.Rights().Control()
		if was.Enabled == on {
			return was, nil
		}
		now := core.AccessControl{Enabled: on, Audit: was.Audit, ChangedAt: tx.Now, ChangedBy: by}
		tx.Access.Control = &now
		return now, nil
	}
}

// SwitchAudit has the audit log written, or not, while access control is off.
func SwitchAudit(on bool, by string) draft.Command[core.AccessControl] {
	return func(tx *draft.Tx) (core.AccessControl, error) {
		now := tx.Rights().Control()
		if now.Audit == on {
			return now, nil
		}
		now.Audit, now.ChangedAt, now.ChangedBy = on, tx.Now, by
		tx.Access.Control = &now
		return now, nil
	}
}

// Record writes entries to the audit log.
func Record(all []core.AuditEntry) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		for _, e := range all {
			tx.Audit(e)
		}
		return nil, nil
	}
}

const (
	textLongest = 1000 // of a note, in characters
	groupsMost  = 100  // of a user
)

// checkName refuses what is no name of a user: what operating systems and identity
// providers call people is allowed.
func checkName(field, name string) error {
	ok := name != "" && len(name) <= 100 && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._@+-", r))
	}) && name[0] != '-'
	if ok {
		return nil
	}
	return invalid(field, fmt.Sprintf("%.110q is not a name", name), "use letters, digits and . _ @ + -, at most 100, and no '-' first")
}

func invalid(field, message, hint string) error {
	return &draft.Error{Code: draft.CodeInvalid, Field: field, Message: message, Hint: hint}
}

func forbidden(message, hint string) error {
	return &draft.Error{Code: draft.CodeForbidden, Message: message, Hint: hint}
}

func checkNote(note string) error {
	if n := len([]rune(note)); n > textLongest {
		return invalid("note", fmt.Sprintf("has %d characters, more than %d", n, textLongest), "shorten it")
	}
	return nil
}

// UserEdit makes or changes a user or service account. Fields that are nil stay.
type UserEdit struct {
	Name     string
	Kind     core.SubjectKind // of a new one
	New      bool
	Groups   *[]string
	Disabled *bool
	Note     *string
	By       string
	// SSO says whether they sign in by an identity provider: true binds the next whom
	// it calls by this name, false binds nobody.
	SSO *bool
	// OSUser is the account of the machine that tasks of theirs run as; "": none. Only
	// the server's owner says so: it is to give away that account.
	OSUser *string
	// Reserved are names that nobody can be given: those of the server's owner.
	Reserved []string
}

// EditUser makes or changes a user or service account.
func EditUser(r UserEdit) draft.Command[core.User] {
	return func(tx *draft.Tx) (core.User, error) {
		if err := checkName("name", r.Name); err != nil {
			return core.User{}, err
		}
		u, there := tx.Rights().User(r.Name)
		switch {
		case there && r.New:
			return u, &draft.Error{Code: draft.CodeConflict, Field: "name", Message: fmt.Sprintf("%s %q exists already", kindWord(u.Kind), u.Name), Hint: "users and service accounts share one set of names; choose another"}
		case !there && !r.New || there && r.Kind != "" && u.Kind != r.Kind:
			return u, noUser(r.Kind, r.Name)
		case !there && slices.Contains(r.Reserved, r.Name):
			return u, invalid("name", fmt.Sprintf("%q is a name of the server's owner, who may do everything", r.Name), "choose another")
		}
		if !there {
			if err := tx.Roomy(); err != nil {
				return u, err
			}
			u = core.User{Name: r.Name, Kind: r.Kind, CreatedAt: tx.Now, CreatedBy: r.By}
		}
		if r.Groups != nil {
			u.Groups = slices.Compact(slices.Sorted(slices.Values(*r.Groups)))
			if len(u.Groups) > groupsMost {
				return u, invalid("groups", fmt.Sprintf("there are %d", len(u.Groups)), fmt.Sprintf("name at most %d", groupsMost))
			}
			for _, g := range u.Groups {
				if err := checkName("groups", g); err != nil {
					return u, err
				}
			}
		}
		if r.Note != nil {
			if err := checkNote(*r.Note); err != nil {
				return u, err
			}
			u.Note = *r.Note
		}
		if r.Disabled != nil {
			u.Disabled = *r.Disabled
		}
		if r.OSUser != nil {
			if err := checkOSUser(*r.OSUser); err != nil {
				return u, err
			}
			u.OSUser = *r.OSUser
		}
		if r.SSO != nil {
			if err := r.account(tx, &u); err != nil {
				return u, err
			}
		}
		draft.Put(&tx.Access.Users, u.Name, &u)
		return u, nil
	}
}

// checkOSUser refuses what is no name of an account; whether there is one is seen when a
// task is to run as it.
func checkOSUser(name string) error {
	if name == "" {
		return nil
	}
	return checkName("osUser", name)
}

// OpenToMachine turns access control on, and gives all users of the machine what is
// their own, on a server whose tasks run as who submits them. Where it is on already
// it changes nothing: an administrator has decided. It reports whether it did.
func OpenToMachine(by string) draft.Command[bool] {
	return func(tx *draft.Tx) (bool, error) {
		if tx.Rights().Control().Enabled {
			return false, nil
		}
		if _, err := Switch(true, by)(tx); err != nil {
			return false, err
		}
		all := core.Subject{Kind: core.SubjectGroup, Name: rbac.MachineGroup}
		for _, r := range tx.Rights().Rules() {
			if r.Subject == all {
				return true, nil
			}
		}
		made := core.AccessRule{ID: string(tx.State.D.NewID(tx.Now)), Subject: all, Role: rbac.MachineUser, Scope: core.SystemScope, CreatedAt: tx.Now, CreatedBy: by}
		draft.Put(&tx.Access.Rules, made.ID, &made)
		return true, nil
	}
}

// account binds a user to whom an identity provider next calls by their name, or to
// nobody; sessions of the account that they had before end.
func (r *UserEdit) account(tx *draft.Tx, u *core.User) error {
	if u.Kind != core.SubjectUser {
		return invalid("sso", "a service account does not sign in by an identity provider", "give it a token: muster token create --user "+u.Name)
	}
	u.Account = nil
	if *r.SSO {
		u.Account = &core.Account{}
	}
	for _, t := range tx.Rights().Tokens() {
		if t.User == u.Name && t.Provider != "" {
			draft.Put(&tx.Access.Tokens, t.ID, nil)
		}
	}
	return nil
}

// DeleteUser forgets a user or service account, with its tokens and access rules.
func DeleteUser(kind core.SubjectKind, name string) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		rights := tx.Rights()
		u, ok := rights.User(name)
		if !ok || u.Kind != kind {
			return nil, noUser(kind, name)
		}
		draft.Put(&tx.Access.Users, name, nil)
		for _, r := range rights.Rules() {
			if r.Subject == u.Subject() {
				draft.Put(&tx.Access.Rules, r.ID, nil)
			}
		}
		for _, t := range rights.Tokens() {
			if t.User == name {
				draft.Put(&tx.Access.Tokens, t.ID, nil)
			}
		}
		return nil, nil
	}
}

func kindWord(k core.SubjectKind) string {
	if k == core.SubjectServiceAccount {
		return "service account"
	}
	return string(k)
}

func noUser(kind core.SubjectKind, name string) error {
	if kind == "" {
		kind = core.SubjectUser
	}
	return draft.NotFound(fmt.Sprintf("%s %q", kindWord(kind), name), "muster "+string(kind)+" list")
}

// CreateRole makes a custom role; whoever makes one can put nothing into it that
// they may not do themselves everywhere.
func CreateRole(c rbac.Caller, r core.Role) draft.Command[core.Role] {
	return func(tx *draft.Tx) (core.Role, error) {
		if !spec.Named(r.Name) {
			return r, invalid("name", fmt.Sprintf("%.60q is not a name", r.Name), fmt.Sprintf("use lower-case letters, digits and '-', at most %d characters", spec.MaxName))
		}
		if len(r.Permissions) == 0 {
			return r, invalid("permissions", "there are none", "name what the role allows, such as read:workloads")
		}
		for _, p := range r.Permissions {
			if bad := rbac.Check(p); bad != nil {
				return r, invalid("permissions", bad.Message, bad.Hint)
			}
		}
		rights := tx.Rights()
		if _, there := rights.Role(r.Name); there {
			return r, &draft.Error{Code: draft.CodeConflict, Field: "name", Message: fmt.Sprintf("role %q exists already", r.Name), Hint: "muster role list shows all; roles are not changed: delete it, or choose another name"}
		}
		for _, name := range r.Assigns {
			if _, ok := rights.Role(name); !ok {
				return r, noRole("assigns", name)
			}
			if yes, missing := rights.Assigns(c, name, core.SystemScope); !yes {
				return r, tooMuch(c, "assigns", name, core.SystemScope, missing)
			}
		}
		if missing := rights.Beyond(c, r, core.SystemScope); missing != nil {
			return r, tooMuch(c, "permissions", r.Name, core.SystemScope, missing)
		}
		if err := tx.Roomy(); err != nil {
			return r, err
		}
		r.CreatedAt, r.CreatedBy = tx.Now, c.Name
		draft.Put(&tx.Access.Roles, r.Name, &r)
		return r, nil
	}
}

// DeleteRole forgets a custom role that no access rule gives.
func DeleteRole(name string) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		rights := tx.Rights()
		r, ok := rights.Role(name)
		switch {
		case !ok:
			return nil, noRole("", name)
		case r.CreatedAt.IsZero():
			return nil, invalid("name", fmt.Sprintf("role %q is predefined, and always there", name), "only custom roles can be deleted")
		}
		n := 0
		for _, x := range rights.Rules() {
			n += core.Bit(x.Role == name)
		}
		if n > 0 {
			return nil, &draft.Error{Code: draft.CodeConflict, Message: fmt.Sprintf("%d access rules give role %q", n, name), Hint: "muster access-rule list --role " + name + " shows them; delete them first"}
		}
		draft.Put(&tx.Access.Roles, name, nil)
		return nil, nil
	}
}

func noRole(field, name string) error {
	e := draft.NotFound(fmt.Sprintf("role %q", name), "muster role list")
	e.Field = field
	return e
}

// tooMuch refuses to give away what somebody does not have.
func tooMuch(c rbac.Caller, field, role string, scope core.ProjectID, missing *core.Permission) error {
	what := "it"
	if missing != nil {
		what = missing.String()
	}
	return &draft.Error{
		Code: draft.CodeForbidden, Field: field, Message: fmt.Sprintf("role %s allows %s, which %s may not do in %s: nobody gives what they do not have", role, what, c.Name, rbac.ScopeWord(scope)),
		Hint: "ask an administrator of " + rbac.ScopeWord(scope),
	}
}

// RuleRequest gives a subject a role in a scope.
type RuleRequest struct {
	Subject core.Subject
	Role    string
	Scope   core.ProjectID
}

// CreateRule makes an access rule. Who may create them has been asked before; which
// role may be given is asked here.
func CreateRule(c rbac.Caller, r RuleRequest) draft.Command[core.AccessRule] {
	return func(tx *draft.Tx) (core.AccessRule, error) {
		var none core.AccessRule
		rights := tx.Rights()
		r.Role = rbac.RoleName(r.Role)
		if _, ok := rights.Role(r.Role); !ok {
			return none, noRole("role", r.Role)
		}
		if err := subjectExists(rights, r.Subject); err != nil {
			return none, err
		}
		if r.Scope != core.SystemScope {
			if _, ok := tx.Project(r.Scope); !ok {
				e := draft.NotFound(fmt.Sprintf("project or department %q", r.Scope), "muster project list")
				e.Field = "scope"
				return none, e
			}
		}
		if yes, missing := rights.Assigns(c, r.Role, r.Scope); !yes {
			return none, tooMuch(c, "role", r.Role, r.Scope, missing)
		}
		for _, x := range rights.Rules() {
			if x.Subject == r.Subject && x.Role == r.Role && x.Scope == r.Scope {
				return none, &draft.Error{Code: draft.CodeConflict, Message: fmt.Sprintf("%s has role %s in %s already, by access rule %s", r.Subject, r.Role, rbac.ScopeWord(r.Scope), x.ID), Hint: "muster access-rule list shows all"}
			}
		}
		if err := tx.Roomy(); err != nil {
			return none, err
		}
		made := core.AccessRule{ID: string(tx.State.D.NewID(tx.Now)), Subject: r.Subject, Role: r.Role, Scope: r.Scope, CreatedAt: tx.Now, CreatedBy: c.Name}
		draft.Put(&tx.Access.Rules, made.ID, &made)
		return made, nil
	}
}

func subjectExists(rights *rbac.Policy, s core.Subject) error {
	if !slices.Contains(core.SubjectKinds(), s.Kind) {
		return invalid("subject", fmt.Sprintf("%q is not a kind of subject", s.Kind), "name a user, a service-account or a group")
	}
	if s.Kind == core.SubjectGroup && rbac.OfCluster(s.Name) {
		for part := range strings.SplitSeq(s.Name, ":") {
			if err := checkName("subject", part); err != nil {
				return err
			}
		}
		return nil
	}
	if s.Kind == core.SubjectGroup {
		return checkName("subject", s.Name)
	}
	if u, ok := rights.User(s.Name); !ok || u.Kind != s.Kind {
		err := noUser(s.Kind, s.Name).(*draft.Error)
		err.Field, err.Hint = "subject", fmt.Sprintf("muster %s create %s makes it; muster %s list shows those that are there", s.Kind, s.Name, s.Kind)
		return err
	}
	return nil
}

// DeleteRule takes a rule back; who has been asked may do so for its scope.
func DeleteRule(c rbac.Caller, id string) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		rights := tx.Rights()
		r, ok := rights.Rule(id)
		if !ok {
			return nil, draft.NotFound(fmt.Sprintf("access rule %q", id), "muster access-rule list")
		}
		if yes, missing := rights.Assigns(c, r.Role, r.Scope); !yes {
			return nil, tooMuch(c, "", r.Role, r.Scope, missing)
		}
		draft.Put(&tx.Access.Rules, id, nil)
		return nil, nil
	}
}
