package memstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/audit"
	"github.com/musterhq/muster/internal/store"
)

// access is what is kept of who may do what, and of who did.
type access struct {
	control core.AccessControl
	users   map[string]core.User
	roles   map[string]core.Role
	rules   map[string]core.AccessRule
	tokens  map[string]core.Token
	audit   []core.AuditEntry
}

func newAccess() access {
	return access{users: map[string]core.User{}, roles: map[string]core.Role{}, rules: map[string]core.AccessRule{}, tokens: map[string]core.Token{}}
}

func (s *Store) auditHead() (h audit.Head) {
	if n := len(s.access.audit); n > 0 {
		h = audit.Head{Seq: s.access.audit[n-1].Seq, Hash: s.access.audit[n-1].Hash}
	}
	return h
}

// auditFollows refuses entries that do not follow the last one.
func (s *Store) auditFollows(b *store.Batch) error {
	if len(b.Audit) == 0 {
		return nil
	}
	if h := s.auditHead(); b.Audit[0].Seq != h.Seq+1 || b.Audit[0].Previous != h.Hash {
		return fmt.Errorf("entry %d of the audit log does not follow the last: %w", b.Audit[0].Seq, store.ErrConflict)
	}
	return nil
}

func (s *Store) keepAccess(b *store.Batch) {
	c, a := &b.Access, &s.access
	if c.Control != nil {
		a.control = *c.Control
		a.control.ChangedAt = kept(a.control.ChangedAt)
	}
	change(a.users, c.DropUsers, c.Users, func(x core.User) string { return x.Name }, keptUser)
	change(a.roles, c.DropRoles, c.Roles, func(x core.Role) string { return x.Name }, keptRole)
	change(a.rules, c.DropRules, c.Rules, func(x core.AccessRule) string { return x.ID }, keptRule)
	change(a.tokens, c.DropTokens, c.Tokens, func(x core.Token) string { return x.ID }, keptToken)
	for _, e := range b.Audit {
		a.audit = append(a.audit, keptEntry(e))
	}
}

func change[T any](m map[string]T, drop []string, put []T, name func(T) string, kept func(T) T) {
	for _, n := range drop {
		delete(m, n)
	}
	for _, x := range put {
		m[name(x)] = kept(x)
	}
}

// Access implements store.Store.
func (s *Store) Access(ctx context.Context) (core.Access, error) {
	done, err := s.reading(ctx, "reading who may do what")
	if err != nil {
		return core.Access{}, err
	}
	defer done()
	a := &s.access
	return core.Access{
		Control: a.control, Users: values(a.users, keptUser), Roles: values(a.roles, keptRole), Rules: values(a.rules, keptRule), Tokens: values(a.tokens, keptToken),
	}, nil
}

func values[T any](m map[string]T, kept func(T) T) []T {
	var all []T
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, kept(m[k]))
	}
	return all
}

// AuditHead implements store.Store.
func (s *Store) AuditHead(ctx context.Context) (audit.Head, error) {
	done, err := s.reading(ctx, "reading where the audit log ends")
	if err != nil {
		return audit.Head{}, err
	}
	defer done()
	return s.auditHead(), nil
}

// Audit implements store.Store.
func (s *Store) Audit(ctx context.Context, q store.AuditQuery) ([]core.AuditEntry, error) {
	done, err := s.reading(ctx, "reading the audit log")
	if err != nil {
		return nil, err
	}
	defer done()
	var out []core.AuditEntry
	for _, e := range s.access.audit {
		if q.Selects(&e) {
			out = append(out, keptEntry(e))
		}
	}
	if q.Newest {
		slices.Reverse(out)
	}
	return out[:min(len(out), cmp.Or(q.Limit, len(out)))], nil
}

func keptUser(x core.User) core.User {
	x.Groups, x.CreatedAt = keptList(x.Groups), kept(x.CreatedAt)
	return x
}

func keptRole(x core.Role) core.Role {
	x.Permissions, x.Assigns, x.CreatedAt = keptList(x.Permissions), keptList(x.Assigns), kept(x.CreatedAt)
	return x
}

func keptRule(x core.AccessRule) core.AccessRule {
	x.CreatedAt = kept(x.CreatedAt)
	return x
}

func keptToken(x core.Token) core.Token {
	x.Permissions, x.CreatedAt, x.ExpiresAt, x.UsedAt = keptList(x.Permissions), kept(x.CreatedAt), kept(x.ExpiresAt), kept(x.UsedAt)
	return x
}

func keptEntry(x core.AuditEntry) core.AuditEntry {
	x.At, x.Changes = kept(x.At), keptList(x.Changes)
	return x
}
