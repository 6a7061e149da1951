package organisation

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/draft"
)

// CreateSecret stores a sealed secret.
func CreateSecret(s core.Secret) draft.Command[core.Secret] {
	return func(tx *draft.Tx) (core.Secret, error) {
		if err := tx.Roomy(); err != nil {
			return core.Secret{}, err
		}
		id := core.SecretID{User: s.User, Name: s.Name}
		if _, ok := tx.Secret(id); ok {
			return core.Secret{}, &draft.Error{Code: draft.CodeConflict, Field: "name", Message: fmt.Sprintf("%s has a secret %q already", s.User, s.Name), Hint: "secrets do not change: muster secret delete " + s.Name + " first"}
		}
		s.CreatedAt = tx.Now
		tx.Secrets = append(tx.Secrets, s)
		return s, nil
	}
}

// DeleteSecret drops a secret. Tasks that have it keep it.
func DeleteSecret(id core.SecretID) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		if _, ok := tx.Secret(id); !ok {
			return nil, draft.NotFound(fmt.Sprintf("secret %q of %s", id.Name, id.User), "muster secret list")
		}
		tx.Secrets = slices.DeleteFunc(tx.Secrets, func(s core.Secret) bool { return s.User == id.User && s.Name == id.Name })
		tx.Gone = append(tx.Gone, id)
		return nil, nil
	}
}
