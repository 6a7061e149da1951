package rbac_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/rbac"
)

var projects = []core.Project{{ID: "research", Department: true}, {ID: "labs", Department: true, Parent: "research"}, {ID: "vision", Parent: "labs"}, {ID: "audio", Parent: "research"}, {ID: "other"}}

func rule(id, subject, role string, scope core.ProjectID) core.AccessRule {
	s := core.Subject{Kind: core.SubjectUser, Name: subject}
	if subject[0] == '@' {
		s = core.Subject{Kind: core.SubjectGroup, Name: subject[1:]}
	}
	return core.AccessRule{ID: id, Subject: s, Role: role, Scope: scope}
}

func user(name string, groups ...string) core.User {
	return core.User{Name: name, Kind: core.SubjectUser, Groups: groups}
}

func known(t *testing.T, p *rbac.Policy, name string) rbac.Caller {
	t.Helper()
	c, ok := p.Known(name)
	if !ok {
		t.Fatalf("%s is not known", name)
	}
	return c
}

func TestRulesAddUpAndAreInherited(t *testing.T) {
	p := rbac.New(core.Access{
		Users: []core.User{user("ann"), user("lea"), user("dora"), user("root2"), user("gus", "team"), {Name: "gone", Kind: core.SubjectUser, Disabled: true}},
		Rules: []core.AccessRule{
			rule("1", "ann", "l2-researcher", "vision"), rule("2", "ann", "viewer", "audio"), rule("3", "lea", rbac.ProjectLead, "labs"), rule("4", "dora", "department-administrator", "research"),
			rule("5", "root2", rbac.SystemAdministrator, core.SystemScope), rule("6", "@team", "ml-engineer", "research"), rule("7", "gone", rbac.SystemAdministrator, core.SystemScope),
		},
	}, projects)
	for _, c := range []struct {
		who, verb, noun string
		scope           core.ProjectID
		own, want       bool
	}{
		{"ann", "create", "trainings", "vision", false, true},
		{"ann", "create", "trainings", "labs", false, false}, // above
		{"ann", "create", "trainings", "audio", false, false},
		{"ann", "read", "inferences", "audio", false, true},
		{"ann", "delete", "trainings", "vision", false, false},
		{"ann", "delete", "trainings", "vision", true, true},
		{"ann", "delete", "trainings", "audio", true, false},
		{"ann", "create", "templates", "vision", false, false},
		{"ann", "read", "nodes", core.SystemScope, false, false},
		{"lea", "delete", "trainings", "vision", false, true},
		{"lea", "exec", "workspaces", "vision", false, true},
		{"lea", "delete", "trainings", "audio", false, false},
		{"dora", "create", "projects", "labs", false, true},
		{"dora", "create", "projects", core.SystemScope, false, false},
		{"dora", "update", "trainings", "vision", false, false},
		{"root2", "delete", "audit", "nowhere", false, true},
		{"gus", "create", "inferences", "vision", false, true},
		{"gus", "create", "trainings", "vision", false, false},
	} {
		if got := p.Allows(known(t, p, c.who), c.verb, c.noun, c.scope, c.own); got != c.want {
			t.Errorf("%s may %s %s in %s (own: %v): %v, want %v", c.who, c.verb, c.noun, c.scope, c.own, got, c.want)
		}
	}
	if _, ok := p.Known("gone"); ok {
		t.Error("a disabled user is let in")
	}
	if ann := known(t, p, "ann"); !p.Somewhere(ann, "read", "nodes") || p.Somewhere(ann, "update", "nodes") || !p.AnyOf(ann, "delete", rbac.Workloads, "vision") || p.SeesAll(ann) {
		t.Error("what ann may somewhere, or with some, is not what her rules say")
	}
	if gus := known(t, p, "gus"); !p.Sees(gus, "vision", "x", lifecycle.Inference) || p.Sees(gus, "vision", "x", lifecycle.Training) {
		t.Error("an engineer of services sees services, and no trainings")
	}
	// A rule that is taken back, a role that changes hands, a project that moves.
	q := p.With(core.AccessChange{DropRules: []string{"1"}, DropUsers: []string{"lea"}}, nil)
	if q.Allows(known(t, q, "ann"), "create", "trainings", "vision", false) {
		t.Error("a rule that was taken back holds")
	}
	if _, ok := q.Known("lea"); ok {
		t.Error("a user that was deleted is let in")
	}
	if !p.Allows(known(t, p, "ann"), "create", "trainings", "vision", false) {
		t.Error("a policy has changed")
	}
	moved := slices.Clone(projects)
	moved[2].Parent = "other"
	if q := p.With(core.AccessChange{}, moved); q.Allows(known(t, q, "lea"), "delete", "trainings", "vision", false) || !p.Allows(known(t, p, "lea"), "delete", "trainings", "vision", false) {
		t.Error("who leads a department leads what has left it")
	}
}

func TestNobodyGivesWhatTheyDoNotHave(t *testing.T) {
	custom := core.Role{Name: "stops", Permissions: []core.Permission{{Verb: "update", Noun: "workloads"}}, CreatedAt: time.Unix(1, 0)}
	p := rbac.New(core.Access{
		Users: []core.User{user("dora"), user("lea"), user("ann")}, Roles: []core.Role{custom},
		Rules: []core.AccessRule{rule("1", "dora", "department-administrator", "research"), rule("2", "lea", rbac.ProjectLead, "vision"), rule("3", "ann", "l1-researcher", "vision")},
	}, projects)
	for _, c := range []struct {
		who, role string
		scope     core.ProjectID
		want      bool
	}{
		{"dora", "l1-researcher", "vision", true}, {"dora", "l1-researcher", "other", false}, {"dora", "l1-researcher", core.SystemScope, false},
		{"dora", "department-administrator", "research", true}, // what she has herself
		{"dora", rbac.SystemAdministrator, "research", false}, {"dora", "stops", "vision", false},
		{"lea", "stops", "vision", true}, {"lea", "stops", "audio", false}, {"lea", "department-administrator", "vision", false}, {"lea", "research-manager", "vision", false}, {"lea", "credentials-administrator", "vision", true},
		{"ann", "viewer", "other", false},
	} {
		if got, missing := p.Assigns(known(t, p, c.who), c.role, c.scope); got != c.want {
			t.Errorf("%s gives %s in %s: %v, want %v (%v)", c.who, c.role, c.scope, got, c.want, missing)
		}
	}
	if missing, _ := p.Exceeds(known(t, p, "ann"), "lea"); missing == nil {
		t.Error("ann makes tokens for lea, who may do more")
	}
	if missing, where := p.Exceeds(known(t, p, "lea"), "ann"); missing == nil || where != "vision" {
		t.Logf("lea may make tokens for ann: %v", missing)
	}
	limited := known(t, p, "dora")
	limited.Permissions = []core.Permission{{Verb: "create", Noun: "access-rules"}}
	if yes, _ := p.Assigns(limited, "l1-researcher", "vision"); yes {
		t.Error("a token that is limited gives a role that allows more than it")
	}
}

func TestATokenAllowsNoMoreThanItsUserMay(t *testing.T) {
	now := time.Unix(1000, 0)
	p := rbac.New(core.Access{
		Users: []core.User{user("ann")}, Rules: []core.AccessRule{rule("1", "ann", "l1-researcher", "research")},
		Tokens: []core.Token{
			{ID: "all", User: "ann", Hash: "a"}, {ID: "reads", User: "ann", Hash: "b", Permissions: []core.Permission{{Verb: "read", Noun: "*"}}, Scope: "vision"},
			{ID: "more", User: "ann", Hash: "c", Permissions: []core.Permission{{Verb: "*", Noun: "*"}}}, {ID: "old", User: "ann", Hash: "d", ExpiresAt: now}, {ID: "gone", User: "nobody", Hash: "e"},
		},
	}, projects)
	for _, c := range []struct {
		hash, verb, noun string
		scope            core.ProjectID
		want             bool
	}{
		{"a", "create", "trainings", "audio", true}, {"a", "read", "audit", core.SystemScope, false},
		{"b", "read", "trainings", "vision", true}, {"b", "read", "trainings", "audio", false}, {"b", "create", "trainings", "vision", false},
		{"c", "create", "trainings", "audio", true}, {"c", "read", "audit", core.SystemScope, false},
	} {
		who, _ := p.Shown(c.hash, now)
		if who == nil {
			t.Fatalf("token %s lets nobody in", c.hash)
		}
		if got := p.Allows(*who, c.verb, c.noun, c.scope, false); got != c.want {
			t.Errorf("token %s: %s %s in %s: %v, want %v", c.hash, c.verb, c.noun, c.scope, got, c.want)
		}
	}
	for _, hash := range []string{"d", "e", "f", ""} {
		if who, _ := p.Shown(hash, now); who != nil {
			t.Errorf("token %q lets %s in", hash, who.Name)
		}
	}
	if p = p.With(core.AccessChange{DropTokens: []string{"all"}}, nil); p.By("all", now) != nil {
		t.Error("a token that was revoked lets in")
	}
}

func TestPermissionsAreParsed(t *testing.T) {
	for text, want := range map[string]string{"read:workloads": "", "*:*": "", "delete:trainings:own": "", "read": "is not a permission", "read:workloads:all": "is not a permission", "fly:workloads": "is not a verb", "read:stars": "is not a noun"} {
		p, bad := rbac.ParsePermission(text)
		switch {
		case want == "" && (bad != nil || p.String() != text):
			t.Errorf("%s: %v %v", text, p, bad)
		case want != "" && (bad == nil || bad.Hint == "" || !contains(bad.Message, want)):
			t.Errorf("%s: %v, want that it %s", text, bad, want)
		}
	}
	for _, r := range rbac.Predefined() {
		for _, p := range r.Permissions {
			if bad := rbac.Check(p); bad != nil {
				t.Errorf("role %s: %v", r.Name, bad)
			}
		}
		for _, other := range r.Assigns {
			if !slices.ContainsFunc(rbac.Predefined(), func(x core.Role) bool { return x.Name == other }) {
				t.Errorf("role %s assigns %s, which is none", r.Name, other)
			}
		}
	}
}

func contains(text, part string) bool {
	return len(part) <= len(text) && slices.Contains(parts(text, len(part)), part)
}

func parts(text string, n int) (out []string) {
	for i := 0; i+n <= len(text); i++ {
		out = append(out, text[i:i+n])
	}
	return out
}

// large is an organisation of 1,000 projects in 50 departments, and 10,000 users with
// two roles each, in one project and one department.
func large() (core.Access, []core.Project) {
	var a core.Access
	var all []core.Project
	for d := range 50 {
		all = append(all, core.Project{ID: core.ProjectID(fmt.Sprintf("d%d", d)), Department: true})
	}
	for i := range 1000 {
		all = append(all, core.Project{ID: core.ProjectID(fmt.Sprintf("p%d", i)), Parent: core.ProjectID(fmt.Sprintf("d%d", i%50))})
	}
	for i := range 10_000 {
		u := user(fmt.Sprintf("u%d", i), fmt.Sprintf("g%d", i%100))
		a.Users = append(a.Users, u)
		a.Rules = append(a.Rules, rule(fmt.Sprintf("r%d", i), u.Name, "l1-researcher", all[50+i%1000].ID), rule(fmt.Sprintf("s%d", i), u.Name, "viewer", all[i%50].ID))
		a.Tokens = append(a.Tokens, core.Token{ID: fmt.Sprintf("t%d", i), User: u.Name, Hash: fmt.Sprintf("h%d", i)})
	}
	return a, all
}

func BenchmarkLoadOfALargeOrganisation(b *testing.B) {
	a, all := large()
	for b.Loop() {
		rbac.New(a, all)
	}
}

func BenchmarkAllows(b *testing.B) {
	p := rbac.New(large())
	now := time.Unix(1, 0)
	for b.Loop() {
		c, _ := p.Shown("h77", now)
		if !p.Allows(*c, "create", "trainings", "p77", false) {
			b.Fatal("it may not")
		}
	}
}

func BenchmarkAChangeInALargeOrganisation(b *testing.B) {
	p := rbac.New(large())
	for b.Loop() {
		p.With(core.AccessChange{Rules: []core.AccessRule{rule("new", "u1", "viewer", "p5")}}, nil)
	}
}
