package access

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/server/problem"
)

// subject is who sends a request, where access control is on.
type subject struct {
	guard   *Guard
	name    string
	token   string // id of the token that was shown
	account string // token of a service account of a cluster; empty: it came otherwise
	cluster bool   // who the API server of a cluster has said it is
	socket  bool
	uid     int // of the machine, where it came by the socket, be it in a browser that was let in there
	owner   bool
	origin  draft.Origin
}

type subjectKey struct{}

// subjectOf is who sends a request; nil: access control is off, and everybody may
// do everything.
func subjectOf(ctx context.Context) *subject {
	s, _ := ctx.Value(subjectKey{}).(*subject)
	return s
}

// caller is the subject as rules know it at present: a token may have been revoked
// since the request came. false: it is let in no more.
func (s *subject) caller() (rbac.Caller, bool) {
	rights := s.guard.rules.Rights()
	switch {
	case s.owner:
		return rbac.Caller{Name: s.name, Kind: core.SubjectUser, Owner: true}, true
	case s.account != "":
		return s.ofAccount()
	case s.cluster:
		return rights.OfCluster(s.name)
	case s.token != "":
		c := rights.By(s.token, s.guard.clock())
		if c == nil {
			return rbac.Caller{Name: s.name}, false
		}
		return *c, true
	}
	c, ok := rights.Known(s.name)
	if ok {
		return s.ofMachine(c), true
	}
	_, disabled := rights.User(s.name)
	return s.ofMachine(rbac.Caller{Name: s.name, Kind: core.SubjectUser}), !disabled && s.socket
}

// Orderer is who has ordered something that the server does later, by itself.
type Orderer struct {
	User    string
	Owner   bool // whoever the server belongs to
	Machine bool // who came by the socket of the machine
}

// OrdererOf is who asks, as they order something.
func OrdererOf(ctx context.Context) Orderer {
	return Orderer{User(ctx), Owns(ctx), ByMachine(ctx)}
}

// As is a context in which the server does what somebody has ordered, with what they may
// at that time. false: they are let in no more.
func (g *Guard) As(ctx context.Context, o Orderer) (context.Context, bool) {
	if !g.rules.Rights().Enabled() {
		return context.WithValue(ctx, visitKey{}, &visit{identity: identity{user: o.User}}), true
	}
	s := &subject{guard: g, name: o.User, owner: o.Owner, socket: o.Machine, origin: draft.Origin{Actor: "user:" + o.User}}
	_, ok := s.caller()
	return context.WithValue(ctx, subjectKey{}, s), ok
}

// Limited reports whether who asks shows a token that lets them do less than they may.
func Limited(ctx context.Context) bool {
	s := subjectOf(ctx)
	if s == nil {
		return false
	}
	c, ok := s.caller()
	return !ok || s.account != "" || len(c.Permissions) > 0 || c.Scope != ""
}

// Asker is who asks as rules know them, and what the rules are; false: access control
// is off, or they are let in no more.
func Asker(ctx context.Context) (rbac.Caller, *rbac.Policy, bool) {
	s := subjectOf(ctx)
	if s == nil {
		return rbac.Caller{Name: User(ctx), Kind: core.SubjectUser, Owner: true}, nil, false
	}
	c, ok := s.caller()
	return c, s.guard.rules.Rights(), ok
}

// may reports whether the subject may do something in a scope, to what belongs to an
// owner; empty: to nobody.
func (s *subject) may(verb, noun string, scope core.ProjectID, owner string) bool {
	c, ok := s.caller()
	return ok && s.guard.rules.Rights().Allows(c, verb, noun, scope, owner != "" && owner == c.Name)
}

// May refuses whoever may not do something in a scope, to what belongs to an owner;
// empty: to nobody. nil: they may.
func May(ctx context.Context, verb, noun string, scope core.ProjectID, owner string) error {
	s := subjectOf(ctx)
	if s == nil || s.may(verb, noun, scope, owner) {
		return nil
	}
	p := s.refusal(verb, noun, scope, owner)
	s.guard.refused(ctx, s, verb, noun, p)
	return p
}

// Allowed reports whether May would let pass, and tells nobody.
func Allowed(ctx context.Context, verb, noun string, scope core.ProjectID, owner string) bool {
	s := subjectOf(ctx)
	return s == nil || s.may(verb, noun, scope, owner)
}

// Sees reports whether who asks may see a workload: where not, it is to them as if it
// were not there.
func Sees(ctx context.Context, w *core.Workload) bool {
	return SeesOne(ctx, w.Project, w.User, w.Kind)
}

// SeesOne is Sees of a workload of a project, owner and kind.
func SeesOne(ctx context.Context, project core.ProjectID, owner string, kind lifecycle.Kind) bool {
	s := subjectOf(ctx)
	if s == nil {
		return true
	}
	c, ok := s.caller()
	return ok && s.guard.rules.Rights().Sees(c, project, owner, kind)
}

// SeesAll reports whether no workload is hidden from who asks.
func SeesAll(ctx context.Context) bool {
	s := subjectOf(ctx)
	if s == nil {
		return true
	}
	c, ok := s.caller()
	return ok && s.guard.rules.Rights().SeesAll(c)
}

// Enforced reports whether rules decide what who asks may do.
func Enforced(ctx context.Context) bool { return subjectOf(ctx) != nil }

// Sight is what who asks may see of workloads, for lists: asked of one policy, not of
// another for each line. Every is set where nothing is hidden.
type Sight struct {
	Every  bool
	caller rbac.Caller
	rights *rbac.Policy
}

// SightOf is what who asks may see at present.
func SightOf(ctx context.Context) Sight {
	s := subjectOf(ctx)
	if s == nil {
		return Sight{Every: true}
	}
	c, ok := s.caller()
	if !ok {
		return Sight{rights: rbac.New(core.Access{}, nil)}
	}
	rights := s.guard.rules.Rights()
	return Sight{Every: rights.SeesAll(c), caller: c, rights: rights}
}

// Of reports whether a workload is seen.
func (s *Sight) Of(w *core.Workload) bool {
	return s.Any(w.Project, w.User, w.Kind)
}

// Any is Of by what a workload is of: its project, owner and kind.
func (s *Sight) Any(p core.ProjectID, owner string, kind lifecycle.Kind) bool {
	return s.Every || s.rights.Sees(s.caller, p, owner, kind)
}

// Projects reports whether something about workloads of a project may be seen: those
// of any kind, or one's own.
func (s *Sight) Projects(p core.ProjectID) bool {
	return s.Every || s.rights.AnyOf(s.caller, rbac.Read, rbac.Workloads, p)
}

// Workloads refuses who may not do something to a workload.
func Workload(ctx context.Context, verb string, w *core.Workload) error {
	return May(ctx, verb, rbac.NounOf(w.Kind), w.Project, w.User)
}

// anywhere is the scope of what is needed in some scope.
const anywhere core.ProjectID = ""

// refusal says who may not do what, where, and who can change that.
func (s *subject) refusal(verb, noun string, scope core.ProjectID, owner string) *api.Problem {
	rights := s.guard.rules.Rights()
	c, ok := s.caller()
	if !ok && s.name == "" {
		return problem.New(http.StatusUnauthorized, "unauthenticated", "nobody is signed in, and this is not for everybody", "sign in with muster login; programs send Authorization: Bearer")
	}
	if !ok {
		return problem.New(http.StatusUnauthorized, "unauthenticated", s.name+" is let in no more: the token was revoked or has expired, or the user is disabled", "sign in again with muster login, or ask an administrator")
	}
	permission := verb + ":" + noun
	detail := fmt.Sprintf("%s may not %s %s in %s: permission %s is missing there", c.Name, verb, noun, rbac.ScopeWord(scope), permission)
	if owner != "" && owner != c.Name && rights.Allows(c, verb, noun, scope, true) {
		detail = fmt.Sprintf("%s may %s only their own %s in %s, and this is %s's: permission %s is missing there", c.Name, verb, noun, rbac.ScopeWord(scope), owner, permission)
	}
	if c.Token != "" {
		plain := c
		plain.Permissions, plain.Scope = nil, ""
		if rights.Allows(plain, verb, noun, scope, owner == c.Name) {
			return problem.New(http.StatusForbidden, "forbidden", fmt.Sprintf("token %s does not allow %s in %s, though %s has that permission", c.Token, permission, rbac.ScopeWord(scope), c.Name), "use a token without that limit: muster token create")
		}
	}
	roles := rights.RolesWith(verb, noun, owner == "" || owner == c.Name)
	who := "an administrator"
	// To whom a project is hidden nobody is named who runs it, or it would show by that.
	if givers := rights.Givers(scope, roles); len(givers) > 0 && (scope == core.SystemScope || scope == anywhere || rights.Inside(c, scope)) {
		who = strings.Join(givers, " or ") + ", or an administrator,"
	}
	where := "--system"
	switch scope {
	case core.SystemScope:
	case anywhere:
		where = "--project PROJECT"
		detail = fmt.Sprintf("%s may not %s %s anywhere: permission %s is missing in every project and department", c.Name, verb, noun, permission)
	default:
		where = "--project " + string(scope)
	}
	kind := c.Kind
	if s.account != "" || rbac.OfCluster(s.name) {
		kind = core.SubjectGroup // an account of a cluster is a group of one
	}
	hint := fmt.Sprintf("%s can give it: muster access-rule create --%s %s --role ROLE %s, with one of the roles %s", who, kind, c.Name, where, strings.Join(roles, ", "))
	return problem.New(http.StatusForbidden, "forbidden", detail, hint)
}

// recordFor bounds how long an entry of the audit log may take that is no change.
const recordFor = 10 * time.Second

// refused writes a refusal to the audit log.
func (g *Guard) refused(ctx context.Context, s *subject, verb, noun string, p *api.Problem) {
	o := s.origin
	o.Verb, o.Noun = verb, noun
	g.write(ctx, o.Entry(core.AuditRefused, p.Detail))
}

// write adds an entry to the audit log, whoever has asked may leave meanwhile.
func (g *Guard) write(ctx context.Context, e core.AuditEntry) {
	if g.rules.Record == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordFor)
	defer cancel()
	if err := g.rules.Record(ctx, []core.AuditEntry{e}); err != nil {
		g.log.Error("the audit log could not be written", "actor", e.Actor, "action", e.Action, "result", e.Result, "err", err)
	}
}
