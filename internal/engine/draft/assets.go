package draft

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/policy"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/agenda"
	"github.com/musterhq/muster/internal/engine/launch"
	"github.com/musterhq/muster/internal/store"
)

// Secret returns a user's secret as the draft has it.
func (tx *Tx) Secret(id core.SecretID) (core.Secret, bool) {
	for i := range tx.Secrets {
		if s := tx.Secrets[i]; s.User == id.User && s.Name == id.Name {
			return s, true
		}
	}
	if slices.Contains(tx.Gone, id) {
		return core.Secret{}, false
	}
	s, ok := tx.State.secrets[id]
	return s, ok
}

// SecretsOfScopes are the secrets of the scopes that are asked for, in no order.
func SecretsOfScopes(tx *Tx, wanted func(core.ProjectID) bool) (all []core.Secret) {
	for id := range tx.State.secrets {
		if s, ok := tx.Secret(id); ok {
			if scope, shared := s.Scope(); shared && wanted(scope) {
				all = append(all, s)
			}
		}
	}
	for _, s := range tx.Secrets {
		if scope, shared := s.Scope(); shared && wanted(scope) {
			if _, known := tx.State.secrets[core.SecretID{User: s.User, Name: s.Name}]; !known {
				all = append(all, s)
			}
		}
	}
	return all
}

// dropSecrets takes the secrets of projects and departments that go along with them.
func dropSecrets(tx *Tx, gone []core.ProjectID) {
	if len(gone) == 0 {
		return
	}
	all := SecretsOfScopes(tx, func(scope core.ProjectID) bool { return slices.Contains(gone, scope) })
	slices.SortFunc(all, func(a, b core.Secret) int { return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Name, b.Name)) })
	for _, s := range all {
		tx.Secrets = slices.DeleteFunc(tx.Secrets, func(x core.Secret) bool { return x.User == s.User && x.Name == s.Name })
		tx.Gone = append(tx.Gone, core.SecretID{User: s.User, Name: s.Name})
	}
}

// SecretsExist refuses a document that names secrets which neither its user has nor its
// project, nor what is above that.
func (tx *Tx) SecretsExist(doc *spec.Document, user string, project core.ProjectID) error {
	named, fields := launch.Secrets(doc)
	owners := tx.Tree().SecretOwners(user, project)
	check := func(field, name, typ string) error {
		var s core.Secret
		ok := slices.ContainsFunc(owners, func(owner string) (found bool) {
			s, found = tx.Secret(core.SecretID{User: owner, Name: name})
			return found
		})
		switch {
		case !ok:
			return &Error{Code: CodeInvalid, Field: field, Message: fmt.Sprintf("%s has no secret %q, nor has project %s or what is above it", user, name, project), Hint: fmt.Sprintf("muster secret create makes one; muster secret list and muster secret list -p %s show what there is", project)}
		case typ != "" && s.Type != typ:
			return &Error{Code: CodeInvalid, Field: field, Message: fmt.Sprintf("secret %q is of type %s, not %s", name, s.Type, typ), Hint: "name a secret of type " + typ}
		}
		return nil
	}
	for i, u := range named {
		typ := ""
		if fields[i] == "pullSecret" {
			typ = "docker"
		}
		if err := check(fields[i], u.Name, typ); err != nil {
			return err
		}
	}
	if b := doc.Build; b != nil && b.PushSecret != "" {
		if err := check("build.pushSecret", b.PushSecret, "docker"); err != nil {
			return err
		}
	}
	if p := doc.Publish; p != nil && p.Secret != "" {
		return check("publish.secret", p.Secret, "docker")
	}
	return nil
}

// Resolved refuses a document that still says less than it stands for: whoever
// submits it has to take its assets first.
func Resolved(doc *spec.Document) error {
	if !doc.NamesAssets() {
		return nil
	}
	return &Error{Code: CodeInvalid, Message: "the document names assets that were not taken", Hint: "submit it through the API, which takes them"}
}

// templated is what a draft changes of templates.
type templated struct {
	Put  []core.Template
	Gone []core.TemplateID
}

func (e *State) loadTemplates(ctx context.Context) error {
	all, err := e.D.Store.Templates(ctx)
	if err != nil {
		return fmt.Errorf("read templates: %w", err)
	}
	e.Templates, e.Policies, e.Governing = map[core.TemplateID]core.Template{}, map[policy.ID]Policy{}, nil
	e.Agenda, e.priced, e.bounds = agenda.Agenda{}, nil, nil
	e.Checks, e.Delegations = nil, nil
	for _, t := range all {
		if t.Kind == core.TemplatePolicy {
			p := ReadPolicy(t)
			if p.Policy == nil {
				e.D.Log.Error("a policy cannot be read, and nothing is submitted in its scope", "scope", t.Project, "for", t.Name, "err", p.Unread)
			}
			e.Policies[PolicyID(&t)] = p
			continue
		}
		if t.Kind == core.TemplatePrices {
			e.priced = &t
			continue
		}
		if t.Kind == core.TemplateUserBound {
			e.loadBound(&t)
			continue
		}
		e.Templates[t.ID()] = t
		e.keepCheck(t.ID(), &t)
		if t.Schedule != nil {
			e.Agenda.Put(t.ID(), t.Schedule)
		}
	}
	return nil
}

// Template is one as the draft has it.
func (tx *Tx) Template(id core.TemplateID) (core.Template, bool) {
	if i := slices.IndexFunc(tx.Templated.Put, func(t core.Template) bool { return t.ID() == id }); i >= 0 {
		return tx.Templated.Put[i], true
	}
	if slices.Contains(tx.Templated.Gone, id) {
		return core.Template{}, false
	}
	t, ok := tx.State.Templates[id]
	return t, ok
}

// Drop takes what the draft says of a template back.
func (x *templated) Drop(id core.TemplateID) {
	x.Put = slices.DeleteFunc(x.Put, func(t core.Template) bool { return t.ID() == id })
	x.Gone = slices.DeleteFunc(x.Gone, func(g core.TemplateID) bool { return g == id })
}

// writeTemplates puts what changes of templates into the batch. Those of a
// project go with it.
func (tx *Tx) writeTemplates(b *store.Batch) {
	for _, project := range b.DropProjects {
		for id := range tx.State.Templates {
			if id.Project == project {
				tx.Templated.Drop(id)
				tx.Templated.Gone = append(tx.Templated.Gone, id)
			}
		}
	}
	slices.SortFunc(tx.Templated.Gone, CompareTemplates)
	b.Templates, b.DropTemplates = tx.Templated.Put, tx.Templated.Gone
	writePolicies(tx, b)
	writeBounds(tx, b)
	if tx.Org.Prices != nil {
		b.Templates = append(b.Templates, *tx.Org.Prices)
	}
}

// writePolicies puts what changes of policies into the batch. Those of a project or
// department go with it.
func writePolicies(tx *Tx, b *store.Batch) {
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

// CompareTemplates orders records by scope, kind and name.
func CompareTemplates(x, y core.TemplateID) int {
	return cmp.Or(cmp.Compare(x.Project, y.Project), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Name, y.Name))
}

// templatesWritten takes over what a commit has written.
func (e *State) templatesWritten(x templated) {
	for _, id := range x.Gone {
		delete(e.Templates, id)
		e.keepCheck(id, nil)
		e.Agenda.Put(id, nil)
	}
	for _, t := range x.Put {
		e.Templates[t.ID()] = t
		e.keepCheck(t.ID(), &t)
		if t.Schedule != nil {
			e.Agenda.Put(t.ID(), t.Schedule)
		}
	}
}

// keepCheck takes over a record that may be a check or a delegation.
func (e *State) keepCheck(id core.TemplateID, t *core.Template) {
	switch {
	case id.Kind == core.TemplateCheck && t == nil:
		delete(e.Checks, id)
	case id.Kind == core.TemplateCheck:
		c := ReadCheck(*t)
		if c.Unread != nil {
			e.D.Log.Error("a check cannot be read, and people are asked in its place", "scope", t.Project, "check", t.Name, "err", c.Unread)
		}
		Put(&e.Checks, id, c)
	case id.Kind == core.TemplateDelegation && t == nil:
		delete(e.Delegations, id)
	case id.Kind == core.TemplateDelegation:
		if d, ok := ReadDelegation(t); ok {
			Put(&e.Delegations, id, d)
		}
	}
}

// loadBound reads a record of a UserBound.
func (e *State) loadBound(t *core.Template) {
	var b core.UserBound
	if len(t.Versions) == 0 || json.Unmarshal([]byte(t.Last().Document), &b) != nil {
		e.D.Log.Error("a limit of a user cannot be read, and does not hold", "user", t.Name)
		return
	}
	Put(&e.bounds, t.Name, b)
}

// writeBounds puts what changes of them into the batch.
func writeBounds(tx *Tx, b *store.Batch) {
	for _, name := range slices.Sorted(maps.Keys(tx.Org.UserBounds)) {
		is := tx.Org.UserBounds[name]
		if is == nil {
			b.DropTemplates = append(b.DropTemplates, core.TemplateID{Project: core.SystemScope, Kind: core.TemplateUserBound, Name: name})
			continue
		}
		t := core.Template{Project: core.SystemScope, Kind: core.TemplateUserBound, Name: name, CreatedAt: is.CreatedAt}
		t.Revise(text(is), "", tx.Now, 1)
		b.Templates = append(b.Templates, t)
	}
}
