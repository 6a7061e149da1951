package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/policy"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// decides is an edit that makes a policy.
func decides(scope core.ProjectID, of, text string) organisation.Edit {
	return organisation.Edit{What: organisation.RecordPolicy, Name: organisation.PolicyName(policy.ID{Scope: scope, For: of}), Policy: func() (organisation.PolicyEdit, error) {
		return organisation.PolicyEdit{Says: []byte(text), User: "root"}, nil
	}}
}

func (o *office) decide(edits ...organisation.Edit) {
	o.t.Helper()
	o.do(organisation.Organise(edits, false))
}

// breaks must fail with one violation whose text begins so.
func (o *office) breaks(want string, c draft.Work) {
	o.t.Helper()
	err := o.try(c)
	var errs codec.Errors
	if !errors.As(err, &errs) || len(errs) != 1 || !strings.HasPrefix(errs.Error(), want) {
		o.t.Errorf("%v, want %s", err, want)
	}
}

func loaded(t *testing.T, doc string) *spec.Document {
	t.Helper()
	d, err := spec.Load([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func stands(name, parent string, department bool) organisation.Edit {
	what := organisation.RecordProject
	if department {
		what = organisation.RecordDepartment
	}
	return organisation.Edit{What: what, Name: name, Project: func(p *core.Project) error { p.Parent = core.ProjectID(parent); return nil }}
}

// TestNoDocumentGetsPastThePolicies tries every command that gives a workload a
// document, each with one that is allowed and one that is not.
func TestNoDocumentGetsPastThePolicies(t *testing.T) {
	o := newOffice(t, memstore.New())
	o.decide(decides(core.SystemScope, policy.All, "defaults: {env: {SITE: east}, nodeSelector: {zone: x}}\nrules: {gracePeriod: {max: 1m}, resources.cpu: {max: 2}, labels.team: {options: [a, b]}, replicas: {max: 2}, exclusive: {canEdit: false}}"))
	const bad = "gracePeriod: 2m is more than 1m, the most of the policy for all kinds of the system; write 1m or less"
	good, wrong := "command: sleep 9\ngracePeriod: 5s\n", "command: sleep 9\ngracePeriod: 2m\n"
	sub := func(doc string) submission.Submission {
		return submission.Submission{Doc: loaded(t, doc), User: "u", Actor: "user:u"}
	}
	filled := func(d *spec.Document) {
		t.Helper()
		if d.Env["SITE"] != "east" || d.NodeSelector["zone"] != "x" || d.Annotations[policy.Annotation] != "env.SITE,nodeSelector.zone" {
			t.Errorf("%s", spec.YAML(d))
		}
	}

	w := ask(o, submission.Submit(sub(good))).Workload
	filled(w.Spec)
	o.breaks(bad, submission.Submit(sub(wrong)))
	dry := sub(wrong)
	dry.DryRun = true
	o.breaks(bad, submission.Submit(dry))
	many := ask(o, submission.SubmitMany([]submission.Submission{sub(wrong), sub(good)}))
	if many[0].Err == nil || many[1].Err != nil {
		t.Errorf("%v %v", many[0].Err, many[1].Err)
	}
	filled(many[1].Workload.Spec)
	_, err := submission.Blame(o.try(submission.SubmitTogether([]submission.Submission{sub(good), sub(wrong)})))
	if err == nil || !strings.HasPrefix(err.Error(), bad) {
		t.Errorf("%v", err)
	}
	for _, s := range ask(o, submission.SubmitTogether([]submission.Submission{sub("name: one\n" + good), sub("after: [one]\n" + good)})) {
		filled(s.Workload.Spec)
	}

	// Of what lives, only what changes is judged.
	changed := func(change func(d *spec.Document)) submission.Amendment {
		return submission.Amendment{Ref: draft.Ref{ID: w.ID}, Change: func(d *spec.Document) (*spec.Document, error) {
			c := d.Clone()
			change(c)
			return c, nil
		}}
	}
	o.decide(decides(core.SystemScope, "training", "rules: {idleLimit: {required: true}, resources.memory: {max: 1Gi}}"))
	o.do(submission.Amend(changed(func(d *spec.Document) { d.Labels = map[string]string{"team": "a"} })))
	o.breaks(`labels.team: "c" is none of the options`, submission.Amend(changed(func(d *spec.Document) { d.Labels = map[string]string{"team": "c"} })))
	o.decide(organisation.Edit{What: organisation.RecordPolicy, Name: "-/training", Drop: true})

	// Another document is a new one, and a restart has none.
	o.do(submission.Stop(submission.StopRequest{Ref: draft.Ref{ID: w.ID}, Actor: "user:u"}))
	o.task(w, 0, 0, core.TaskFailed)
	revision := func(doc string) draft.Command[*core.Workload] {
		return submission.Revise(submission.Revision{Ref: draft.Ref{ID: w.ID}, Doc: loaded(t, doc), Actor: "user:u"})
	}
	o.breaks(bad, revision(wrong))
	o.decide(decides(core.SystemScope, policy.All, "defaults: {env: {SITE: west}}\nrules: {gracePeriod: {max: 1m}, replicas: {max: 2}}"))
	again := ask(o, submission.Restart(draft.Ref{ID: w.ID}, "user:u"))
	if again.Spec.Env["SITE"] != "east" {
		t.Errorf("a restart has changed the document: %v", again.Spec.Env)
	}

	// A service, and what publishes one.
	service := "kind: inference\nname: serve\ncommand: serve\nports: [80]\ngracePeriod: 5s\n"
	s := ask(o, submission.Submit(sub(service))).Workload
	o.breaks(bad, submission.Update(submission.UpdateRequest{Ref: draft.Ref{ID: s.ID}, Doc: loaded(t, strings.Replace(service, "5s", "2m", 1)), Actor: "user:u"}))
	s = ask(o, submission.Update(submission.UpdateRequest{Ref: draft.Ref{ID: s.ID}, Doc: loaded(t, service+"env: {A: b}\n"), Actor: "user:u"}))
	if s.Spec.Env["SITE"] != "west" || s.Spec.Env["A"] != "b" {
		t.Errorf("%v", s.Spec.Env)
	}
	o.breaks("replicas: 3 is more than 2", submission.Scale(submission.ScaleRequest{Ref: draft.Ref{ID: s.ID}, Replicas: 3, Actor: "user:u"}))
	o.do(submission.Scale(submission.ScaleRequest{Ref: draft.Ref{ID: s.ID}, Replicas: 2, Actor: "user:u"}))
}

func TestPoliciesHoldAfterARestartAndGoWithTheirProject(t *testing.T) {
	st := memstore.New()
	o := newOffice(t, st)
	o.decide(stands("research", "", true), stands("vision", "research", false), decides("research", "training", "rules: {gracePeriod: {max: 1m}}"), decides("vision", "training", "defaults: {env: {A: b}}"))
	o.open()
	o.breaks("gracePeriod: 2m is more than 1m, the most of the policy for training of department research", o.submit("project: vision\ncommand: ls\ngracePeriod: 2m"))
	if w := o.made("project: vision\ncommand: ls\n"); w.Spec.Env["A"] != "b" {
		t.Errorf("%v", w.Spec.Env)
	}
	o.made("command: ls\ngracePeriod: 2m") // of another branch

	// Two rules for a field along a branch are refused, and hold where a move makes them.
	err := o.try(organisation.Organise([]organisation.Edit{decides("vision", "training", "rules: {gracePeriod: {max: 10s}}")}, false))
	if err == nil || !strings.Contains(err.Error(), "rules.gracePeriod: has a rule in the policy for training of department research already") {
		t.Errorf("%v", err)
	}
	o.decide(stands("other", "", true), stands("audio", "other", false), decides("other", "training", "rules: {gracePeriod: {max: 10s}}"), decides("audio", "training", "rules: {patience: {max: 5m}}"))
	o.made("project: audio\ncommand: ls\ngracePeriod: 5s")
	o.decide(stands("audio", "research", false))
	o.made("project: audio\ncommand: ls\ngracePeriod: 30s") // what was above it does not hold any more
	o.breaks("gracePeriod: 2m is more than 1m", o.submit("project: audio\ncommand: ls\ngracePeriod: 2m"))

	// A dry run changes nothing, and says whom it would not let in.
	edited := ask(o, organisation.Organise([]organisation.Edit{decides("audio", "training", "rules: {resources.cpu: {min: 2}}")}, true))
	if b := edited[0].Breaches; len(b) != 2 || b[0].Workload.Project != "audio" || !strings.HasPrefix(b[0].Errors.Error(), "resources.cpu: 1 is less than 2") {
		t.Errorf("%+v", b)
	}
	o.made("project: audio\ncommand: ls\nresources: {cpu: 1}\ngracePeriod: 5s")

	all := ask(o, organisation.Policies("", false))
	if len(all) != 4 {
		t.Errorf("%+v", all)
	}
	o.decide(stands("empty", "research", false), decides("empty", policy.All, "defaults: {nodeType: a}"))
	o.decide(organisation.Edit{What: organisation.RecordProject, Name: "empty", Drop: true})
	for _, p := range ask(o, organisation.Policies("", false)) {
		if p.Project == "empty" {
			t.Error("a policy outlives its project")
		}
	}
	if kept, err := st.Templates(context.Background()); err != nil || len(kept) != 4 {
		t.Errorf("%v %v", kept, err)
	}
}

// TestAPolicyThatCannotBeReadRefusesAll has a policy of a later program: what it forbids
// is not known.
func TestAPolicyThatCannotBeReadRefusesAll(t *testing.T) {
	st := memstore.New()
	o := newOffice(t, st)
	o.decide(stands("vision", "", false))
	term, err := st.Acquire(context.Background(), "test")
	if err != nil {
		t.Fatal(err)
	}
	later := core.Template{Project: "vision", Kind: core.TemplatePolicy, Name: "training", Versions: []core.TemplateVersion{{Number: 1, Document: `{"rules":{"image":{"signed":true}}}`}}}
	if _, err := st.Commit(context.Background(), term, &store.Batch{Templates: []core.Template{later}}); err != nil {
		t.Fatal(err)
	}
	o.open()
	if text := o.refused(draft.CodeUnavailable, o.submit("project: vision\ncommand: ls")); !strings.Contains(text, "the policy for training of project vision cannot be read") {
		t.Error(text)
	}
	o.made("command: ls")
	o.decide(decides("vision", "training", "defaults: {env: {A: b}}"))
	if w := o.made("project: vision\ncommand: ls"); w.Phase == lifecycle.Failed || w.Spec.Env["A"] != "b" {
		t.Errorf("%v", w)
	}
}
