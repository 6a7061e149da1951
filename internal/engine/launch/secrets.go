package launch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Keyring opens secrets, and only for tasks.
type Keyring interface {
	// Give adds to a what a task is given of s.
	Give(a *backend.Assignment, s core.Secret, use spec.SecretUse) error
	// Token is a secret that the tasks of one attempt share, the same whenever
	// it is asked for.
	Token(attempt string) string
}

// Grant is one secret for one task. It is opened only when the task is handed
// to its backend.
type Grant struct {
	secret  core.Secret
	use     spec.SecretUse
	missing bool // there is no such secret any more
}

// Secrets returns every secret that a document names, with the field that does.
func Secrets(doc *spec.Document) (named []spec.SecretUse, fields []string) {
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

// Grants is every secret that a task of w is given: those that its document
// names, those that are given to everything, and, of types that only the
// platform itself uses (docker, git-ssh), all that there are. owners are whose
// they may be, the nearest first: of one name the nearest is given.
func Grants(w *core.Workload, owners []string, secrets map[core.SecretID]core.Secret, secret func(core.SecretID) (core.Secret, bool)) []Grant {
	var all []Grant
	given := map[string]bool{}
	named, _ := Secrets(w.Spec)
	for _, u := range named {
		var s core.Secret
		ok := slices.ContainsFunc(owners, func(owner string) (found bool) {
			s, found = secret(core.SecretID{User: owner, Name: u.Name})
			return found
		})
		if !ok {
			s.Name = u.Name
		}
		given[u.Name] = true
		all = append(all, Grant{secret: s, use: u, missing: !ok})
	}
	if len(secrets) == 0 {
		return all
	}
	return append(unnamed(w, owners, secrets, given), all...) // what the document names comes last and wins
}

// unnamed are the grants of secrets that the document does not name. What is nearer
// comes later and wins; of keys for git the nearest owner's alone are given, as git
// takes one.
func unnamed(w *core.Workload, owners []string, secrets map[core.SecretID]core.Secret, given map[string]bool) (all []Grant) {
	git := slices.ContainsFunc(w.Spec.Integrations, func(i spec.Integration) bool { return i.Git != nil })
	of := map[string][]core.Secret{}
	for id, s := range secrets {
		if slices.Contains(owners, id.User) {
			of[id.User] = append(of[id.User], s)
		}
	}
	keyed := false
	for _, owner := range owners {
		var more []Grant
		keys := false
		for _, s := range of[owner] {
			key := s.Type == "git-ssh" && git && !keyed
			ours := s.Type == "docker" && workload.ImageOf(w) != "" && w.Spec.PullSecret == ""
			if !given[s.Name] && (s.Everywhere || ours || key) {
				more, keys = append(more, Grant{secret: s, use: spec.SecretUse{Name: s.Name}}), keys || key
			}
		}
		keyed = keyed || keys
		for _, s := range of[owner] {
			given[s.Name] = true // also where it is not given: it hides those of its name above
		}
		slices.SortFunc(more, func(a, b Grant) int { return strings.Compare(a.secret.Name, b.secret.Name) })
		all = append(more, all...)
	}
	return all
}

// OpenSecrets fills an assignment with what grants give. It fails with one
// sentence that tells nothing of any value.
func OpenSecrets(as backend.Assignment, grants []Grant, k Keyring) (backend.Assignment, error) {
	if len(grants) == 0 {
		return as, nil
	}
	as.Env, as.Files, as.Credentials = slices.Clone(as.Env), slices.Clone(as.Files), slices.Clone(as.Credentials)
	own, script := as.Env, as.Prelude // the author's own variables win over secrets
	as.Env, as.Prelude = nil, nil
	for _, g := range grants {
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
