package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/testing/fakebackend"
)

// TestEveryNeedHasARoute: what is said of routes is about those that there are.
func TestEveryNeedHasARoute(t *testing.T) {
	for _, r := range newWorld(t).server.Routes() {
		if !r.Served {
			t.Errorf("internal/server/access/needs.go knows %q, which no route is", r.Pattern)
		}
	}
}

// realm is a world in which access rules decide.
type realm struct {
	*world
	tokens map[string]string // by user
	plain  *http.Client
}

// must makes a request as the owner of the server, which has to be done.
func (r *realm) must(method, path, body string, out any) {
	r.t.Helper()
	var text string
	resp := r.call(method, path, body, &text, "Content-Type", "application/json")
	if resp.StatusCode >= 300 {
		r.t.Fatalf("%s %s %s: %s %s", method, path, body, resp.Status, text)
	}
	if out != nil {
		if err := json.Unmarshal([]byte(text), out); err != nil {
			r.t.Fatal(err)
		}
	}
}

// as makes a request with the token of a user; nobody's with an empty name.
func (r *realm) as(user, method, path, body string, header ...string) (int, string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, r.tcp+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if user != "" {
		req.Header.Set("Authorization", "Bearer "+r.tokens[user])
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := r.plain.Do(req)
	if err != nil {
		r.t.Fatalf("%s %s as %s: %v", method, path, user, err)
	}
	defer resp.Body.Close()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return resp.StatusCode, "" // it goes on for ever
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// person makes a user with a token, and with a role in a scope; without a role, none.
func (r *realm) person(name, role, scope string) {
	r.t.Helper()
	r.must("POST", "/v1/users", fmt.Sprintf(`{"name":%q}`, name), nil)
	if role != "" {
		r.rule(name, role, scope)
	}
	var made api.MadeToken
	r.must("POST", "/v1/tokens", fmt.Sprintf(`{"user":%q}`, name), &made)
	r.tokens[name] = made.Text
}

func (r *realm) rule(name, role, scope string) (id string) {
	r.t.Helper()
	var made api.AccessRule
	r.must("POST", "/v1/access-rules", fmt.Sprintf(`{"subject":"user:%s","role":%q,"scope":%q}`, name, role, scope), &made)
	return made.ID
}

// submits has a user submit a document, whatever rules they have.
func (r *realm) submits(user, doc string) (w api.Workload) {
	r.t.Helper()
	if user != rbac.SystemAdministrator+".all" { // who may anyway
		id := r.rule(user, rbac.SystemAdministrator, "-")
		defer r.must("DELETE", "/v1/access-rules/"+id, "", nil)
	}
	status, text := r.as(user, "POST", "/v1/projects/-/workloads", doc)
	if status != http.StatusCreated {
		r.t.Fatalf("%s as %s: %d %s", doc, user, status, text)
	}
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		r.t.Fatal(err)
	}
	return w
}

// newRealm has a department research with the projects vision and audio, and a project
// hidden beside it.
func newRealm(t *testing.T) *realm {
	t.Helper()
	return newRealmOver(t, newWorldOf(t, fakebackend.Node("node-1", 64000, 64<<30, 4, "Fake A100")))
}

// newRealmOver makes a realm of a world.
func newRealmOver(t *testing.T, w *world) *realm {
	t.Helper()
	r := &realm{world: w, tokens: map[string]string{}, plain: &http.Client{}}
	r.must("POST", "/v1/departments", `{"name":"research"}`, nil)
	for _, p := range []string{`{"name":"vision","parent":"research"}`, `{"name":"audio","parent":"research"}`, `{"name":"zq-hidden"}`} {
		r.must("POST", "/v1/projects", p, nil)
	}
	r.must("PUT", "/v1/access", `{"enabled":true}`, nil)
	return r
}

var parentOf = map[string]string{"vision": "research", "audio": "research"}

// grants is what a rule gives, as the test reads it: not as the program does.
type grants struct {
	role  core.Role
	scope string
}

func (g grants) covers(scope string) bool {
	return g.scope == "-" || g.scope == scope || parentOf[scope] != "" && parentOf[scope] == g.scope
}

func (g grants) has(verb, noun string, own bool) bool {
	kinds := []string{"workspaces", "trainings", "inferences"}
	return slices.ContainsFunc(g.role.Permissions, func(p core.Permission) bool {
		return (p.Verb == "*" || p.Verb == verb) && (p.Noun == "*" || p.Noun == noun || p.Noun == "workloads" && slices.Contains(kinds, noun)) && (own || !p.Own)
	})
}

func (g grants) hasAnyKind(verb, noun string) bool {
	if noun != "workloads" {
		return g.has(verb, noun, true)
	}
	return g.has(verb, "workloads", true) || g.has(verb, "trainings", true) || g.has(verb, "workspaces", true) || g.has(verb, "inferences", true)
}

// aim is what the names of a path stand for.
type aim struct {
	project, name string
	noun          string // of the workload
	own, there    bool
}

const (
	pass   = "passes"
	refuse = "is refused"
	absent = "is not there"
)

// expected is what has to become of a request, by the need of its route.
func (g *grants) expected(n access.Need, verb string, a aim) string {
	yes := false
	switch n.At {
	case access.Anyone:
		return pass
	case access.TaskOnly:
		return refuse
	case access.SignedIn:
		return pass
	case access.System:
		yes = g != nil && g.covers("-") && g.has(verb, n.Noun, false)
	case access.Somewhere:
		yes = g != nil && g.hasAnyKind(verb, n.Noun)
	case access.InProject, access.OnAsset, access.OnRecord:
		yes = g != nil && g.covers(a.project) && g.hasAnyKind(verb, n.Noun)
	case access.OnWorkload:
		if g == nil || !g.covers(a.project) || !g.has("read", a.noun, a.own) {
			return absent
		}
		yes = g.has(verb, a.noun, a.own)
	}
	if yes {
		return pass
	}
	return refuse
}

// TestEveryRouteAsksForItsPermission makes a request of every route that there is, as
// who has each role in a project or everywhere, about what is their own, what is
// others', and what is in a project of others; also as a known user without a role and
// as nobody. Requests that pass change nothing: they carry no valid body, and a condition
// that does not hold.
func TestEveryRouteAsksForItsPermission(t *testing.T) {
	r := newRealm(t)
	subjects := map[string]*grants{"nobody-special": nil, "": nil}
	r.person("nobody-special", "", "")
	for _, role := range rbac.Predefined() {
		for suffix, scope := range map[string]string{"here": "vision", "all": "-", "dept": "research"} {
			name := role.Name + "." + suffix
			r.person(name, role.Name, scope)
			subjects[name] = &grants{role, scope}
		}
	}
	// A custom role of permissions about one's own alone.
	r.must("POST", "/v1/roles", `{"name":"own-only","permissions":["read:trainings:own","update:trainings:own","exec:inferences"]}`, nil)
	r.person("own-only", "own-only", "vision")
	subjects["own-only"] = &grants{core.Role{Permissions: []core.Permission{{Verb: "read", Noun: "trainings", Own: true}, {Verb: "update", Noun: "trainings", Own: true}, {Verb: "exec", Noun: "inferences"}}}, "vision"}

	r.person("zq-eve", "", "")
	const training, service = `{"project":%q,"name":%q,"command":["fake","run=forever"],"resources":{"cpu":"0.01"}}`, `{"project":%q,"name":%q,"kind":"inference","command":["fake","run=forever"],"replicas":1,"ports":[80],"resources":{"cpu":"0.01"}}`
	others := []aim{
		{project: "vision", name: "evesrun", noun: "trainings", there: true}, {project: "vision", name: "evesservice", noun: "inferences", there: true},
		{project: "audio", name: "evesrun", noun: "trainings", there: true}, {project: "zq-hidden", name: "evesrun", noun: "trainings", there: true},
	}
	for _, a := range others {
		doc := training
		if a.noun == "inferences" {
			doc = service
		}
		r.submits("zq-eve", fmt.Sprintf(doc, a.project, a.name))
	}
	routes := r.server.Routes()
	asked, holes := 0, 0
	for name, g := range subjects {
		aims := slices.Clone(others)
		if name != "" {
			own := aim{project: "vision", name: "own-" + strings.ReplaceAll(name, ".", "-"), noun: "trainings", own: true, there: true}
			r.submits(name, fmt.Sprintf(training, own.project, own.name))
			aims = append(aims, own)
		}
		for _, route := range routes {
			done := map[string]bool{}
			for _, a := range aims {
				for _, action := range actionsOf(route.Pattern) {
					method, path, verb := fill(route, a, action)
					if key := method + path; done[key] {
						continue
					} else {
						done[key] = true
					}
					want := g.expected(route.Need, verb, a)
					if name == "" && want != pass {
						want = refuse
					}
					if name == "" && route.At == access.SignedIn {
						want = refuse
					}
					asked++
					var condition []string
					if route.At == access.OnWorkload && method != "GET" {
						condition = []string{"If-Match", `"0"`}
					}
					status, text := r.as(name, method, path, "", condition...)
					got := pass
					switch {
					case status == http.StatusUnauthorized || status == http.StatusForbidden && !strings.Contains(text, "browser"):
						got = refuse
					case status == http.StatusNotFound && strings.Contains(text, "workload") && route.At == access.OnWorkload:
						got = absent
					}
					if got != want {
						holes++
						t.Errorf("%s %s as %q %s with %d, and it has to be that it %s: %s", method, path, name, got, status, want, text)
					}
					if status >= 500 && status != http.StatusServiceUnavailable {
						t.Errorf("%s %s as %q: %d %s", method, path, name, status, text)
					}
					if got == refuse && (!strings.Contains(text, `"hint"`) || status == http.StatusForbidden && route.At != access.TaskOnly && (!strings.Contains(text, name) || !strings.Contains(text, "permission"))) {
						t.Errorf("%s %s as %q: the refusal does not say who, what and who can give it: %s", method, path, name, text)
					}
					if holes > 20 {
						t.Fatal("and so on")
					}
				}
			}
		}
	}
	if asked < 10_000 {
		t.Errorf("only %d requests were made", asked)
	}
	t.Logf("%d requests, %d holes", asked, holes)
}

// actionsOf are the actions that a path takes the name of, or one that is none.
func actionsOf(pattern string) []string {
	switch {
	case !strings.HasSuffix(pattern, "{target}"):
		return []string{""}
	case strings.Contains(pattern, "workloads"):
		return []string{"stop", "approve", "reject", "preempt"}
	}
	return []string{"nothing"}
}

// fill makes a request of a route.
func fill(r access.Route, a aim, action string) (method, path, verb string) {
	method, path, ok := strings.Cut(r.Pattern, " ")
	if !ok {
		method, path = "GET", r.Pattern
	}
	verb = r.Verb
	if action == "approve" || action == "reject" {
		verb = "approve"
	}
	name := a.name
	if r.At == access.OnRecord {
		name = a.project
	} else if r.At != access.OnWorkload {
		name = "nosuch"
	}
	path = strings.NewReplacer("{project}", a.project, "{name}", name, "{target}", name+":"+action, "{id}", "nosuch").Replace(path)
	return method, path, verb
}

// TestWhatIsHiddenIsNowhere asks everything that can be read of who may see one project,
// while work of another project runs, waits and ends on the same node: no answer may name
// it, its project or its owner.
func TestWhatIsHiddenIsNowhere(t *testing.T) {
	r := newRealm(t)
	const secret = "zq-"
	r.person("ann", "l1-researcher", "vision")
	r.person("zq-eve", "", "")
	r.submits("ann", `{"project":"vision","name":"mine","command":["fake","run=forever"],"resources":{"gpu":1}}`)
	r.submits("zq-eve", `{"project":"zq-hidden","name":"zq-holds","command":["fake","run=forever"],"resources":{"gpu":3}}`)
	r.submits("zq-eve", `{"project":"zq-hidden","name":"zq-waits","command":["fake","run=forever"],"resources":{"gpu":4}}`)
	waits := r.submits("ann", `{"project":"vision","name":"waits","command":["fake","run=forever"],"resources":{"gpu":4}}`)
	r.must("POST", "/v1/projects/zq-hidden/checks", `{"name":"zq-check","type":"approval","kinds":["workspace"]}`, nil)
	r.submits("zq-eve", `{"project":"zq-hidden","name":"zq-asks","kind":"workspace","command":["fake"]}`)
	r.must("POST", "/v1/delegations", `{"to":"zq-eve","scope":"zq-hidden","until":"`+r.server.Clock().Add(time.Hour).Format(time.RFC3339)+`"}`, nil)
	r.must("POST", "/v1/projects/zq-hidden/secrets", `{"name":"zq-secret","type":"hf","values":{"token":"eA=="}}`, nil)
	r.must("POST", "/v1/projects/zq-hidden/templates", `{"name":"zq-template","document":{"image":"zq-image"}}`, nil)
	r.must("POST", "/v1/projects/zq-hidden/schedules", `{"name":"zq-schedule","cron":"@yearly","document":{"image":"zq-image","command":["fake"]}}`, nil)
	for _, name := range []string{"zq-holds"} {
		for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
			var w api.Workload
			r.must("GET", "/v1/projects/zq-hidden/workloads/"+name, "", &w)
			if w.Phase == "Running" {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is %s", name, w.Phase)
			}
		}
	}
	looked := 0
	see := func(path string) {
		t.Helper()
		status, text := r.as("ann", "GET", path, "")
		if strings.Contains(text, secret) {
			t.Errorf("GET %s tells of what is hidden: %d %s", path, status, text)
		}
		if status == http.StatusOK {
			looked++
		}
	}
	own := aim{project: "vision", name: "waits", own: true}
	for _, route := range r.server.Routes() {
		if method, path, _ := fill(route, own, ""); method == "GET" {
			see(path)
			see(strings.Replace(path, "/vision/", "/-/", 1))
		}
	}
	for _, path := range []string{
		"/v1/projects/-/workloads?filter=user:zq-eve", "/v1/projects/-/workloads?user=zq-eve", "/v1/projects/-/rows?explained=true", "/v1/projects/-/rows?filter=zq", "/v1/usage?by=user,project,workload&waste=true",
		"/v1/metrics?project=zq-hidden", "/v1/quota?project=zq-hidden", "/v1/transitions?last=1000", "/v1/nodes/node-1", "/v1/projects/vision/workloads/waits/why", "/v1/projects/vision/workloads/" + waits.ID + "/why",
		"/v1/access-rules?scope=zq-hidden", "/v1/tokens?user=zq-eve", "/v1/projects/-/templates", "/v1/auth/whoami",
	} {
		see(path)
	}
	if looked < 60 {
		t.Errorf("only %d answers were looked at", looked)
	}
	status, text := r.as("ann", "POST", "/v1/drafts", `{"project":"zq-hidden","template":"zq-template","name":"x"}`)
	if strings.Contains(text, "zq-image") {
		t.Errorf("a draft tells what a hidden template says: %d %s", status, text)
	}
	var held api.Holdings
	_, text = r.as("ann", "GET", "/v1/holdings", "")
	if err := json.Unmarshal([]byte(text), &held); err != nil || !slices.ContainsFunc(held.Workloads, func(h api.Holder) bool { return h.Hidden && h.GPU == 3000 }) {
		t.Errorf("what is hidden has to keep its numbers: %v %s", err, text)
	}
	for _, path := range []string{"/v1/watch", "/v1/stream"} {
		r.follows(path, secret)
	}
}

// follows has hidden and visible work change, and reads a stream until it tells of the
// latter.
func (r *realm) follows(path, secret string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", r.tcp+path+"?after=0", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.tokens["ann"])
	resp, err := r.plain.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	name := "seen" + strings.ReplaceAll(path, "/", "-")
	r.submits("zq-eve", fmt.Sprintf(`{"project":"zq-hidden","name":"zq%s","command":["fake","run=forever"],"resources":{"gpu":4}}`, name))
	// Not by submits, which lets her see everything for a moment.
	if status, text := r.as("ann", "POST", "/v1/projects/vision/workloads", fmt.Sprintf(`{"name":%q,"image":"x","command":["fake","run=forever"],"resources":{"gpu":4}}`, name)); status != http.StatusCreated {
		r.t.Fatalf("%d %s", status, text)
	}
	overviews, seen := 0, false
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 4<<20)
	for {
		if !lines.Scan() {
			r.t.Fatalf("GET %s ended: %v", path, lines.Err())
		}
		line := lines.Text()
		if strings.Contains(line, secret) || strings.Contains(line, "zqseen") {
			r.t.Errorf("GET %s tells of what is hidden: %s", path, line)
		}
		overviews += strings.Count(line, "event: overview")
		seen = seen || strings.Contains(line, name)
		if seen && (path != "/v1/stream" || overviews > 0 && line == "") {
			return
		}
	}
}

// TestBodiesAreLookedAt: where a body says what is meant, it decides too.
func TestBodiesAreLookedAt(t *testing.T) {
	r := newRealm(t)
	r.person("ann", "l1-researcher", "vision")
	r.person("bob", "l1-researcher", "vision")
	r.person("dora", "department-administrator", "research")
	r.person("lea", "project-lead", "vision")
	mine := r.submits("ann", `{"project":"vision","name":"mine","command":["fake","run=forever"]}`)
	bobs := r.submits("bob", `{"project":"vision","name":"bobs","command":["fake","run=forever"]}`)
	r.submits("ann", `{"project":"zq-hidden","name":"hers","command":["fake","run=forever"]}`)
	for _, c := range []struct {
		user, method, path, body string
		status                   int
		says                     string
	}{
		{"ann", "POST", "/v1/projects/-/workloads", `{"project":"vision","name":"a","image":"x"}`, 201, ""},
		{"ann", "POST", "/v1/projects/-/workloads", `{"project":"audio","name":"a","image":"x"}`, 403, "create:trainings"},
		{"ann", "POST", "/v1/projects/vision/workloads", `{"name":"b","command":["true"]}`, 403, "host-access"},
		{"ann", "POST", "/v1/projects/vision/workloads", `{"name":"b","image":"x","volumes":[{"path":"/d","hostPath":"/"}]}`, 403, "volumes[0].hostPath"},
		{"ann", "POST", "/v1/projects/vision/workloads", `{"name":"b","image":"x","build":{"code":"."}}`, 403, "build.code"},
		{"ann", "POST", "/v1/projects/vision/workloads/mine:revise", `{"project":"vision","name":"mine","command":["true"]}`, 403, "host-access"},
		{"ann", "POST", "/v1/workloads:bulk", `[{"project":"audio","name":"c","image":"x"}]`, 200, "create:trainings"},
		{"ann", "POST", "/v1/workloads:bulk?together=true", `[{"project":"audio","name":"c","image":"x"}]`, 403, "create:trainings"},
		{"ann", "POST", "/v1/workloads:bulk?together=true&dry_run=true", `[{"project":"audio","name":"c","image":"x"}]`, 403, "create:trainings"},
		{"ann", "POST", "/v1/drafts", `{"project":"audio","name":"c","image":"x"}`, 200, "create:trainings"},
		{"ann", "POST", "/v1/projects/vision/workloads/bobs:stop", ``, 403, "only their own"},
		{"ann", "POST", "/v1/projects/-/workloads/" + bobs.ID + ":stop", ``, 403, "only their own"},
		{"ann", "DELETE", "/v1/projects/vision/workloads/bobs", ``, 403, "delete:trainings"},
		{"lea", "POST", "/v1/projects/vision/workloads/bobs:hold", ``, 409, ""},
		{"ann", "POST", "/v1/projects/vision/workloads/mine:approve", ``, 403, "approve:trainings"},
		{"ann", "POST", "/v1/projects", `{"name":"x","parent":"research"}`, 403, "create:projects"},
		{"dora", "POST", "/v1/projects", `{"name":"x","parent":"research"}`, 201, ""},
		{"dora", "POST", "/v1/projects", `{"name":"y"}`, 403, "the system"},
		{"dora", "PATCH", "/v1/projects/x", `{"parent":null}`, 403, "the system"},
		{"dora", "POST", "/v1/apply", `{"items":[{"kind":"Project","name":"y"}]}`, 403, "create:projects"},
		{"dora", "POST", "/v1/apply", `{"items":[{"kind":"Pool","name":"y"}]}`, 403, "update:pools"},
		{"dora", "POST", "/v1/apply?dry_run=true", `{"items":[{"kind":"Project","name":"y","parent":"research"}]}`, 200, ""},
		{"dora", "POST", "/v1/projects/research/policies", `{"for":"workspace","rules":{"idleLimit":{"max":"1h"}}}`, 201, ""},
		{"dora", "PUT", "/v1/projects/vision/policies/inference", `{"defaults":{"env":{"A":"b"}}}`, 200, ""},
		{"dora", "PUT", "/v1/projects/vision/policies/inference", `{"defaults":{"volumes":[{"path":"/d","hostPath":"/"}]}}`, 403, "host-access"},
		{"dora", "POST", "/v1/apply", `{"items":[{"kind":"Policy","scope":"vision","for":"inference","defaults":{"volumes":[{"path":"/d","hostPath":"/"}]}}]}`, 403, "defaults.volumes[0].hostPath"},
		{"dora", "PUT", "/v1/projects/-/policies/inference", `{"defaults":{"env":{"A":"b"}}}`, 403, "update:policies"},
		{"dora", "POST", "/v1/apply", `{"items":[{"kind":"Policy","defaults":{"env":{"A":"b"}}}]}`, 403, "update:policies"},
		{"dora", "DELETE", "/v1/projects/zq-hidden/policies/all", ``, 403, "delete:policies"},
		{"ann", "PUT", "/v1/projects/vision/policies/inference", `{}`, 403, "update:policies"},
		{"lea", "POST", "/v1/projects/vision/policies", `{"for":"all"}`, 403, "create:policies"},
		{"ann", "GET", "/v1/projects/vision/effective-policies/workspace", ``, 200, `"scope":"research"`},
		{"ann", "GET", "/v1/projects/zq-hidden/effective-policies/workspace", ``, 403, "read:policies"},
		{"dora", "DELETE", "/v1/projects/vision/policies/inference", ``, 204, ""},
		{"dora", "POST", "/v1/what-if", `{"projects":{"zq-hidden":{"maxRunning":1}}}`, 403, "update:projects"},
		{"dora", "POST", "/v1/access-rules", `{"subject":"user:bob","role":"viewer","scope":"audio"}`, 201, ""},
		{"dora", "POST", "/v1/access-rules", `{"subject":"user:bob","role":"viewer","scope":"zq-hidden"}`, 403, "create:access-rules"},
		{"dora", "POST", "/v1/access-rules", `{"subject":"user:bob","role":"viewer","scope":"-"}`, 403, "create:access-rules"},
		{"dora", "POST", "/v1/access-rules", `{"subject":"user:dora","role":"system-administrator","scope":"research"}`, 403, "nobody gives what they do not have"},
		{"lea", "POST", "/v1/access-rules", `{"subject":"user:lea","role":"department-administrator","scope":"vision"}`, 403, "nobody gives what they do not have"},
		{"lea", "POST", "/v1/access-rules", `{"subject":"user:bob","role":"ml-engineer","scope":"vision"}`, 201, ""},
		{"lea", "POST", "/v1/access-rules", `{"subject":"user:none","role":"viewer","scope":"vision"}`, 404, "muster user create none"},
		{"lea", "POST", "/v1/access-rules", `{"subject":"user:bob","role":"king","scope":"vision"}`, 404, "king"},
		{"ann", "POST", "/v1/tokens", `{"user":"bob"}`, 403, "create:tokens"},
		{"ann", "POST", "/v1/tokens", `{"lifetime":"soon"}`, 422, "soon"},
		{"ann", "POST", "/v1/tokens", `{"permissions":["fly:workloads"]}`, 422, "fly"},
		{"ann", "GET", "/v1/auth/can-i?verb=read&noun=workloads&as=bob", ``, 403, "read:access-rules"},
		{"lea", "GET", "/v1/auth/can-i?verb=delete&noun=trainings&as=bob&scope=vision", ``, 200, `"onlyOwn":true`},
		{"lea", "GET", "/v1/auth/can-i?verb=fly&noun=trainings", ``, 422, "fly"},
		{"ann", "POST", "/v1/notifications", `{"name":"n","webhook":"http://127.0.0.1:1/","on":["failed"],"everyone":true,"project":"zq-hidden"}`, 403, "read:workloads"},
		{"ann", "GET", "/v1/projects/zq-hidden/workloads/hers", ``, 404, "does not exist"},
	} {
		status, text := r.as(c.user, c.method, c.path, c.body)
		if status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s %s %s as %s: %d %s, want %d with %q", c.method, c.path, c.body, c.user, status, text, c.status, c.says)
		}
	}
	// Many at once: each is looked at by itself.
	_, text := r.as("ann", "POST", "/v1/bulk-actions", fmt.Sprintf(`{"action":"stop","workloads":[%q,%q]}`, mine.ID, bobs.ID))
	var begun api.BulkAction
	if err := json.Unmarshal([]byte(text), &begun); err != nil || begun.ID == "" {
		t.Fatalf("%v %s", err, text)
	}
	for deadline := time.Now().Add(patience); begun.State == "running"; time.Sleep(5 * time.Millisecond) {
		_, text = r.as("ann", "GET", "/v1/bulk-actions/"+begun.ID, "")
		if err := json.Unmarshal([]byte(text), &begun); err != nil || time.Now().After(deadline) {
			t.Fatalf("%v %s", err, text)
		}
	}
	if begun.Done != 1 || begun.Refused != 1 {
		t.Errorf("of ann's and bob's, %d are done and %d refused: %s", begun.Done, begun.Refused, text)
	}
	if status, text := r.as("bob", "GET", "/v1/bulk-actions/"+begun.ID, ""); status != http.StatusNotFound {
		t.Errorf("bob sees ann's bulk action: %d %s", status, text)
	}
}

// TestTokensEnd: limits, revocation, expiry and disabled users hold at once, also for
// what goes on.
func TestTokensEnd(t *testing.T) {
	r := newRealm(t)
	r.person("ann", "l1-researcher", "research")
	limited := func(body string) string {
		status, text := r.as("ann", "POST", "/v1/tokens", body)
		var made api.MadeToken
		if err := json.Unmarshal([]byte(text), &made); err != nil || status != http.StatusCreated {
			t.Fatalf("%d %s", status, text)
		}
		r.tokens[made.ID] = made.Text
		return made.ID
	}
	reads := limited(`{"permissions":["read:workloads"],"scope":"vision"}`)
	for path, want := range map[string]int{"/v1/projects/vision/workloads": 200, "/v1/projects/audio/workloads": 403, "/v1/projects/vision/templates": 403} {
		if status, text := r.as(reads, "GET", path, ""); status != want {
			t.Errorf("GET %s with a limited token: %d %s, want %d", path, status, text, want)
		}
	}
	if status, text := r.as(reads, "POST", "/v1/projects/vision/workloads", `{"name":"a","image":"x"}`); status != 403 || !strings.Contains(text, "token") {
		t.Errorf("a token that only reads submits: %d %s", status, text)
	}
	if status, text := r.as(reads, "POST", "/v1/tokens", `{}`); status != 403 {
		t.Errorf("a limited token makes another: %d %s", status, text)
	}
	// What goes on ends when the token is revoked.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", r.tcp+"/v1/watch", nil)
	req.Header.Set("Authorization", "Bearer "+r.tokens[reads])
	resp, err := r.plain.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v %v", resp, err)
	}
	defer resp.Body.Close()
	if status, text := r.as("ann", "DELETE", "/v1/tokens/"+reads, ""); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, text)
	}
	if _, err := io.ReadAll(resp.Body); ctx.Err() != nil {
		t.Errorf("a watch goes on with a token that was revoked: %v", err)
	}
	if status, _ := r.as(reads, "GET", "/v1/session", ""); status != http.StatusUnauthorized {
		t.Errorf("a revoked token is answered with %d", status)
	}
	short := limited(`{"lifetime":"50ms"}`)
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if status, _ := r.as(short, "GET", "/v1/session", ""); status == http.StatusUnauthorized {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a token does not expire")
		}
	}
	r.must("PATCH", "/v1/users/ann", `{"disabled":true}`, nil)
	if status, text := r.as("ann", "GET", "/v1/session", ""); status != http.StatusUnauthorized {
		t.Errorf("a disabled user is let in: %d %s", status, text)
	}
	// Who fails too often has to wait, from that address.
	r.tokens["wrong"] = "mst_wrong"
	for range 12 {
		r.as("wrong", "GET", "/v1/session", "")
	}
	if status, _ := r.as("wrong", "GET", "/v1/session", ""); status != http.StatusTooManyRequests {
		t.Errorf("the thirteenth wrong token is answered with %d", status)
	}
}

// TestTheAuditLogTellsWhoDidWhat, and nothing that is secret.
func TestTheAuditLogTellsWhoDidWhat(t *testing.T) {
	r := newRealm(t)
	r.person("ann", "l1-researcher", "vision")
	r.person("olaf", rbac.SystemAdministrator, "-")
	r.as("ann", "POST", "/v1/projects/vision/workloads", `{"name":"a","image":"x","command":["fake","run=forever"],"env":{"PASSWORD":"hunter2"}}`)
	if status, text := r.as("ann", "POST", "/v1/projects/vision/workloads/a:stop", ``); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	r.as("ann", "POST", "/v1/pools", `{"name":"p"}`)
	r.as("olaf", "POST", "/v1/pools", `{"name":"p","selector":{"a":"b"}}`)
	r.as("olaf", "PATCH", "/v1/projects/vision", `{"maxRunning":3}`)
	r.as("olaf", "PUT", "/v1/projects/vision/policies/training", `{"defaults":{"env":{"PASSWORD":"hunter2"}},"rules":{"resources.gpu.count":{"max":8}}}`)
	r.as("ann", "PUT", "/v1/projects/vision/policies/training", `{}`)
	r.as("ann", "GET", "/v1/projects/vision/workloads/a/exec?command=cat&command=hunter2", ``)
	r.as("", "POST", "/v1/session", `{"token":"mst_hunter2"}`)
	status, text := r.as("olaf", "GET", "/v1/audit?limit=1000", "")
	var log api.AuditList
	if err := json.Unmarshal([]byte(text), &log); err != nil || status != http.StatusOK {
		t.Fatalf("%d %v %s", status, err, text)
	}
	if strings.Contains(text, "hunter2") || strings.Contains(text, r.tokens["ann"]) {
		t.Errorf("the audit log tells what is secret: %s", text)
	}
	for _, want := range []struct{ actor, result, action, about, change string }{
		{"user:ann", "done", "POST /v1/projects/{project}/workloads", "trainings", `"phase":"Queued"`},
		{"user:ann", "done", "POST /v1/projects/{project}/workloads/{target}", "trainings", `"phase":"`},
		{"user:ann", "refused", "POST /v1/pools", "pools", ""},
		{"user:olaf", "done", "PATCH /v1/projects/{name}", "projects", `"maxRunning":3`},
		{"user:olaf", "done", "PUT /v1/projects/{project}/policies/{name}", "policies", `"defaults":["env.PASSWORD"],"rules":{"resources.gpu.count":{"max":8}}`},
		{"user:ann", "refused", "PUT /v1/projects/{project}/policies/{name}", "policies", ""},
		{"user:ann", "done", "GET /v1/projects/{project}/workloads/{name}/exec", "trainings", ""},
		{"anonymous", "refused", "POST /v1/session", "", ""},
	} {
		if !slices.ContainsFunc(log.Items, func(e api.AuditEntry) bool {
			all, _ := json.Marshal(e.Changes)
			plain := strings.ReplaceAll(string(all), `\"`, `"`)
			return e.Actor == want.actor && e.Result == want.result && e.Action == want.action && (want.about == "" || e.Noun == want.about || e.Noun == "workloads") && strings.Contains(plain, want.change) && e.Address != ""
		}) {
			t.Errorf("no entry has %+v:\n%s", want, text)
		}
	}
	if status, text := r.as("ann", "GET", "/v1/audit", ""); status != http.StatusForbidden {
		t.Errorf("who may not reads the audit log: %d %s", status, text)
	}
	var v api.AuditVerification
	r.must("GET", "/v1/audit/verify", "", &v)
	if !v.Intact || v.Entries < int64(len(log.Items)) {
		t.Errorf("the log is not intact: %+v", v)
	}
	seq, _, _ := strings.Cut(v.Head, ":")
	r.must("GET", "/v1/audit/verify?head="+seq+":"+strings.Repeat("0", 64), "", &v)
	if v.Intact || v.Broken == nil {
		t.Errorf("another head is not missed: %+v", v)
	}
	for format, first := range map[string]string{"jsonl": `{"seq":1,`, "csv": "seq,at,actor", "json": `[{"seq":1,`} {
		if status, text := r.as("olaf", "GET", "/v1/audit/export?format="+format, ""); status != http.StatusOK || !strings.HasPrefix(text, first) || strings.Count(text, "\n") < len(log.Items) {
			t.Errorf("the export as %s: %d %s", format, status, text)
		}
	}
	for query, least := range map[string]int{"": len(log.Items), "&actor=nobody-at-all": 0} {
		var list []api.AuditEntry
		_, text := r.as("olaf", "GET", "/v1/audit/export?format=json"+query, "")
		if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) < least || least == 0 && len(list) != 0 {
			t.Errorf("the export as one list%s: %d entries, %v", query, len(list), err)
		}
	}
}
