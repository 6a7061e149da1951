package draft

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/admission"
	"github.com/musterhq/muster/internal/core/audit"
	"github.com/musterhq/muster/internal/core/policy"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/workload"
	"github.com/musterhq/muster/internal/store"
)

// AccessDraft is what a draft changes of who may do what; nil stands for what is
// dropped.
type AccessDraft struct {
	Control *core.AccessControl
	Users   map[string]*core.User
	Roles   map[string]*core.Role
	Rules   map[string]*core.AccessRule
	Tokens  map[string]*core.Token
}

func (a *AccessDraft) clone() AccessDraft {
	return AccessDraft{a.Control, maps.Clone(a.Users), maps.Clone(a.Roles), maps.Clone(a.Rules), maps.Clone(a.Tokens)}
}

// change is a as a store takes it.
func (a *AccessDraft) change() core.AccessChange {
	c := core.AccessChange{Control: a.Control}
	c.Users, c.DropUsers = parts(a.Users)
	c.Roles, c.DropRoles = parts(a.Roles)
	c.Rules, c.DropRules = parts(a.Rules)
	c.Tokens, c.DropTokens = parts(a.Tokens)
	return c
}

// parts are what of a map is put, and what is dropped, in order.
func parts[V any](m map[string]*V) (put []V, drop []string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		drop = append(drop, k) // what is put anew takes the place of what was there
		if m[k] != nil {
			put = append(put, *m[k])
		}
	}
	return put, drop
}

// loadAccess reads who may do what, and where the audit log ends.
func (e *State) loadAccess(ctx context.Context) error {
	all, err := e.D.Store.Access(ctx)
	if err != nil {
		return fmt.Errorf("read who may do what: %w", err)
	}
	if e.Audited, err = e.D.Store.AuditHead(ctx); err != nil {
		return fmt.Errorf("read where the audit log ends: %w", err)
	}
	e.Rights = rbac.New(all, slices.Collect(maps.Values(e.Projects)))
	e.permitted()
	return nil
}

// permitted has who asks know what holds now.
func (e *State) permitted() {
	if e.D.Permitted != nil {
		e.D.Permitted(e.Rights)
	}
}

// Rights is who may do what as the draft has it.
func (tx *Tx) Rights() *rbac.Policy {
	c := tx.Access.change()
	if c.None() && len(tx.Org.Projects) == 0 {
		return tx.State.Rights
	}
	var projects []core.Project
	if len(tx.Org.Projects) > 0 {
		projects = slices.Collect(tx.EachProject())
	}
	return tx.State.Rights.With(c, projects)
}

// writeAccess puts what changes of who may do what into the batch, with the entries
// of the audit log. What is allowed in a project goes with it.
func (tx *Tx) writeAccess(b *store.Batch) {
	for _, gone := range b.DropProjects {
		for _, r := range tx.State.Rights.Rules() {
			if r.Scope == gone {
				Put(&tx.Access.Rules, r.ID, nil)
			}
		}
		for _, t := range tx.State.Rights.Tokens() {
			if t.Scope == gone {
				Put(&tx.Access.Tokens, t.ID, nil)
			}
		}
	}
	b.Access = tx.Access.change()
	tx.seal()
	b.Audit = tx.Entries
}

// accessWritten takes over what a commit has written.
func (e *State) accessWritten(tx *Tx, b *store.Batch) {
	e.Audited = tx.sealed
	if len(b.Audit) > 0 && e.D.Recorded != nil {
		e.D.Recorded()
	}
	if b.Access.None() && len(tx.Org.Projects) == 0 {
		return
	}
	var projects []core.Project
	if len(tx.Org.Projects) > 0 {
		projects = slices.Collect(maps.Values(e.Projects))
	}
	e.Rights = e.Rights.With(b.Access, projects)
	e.permitted()
}

// Origin is who asks for something, and by which request.
type Origin struct {
	Actor   string // user:NAME
	Token   string // id of the token that was shown
	Address string
	Action  string // the operation of the API
	Verb    string
	Noun    string
	Object  string // what the request names
}

type originKey struct{}

// WithOrigin is a context whose commands are written to the audit log.
func WithOrigin(ctx context.Context, o *Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf is that of a context; nil: what it changes is not written.
func OriginOf(ctx context.Context) *Origin {
	o, _ := ctx.Value(originKey{}).(*Origin)
	return o
}

// Entry is an entry of the audit log about what o asked for.
func (o *Origin) Entry(result core.AuditResult, message string) core.AuditEntry {
	return core.AuditEntry{Actor: o.Actor, Token: o.Token, Address: o.Address, Action: o.Action, Verb: o.Verb, Noun: o.Noun, Object: o.Object, Result: result, Message: message}
}

// Audited is work that is written to the audit log in the commit that carries it out:
// what it changes, or that it was refused for lack of a permission. What changes
// nothing is not written.
type Audited struct {
	Work
	Origin *Origin
}

// Do carries the work out.
func (a Audited) Do(tx *Tx) error {
	tx.record = &record{
		access: tx.Access.clone(), org: tx.Org.Clone(), secrets: slices.Clone(tx.Secrets), gone: slices.Clone(tx.Gone),
		put: slices.Clone(tx.Templated.Put), dropped: slices.Clone(tx.Templated.Gone), subs: slices.Clone(tx.Notified.Subs), unsubscribed: slices.Clone(tx.Notified.Gone),
	}
	err := a.Work.Do(tx)
	r := tx.record
	tx.record = nil
	var refused *Error
	switch {
	case errors.As(err, &refused) && refused.Code == CodeForbidden:
		tx.Audit(a.Origin.Entry(core.AuditRefused, refused.Error()))
	case err == nil:
		e := a.Origin.Entry(core.AuditDone, "")
		if e.Changes = r.changes(tx); len(e.Changes) > 0 {
			tx.Audit(e)
		}
	}
	return err
}

// Audit adds an entry to the audit log.
func (tx *Tx) Audit(e core.AuditEntry) {
	e.At = tx.Now
	tx.Entries = append(tx.Entries, e)
}

// seal chains the draft's entries to those that were written.
func (tx *Tx) seal() {
	tx.sealed = tx.State.Audited
	for i := range tx.Entries {
		tx.sealed = audit.Seal(&tx.Entries[i], tx.sealed)
	}
}

// record is how a draft was before one piece of work.
type record struct {
	access       AccessDraft
	org          OrganisationDraft
	secrets      []core.Secret
	gone         []core.SecretID
	put          []core.Template
	dropped      []core.TemplateID
	subs         []core.Subscription
	unsubscribed []core.SubscriptionID
	workloads    []seen
}

// seen is a workload before it was changed.
type seen struct {
	d      *Draft
	before string
}

// sees notes how a workload is before it changes; made: it was not there.
func (r *record) sees(d *Draft, made bool) {
	if r == nil || slices.ContainsFunc(r.workloads, func(s seen) bool { return s.d == d }) {
		return
	}
	s := seen{d: d}
	if !made {
		s.before = workloadText(d.W)
	}
	r.workloads = append(r.workloads, s)
}

// workloadText is what the audit log says of a workload. Its document is not part
// of that: environments hold what nobody else is to read.
func workloadText(w *core.Workload) string {
	return text(struct {
		Phase    string `json:"phase"`
		Target   string `json:"target,omitempty"`
		Attempt  int    `json:"attempt"`
		Kind     string `json:"kind"`
		User     string `json:"user"`
		Image    string `json:"image,omitempty"`
		Priority int    `json:"priority"`
		GPUMilli int64  `json:"gpuMilli"`
		Replicas int    `json:"replicas,omitempty"`
		Held     bool   `json:"held,omitempty"`
		Checks   string `json:"checks,omitempty"`
	}{string(w.Phase), string(w.Target), w.Attempt, string(w.Kind), w.User, w.Spec.Image, int(w.Spec.Priority), w.AskedMilli(), w.Replicas, w.Hold != nil, checksText(w)})
}

// checksText is how far the checks of a workload are that people or programs decide.
func checksText(w *core.Workload) string {
	var out []string
	for i := range w.Checks {
		c := &w.Checks[i]
		if c.Type == workload.CheckAfter || c.Type == workload.CheckTime {
			continue
		}
		line := c.Name + " " + string(c.Verdict)
		if c.By != "" {
			line += " by " + c.By
		}
		if c.Need > 0 {
			line += " (" + admission.Tally(c) + ")"
		}
		if c.By != "" && c.Message != "" {
			line += ": " + c.Message
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// changes are what the draft has come to since.
func (r *record) changes(tx *Tx) []core.AuditChange {
	var out []core.AuditChange
	for _, s := range r.workloads {
		out = append(out, core.AuditChange{Object: fmt.Sprintf("workload %s/%s %s", s.d.W.Project, s.d.W.Name, s.d.W.ID), Before: s.before, After: workloadText(s.d.W)})
	}
	out = append(out, differing("project", r.org.Projects, tx.Org.Projects, tx.State.Projects, func(p core.Project) any { return p })...)
	out = append(out, differing("pool", r.org.Pools, tx.Org.Pools, tx.State.Pools, func(p core.Pool) any { return p })...)
	out = append(out, differing("license", r.org.Licenses, tx.Org.Licenses, tx.State.licenses, func(l core.License) any { return l })...)
	out = append(out, differing("reservation", r.org.Reservations, tx.Org.Reservations, tx.State.Reserved, func(x core.Reservation) any { return x })...)
	out = append(out, differing("node", r.org.Nodes, tx.Org.Nodes, tx.State.Settings, func(n core.NodeSetting) any { return n })...)
	committed := map[string]core.Template{}
	for id, p := range tx.State.Policies {
		committed[nameOfPolicy(id)] = p.Template
	}
	out = append(out, differing("policy", byName(r.org.Policies), byName(tx.Org.Policies), committed, func(t core.Template) any { return policyText(&t) })...)
	out = append(out, differing("user-limit", r.org.UserBounds, tx.Org.UserBounds, tx.State.bounds, func(b core.UserBound) any { return b })...)
	if p := tx.Org.Prices; p != nil && p != r.org.Prices {
		c := core.AuditChange{Object: "prices", After: p.Last().Document}
		if was := cmp.Or(r.org.Prices, tx.State.priced); was != nil {
			c.Before = was.Last().Document
		}
		out = append(out, c)
	}
	out = append(out, r.access.changes(tx)...)
	return append(out, r.assets(tx)...)
}

func nameOfPolicy(id policy.ID) string { return string(id.Scope) + "/" + id.For }

func byName(of map[policy.ID]*core.Template) map[string]*core.Template {
	out := map[string]*core.Template{}
	for id, t := range of {
		out[nameOfPolicy(id)] = t
	}
	return out
}

// policyText is what the audit log says of a policy: of defaults which fields they are,
// since environments hold what nobody else is to read.
func policyText(t *core.Template) any {
	out := struct {
		Version  int             `json:"version"`
		Defaults []string        `json:"defaults,omitempty"`
		Rules    json.RawMessage `json:"rules,omitempty"`
		Impose   json.RawMessage `json:"impose,omitempty"`
	}{Version: t.Last().Number}
	var says struct {
		Defaults *spec.Document
		Rules    json.RawMessage
		Impose   json.RawMessage
	}
	if err := json.Unmarshal([]byte(t.Last().Document), &says); err == nil {
		out.Rules, out.Impose = says.Rules, says.Impose
		out.Defaults = slices.Sorted(maps.Keys(spec.FieldsOf(says.Defaults)))
	}
	return out
}

// differing are the records of a sort that a draft has changed since, each as it was
// in the draft, or else as it is committed.
func differing[K cmp.Ordered, V any](what string, was, is map[K]*V, committed map[K]V, shown func(V) any) []core.AuditChange {
	var out []core.AuditChange
	for _, k := range slices.Sorted(maps.Keys(is)) {
		old, drafted := was[k]
		if drafted && old == is[k] {
			continue
		}
		if stored, ok := committed[k]; !drafted && ok {
			old = &stored
		}
		c := core.AuditChange{Object: fmt.Sprintf("%s %v", what, k)}
		if old != nil {
			c.Before = text(shown(*old))
		}
		if is[k] != nil {
			c.After = text(shown(*is[k]))
		}
		if c.Before != c.After {
			out = append(out, c)
		}
	}
	return out
}

func (a *AccessDraft) changes(tx *Tx) []core.AuditChange {
	var out []core.AuditChange
	now, was := &tx.Access, tx.State.Rights
	if now.Control != a.Control {
		old := was.Control()
		if a.Control != nil {
			old = *a.Control
		}
		out = append(out, core.AuditChange{Object: "access control", Before: text(old), After: text(*now.Control)})
	}
	out = append(out, differing("user", a.Users, now.Users, stored(now.Users, was.User), func(u core.User) any { return u })...)
	out = append(out, differing("role", a.Roles, now.Roles, stored(now.Roles, was.Role), func(r core.Role) any { return r })...)
	out = append(out, differing("access rule", a.Rules, now.Rules, stored(now.Rules, was.Rule), func(r core.AccessRule) any { return r })...)
	return append(out, differing("token", a.Tokens, now.Tokens, stored(now.Tokens, was.Token), func(t core.Token) any {
		t.Hash = ""
		return t
	})...)
}

// stored are those records that a draft changes, as they are committed.
func stored[V any](changed map[string]*V, find func(string) (V, bool)) map[string]V {
	out := map[string]V{}
	for name := range changed {
		if v, ok := find(name); ok {
			out[name] = v
		}
	}
	return out
}

// secretOwnerWord is whose a secret is, as the audit log has it: a user, or a scope as of
// assets.
func secretOwnerWord(owner string) string {
	if scope, shared := (&core.Secret{User: owner}).Scope(); shared {
		return "project " + string(scope)
	}
	return owner
}

// assets are the changes of secrets, of which nothing but the name is told, of
// templates and of notifications.
func (r *record) assets(tx *Tx) []core.AuditChange {
	var out []core.AuditChange
	for _, s := range tx.Secrets {
		if !slices.ContainsFunc(r.secrets, func(x core.Secret) bool { return x.User == s.User && x.Name == s.Name }) {
			out = append(out, core.AuditChange{Object: fmt.Sprintf("secret %s of %s", s.Name, secretOwnerWord(s.User)), After: text(map[string]string{"type": s.Type})})
		}
	}
	for _, id := range tx.Gone {
		if !slices.Contains(r.gone, id) {
			out = append(out, core.AuditChange{Object: fmt.Sprintf("secret %s of %s", id.Name, secretOwnerWord(id.User)), Before: text(map[string]string{"type": tx.State.secrets[id].Type})})
		}
	}
	of := func(id core.TemplateID) string { return fmt.Sprintf("%s %s of %s", id.Kind, id.Name, id.Project) }
	shown := func(t core.Template) string {
		if t.Kind == core.TemplateCheck || t.Kind == core.TemplateReviewed || t.Kind == core.TemplateDelegation {
			return text(map[string]any{"version": t.Last().Number, "description": t.Description, "says": json.RawMessage(t.Last().Document)})
		}
		if s := t.Schedule; s != nil { // not what becomes of it
			return text(map[string]any{
				"version": t.Last().Number, "description": t.Description, "user": t.User, "cron": s.Cron, "timeZone": s.TimeZone, "concurrency": s.Concurrency,
				"suspended": s.Suspended, "startingDeadline": s.Within.String(), "keepCompleted": s.KeepCompleted, "keepFailed": s.KeepFailed,
			})
		}
		return text(map[string]any{"version": t.Last().Number, "description": t.Description, "editors": t.Editors, "sharedWith": t.SharedWith})
	}
	before := func(id core.TemplateID) string {
		if t, ok := tx.State.Templates[id]; ok {
			return shown(t)
		}
		return ""
	}
	for _, t := range tx.Templated.Put {
		if !slices.ContainsFunc(r.put, func(x core.Template) bool { return x.ID() == t.ID() && shown(x) == shown(t) }) {
			out = append(out, core.AuditChange{Object: of(t.ID()), Before: before(t.ID()), After: shown(t)})
		}
	}
	for _, id := range tx.Templated.Gone {
		if !slices.Contains(r.dropped, id) {
			out = append(out, core.AuditChange{Object: of(id), Before: before(id)})
		}
	}
	for _, s := range tx.Notified.Subs {
		if !slices.ContainsFunc(r.subs, func(x core.Subscription) bool { return x.ID() == s.ID() }) {
			out = append(out, core.AuditChange{Object: fmt.Sprintf("notification %s of %s", s.Name, s.User), After: text(map[string]any{"project": s.Project, "everyone": s.Everyone})})
		}
	}
	for _, id := range tx.Notified.Gone {
		if !slices.Contains(r.unsubscribed, id) {
			out = append(out, core.AuditChange{Object: fmt.Sprintf("notification %s of %s", id.Name, id.User), Before: "{}"})
		}
	}
	return out
}
