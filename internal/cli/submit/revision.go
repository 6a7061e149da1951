package submit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/inspect"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/policy"
	"github.com/musterhq/muster/internal/core/spec"
)

// revision is what becomes of a workload that is given another document.
type revision struct {
	w       *api.Workload
	send    *spec.Document // as it is said
	next    *spec.Document // the same with defaults
	changes []revised
	effect  spec.Effect // the strongest of the changes; empty: there are none
}

// revised is one field that changes, and when that comes to hold.
type revised struct {
	Path   string          `json:"path"`
	From   json.RawMessage `json:"from,omitempty"`
	To     json.RawMessage `json:"to,omitempty"`
	Effect spec.Effect     `json:"effect,omitempty"`
}

// effects in the order of what they cost.
var effects = []spec.Effect{"", spec.EffectLive, spec.EffectRolling, spec.EffectAttempt, spec.EffectNever}

// revisionOf compares a workload's document with the one that it is to have.
// What a submission adds from its surroundings, and a document does not say,
// stays as it was; local says that the server shares this machine's files.
func revisionOf(w *api.Workload, doc *spec.Document, local bool) (*revision, error) {
	now, send := printers.DocOf(w), doc.Clone()
	now.NamePrefix, send.NamePrefix = "", "" // it has made its name
	if send.Image == "" && send.Workdir == "" {
		send.Workdir = now.Workdir
	} else if err := document.ResolveWorkdir(send, local); err != nil {
		return nil, err
	}
	for _, name := range document.Carried {
		if _, given := send.Env[name]; !given && now.Env[name] != "" && send.Image == "" {
			if send.Env == nil {
				send.Env = map[string]string{}
			}
			send.Env[name] = now.Env[name]
		}
	}
	send.Follow(now)
	policy.Follow(send, now)
	next := send.Clone()
	for _, d := range []*spec.Document{now, next} {
		d.Name, d.Project = cmp.Or(d.Name, w.Name), cmp.Or(d.Project, w.Project)
	}
	next = spec.WithDefaults(next)
	if errs := spec.Validate(next); len(errs) > 0 {
		return nil, errs
	}
	r := &revision{w: w, send: send, next: next}
	for _, c := range spec.Changes(spec.WithDefaults(now), next) {
		e := spec.EffectOf(lifecycle.Kind(w.Kind), c.Path)
		if printers.Ended(w) && e != spec.EffectNever {
			e = spec.EffectAttempt // only what runs can change as it runs
		}
		r.changes = append(r.changes, revised{Path: c.Path, From: c.From, To: c.To, Effect: e})
		if slices.Index(effects, e) > slices.Index(effects, r.effect) {
			r.effect = e
		}
	}
	return r, nil
}

// refused is the error of a revision that cannot be; nil: it can.
func (r *revision) refused() error {
	p := &api.Problem{Title: "Conflict", Status: 409, Code: "conflict", Detail: fmt.Sprintf("%s cannot become what the document says", r.w.Name)}
	for _, c := range r.changes {
		if c.Effect == spec.EffectNever {
			p.Errors = append(p.Errors, api.FieldProblem{
				Path: c.Path, Problem: fmt.Sprintf("cannot change from %s to %s: that is another workload", inspect.ValueText(c.From), inspect.ValueText(c.To)),
				Hint: "give the document another name, or delete " + r.w.Name + " first",
			})
		}
	}
	if len(p.Errors) == 0 {
		return nil
	}
	return &session.Failure{Code: session.ExitConflict, Problem: p}
}

// possible asks the server whether it would take the document of a new attempt:
// before what runs is ended for it, or anything else is changed.
func (r *revision) possible(ctx context.Context, c *client.Client) error {
	if r.effect != spec.EffectAttempt {
		return nil
	}
	data, err := document.Encode(r.send)
	if err == nil {
		_, err = c.Revise(ctx, r.w.Project, r.w.ID, data, true)
	}
	return err
}

// ends reports whether something that runs or waits has to end for it.
func (r *revision) ends() bool { return r.effect == spec.EffectAttempt && !printers.Ended(r.w) }

// carryOut gives the workload its document, in the mildest way that does.
func carryOut(ctx context.Context, s *session.Session, c *client.Client, r *revision) (*api.Workload, error) {
	if r.effect == spec.EffectLive {
		patch, err := spec.LivePatch(printers.DocOf(r.w), r.next)
		if err != nil {
			return nil, err
		}
		return c.Change(ctx, r.w.Project, r.w.ID, patch)
	}
	data, err := document.Encode(r.send)
	if err != nil {
		return nil, err
	}
	if r.effect == spec.EffectRolling {
		return c.Update(ctx, r.w.Project, r.w.ID, data)
	}
	if r.ends() {
		w, err := c.Stop(ctx, r.w.Project, r.w.ID, api.StopOptions{Message: "to run again with another document"})
		if err != nil {
			return nil, err
		}
		s.Say("%s is stopped first; then it runs again as a new attempt", w.Name)
		if _, err := inspect.UntilEnd(ctx, s, c, w); err != nil {
			return nil, err
		}
	}
	return c.Revise(ctx, r.w.Project, r.w.ID, data, false)
}

// effectWords say when a change comes to hold.
func (r *revision) effectWords(e spec.Effect) string {
	switch {
	case e == spec.EffectLive:
		return "live"
	case e == spec.EffectRolling:
		return "replicas are replaced a few at a time"
	case e == spec.EffectNever:
		return "cannot change"
	case printers.Ended(r.w):
		return "runs again, as a new attempt"
	default:
		return "needs a new attempt"
	}
}

// lines are the changes for people.
func revisionLines(s *session.Session, terminal bool, r *revision) string {
	var b strings.Builder
	for _, c := range r.changes {
		tint := map[spec.Effect]session.Tone{spec.EffectLive: session.ToneGood, spec.EffectRolling: session.ToneBusy, spec.EffectAttempt: session.ToneWait, spec.EffectNever: session.ToneBad}[c.Effect]
		fmt.Fprintf(&b, "  %s: %s → %s  (%s)\n", c.Path, inspect.ValueText(c.From), inspect.ValueText(c.To), s.Paint(terminal, tint, r.effectWords(c.Effect)))
	}
	return b.String()
}
