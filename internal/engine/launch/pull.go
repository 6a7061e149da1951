package launch

import (
	"fmt"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// PullCredentials open registries for an image that a task of w asks for while it
// runs: those of its pullSecret, or of all that its user has for registries.
func PullCredentials(w *core.Workload, secrets []core.Secret, k Keyring) ([]backend.Credential, error) {
	var as backend.Assignment
	for _, s := range secrets {
		named := w.Spec.PullSecret != "" && s.Name == w.Spec.PullSecret
		if s.User != w.User || s.Type != "docker" || w.Spec.PullSecret != "" && !named {
			continue
		}
		if err := k.Give(&as, s, spec.SecretUse{Name: s.Name}); err != nil {
			return nil, fmt.Errorf("secret %q cannot be opened: %w", s.Name, err)
		}
	}
	return as.Credentials, nil
}
