package launch

import (
	"fmt"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// PullCredentials open registries for an image that a task of w asks for while it
// runs: those of its pullSecret, or of all that owners have for registries.
func PullCredentials(w *core.Workload, owners []string, secrets []core.Secret, k Keyring) ([]backend.Credential, error) {
	var as backend.Assignment
	for _, s := range ForRegistries(owners, secrets, w.Spec.PullSecret) {
		if err := k.Give(&as, s, spec.SecretUse{Name: s.Name}); err != nil {
			return nil, fmt.Errorf("secret %q cannot be opened: %w", s.Name, err)
		}
	}
	return as.Credentials, nil
}

// ForRegistries are the secrets that owners have for registries, or of those the one of
// a name, the nearest owner's first. One hides others of its name further off.
func ForRegistries(owners []string, secrets []core.Secret, name string) (out []core.Secret) {
	seen := map[string]bool{}
	for _, owner := range owners {
		for _, s := range secrets {
			if s.User != owner || seen[s.Name] || name != "" && s.Name != name {
				continue
			}
			if seen[s.Name] = true; s.Type == "docker" {
				out = append(out, s)
			}
		}
	}
	return out
}
