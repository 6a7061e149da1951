package access

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/engine/draft"
)

const (
	// tokensMost bounds those of one user.
	tokensMost = 100
	// longestLife bounds how long a token is good that ends at all.
	longestLife = 10 * 365 * 24 * time.Hour
)

// CreateToken makes a token, whose hash is given. Whoever comes with a limited token
// makes none, and nobody makes one for another who may do more.
func CreateToken(c rbac.Caller, t core.Token, life time.Duration) draft.Command[core.Token] {
	return func(tx *draft.Tx) (core.Token, error) {
		rights := tx.Rights()
		if len(c.Permissions) > 0 || c.Scope != "" {
			return t, forbidden("a token that is limited makes no other tokens", "sign in with one that is not, or use the server's socket")
		}
		u, ok := rights.User(t.User)
		if !ok {
			e := noUser(core.SubjectUser, t.User).(*draft.Error)
			e.Field, e.Hint = "user", "muster user create "+t.User+" makes it, muster service-account create a service account"
			return t, e
		}
		if u.Disabled {
			return t, invalid("user", fmt.Sprintf("%s %q is disabled", kindWord(u.Kind), u.Name), fmt.Sprintf("muster %s enable %s first", u.Kind, u.Name))
		}
		if u.Name != c.Name && !c.Owner {
			if u.OSUser != "" {
				return t, forbidden(fmt.Sprintf("tasks of %s run as %s of the server's machine: only they, and the server's owner, make tokens for %s", u.Name, u.OSUser, u.Name), "ask them, or root of that machine")
			}
			if missing, scope := rights.Exceeds(c, u.Name); missing != nil {
				return t, forbidden(fmt.Sprintf("%s may %s in %s, and %s may not: nobody gives what they do not have", u.Name, missing, rbac.ScopeWord(scope), c.Name), "ask an administrator")
			}
		}
		if err := checkNote(t.Note); err != nil {
			return t, err
		}
		for _, p := range t.Permissions {
			if bad := rbac.Check(p); bad != nil {
				return t, invalid("permissions", bad.Message, bad.Hint)
			}
		}
		if t.Scope == core.SystemScope {
			t.Scope = ""
		}
		if t.Scope != "" {
			if _, ok := tx.Project(t.Scope); !ok {
				e := draft.NotFound(fmt.Sprintf("project or department %q", t.Scope), "muster project list")
				e.Field = "scope"
				return t, e
			}
		}
		if life < 0 || life > longestLife {
			return t, invalid("lifetime", life.String()+" is not how long a token can be good", "write one like 12h or 90d, ten years at most; 0: until it is revoked")
		}
		n := 0
		for _, x := range rights.Tokens() {
			n += core.Bit(x.User == t.User && x.Provider == "")
		}
		if n >= tokensMost {
			return t, &draft.Error{Code: draft.CodeConflict, Message: fmt.Sprintf("%s has %d tokens, the most there may be", t.User, n), Hint: "muster token revoke ID makes room"}
		}
		if err := tx.Roomy(); err != nil {
			return t, err
		}
		t.ID, t.CreatedAt, t.CreatedBy, t.UsedAt, t.ExpiresAt = string(tx.State.D.NewID(tx.Now)), tx.Now, c.Name, time.Time{}, time.Time{}
		if life > 0 {
			t.ExpiresAt = tx.Now.Add(life)
		}
		draft.Put(&tx.Access.Tokens, t.ID, &t)
		return t, nil
	}
}

// RevokeToken ends a token.
func RevokeToken(id string) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		if _, ok := tx.Rights().Token(id); !ok {
			return nil, draft.NotFound(fmt.Sprintf("token %q", id), "muster token list")
		}
		draft.Put(&tx.Access.Tokens, id, nil)
		return nil, nil
	}
}

// Used notes when tokens were shown last.
func Used(at map[string]time.Time) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		rights := tx.Rights()
		for id, when := range at {
			if t, ok := rights.Token(id); ok && t.UsedAt.Before(when) {
				t.UsedAt = when
				draft.Put(&tx.Access.Tokens, id, &t)
			}
		}
		return nil, nil
	}
}
