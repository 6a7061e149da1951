package wire

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/audit"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/server/problem"
)

// AccessControl is the API's form of whether rules decide.
func AccessControl(c core.AccessControl) api.AccessControl {
	return api.AccessControl{Enabled: c.Enabled, Audit: c.Audited(), ChangedAt: At(c.ChangedAt), ChangedBy: c.ChangedBy}
}

// User is the API's form of a user or service account.
func User(u core.User) api.User {
	out := api.User{Name: u.Name, Kind: string(u.Kind), Groups: u.Groups, Disabled: u.Disabled, Note: u.Note, OSUser: u.OSUser, CreatedAt: api.Time(u.CreatedAt), CreatedBy: u.CreatedBy}
	if a := u.Account; a != nil {
		out.Account = &api.Account{Provider: a.Provider, Subject: a.Subject, Groups: a.Groups, SeenAt: At(a.SeenAt)}
	}
	return out
}

// Role is the API's form of a role.
func Role(r core.Role) api.Role {
	return api.Role{Name: r.Name, Description: r.Description, Permissions: Permissions(r.Permissions), Assigns: r.Assigns, Predefined: r.CreatedAt.IsZero(), CreatedAt: At(r.CreatedAt), CreatedBy: r.CreatedBy}
}

// AccessRule is the API's form of an access rule.
func AccessRule(r core.AccessRule) api.AccessRule {
	return api.AccessRule{ID: r.ID, Subject: r.Subject.String(), Role: r.Role, Scope: string(r.Scope), CreatedAt: api.Time(r.CreatedAt), CreatedBy: r.CreatedBy}
}

// Token is the API's form of a token, without its hash.
func Token(t core.Token, now time.Time) api.Token {
	return api.Token{
		ID: t.ID, User: t.User, Note: t.Note, Permissions: Permissions(t.Permissions), Scope: string(t.Scope), CreatedAt: api.Time(t.CreatedAt), CreatedBy: t.CreatedBy,
		ExpiresAt: At(t.ExpiresAt), UsedAt: At(t.UsedAt), Expired: !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt), Provider: t.Provider, Browser: t.Browser,
	}
}

// Permissions are permissions as they are written.
func Permissions(all []core.Permission) []string {
	out := make([]string, len(all))
	for i, p := range all {
		out[i] = p.String()
	}
	return out
}

// ParsePermissions reads permissions.
func ParsePermissions(texts []string) ([]core.Permission, error) {
	out := make([]core.Permission, len(texts))
	for i, text := range texts {
		p, bad := rbac.ParsePermission(text)
		if bad != nil {
			return nil, problem.BadRequest(fmt.Sprintf("permissions[%d]", i), bad.Message, bad.Hint)
		}
		out[i] = p
	}
	return out, nil
}

// Lifetime reads how long a token is good.
func Lifetime(text string) (time.Duration, error) {
	d, err := spec.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, problem.BadValue("lifetime", text, "is not a length of time", "write one like 12h or 30d; 0s: until it is revoked")
	}
	return d.Std(), nil
}

// AuditEntry is the API's form of an entry of the audit log.
func AuditEntry(e *core.AuditEntry) api.AuditEntry {
	out := api.AuditEntry{
		Seq: e.Seq, At: api.Time(e.At), Actor: e.Actor, Token: e.Token, Address: e.Address, Action: e.Action, Verb: e.Verb, Noun: e.Noun, Object: e.Object,
		Result: string(e.Result), Message: e.Message, Previous: e.Previous, Hash: e.Hash,
	}
	for _, c := range e.Changes {
		out.Changes = append(out.Changes, api.AuditChange(c))
	}
	return out
}

// HeadText is an entry of a chain as people note it.
func HeadText(h audit.Head) string { return fmt.Sprintf("%d:%s", h.Seq, h.Hash) }

// Head reads what HeadText has written.
func Head(text string) (audit.Head, bool) {
	seq, hash, ok := strings.Cut(text, ":")
	n, err := strconv.ParseInt(seq, 10, 64)
	return audit.Head{Seq: n, Hash: hash}, ok && err == nil && n > 0 && len(hash) == 64
}
