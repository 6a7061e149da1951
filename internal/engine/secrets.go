package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// Keyring opens secrets, and only for tasks.
type Keyring interface {
	// Give adds to a what a task is given of s.
	Give(a *backend.Assignment, s core.Secret, use spec.SecretUse) error
	// Token is a secret that the tasks of one attempt share, the same whenever
	// it is asked for.
	Token(attempt string) string
}

// grant is one secret for one task. It is opened only when the task is handed
// to its backend.
type grant struct {
	secret  core.Secret
	use     spec.SecretUse
	missing bool // there is no such secret any more
}

// secret returns a user's secret as the draft has it.
func (tx *tx) secret(id core.SecretID) (core.Secret, bool) {
	for i := range tx.secrets {
		if s := tx.secrets[i]; s.User == id.User && s.Name == id.Name {
			return s, true
		}
	}
	if slices.Contains(tx.gone, id) {
		return core.Secret{}, false
	}
	s, ok := tx.e.secrets[id]
	return s, ok
}

// uses returns every secret that a document names, with the field that does.
func uses(doc *spec.Document) (named []spec.SecretUse, fields []string) {
	for i, u := range doc.Secrets {
		named, fields = append(named, u), append(fields, fmt.Sprintf("secrets[%d].name", i))
	}
	for i, v := range doc.Volumes {
		if v.Secret != "" {
			named = append(named, spec.SecretUse{Name: v.Secret, Path: v.Path})
			fields = append(fields, fmt.Sprintf("volumes[%d].secret", i))
		}
	}
	if doc.PullSecret != "" {
		named, fields = append(named, spec.SecretUse{Name: doc.PullSecret}), append(fields, "pullSecret")
	}
	return named, fields
}

// secretsExist refuses a document that names secrets which its user has not.
func (tx *tx) secretsExist(doc *spec.Document, user string) error {
	named, fields := uses(doc)
	check := func(field, name, typ string) error {
		s, ok := tx.secret(core.SecretID{User: user, Name: name})
		switch {
		case !ok:
			return &Error{Code: CodeInvalid, Field: field, Message: fmt.Sprintf("%s has no secret %q", user, name), Hint: "muster secret create makes one, muster secret list shows what there is"}
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

// grants is every secret that a task of w is given: those that its document
// names, those that its user gives to everything, and, of types that only the
// platform itself uses (docker, git-ssh), all that the user has.
func (tx *tx) grants(w *core.Workload) []grant {
	if tx.e.D.Secrets == nil {
		return nil
	}
	var all []grant
	given := map[string]bool{}
	named, _ := uses(w.Spec)
	for _, u := range named {
		s, ok := tx.secret(core.SecretID{User: w.User, Name: u.Name})
		if !ok {
			s.Name = u.Name
		}
		given[u.Name] = true
		all = append(all, grant{secret: s, use: u, missing: !ok})
	}
	if len(tx.e.secrets) == 0 {
		return all
	}
	git := slices.ContainsFunc(w.Spec.Integrations, func(i spec.Integration) bool { return i.Git != nil })
	var more []grant
	for id, s := range tx.e.secrets {
		if id.User != w.User || given[id.Name] {
			continue
		}
		ours := s.Type == "docker" && imageOf(w) != "" && w.Spec.PullSecret == "" || s.Type == "git-ssh" && git
		if s.Everywhere || ours {
			more = append(more, grant{secret: s, use: spec.SecretUse{Name: id.Name}})
		}
	}
	slices.SortFunc(more, func(a, b grant) int { return strings.Compare(a.secret.Name, b.secret.Name) })
	return append(more, all...) // what the document names comes last and wins
}

// CreateSecret stores a sealed secret.
func CreateSecret(s core.Secret) Command {
	return func(tx *tx) (any, error) {
		if err := tx.roomy(); err != nil {
			return nil, err
		}
		id := core.SecretID{User: s.User, Name: s.Name}
		if _, ok := tx.secret(id); ok {
			return nil, &Error{Code: CodeConflict, Field: "name", Message: fmt.Sprintf("%s has a secret %q already", s.User, s.Name), Hint: "secrets do not change: muster secret delete " + s.Name + " first"}
		}
		s.CreatedAt = tx.now
		tx.secrets = append(tx.secrets, s)
		return s, nil
	}
}

// DeleteSecret drops a secret. Tasks that have it keep it.
func DeleteSecret(id core.SecretID) Command {
	return func(tx *tx) (any, error) {
		if _, ok := tx.secret(id); !ok {
			return nil, notFound(fmt.Sprintf("secret %q of %s", id.Name, id.User), "muster secret list")
		}
		tx.secrets = slices.DeleteFunc(tx.secrets, func(s core.Secret) bool { return s.User == id.User && s.Name == id.Name })
		tx.gone = append(tx.gone, id)
		return nil, nil
	}
}

// Open fills an assignment with what its grants give. It fails with one
// sentence that tells nothing of any value.
func (a *Action) Open(k Keyring) (backend.Assignment, error) {
	as := a.Assignment
	if len(a.grants) == 0 {
		return as, nil
	}
	as.Env, as.Files, as.Credentials = slices.Clone(as.Env), slices.Clone(as.Files), slices.Clone(as.Credentials)
	own, script := as.Env, as.Prelude // the author's own variables win over secrets
	as.Env, as.Prelude = nil, nil
	for _, g := range a.grants {
		if g.missing {
			return as, fmt.Errorf("secret %q does not exist any more; muster secret create %s makes it", g.secret.Name, g.secret.Name)
		}
		if err := k.Give(&as, g.secret, g.use); err != nil {
			return as, fmt.Errorf("secret %q cannot be opened: %w", g.secret.Name, err)
		}
	}
	for _, v := range as.Env {
		name, _, _ := strings.Cut(v, "=")
		as.Secret = append(as.Secret, name)
	}
	as.Env, as.Prelude = append(as.Env, own...), append(as.Prelude, script...)
	return as, nil
}
