package access

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/server/problem"
)

// Place says of what a route is, and so where who asks needs its permission.
type Place int

// The places.
const (
	// Anyone may ask, without a name.
	Anyone Place = iota + 1
	// Signed in is enough: what is answered is one's own, or about nobody.
	SignedIn
	// TaskOnly is for tasks with their own tokens.
	TaskOnly
	// System: the permission is needed in the system.
	System
	// Somewhere: it is needed in any scope; what is answered, or asked for in the
	// body, is looked at one by one.
	Somewhere
	// InProject: it is needed in the project that the path names, or somewhere where
	// that is '-'.
	InProject
	// OnRecord: it is needed in the project or department whose record the path names.
	OnRecord
	// OnWorkload: it is needed for the workload that the path names, which has to be
	// seen at all.
	OnWorkload
	// OnAsset: it is needed in the scope of an asset: '-' is the system.
	OnAsset
)

// Need is what a route asks of who calls it.
type Need struct {
	Verb, Noun string
	At         Place
	// Long is set of what goes on after it was allowed: it is asked again meanwhile.
	Long bool
}

// Mux is a router that lets nothing be registered which does not say what it needs,
// and asks that of every request.
type Mux struct {
	http.ServeMux
	guard *Guard
	needs map[string]Need
	used  map[string]bool
}

// NewMux returns a router whose routes need what Needs says.
func (s *Guard) NewMux() *Mux {
	return &Mux{guard: s, needs: Needs(), used: map[string]bool{}}
}

// HandleFunc registers a route. One that Needs does not know cannot be registered.
func (m *Mux) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	need, ok := m.needs[pattern]
	if !ok {
		panic("the route " + pattern + " does not say what it needs: add it to Needs in internal/server/access/needs.go")
	}
	m.used[pattern] = true
	m.ServeMux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		r, done, p := m.guard.check(r, pattern, need)
		if p != nil {
			problem.Write(w, p)
			return
		}
		defer done()
		handler(w, r)
	})
}

// Handle registers a route, as HandleFunc does.
func (m *Mux) Handle(pattern string, handler http.Handler) {
	m.HandleFunc(pattern, handler.ServeHTTP)
}

// Route is a route by its pattern, with what it needs.
type Route struct {
	Pattern string
	Need
	Served bool // false: Needs knows it, and nobody has registered it
}

// Routes are all that Needs knows, by their patterns.
func (m *Mux) Routes() (out []Route) {
	for _, pattern := range slices.Sorted(maps.Keys(m.needs)) {
		out = append(out, Route{pattern, m.needs[pattern], m.used[pattern]})
	}
	return out
}

// check lets a request pass that may have what it asks for, with its origin in its
// context where it changes something.
func (g *Guard) check(r *http.Request, pattern string, need Need) (*http.Request, func(), *api.Problem) {
	none := func() {}
	s := subjectOf(r.Context())
	if s == nil && r.Method != http.MethodGet && ofAccess(r.URL.Path) {
		return g.prepare(r, pattern, need)
	}
	if s == nil && g.recorded(r, need) {
		return g.record(r, pattern, need), none, nil
	}
	if s == nil || need.At == Anyone {
		return r, none, nil
	}
	if need.At == TaskOnly {
		return nil, nil, problem.New(http.StatusForbidden, "forbidden", SelfPath+" is for tasks, which have a token of their own", "name the workload: /v1/projects/PROJECT/workloads/NAME")
	}
	s.origin.Action, s.origin.Verb, s.origin.Noun, s.origin.Object = pattern, need.Verb, need.Noun, object(r)
	target, p := g.target(r, &need)
	if p == nil {
		p = g.decide(r.Context(), s, target)
	}
	if p != nil {
		if p.Status != http.StatusNotFound || target.workload != nil {
			g.refused(r.Context(), s, target.verb, target.noun, p)
		}
		return nil, nil, p
	}
	ctx, done := r.Context(), none
	if target.workload != nil {
		ctx = context.WithValue(ctx, foundKey{}, found{r.PathValue("project"), target.workload})
	}
	if need.Long {
		ctx, done = g.while(ctx, s, target)
	}
	if need.Verb == rbac.Exec {
		s.origin.Verb, s.origin.Noun = target.verb, target.noun
		o := s.origin
		if c := r.URL.Query()["command"]; len(c) > 0 { // of what follows nothing: it may hold what is secret
			o.Object += " " + c[0]
		}
		g.write(ctx, o.Entry(core.AuditDone, ""))
	} else if r.Method != http.MethodGet && r.Method != http.MethodHead {
		s.origin.Verb, s.origin.Noun = target.verb, target.noun
		ctx = draft.WithOrigin(ctx, &s.origin)
	}
	return r.WithContext(ctx), done, nil
}

// ofAccess reports whether a path is about who may do what.
func ofAccess(path string) bool {
	return slices.ContainsFunc([]string{"/v1/access", "/v1/access-rules", "/v1/users", "/v1/service-accounts", "/v1/roles", "/v1/tokens"}, func(p string) bool {
		return path == p || strings.HasPrefix(path, p+"/")
	})
}

// prepare lets the owner of the server say who will be allowed what while access
// control is off: others could give themselves what they like for later. It is
// written to the audit log.
func (g *Guard) prepare(r *http.Request, pattern string, need Need) (*http.Request, func(), *api.Problem) {
	if p, _ := r.Context().Value(peerKey{}).(peer); !g.owns(p) {
		return nil, nil, problem.New(http.StatusForbidden, "forbidden", "while access control is off, only the owner of the server prepares it or turns it on, by its socket", "run the command as the user whose server it is, on its machine")
	}
	o := &draft.Origin{Actor: Actor(r.Context()), Address: "socket", Action: pattern, Verb: need.Verb, Noun: need.Noun, Object: object(r)}
	return r.WithContext(draft.WithOrigin(r.Context(), o)), func() {}, nil
}

// recorded reports whether a request that no rule decides about is written to the audit
// log: tasks report what they do themselves.
func (g *Guard) recorded(r *http.Request, need Need) bool {
	if need.At == Anyone || need.At == TaskOnly || g.rules.Rights == nil || !g.rules.Rights().Control().Audited() {
		return false
	}
	if _, task := CallerOf(r.Context()); task {
		return false
	}
	return need.Verb == rbac.Exec || r.Method != http.MethodGet && r.Method != http.MethodHead
}

// record writes to the audit log that somebody enters a task, and has what else is asked
// for written with what it changes.
func (g *Guard) record(r *http.Request, pattern string, need Need) *http.Request {
	from, _ := r.Context().Value(peerKey{}).(peer)
	o := &draft.Origin{Actor: Actor(r.Context()), Address: addressOf(r, from), Action: pattern, Verb: need.Verb, Noun: need.Noun, Object: object(r)}
	if need.At == OnWorkload {
		if t := (&target{verb: need.Verb, noun: need.Noun}); g.workload(r, t) == nil && t.workload != nil {
			o.Verb, o.Noun = t.verb, t.noun
			r = r.WithContext(context.WithValue(r.Context(), foundKey{}, found{r.PathValue("project"), t.workload}))
		}
	}
	if need.Verb != rbac.Exec {
		return r.WithContext(draft.WithOrigin(r.Context(), o))
	}
	if c := r.URL.Query()["command"]; len(c) > 0 { // of what follows nothing: it may hold what is secret
		o.Object += " " + c[0]
	}
	g.write(r.Context(), o.Entry(core.AuditDone, ""))
	return r
}

type foundKey struct{}

// found is the workload of a request that was read when its permission was looked at.
type found struct {
	project  string
	workload *core.Workload
}

// Found is the workload that a path names, where it was read for this request; nil: it
// was not.
func Found(ctx context.Context, project, name string) *core.Workload {
	f, ok := ctx.Value(foundKey{}).(found)
	if !ok || f.project != project || f.workload.Name != name && string(f.workload.ID) != name {
		return nil
	}
	return f.workload
}

// object is what a request names.
func object(r *http.Request) string {
	var parts []string
	for _, name := range []string{"project", "name", "target", "id"} {
		if v := r.PathValue(name); v != "" {
			parts = append(parts, v)
		}
	}
	return strings.Join(parts, "/")
}

// target is on what a permission is needed.
type target struct {
	verb, noun string
	at         Place
	scope      core.ProjectID
	owner      string
	workload   *core.Workload
}

// target finds on what a request needs its permission.
func (g *Guard) target(r *http.Request, need *Need) (*target, *api.Problem) {
	t := &target{verb: need.Verb, noun: need.Noun, at: need.At, scope: core.SystemScope}
	project := core.ProjectID(r.PathValue("project"))
	switch need.At {
	case InProject:
		if t.scope = project; project == core.SystemScope {
			t.at = Somewhere
		}
	case OnAsset:
		t.scope, t.at = project, InProject
		if t.verb == rbac.Read && project == core.SystemScope {
			t.at = Somewhere
		}
	case OnRecord:
		name, _, _ := strings.Cut(r.PathValue("name")+r.PathValue("target"), ":")
		t.scope, t.at = core.ProjectID(name), InProject
	case OnWorkload:
		return t, g.workload(r, t)
	}
	return t, nil
}

// workload finds the workload that a request is about, and what is done with it.
func (g *Guard) workload(r *http.Request, t *target) *api.Problem {
	name := r.PathValue("name")
	if text := r.PathValue("target"); text != "" {
		i := strings.LastIndexByte(text, ':')
		if i <= 0 {
			t.at = Somewhere // the route says what is wrong with it
			return nil
		}
		name = text[:i]
		if verb := text[i+1:]; verb == "approve" || verb == "reject" {
			t.verb = rbac.Approve
		}
	}
	project := r.PathValue("project")
	w, err := g.rules.Find(r.Context(), project, name)
	if err != nil {
		p, ok := err.(*api.Problem) //nolint:errorlint // it is made there
		if !ok {
			p = problem.Of(g.log, err)
		}
		return p
	}
	t.scope, t.owner, t.noun, t.workload = w.Project, w.User, rbac.NounOf(w.Kind), w
	if !Sees(r.Context(), w) {
		return g.rules.Missing(project, name)
	}
	return nil
}

// decide asks whether a subject may have what a target needs.
func (g *Guard) decide(ctx context.Context, s *subject, t *target) *api.Problem {
	c, ok := s.caller()
	if !ok {
		return s.refusal(t.verb, t.noun, t.scope, t.owner)
	}
	rights := g.rules.Rights()
	switch t.at {
	case SignedIn:
		return nil
	case Somewhere:
		if t.noun == "" || rights.Somewhere(c, t.verb, t.noun) {
			return nil
		}
		return s.refusal(t.verb, t.noun, anywhere, t.owner)
	case InProject:
		if rights.AnyOf(c, t.verb, t.noun, t.scope) {
			return nil
		}
	case OnWorkload:
		if rights.Allows(c, t.verb, t.noun, t.scope, t.owner == c.Name) {
			return nil
		}
		// Whose place they take, and whether that holds for the check, is asked when it is
		// decided. A token that allows less than its user may do does not allow this.
		if t.verb == rbac.Approve && g.rules.Delegated != nil && len(c.Permissions) == 0 && c.Scope == "" && g.rules.Delegated(ctx, c.Name, t.scope) {
			return nil
		}
	default:
		if rights.Allows(c, t.verb, t.noun, core.SystemScope, false) {
			return nil
		}
	}
	return s.refusal(t.verb, t.noun, t.scope, t.owner)
}

// askAgain is how often what goes on is asked for its permission.
const askAgain = 2 * time.Second

// while is a context that ends when a subject may no more have what it was given.
func (g *Guard) while(ctx context.Context, s *subject, t *target) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		tick := time.NewTicker(askAgain)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if p := g.decide(ctx, s, t); p != nil {
					g.refused(ctx, s, t.verb, t.noun, p)
					cancel()
					return
				}
			}
		}
	}()
	return ctx, cancel
}

// Identified serves a router to those who come by a listener that lets everybody in,
// as far as the router lets them.
func (s *Guard) Identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.enforced() {
			sub, p := s.subject(r, nil)
			if p != nil {
				problem.Write(w, p)
				return
			}
			r = r.WithContext(context.WithValue(r.Context(), subjectKey{}, sub))
		}
		next.ServeHTTP(w, r)
	})
}
