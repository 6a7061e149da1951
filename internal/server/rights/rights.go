// Package rights serves who may do what: access control itself, users, roles, access
// rules, tokens, and the audit log of who did what.
package rights

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	use "github.com/musterhq/muster/internal/engine/access"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
)

// routes serve who may do what.
type routes struct {
	*reader.Reader
	api   huma.API
	guard *access.Guard
}

// Register adds the routes of access control and of the audit log to an API.
func Register(r *reader.Reader, a huma.API, g *access.Guard) {
	s := &routes{r, a, g}
	s.controlRoutes()
	s.userRoutes(core.SubjectUser, "/v1/users")
	s.userRoutes(core.SubjectServiceAccount, "/v1/service-accounts")
	s.roleRoutes()
	s.ruleRoutes()
	s.tokenRoutes()
	s.auditRoutes()
}

var tags = []string{"access"}

type controlOutput struct{ Body api.AccessControl }

// caller is who asks, and the rules at present.
func (s *routes) caller(ctx context.Context) (rbac.Caller, *rbac.Policy) {
	c, rights, _ := access.Asker(ctx)
	if rights == nil { // access control is off: it may be prepared
		rights = s.Control.Rights()
	}
	return c, rights
}

func (s *routes) controlRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "access-control", Method: http.MethodGet, Path: "/v1/access", Summary: "Whether access rules decide who may do what", Tags: tags,
	}, func(context.Context, *struct{}) (*controlOutput, error) {
		return &controlOutput{wire.AccessControl(s.Control.Rights().Control())}, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "set-access-control", Method: http.MethodPut, Path: "/v1/access", Summary: "Turn access control on or off; the owner of the server may do everything whichever it is", Tags: tags,
	}, func(ctx context.Context, in *struct{ Body api.AccessSwitch }) (*controlOutput, error) {
		if !in.Body.Enabled && s.guard.AsSubmitter() {
			return nil, problem.New(http.StatusConflict, "conflict", "tasks of this server run as who submits them: without access control everybody could run commands as anybody", "start the server without --tasks-as submitter first")
		}
		now, err := control.Do(ctx, s.Control, use.Switch(in.Body.Enabled, access.User(ctx)))
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return &controlOutput{wire.AccessControl(now)}, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "set-audit", Method: http.MethodPut, Path: "/v1/access/audit", Summary: "Have the audit log written, or not, while access control is off; while it is on it always is", Tags: tags,
	}, func(ctx context.Context, in *struct{ Body api.AuditSwitch }) (*controlOutput, error) {
		now, err := control.Do(ctx, s.Control, use.SwitchAudit(in.Body.Enabled, access.User(ctx)))
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return &controlOutput{wire.AccessControl(now)}, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "whoami", Method: http.MethodGet, Path: "/v1/auth/whoami", Summary: "Who asks, and by which rules they have which roles", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body api.Identity }, error) {
		c, rights := s.caller(ctx)
		out := &struct{ Body api.Identity }{api.Identity{
			User: c.Name, Kind: string(c.Kind), By: access.Way(ctx), AccessControl: access.Enforced(ctx), Owner: c.Owner && access.Enforced(ctx),
			Groups: c.Groups, Token: c.Token, Permissions: wire.Permissions(c.Permissions), Scope: string(c.Scope), Rules: []api.AccessRule{},
		}}
		if t, ok := rights.Token(c.Token); ok {
			out.Body.Provider, out.Body.ExpiresAt = t.Provider, wire.At(t.ExpiresAt)
		}
		for _, r := range rights.Granted(c) {
			out.Body.Rules = append(out.Body.Rules, wire.AccessRule(r))
		}
		return out, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "can-i", Method: http.MethodGet, Path: "/v1/auth/can-i", Summary: "Whether somebody may do something, and by which rule", Tags: tags,
	}, s.canI)
}

type canInput struct {
	Verb  string `query:"verb" required:"true" doc:"create, read, update, delete, exec or approve"`
	Noun  string `query:"noun" required:"true" doc:"Such as workloads, trainings, nodes"`
	Scope string `query:"scope" default:"-" doc:"Project or department; '-': the system"`
	As    string `query:"as" doc:"User or service account; absent: whoever asks"`
	Own   bool   `query:"own" doc:"Of what is their own"`
}

func (s *routes) canI(ctx context.Context, in *canInput) (*struct{ Body api.Decision }, error) {
	if bad := rbac.Check(core.Permission{Verb: in.Verb, Noun: in.Noun}); bad != nil || in.Verb == "*" || in.Noun == "*" {
		field, value, allowed := "noun", in.Noun, rbac.Nouns()
		if !slices.Contains(rbac.Verbs(), in.Verb) {
			field, value, allowed = "verb", in.Verb, rbac.Verbs()
		}
		return nil, problem.OneOf(field, value, allowed...)
	}
	c, rights := s.caller(ctx)
	scope := core.ProjectID(in.Scope)
	if in.As != "" && in.As != c.Name {
		if err := access.May(ctx, rbac.Read, rbac.AccessRules, scope, ""); err != nil {
			return nil, err
		}
		other, ok := rights.Known(in.As)
		if !ok {
			return nil, problem.BadValue("as", in.As, "is no user or service account that is let in", "muster user list and muster service-account list show them")
		}
		c = other
	} else if !access.Enforced(ctx) {
		return &struct{ Body api.Decision }{api.Decision{Allowed: true, User: c.Name, Verb: in.Verb, Noun: in.Noun, Scope: in.Scope, Own: in.Own, Message: "access control is off: everybody who reaches the server may do everything", Hint: "muster access enable turns it on"}}, nil
	}
	d := api.Decision{User: c.Name, Verb: in.Verb, Noun: in.Noun, Scope: in.Scope, Own: in.Own}
	d.Allowed = rights.Allows(c, in.Verb, in.Noun, scope, in.Own)
	what := in.Verb + " " + in.Noun + " in " + rbac.ScopeWord(scope)
	switch {
	case d.Allowed && c.Owner:
		d.Message = c.Name + " may " + what + ": the server is theirs"
	case d.Allowed:
		d.Message = c.Name + " may " + what
		if r := rights.Because(c, in.Verb, in.Noun, scope, in.Own); r != nil {
			x := wire.AccessRule(*r)
			d.Because = &x
			d.Message += ", as " + r.Subject.String() + " has role " + r.Role + " in " + rbac.ScopeWord(r.Scope)
		}
	default:
		d.Message = c.Name + " may not " + what
		if d.OnlyOwn = rights.Allows(c, in.Verb, in.Noun, scope, true); d.OnlyOwn {
			d.Message += ", but may with what is their own"
		}
		d.Hint = "roles that allow it: " + strings.Join(rights.RolesWith(in.Verb, in.Noun, in.Own), ", ")
	}
	return &struct{ Body api.Decision }{d}, nil
}

type userOutput struct {
	Status int
	Body   api.User
}

func (s *routes) userRoutes(kind core.SubjectKind, path string) {
	id, word := string(kind), strings.ReplaceAll(string(kind), "-", " ")
	huma.Register(s.api, huma.Operation{
		OperationID: "list-" + id + "s", Method: http.MethodGet, Path: path, Summary: "Every " + word, Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body api.UserList }, error) {
		_, rights := s.caller(ctx)
		out := &struct{ Body api.UserList }{api.UserList{Items: []api.User{}}}
		for _, u := range rights.Users() {
			if u.Kind == kind {
				out.Body.Items = append(out.Body.Items, wire.User(u))
			}
		}
		return out, nil
	})
	edit := func(ctx context.Context, e use.UserEdit, status int) (*userOutput, error) {
		e.Kind, e.By, e.Reserved = kind, access.User(ctx), s.guard.OwnerNames()
		u, err := control.Do(ctx, s.Control, use.EditUser(e))
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return &userOutput{status, wire.User(u)}, nil
	}
	huma.Register(s.api, huma.Operation{
		OperationID: "create-" + id, Method: http.MethodPost, Path: path, Summary: "Make a " + word, Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct{ Body api.NewUser }) (*userOutput, error) {
		e := use.UserEdit{Name: in.Body.Name, New: true, Groups: &in.Body.Groups, Note: &in.Body.Note}
		if in.Body.SSO {
			e.SSO = &in.Body.SSO
		}
		if in.Body.OSUser != "" {
			if e.OSUser = &in.Body.OSUser; !access.Owns(ctx) {
				return nil, notYours()
			}
		}
		return edit(ctx, e, http.StatusCreated)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "change-" + id, Method: http.MethodPatch, Path: path + "/{name}", Summary: "Change the groups and note of a " + word + ", or whether it is let in", Tags: tags,
	}, func(ctx context.Context, in *struct {
		request.RecordName
		Body api.UserChange `contentType:"application/merge-patch+json"`
	}) (*userOutput, error) {
		c, rights := s.caller(ctx)
		// Who changes the groups of another gives what rules give these groups.
		if in.Body.Groups != nil && !c.Owner {
			for _, g := range *in.Body.Groups {
				for _, r := range rights.Granted(rbac.Caller{Kind: core.SubjectGroup, Name: g}) {
					if yes, _ := rights.Assigns(c, r.Role, r.Scope); !yes {
						return nil, problem.New(http.StatusForbidden, "forbidden", "group "+g+" has role "+r.Role+" in "+rbac.ScopeWord(r.Scope)+", which "+c.Name+" may not give", "ask an administrator of "+rbac.ScopeWord(r.Scope))
					}
				}
			}
		}
		// So does who binds a user to another account.
		if in.Body.SSO != nil && *in.Body.SSO && !c.Owner && in.Name != c.Name {
			if u, _ := rights.User(in.Name); u.OSUser != "" {
				return nil, notYours()
			}
			if missing, scope := rights.Exceeds(c, in.Name); missing != nil {
				return nil, problem.New(http.StatusForbidden, "forbidden", in.Name+" may "+missing.String()+" in "+rbac.ScopeWord(scope)+", and "+c.Name+" may not: nobody gives what they do not have", "ask an administrator")
			}
		}
		if in.Body.OSUser != nil && !access.Owns(ctx) {
			return nil, notYours()
		}
		return edit(ctx, use.UserEdit{Name: in.Name, Groups: in.Body.Groups, Disabled: in.Body.Disabled, Note: in.Body.Note, SSO: in.Body.SSO, OSUser: in.Body.OSUser}, http.StatusOK)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-" + id, Method: http.MethodDelete, Path: path + "/{name}", Summary: "Forget a " + word + ", with its tokens and access rules; its workloads stay", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *request.RecordName) (*struct{}, error) {
		return nil, problem.OrNil(s.Log, s.Control.Apply(ctx, use.DeleteUser(kind, in.Name)))
	})
}

// notYours refuses to give away an account of the machine.
func notYours() error {
	return problem.New(http.StatusForbidden, "forbidden", "osUser: only the owner of the server says as whom of its machine somebody's tasks run", "ask root of that machine")
}

type roleOutput struct {
	Status int
	Body   api.Role
}

func (s *routes) roleRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "list-roles", Method: http.MethodGet, Path: "/v1/roles", Summary: "Every role, with what it allows", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body api.RoleList }, error) {
		_, rights := s.caller(ctx)
		out := &struct{ Body api.RoleList }{}
		for _, r := range rights.Roles() {
			out.Body.Items = append(out.Body.Items, wire.Role(r))
		}
		return out, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "role", Method: http.MethodGet, Path: "/v1/roles/{name}", Summary: "One role", Tags: tags,
	}, func(ctx context.Context, in *request.RecordName) (*roleOutput, error) {
		_, rights := s.caller(ctx)
		r, err := request.Find("role", rbac.RoleName(in.Name), rights.Roles(), func(r core.Role) string { return r.Name })
		return &roleOutput{Status: http.StatusOK, Body: wire.Role(r)}, err
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "create-role", Method: http.MethodPost, Path: "/v1/roles", Summary: "Make a custom role of permissions that one has oneself", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct{ Body api.NewRole }) (*roleOutput, error) {
		permissions, err := wire.ParsePermissions(in.Body.Permissions)
		if err != nil {
			return nil, err
		}
		c, _ := s.caller(ctx)
		r, err := control.Do(ctx, s.Control, use.CreateRole(c, core.Role{Name: in.Body.Name, Description: in.Body.Description, Permissions: permissions, Assigns: in.Body.Assigns}))
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return &roleOutput{http.StatusCreated, wire.Role(r)}, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-role", Method: http.MethodDelete, Path: "/v1/roles/{name}", Summary: "Forget a custom role that no access rule gives", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *request.RecordName) (*struct{}, error) {
		return nil, problem.OrNil(s.Log, s.Control.Apply(ctx, use.DeleteRole(in.Name)))
	})
}

type ruleOutput struct {
	Status int
	Body   api.AccessRule
}

func (s *routes) ruleRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "list-access-rules", Method: http.MethodGet, Path: "/v1/access-rules", Summary: "Access rules: one's own, and those of the scopes in which one may read them", Tags: tags,
	}, func(ctx context.Context, in *struct {
		Subject string `query:"subject" doc:"Only those of KIND:NAME"`
		Role    string `query:"role" doc:"Only those that give this role"`
		Scope   string `query:"scope" doc:"Only those in this project or department; '-': the system"`
	}) (*struct{ Body api.AccessRuleList }, error) {
		c, rights := s.caller(ctx)
		mine := map[string]bool{}
		for _, r := range rights.Granted(c) {
			mine[r.ID] = true
		}
		out := &struct{ Body api.AccessRuleList }{api.AccessRuleList{Items: []api.AccessRule{}}}
		for _, r := range rights.Rules() {
			x := wire.AccessRule(r)
			if in.Subject != "" && x.Subject != in.Subject || in.Role != "" && x.Role != rbac.RoleName(in.Role) || in.Scope != "" && x.Scope != in.Scope {
				continue
			}
			if mine[r.ID] || access.Allowed(ctx, rbac.Read, rbac.AccessRules, r.Scope, "") {
				out.Body.Items = append(out.Body.Items, x)
			}
		}
		return out, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "create-access-rule", Method: http.MethodPost, Path: "/v1/access-rules", Summary: "Give a subject a role in a scope", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct{ Body api.NewAccessRule }) (*ruleOutput, error) {
		kind, name, ok := strings.Cut(in.Body.Subject, ":")
		if !ok {
			return nil, problem.BadValue("subject", in.Body.Subject, "is not KIND:NAME", "write one like user:ann, service-account:robot or group:vision")
		}
		scope := core.ProjectID(in.Body.Scope)
		if scope == "" {
			return nil, problem.BadRequest("scope", "is missing", "name a project or department, or '-' for the system")
		}
		if err := access.May(ctx, rbac.Create, rbac.AccessRules, scope, ""); err != nil {
			return nil, err
		}
		c, _ := s.caller(ctx)
		made, err := control.Do(ctx, s.Control, use.CreateRule(c, use.RuleRequest{Subject: core.Subject{Kind: core.SubjectKind(kind), Name: name}, Role: in.Body.Role, Scope: scope}))
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return &ruleOutput{http.StatusCreated, wire.AccessRule(made)}, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-access-rule", Method: http.MethodDelete, Path: "/v1/access-rules/{id}", Summary: "Take an access rule back", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct {
		ID string `path:"id"`
	}) (*struct{}, error) {
		c, rights := s.caller(ctx)
		if r, ok := rights.Rule(in.ID); ok {
			if !access.Allowed(ctx, rbac.Read, rbac.AccessRules, r.Scope, "") { // nor is it told that there is one
				return nil, problem.New(http.StatusNotFound, "not_found", "access rule \""+in.ID+"\" does not exist", "muster access-rule list lists what does")
			}
			if err := access.May(ctx, rbac.Delete, rbac.AccessRules, r.Scope, ""); err != nil {
				return nil, err
			}
		}
		return nil, problem.OrNil(s.Log, s.Control.Apply(ctx, use.DeleteRule(c, in.ID)))
	})
}

type tokenOutput struct {
	Status int
	Body   api.MadeToken
}

// usualLife is how long a token is good of which nobody says that.
const usualLife = 30 * 24 * time.Hour

func (s *routes) tokenRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "list-tokens", Method: http.MethodGet, Path: "/v1/tokens", Summary: "Tokens: one's own, and everybody's for who may read those", Tags: tags,
	}, func(ctx context.Context, in *struct {
		User string `query:"user" doc:"Only this user's or service account's"`
	}) (*struct{ Body api.TokenList }, error) {
		_, rights := s.caller(ctx)
		out := &struct{ Body api.TokenList }{api.TokenList{Items: []api.Token{}}}
		for _, t := range rights.Tokens() {
			if (in.User == "" || t.User == in.User) && s.mayToken(ctx, rbac.Read, t.User) {
				out.Body.Items = append(out.Body.Items, wire.Token(t, s.Clock()))
			}
		}
		return out, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "create-token", Method: http.MethodPost, Path: "/v1/tokens", Summary: "Make a token for oneself, or for who one may; its text is shown once", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct{ Body api.NewToken }) (*tokenOutput, error) {
		c, _ := s.caller(ctx)
		b := in.Body
		if b.User == "" {
			b.User = c.Name
		}
		if b.User != c.Name {
			if err := access.May(ctx, rbac.Create, rbac.Tokens, core.SystemScope, ""); err != nil {
				return nil, err
			}
		}
		life := usualLife
		if b.Lifetime != "" {
			var err error
			if life, err = wire.Lifetime(b.Lifetime); err != nil {
				return nil, err
			}
		}
		permissions, err := wire.ParsePermissions(b.Permissions)
		if err != nil {
			return nil, err
		}
		text, hash := access.NewToken()
		made, err := control.Do(ctx, s.Control, use.CreateToken(c, core.Token{User: b.User, Note: b.Note, Hash: hash, Permissions: permissions, Scope: core.ProjectID(b.Scope)}, life))
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return &tokenOutput{http.StatusCreated, api.MadeToken{Token: wire.Token(made, s.Clock()), Text: text}}, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "revoke-token", Method: http.MethodDelete, Path: "/v1/tokens/{id}", Summary: "Revoke a token; what came in with it ends", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct {
		ID string `path:"id"`
	}) (*struct{}, error) {
		_, rights := s.caller(ctx)
		if t, ok := rights.Token(in.ID); ok && !s.mayToken(ctx, rbac.Delete, t.User) {
			if !s.mayToken(ctx, rbac.Read, t.User) {
				return nil, problem.New(http.StatusNotFound, "not_found", "token \""+in.ID+"\" does not exist", "muster token list lists what does")
			}
			return nil, access.May(ctx, rbac.Delete, rbac.Tokens, core.SystemScope, "")
		}
		return nil, problem.OrNil(s.Log, s.Control.Apply(ctx, use.RevokeToken(in.ID)))
	})
}

// mayToken reports whether who asks may do something with the tokens of a user:
// with one's own everything.
func (s *routes) mayToken(ctx context.Context, verb, user string) bool {
	return user == access.User(ctx) || access.Allowed(ctx, verb, rbac.Tokens, core.SystemScope, "")
}
