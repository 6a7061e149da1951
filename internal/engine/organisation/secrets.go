package organisation

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/asset"
	"github.com/musterhq/muster/internal/engine/draft"
)

// CreateSecret stores a sealed secret, of a user or of a scope.
func CreateSecret(s core.Secret) draft.Command[core.Secret] {
	return func(tx *draft.Tx) (core.Secret, error) {
		if err := tx.Roomy(); err != nil {
			return core.Secret{}, err
		}
		whose := s.User
		scope, shared := s.Scope()
		if shared {
			whose = asset.ScopeWord(scope)
			if _, known := tx.Tree()(scope); !known && scope != core.SystemScope {
				return core.Secret{}, noScope(scope)
			}
		}
		id := core.SecretID{User: s.User, Name: s.Name}
		if _, ok := tx.Secret(id); ok {
			return core.Secret{}, &draft.Error{Code: draft.CodeConflict, Field: "name", Message: fmt.Sprintf("%s has a secret %q already", whose, s.Name), Hint: "secrets do not change: muster secret delete " + s.Name + inScope(scope, shared) + " first"}
		}
		s.CreatedAt = tx.Now
		tx.Secrets = append(tx.Secrets, s)
		return s, nil
	}
}

// noScope says that there is no project or department of a name.
func noScope(id core.ProjectID) error {
	return &draft.Error{Code: draft.CodeNotFound, Field: "project", Message: fmt.Sprintf("project or department %q does not exist", id), Hint: "muster project list and muster department list show what there is"}
}

// inScope is how a command names the scope of a secret.
func inScope(scope core.ProjectID, shared bool) string {
	switch {
	case !shared:
		return ""
	case scope == core.SystemScope:
		return " --system"
	}
	return " -p " + string(scope)
}

// Secrets are the secrets that workloads of a project may be given beside their users'
// own: its own, those of the departments above it and of the system, by name, the nearest
// first; of all scopes where the project is empty.
func Secrets(project core.ProjectID) draft.Command[[]core.Secret] {
	return func(tx *draft.Tx) ([]core.Secret, error) {
		var line []core.ProjectID
		if project != "" {
			if _, known := tx.Tree()(project); !known && project != core.SystemScope {
				return nil, noScope(project)
			}
			line = asset.Upwards(tx, project)
		}
		all := draft.SecretsOfScopes(tx, func(scope core.ProjectID) bool { return project == "" || slices.Contains(line, scope) })
		at := func(s core.Secret) int {
			scope, _ := s.Scope()
			return slices.Index(line, scope)
		}
		slices.SortFunc(all, func(a, b core.Secret) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(at(a), at(b)), cmp.Compare(a.User, b.User))
		})
		return all, nil
	}
}

// Secret is one, sealed.
func Secret(id core.SecretID) draft.Command[core.Secret] {
	return func(tx *draft.Tx) (core.Secret, error) {
		s, ok := tx.Secret(id)
		if ok {
			return s, nil
		}
		s.User = id.User
		if scope, shared := s.Scope(); shared {
			return s, draft.NotFound(fmt.Sprintf("secret %q of %s", id.Name, asset.ScopeWord(scope)), "muster secret list"+inScope(scope, true))
		}
		return s, draft.NotFound(fmt.Sprintf("secret %q of %s", id.Name, id.User), "muster secret list")
	}
}

// DeleteSecret drops a secret. Tasks that have it keep it.
func DeleteSecret(id core.SecretID) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		if _, err := Secret(id)(tx); err != nil {
			return nil, err
		}
		tx.Secrets = slices.DeleteFunc(tx.Secrets, func(s core.Secret) bool { return s.User == id.User && s.Name == id.Name })
		tx.Gone = append(tx.Gone, id)
		return nil, nil
	}
}
