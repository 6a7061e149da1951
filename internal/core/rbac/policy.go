package rbac

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Policy is what rules say at one moment. It is never changed: With makes another.
type Policy struct {
	control core.AccessControl
	users   map[string]core.User
	roles   map[string]*compiled // custom ones
	rules   map[string]core.AccessRule
	tokens  map[string]core.Token // by ID
	grants  map[core.Subject][]grant
	hashes  map[string]string // ID of a token by its hash
	parents map[core.ProjectID]core.ProjectID
}

// grant is a rule as it is asked.
type grant struct {
	rule  string
	role  string
	scope core.ProjectID
}

// New is the policy of what is kept, over the tree of projects.
func New(a core.Access, projects []core.Project) *Policy {
	p := &Policy{users: map[string]core.User{}, roles: map[string]*compiled{}, rules: map[string]core.AccessRule{}, tokens: map[string]core.Token{}, grants: map[core.Subject][]grant{}, hashes: map[string]string{}}
	p.apply(core.AccessChange{Control: &a.Control, Users: a.Users, Roles: a.Roles, Rules: a.Rules, Tokens: a.Tokens})
	p.parents = parentsOf(projects)
	return p
}

func parentsOf(projects []core.Project) map[core.ProjectID]core.ProjectID {
	out := make(map[core.ProjectID]core.ProjectID, len(projects))
	for _, x := range projects {
		out[x.ID] = x.Parent
	}
	return out
}

// With is the policy after a change; projects are all that there are then, nil:
// as before.
func (p *Policy) With(c core.AccessChange, projects []core.Project) *Policy {
	n := *p
	if projects != nil {
		n.parents = parentsOf(projects)
	}
	if c.None() {
		return &n
	}
	// Only what changes is copied: large organisations have many of everything.
	if len(c.Users)+len(c.DropUsers) > 0 {
		n.users = maps.Clone(p.users)
	}
	if len(c.Roles)+len(c.DropRoles) > 0 {
		n.roles = maps.Clone(p.roles)
	}
	if len(c.Rules)+len(c.DropRules) > 0 {
		n.rules, n.grants = maps.Clone(p.rules), maps.Clone(p.grants)
	}
	if len(c.Tokens)+len(c.DropTokens) > 0 {
		n.tokens, n.hashes = maps.Clone(p.tokens), maps.Clone(p.hashes)
	}
	n.apply(c)
	return &n
}

// apply changes maps that are p's alone, and no slice in them.
func (p *Policy) apply(c core.AccessChange) {
	if c.Control != nil {
		p.control = *c.Control
	}
	for _, name := range c.DropUsers {
		delete(p.users, name)
	}
	for _, u := range c.Users {
		p.users[u.Name] = u
	}
	for _, name := range c.DropRoles {
		delete(p.roles, name)
	}
	for _, r := range c.Roles {
		p.roles[r.Name] = compile(r)
	}
	for _, id := range c.DropRules {
		if r, ok := p.rules[id]; ok {
			delete(p.rules, id)
			rest := slices.DeleteFunc(slices.Clone(p.grants[r.Subject]), func(g grant) bool { return g.rule == id })
			if p.grants[r.Subject] = rest; len(rest) == 0 {
				delete(p.grants, r.Subject)
			}
		}
	}
	for _, r := range c.Rules {
		p.rules[r.ID] = r
		had := p.grants[r.Subject]
		p.grants[r.Subject] = append(had[:len(had):len(had)], grant{r.ID, r.Role, r.Scope})
	}
	for _, id := range c.DropTokens {
		delete(p.hashes, p.tokens[id].Hash)
		delete(p.tokens, id)
	}
	for _, t := range c.Tokens {
		p.tokens[t.ID], p.hashes[t.Hash] = t, t.ID
	}
}

// Control is whether rules decide, and since when.
func (p *Policy) Control() core.AccessControl { return p.control }

// Enabled reports whether rules decide who may do what.
func (p *Policy) Enabled() bool { return p != nil && p.control.Enabled }

// User is one by name.
func (p *Policy) User(name string) (core.User, bool) { u, ok := p.users[name]; return u, ok }

// Users are all, by name.
func (p *Policy) Users() []core.User { return sorted(p.users) }

// Role is one by name, predefined or custom.
func (p *Policy) Role(name string) (core.Role, bool) {
	if c := p.role(name); c != nil {
		return c.Role, true
	}
	return core.Role{}, false
}

func (p *Policy) role(name string) *compiled {
	if c, ok := compiledRoles[name]; ok {
		return c
	}
	return p.roles[name]
}

// Roles are the predefined ones, then the custom ones by name.
func (p *Policy) Roles() []core.Role {
	out := Predefined()
	for _, name := range slices.Sorted(maps.Keys(p.roles)) {
		out = append(out, p.roles[name].Role)
	}
	return out
}

// Rule is one by ID.
func (p *Policy) Rule(id string) (core.AccessRule, bool) { r, ok := p.rules[id]; return r, ok }

// Rules are all, by ID.
func (p *Policy) Rules() []core.AccessRule { return sorted(p.rules) }

// Token is one by ID.
func (p *Policy) Token(id string) (core.Token, bool) { t, ok := p.tokens[id]; return t, ok }

// Tokens are all, by ID.
func (p *Policy) Tokens() []core.Token { return sorted(p.tokens) }

func sorted[V any](m map[string]V) []V {
	out := make([]V, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}

// Caller is who asks.
type Caller struct {
	Name   string
	Kind   core.SubjectKind
	Groups []string
	// Owner is whoever the server belongs to: rules do not bind them, as they can
	// read and change what the rules are kept in.
	Owner bool
	// Token is the id of the token that was shown; its limits bind beside rules.
	Token       string
	Permissions []core.Permission
	Scope       core.ProjectID
}

// Known is the caller of a user's name; false: there is none, or it is disabled.
func (p *Policy) Known(name string) (Caller, bool) {
	u, ok := p.users[name]
	c := Caller{Name: u.Name, Kind: u.Kind, Groups: u.Groups}
	if a := u.Account; a != nil && len(a.Groups) > 0 {
		c.Groups = slices.Concat(u.Groups, slices.DeleteFunc(slices.Clone(a.Groups), func(g string) bool { return g == MachineGroup || OfCluster(g) }))
	}
	return c, ok && !u.Disabled
}

// OfCluster is the caller whom the API server of a cluster calls so: a service account with
// its groups, or the user of that name; false: nobody is called so here.
func (p *Policy) OfCluster(name string) (Caller, bool) {
	namespace, ok := strings.CutPrefix(name, ClusterAccount+":")
	if !ok {
		c, ok := p.Known(name)
		return Caller{Name: name, Kind: core.SubjectUser, Groups: c.Groups}, ok && c.Kind == core.SubjectUser
	}
	namespace, _, ok = strings.Cut(namespace, ":")
	return Caller{Name: name, Kind: core.SubjectServiceAccount, Groups: []string{ClusterAccounts, ClusterAccounts + ":" + namespace, name}}, ok
}

// Account is the user whose account at an identity provider is the one of a subject.
func (p *Policy) Account(provider, subject string) (core.User, bool) {
	for _, u := range p.users {
		if a := u.Account; a != nil && subject != "" && a.Subject == subject && a.Provider == provider {
			return u, true
		}
	}
	return core.User{}, false
}

// Shown is the caller who shows a token of a hash at a time; nil: nobody is let in
// with it.
func (p *Policy) Shown(hash string, now time.Time) (*Caller, *core.Token) {
	id, ok := p.hashes[hash]
	if !ok {
		return nil, nil
	}
	return p.By(id, now), new(p.tokens[id])
}

// By is the caller who comes with a token of an id; nil: it is revoked or expired,
// or its user is disabled.
func (p *Policy) By(id string, now time.Time) *Caller {
	t, ok := p.tokens[id]
	if !ok || !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) {
		return nil
	}
	c, ok := p.Known(t.User)
	if !ok {
		return nil
	}
	c.Token, c.Permissions, c.Scope = t.ID, t.Permissions, t.Scope
	return &c
}

// mostLevels bounds a walk up the tree of projects.
const mostLevels = 64

// below reports whether a scope is another or stands below it.
func (p *Policy) below(scope, above core.ProjectID) bool {
	if above == core.SystemScope || scope == above {
		return true
	}
	for range mostLevels {
		scope = p.parents[scope]
		if scope == "" {
			return false
		}
		if scope == above {
			return true
		}
	}
	return false
}

// each calls f with what a caller has been given, until it returns false.
func (p *Policy) each(c *Caller, f func(g grant, r *compiled) bool) {
	for _, g := range p.grants[core.Subject{Kind: c.Kind, Name: c.Name}] {
		if r := p.role(g.role); r != nil && !f(g, r) {
			return
		}
	}
	for _, name := range c.Groups {
		for _, g := range p.grants[core.Subject{Kind: core.SubjectGroup, Name: name}] {
			if r := p.role(g.role); r != nil && !f(g, r) {
				return
			}
		}
	}
}

// within reports whether the limits of the caller's token let a permission pass
// in a scope; empty: in some scope.
func (p *Policy) within(c *Caller, verb, noun string, scope core.ProjectID, own bool) bool {
	if scope != "" && c.Scope != "" && !p.below(scope, c.Scope) {
		return false
	}
	if len(c.Permissions) == 0 {
		return true
	}
	return slices.ContainsFunc(c.Permissions, func(x core.Permission) bool {
		return (x.Verb == anything || x.Verb == verb) && covers(x.Noun, noun) && (own || !x.Own)
	})
}

// Allows reports whether a caller may do something in a scope, to what is its own
// or to what is anybody's.
func (p *Policy) Allows(c Caller, verb, noun string, scope core.ProjectID, own bool) bool {
	if !p.within(&c, verb, noun, scope, own) {
		return false
	}
	if c.Owner {
		return true
	}
	yes, key := false, [2]string{verb, noun}
	p.each(&c, func(g grant, r *compiled) bool {
		a := r.of[key]
		yes = (a&ofAny != 0 || own && a&ofOwn != 0) && p.below(scope, g.scope)
		return !yes
	})
	return yes
}

// Holds reports whether a caller has a role in a scope, by a rule there or above; the
// owner of the server has all of them. The limits of a token do not take roles away: what
// it allows is asked beside.
func (p *Policy) Holds(c Caller, role string, scope core.ProjectID) bool {
	if c.Owner {
		return true
	}
	yes := false
	p.each(&c, func(g grant, _ *compiled) bool {
		yes = g.role == role && p.below(scope, g.scope)
		return !yes
	})
	return yes
}

// Holders are some users who have a role in a scope, at most so many, by name.
func (p *Policy) Holders(role string, scope core.ProjectID, most int) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(p.users)) {
		if c, ok := p.Known(name); ok && len(out) < most && p.Holds(c, role, scope) {
			out = append(out, name)
		}
	}
	return out
}

// Somewhere reports whether a caller may do something to anything in any scope: of
// workloads, to those of any kind.
func (p *Policy) Somewhere(c Caller, verb, noun string) bool {
	nouns := []string{noun}
	if noun == Workloads {
		nouns = append(nouns, workloadNouns...)
	}
	for _, noun := range nouns {
		if !p.within(&c, verb, noun, "", true) {
			continue
		}
		yes, key := c.Owner, [2]string{verb, noun}
		p.each(&c, func(g grant, r *compiled) bool {
			yes = yes || r.of[key] != 0
			return !yes
		})
		if yes {
			return true
		}
	}
	return false
}

// AnyOf reports whether a caller may do something to some of what a noun stands for
// in a scope: of workloads, to those of any kind; to their own at least.
func (p *Policy) AnyOf(c Caller, verb, noun string, scope core.ProjectID) bool {
	if p.Allows(c, verb, noun, scope, true) {
		return true
	}
	return noun == Workloads && slices.ContainsFunc(workloadNouns, func(n string) bool { return p.Allows(c, verb, n, scope, true) })
}

// Sees reports whether a caller may see a workload.
func (p *Policy) Sees(c Caller, project core.ProjectID, owner string, kind lifecycle.Kind) bool {
	return p.Allows(c, Read, NounOf(kind), project, owner == c.Name)
}

// SeesAll reports whether a caller may see every workload.
func (p *Policy) SeesAll(c Caller) bool { return p.Allows(c, Read, Workloads, core.SystemScope, false) }

// permissionsOf are what a role allows, as they are asked for.
func (c *compiled) permissionsOf() []core.Permission {
	var out []core.Permission
	for key, a := range c.of {
		out = append(out, core.Permission{Verb: key[0], Noun: key[1], Own: a&ofAny == 0})
	}
	slices.SortFunc(out, func(a, b core.Permission) int {
		return cmp.Or(cmp.Compare(a.Noun, b.Noun), cmp.Compare(a.Verb, b.Verb))
	})
	return out
}

// Beyond is the first permission of some that a caller does not have in a scope;
// nil: it has all of them.
func (p *Policy) Beyond(c Caller, role core.Role, scope core.ProjectID) *core.Permission {
	for _, x := range compile(role).permissionsOf() {
		if !p.Allows(c, x.Verb, x.Noun, scope, x.Own) {
			return &x
		}
	}
	return nil
}

// Assigns reports whether a caller who may create access rules in a scope may give
// this role there: one that a role of theirs assigns, or that allows nothing which
// they may not do themselves. Otherwise missing is what they may not do.
func (p *Policy) Assigns(c Caller, role string, scope core.ProjectID) (yes bool, missing *core.Permission) {
	key := [2]string{Create, AccessRules}
	p.each(&c, func(g grant, r *compiled) bool {
		yes = r.of[key]&ofAny != 0 && slices.Contains(r.Assigns, role) && p.below(scope, g.scope)
		return !yes
	})
	if yes && len(c.Permissions) == 0 {
		return true, nil
	}
	r := p.role(role)
	if r == nil {
		return false, nil
	}
	missing = p.Beyond(c, r.Role, scope)
	return missing == nil, missing
}

// Exceeds is the first permission that some user has and a caller has not, with
// the scope; nil: none. Who makes tokens for another can do what these can.
func (p *Policy) Exceeds(c Caller, name string) (*core.Permission, core.ProjectID) {
	other, _ := p.Known(name)
	var missing *core.Permission
	var where core.ProjectID
	p.each(&other, func(g grant, r *compiled) bool {
		missing, where = p.Beyond(c, r.Role, g.scope), g.scope
		return missing == nil
	})
	return missing, where
}

// Inside reports whether a caller has been given anything at all in a scope or above it.
func (p *Policy) Inside(c Caller, scope core.ProjectID) bool {
	yes := c.Owner
	p.each(&c, func(g grant, _ *compiled) bool {
		yes = yes || p.below(scope, g.scope)
		return !yes
	})
	return yes
}

// Granted are the rules that give a caller roles, its groups' too.
func (p *Policy) Granted(c Caller) []core.AccessRule {
	var out []core.AccessRule
	p.each(&c, func(g grant, _ *compiled) bool {
		out = append(out, p.rules[g.rule])
		return true
	})
	return out
}

// Because is the rule by which a caller may do something; nil: there is none, or it
// is the owner.
func (p *Policy) Because(c Caller, verb, noun string, scope core.ProjectID, own bool) *core.AccessRule {
	var out *core.AccessRule
	key := [2]string{verb, noun}
	p.each(&c, func(g grant, r *compiled) bool {
		a := r.of[key]
		if (a&ofAny != 0 || own && a&ofOwn != 0) && p.below(scope, g.scope) {
			out = new(p.rules[g.rule])
		}
		return out == nil
	})
	return out
}

// RolesWith are the names of the roles that allow something: to anybody's, or to
// one's own.
func (p *Policy) RolesWith(verb, noun string, own bool) []string {
	var out []string
	for _, r := range p.Roles() {
		if a := p.role(r.Name).of[[2]string{verb, noun}]; a&ofAny != 0 || own && a&ofOwn != 0 {
			out = append(out, r.Name)
		}
	}
	return out
}

// giversMost is how many are named who could give a permission.
const giversMost = 3

// Givers are some who may give one of these roles in a scope, by name; the owner of
// the server is not among them.
func (p *Policy) Givers(scope core.ProjectID, roles []string) []string {
	gives := func(r *compiled) bool {
		return r.of[[2]string{Create, AccessRules}]&ofAny != 0 && (slices.Contains(roles, r.Name) || slices.ContainsFunc(r.Assigns, func(name string) bool { return slices.Contains(roles, name) }))
	}
	seen := map[string]bool{}
	for s, grants := range p.grants {
		for _, g := range grants {
			if r := p.role(g.role); r != nil && gives(r) && p.below(scope, g.scope) {
				name := s.Name
				if s.Kind != core.SubjectUser {
					name = s.String()
				}
				seen[name] = true
			}
		}
	}
	out := slices.Sorted(maps.Keys(seen))
	return out[:min(len(out), giversMost)]
}

// ScopeWord is a scope in a sentence.
func ScopeWord(scope core.ProjectID) string {
	if scope == core.SystemScope || scope == "" {
		return "the system"
	}
	return "project or department " + string(scope)
}
