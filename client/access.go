package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/musterhq/muster/api"
)

// AccessService is what is done with access control, users, roles, access rules,
// tokens and the audit log.
type AccessService struct{ c *Client }

func read[T any](ctx context.Context, c *Client, path string, q url.Values) (*T, error) {
	return one[T](ctx, c, call{method: http.MethodGet, path: path, query: q, again: true})
}

// set is a query without what is empty.
func set(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// Control says whether access rules decide who may do what.
func (s AccessService) Control(ctx context.Context) (*api.AccessControl, error) {
	return read[api.AccessControl](ctx, s.c, "/v1/access", nil)
}

// Switch turns access control on or off.
func (s AccessService) Switch(ctx context.Context, on bool) (*api.AccessControl, error) {
	return send[api.AccessControl](ctx, s.c, http.MethodPut, "/v1/access", api.AccessSwitch{Enabled: on}, false)
}

// SwitchAudit has the audit log written, or not, while access control is off.
func (s AccessService) SwitchAudit(ctx context.Context, on bool) (*api.AccessControl, error) {
	return send[api.AccessControl](ctx, s.c, http.MethodPut, "/v1/access/audit", api.AuditSwitch{Enabled: on}, false)
}

// WhoAmI says as whom the server knows this client.
func (s AccessService) WhoAmI(ctx context.Context) (*api.Identity, error) {
	return read[api.Identity](ctx, s.c, "/v1/auth/whoami", nil)
}

// SignInWays says how one can sign in beside a token.
func (s AccessService) SignInWays(ctx context.Context) (*api.SignInWays, error) {
	return read[api.SignInWays](ctx, s.c, "/v1/sign-in", nil)
}

// BeginSignIn begins to sign in at the identity provider, in a browser that comes back
// to redirect.
func (s AccessService) BeginSignIn(ctx context.Context, redirect string) (*api.StartedSignIn, error) {
	return send[api.StartedSignIn](ctx, s.c, http.MethodPost, "/v1/sign-in", api.NewSignIn{Redirect: redirect}, false)
}

// BeginDevice begins to sign in at the identity provider, with a browser that may be
// elsewhere.
func (s AccessService) BeginDevice(ctx context.Context) (*api.StartedDevice, error) {
	return send[api.StartedDevice](ctx, s.c, http.MethodPost, "/v1/sign-in/device", struct{}{}, false)
}

// SignIn takes what the identity provider has answered for a token.
func (s AccessService) SignIn(ctx context.Context, a api.SignInAnswer) (*api.SignedIn, error) {
	return send[api.SignedIn](ctx, s.c, http.MethodPost, "/v1/sign-in/token", a, false)
}

// Question is whether somebody may do something.
type Question struct {
	Verb, Noun string
	Scope      string // project or department; empty: the system
	As         string // empty: who asks
	Own        bool
}

// CanI asks whether somebody may do something, and why.
func (s AccessService) CanI(ctx context.Context, q Question) (*api.Decision, error) {
	v := set("verb", q.Verb, "noun", q.Noun, "scope", q.Scope, "as", q.As)
	if q.Own {
		v.Set("own", "true")
	}
	return read[api.Decision](ctx, s.c, "/v1/auth/can-i", v)
}

// The kinds of those who come in.
const (
	KindUser           = "user"
	KindServiceAccount = "service-account"
)

// Users returns all of a kind.
func (s AccessService) Users(ctx context.Context, kind string) (*api.UserList, error) {
	return read[api.UserList](ctx, s.c, "/v1/"+kind+"s", nil)
}

// CreateUser makes a user or service account.
func (s AccessService) CreateUser(ctx context.Context, kind string, u api.NewUser) (*api.User, error) {
	return send[api.User](ctx, s.c, http.MethodPost, "/v1/"+kind+"s", u, false)
}

// ChangeUser changes a user or service account.
func (s AccessService) ChangeUser(ctx context.Context, kind, name string, u api.UserChange) (*api.User, error) {
	return send[api.User](ctx, s.c, http.MethodPatch, "/v1/"+kind+"s/"+url.PathEscape(name), u, false)
}

// DeleteUser forgets a user or service account, with its tokens and access rules.
func (s AccessService) DeleteUser(ctx context.Context, kind, name string) error {
	return s.c.do(ctx, call{method: http.MethodDelete, path: "/v1/" + kind + "s/" + url.PathEscape(name)}, nil)
}

// Roles returns every role.
func (s AccessService) Roles(ctx context.Context) (*api.RoleList, error) {
	return read[api.RoleList](ctx, s.c, "/v1/roles", nil)
}

// Role returns one role.
func (s AccessService) Role(ctx context.Context, name string) (*api.Role, error) {
	return read[api.Role](ctx, s.c, "/v1/roles/"+url.PathEscape(name), nil)
}

// CreateRole makes a custom role.
func (s AccessService) CreateRole(ctx context.Context, r api.NewRole) (*api.Role, error) {
	return send[api.Role](ctx, s.c, http.MethodPost, "/v1/roles", r, false)
}

// DeleteRole forgets a custom role.
func (s AccessService) DeleteRole(ctx context.Context, name string) error {
	return s.c.do(ctx, call{method: http.MethodDelete, path: "/v1/roles/" + url.PathEscape(name)}, nil)
}

// Rules returns the access rules that one may see: of a subject, of a role, in a
// scope, each where it is not empty.
func (s AccessService) Rules(ctx context.Context, subject, role, scope string) (*api.AccessRuleList, error) {
	return read[api.AccessRuleList](ctx, s.c, "/v1/access-rules", set("subject", subject, "role", role, "scope", scope))
}

// CreateRule gives a subject a role in a scope.
func (s AccessService) CreateRule(ctx context.Context, r api.NewAccessRule) (*api.AccessRule, error) {
	return send[api.AccessRule](ctx, s.c, http.MethodPost, "/v1/access-rules", r, false)
}

// DeleteRule takes an access rule back.
func (s AccessService) DeleteRule(ctx context.Context, id string) error {
	return s.c.do(ctx, call{method: http.MethodDelete, path: "/v1/access-rules/" + url.PathEscape(id)}, nil)
}

// Tokens returns the tokens that one may see, of a user where that is not empty.
func (s AccessService) Tokens(ctx context.Context, user string) (*api.TokenList, error) {
	return read[api.TokenList](ctx, s.c, "/v1/tokens", set("user", user))
}

// CreateToken makes a token; its text is never shown again.
func (s AccessService) CreateToken(ctx context.Context, t api.NewToken) (*api.MadeToken, error) {
	return send[api.MadeToken](ctx, s.c, http.MethodPost, "/v1/tokens", t, false)
}

// RevokeToken ends a token.
func (s AccessService) RevokeToken(ctx context.Context, id string) error {
	return s.c.do(ctx, call{method: http.MethodDelete, path: "/v1/tokens/" + url.PathEscape(id)}, nil)
}

// AuditSelection selects entries of the audit log. Zero fields do not restrict.
type AuditSelection struct {
	Actor, Noun, Action, Result string
	Since, Until                time.Time
	Limit                       int
	Cursor                      string
}

func (a *AuditSelection) query() url.Values {
	q := set("actor", a.Actor, "noun", a.Noun, "action", a.Action, "result", a.Result, "cursor", a.Cursor)
	if !a.Since.IsZero() {
		q.Set("since", a.Since.UTC().Format(time.RFC3339Nano))
	}
	if !a.Until.IsZero() {
		q.Set("until", a.Until.UTC().Format(time.RFC3339Nano))
	}
	if a.Limit > 0 {
		q.Set("limit", strconv.Itoa(a.Limit))
	}
	return q
}

// Audit returns a page of the audit log, the newest first.
func (s AccessService) Audit(ctx context.Context, a AuditSelection) (*api.AuditList, error) {
	return read[api.AuditList](ctx, s.c, "/v1/audit", a.query())
}

// VerifyAudit says whether the audit log is as it was written; head is what a
// verification before has told, or empty.
func (s AccessService) VerifyAudit(ctx context.Context, head string) (*api.AuditVerification, error) {
	return read[api.AuditVerification](ctx, s.c, "/v1/audit/verify", set("head", head))
}

// ExportAudit returns the audit log as a file, csv or jsonl; it is the caller's to
// close.
func (s AccessService) ExportAudit(ctx context.Context, format string, a AuditSelection) (io.ReadCloser, error) {
	q := a.query()
	q.Set("format", format)
	resp, err := s.c.send(ctx, call{method: http.MethodGet, path: "/v1/audit/export", query: q, again: true})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
