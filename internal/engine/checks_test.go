package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/admission"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/rbac"
	engineaccess "github.com/musterhq/muster/internal/engine/access"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/review"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/engine/workload"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/testing/memstore"
)

func checks(scope core.ProjectID, name, says string) draft.Command[core.Template] {
	return review.SetCheck(review.CheckEdit{Scope: scope, Name: name, Says: []byte(says), User: "root"})
}

// saysOf is a person's word on a check.
func saysOf(w *core.Workload, check, user string, yes bool) draft.Command[*core.Workload] {
	return submission.Decide(submission.Decision{Ref: draft.Ref{ID: w.ID}, Check: check, Approve: yes, User: user, Actor: "user:" + user, Message: "because"})
}

// asked are the questions to programs among the actions that
// the engine has handed out.
func (o *office) asked() (out []core.CheckState) {
	for _, a := range o.e.Actions {
		if a.Kind == draft.ActOperation && a.Operation.Kind == draft.OperationAsk {
			out = append(out, a.Operation.Check)
		}
	}
	o.e.Actions = nil
	return out
}

func (o *office) answers(w *core.Workload, a submission.Answer, failure error) {
	o.t.Helper()
	o.do(submission.Answered(w.ID, 0, "gate", a, failure))
}

func TestTwoOfThreeApprove(t *testing.T) {
	o := newOffice(t, memstore.New())
	o.do(checks(core.SystemScope, "big", `{"type":"approval","users":["lea","kim","u"],"approvals":2,"notSubmitter":true,"minGpus":1}`))
	o.is(o.made(`{"name":"small","command":["fake"]}`).ID, lifecycle.Starting)
	w := o.made(`{"name":"large","command":["fake"],"resources":{"gpu":1},"checks":[{"name":"big","type":"approval"}]}`)
	if len(w.Checks) != 1 || w.Checks[0].Need != 2 || w.Checks[0].Scope != core.SystemScope {
		t.Fatalf("the document's own check stands in the place of the system's: %+v", w.Checks)
	}
	if m := o.refused(draft.CodeForbidden, saysOf(w, "big", "u", true)); !strings.Contains(m, "not decided by who submitted") {
		t.Error(m)
	}
	o.refused(draft.CodeForbidden, saysOf(w, "", "bob", true))
	o.do(saysOf(w, "", "lea", true))
	if r := o.why(w.ID); !strings.Contains(r.Note, "1 of 2 approvals: lea; who else may: kim") {
		t.Errorf("%s", r.Note)
	}
	o.refused(draft.CodeConflict, saysOf(w, "", "lea", true))
	o.open() // a restart forgets nobody's word
	o.is(w.ID, lifecycle.Reviewing)

	// Bob decides for kim, for a while, and kim not again then.
	o.do(review.Delegate(admission.Delegation{From: "kim", To: "bob", Scope: core.SystemScope, Until: opens.Add(time.Hour)}, rbac.Caller{}, false))
	all := ask(o, review.Approvals("bob", false))
	if len(all) != 1 || all[0].Refusal != "" || all[0].On != "kim" {
		t.Fatalf("%+v", all)
	}
	if err := o.e.Do(t.Context(), opens.Add(time.Hour), []draft.Work{saysOf(w, "", "bob", true)})[0]; err == nil {
		t.Error("a delegation holds when it is over")
	}
	o.do(saysOf(w, "", "bob", true))
	w = o.is(w.ID, lifecycle.Starting)
	if c := w.Checks[0]; c.Verdict != core.CheckApproved || c.Votes[1].For != "kim" || c.Votes[1].Message != "because" {
		t.Errorf("%+v", c)
	}

	w = askAt(o, opens.Add(time.Second), o.submit(`{"name":"other","command":["fake"],"resources":{"gpu":1}}`)).Workload
	o.do(saysOf(w, "", "lea", true), saysOf(w, "", "lea", false)) // who has approved may think better of it
	w = o.is(w.ID, lifecycle.Failed)
	if w.Reason != lifecycle.ReasonReviewRejected || jobstat(w) != 21 {
		t.Errorf("%s", w.Reason)
	}
}

func TestRolesDecide(t *testing.T) {
	o := newOffice(t, memstore.New())
	o.decide(stands("research", "", true), stands("vision", "research", false), stands("speech", "", false))
	for _, name := range []string{"lea", "bob"} {
		o.do(engineaccess.EditUser(engineaccess.UserEdit{Name: name, Kind: core.SubjectUser, New: true, By: "root"}))
	}
	o.do(engineaccess.CreateRule(rbac.Caller{Owner: true}, engineaccess.RuleRequest{Subject: core.Subject{Kind: core.SubjectUser, Name: "lea"}, Role: rbac.ProjectLead, Scope: "vision"}))
	o.do(checks("research", "lead", `{"type":"approval","role":"project-lead","kinds":["training"]}`))
	o.is(o.made(`{"name":"a","project":"speech","command":["fake"]}`).ID, lifecycle.Starting)
	w := o.made(`{"name":"b","project":"vision","command":["fake"]}`)
	o.refused(draft.CodeForbidden, saysOf(w, "", "bob", true))
	if m := o.why(w.ID).Note; !strings.Contains(m, "who else may: lea") {
		t.Error(m)
	}
	o.do(saysOf(w, "", "lea", true))
	o.is(w.ID, lifecycle.Starting)
	o.refused(draft.CodeNotFound, checks("nowhere", "x", `{"type":"approval"}`))
	if err := o.try(checks("vision", "x", `{"type":"approval","role":"emperor"}`)); err == nil || !strings.Contains(err.Error(), `role "emperor" does not exist`) {
		t.Error(err)
	}
}

func TestApprovalsExpire(t *testing.T) {
	o := newOffice(t, memstore.New())
	o.do(checks(core.SystemScope, "soon", `{"type":"approval","users":["a","b"],"approvals":2,"within":"1h","expired":"again","kinds":["training"]}`))
	o.do(checks(core.SystemScope, "now", `{"type":"approval","users":["a"],"within":"1h","kinds":["workspace"]}`))
	again, once := o.made(`{"name":"x","command":["fake"]}`), o.made(`{"name":"y","kind":"workspace","command":["fake"]}`)
	o.do(saysOf(again, "", "a", true))
	o.at(opens.Add(time.Hour), checks(core.SystemScope, "else", `{"type":"approval","minGpus":99}`)) // any work has timers looked at
	w := o.is(once.ID, lifecycle.Failed)
	if !strings.Contains(w.Message, "nobody had approved it by its deadline") {
		t.Errorf("%s", w.Message)
	}
	w = o.is(again.ID, lifecycle.Reviewing)
	if c := w.Checks[0]; len(c.Votes) != 0 || !c.Deadline.Equal(opens.Add(2*time.Hour)) || !strings.Contains(c.Message, "had 1 of 2 approvals: a in 1h0m0s, and is asked anew") {
		t.Errorf("%+v", c)
	}
}

func TestAnImageIsLookedAtOnce(t *testing.T) {
	o := &office{t: t, st: memstore.New(), images: true}
	o.open()
	o.do(checks(core.SystemScope, "images", `{"type":"image","users":["sec"],"trusted":["ok.io/*"]}`))
	o.is(o.made(`{"name":"plain","command":["fake"]}`).ID, lifecycle.Starting)
	o.is(o.made(`{"name":"trusted","image":"ok.io/x:1","command":["fake"]}`).ID, lifecycle.Starting)
	const doc = `"image":"python:3.12","command":["fake"],"resources":{"cpu":0.1}}`
	first, second := o.made(`{"name":"first",`+doc), o.made(`{"name":"second",`+doc)
	if code := jobstat(first); code != 19 {
		t.Errorf("code %d", code)
	}
	if m := o.why(first.ID).Note; !strings.Contains(m, "waits for a review of image python:3.12 before its first use") {
		t.Error(m)
	}
	bad := o.made(`{"name":"bad","image":"evil.io/x","command":["fake"]}`)
	o.do(saysOf(bad, "", "sec", false))
	o.is(bad.ID, lifecycle.Failed)
	o.do(saysOf(first, "", "sec", true))
	o.is(first.ID, lifecycle.Starting)
	o.is(second.ID, lifecycle.Starting) // it waited for the same image
	o.open()
	later := func(doc string) core.WorkloadID { return askAt(o, opens.Add(time.Second), o.submit(doc)).Workload.ID }
	o.is(later(`{"name":"third",`+doc), lifecycle.Starting)
	o.is(later(`{"name":"evil","image":"evil.io/x","command":["fake"]}`), lifecycle.Reviewing)
	seen := ask(o, review.Images(core.SystemScope, "images"))
	if len(seen) != 1 || seen[0].Image != "docker.io/library/python:3.12" || seen[0].User != "sec" {
		t.Errorf("%+v", seen)
	}
	o.do(review.ForgetImage(core.SystemScope, "images", "python:3.12"))
	o.is(later(`{"name":"fourth",`+doc), lifecycle.Reviewing)

	// What serves is not given an image that nobody has looked at.
	s := later(`{"name":"serves","kind":"inference","image":"ok.io/s:1","command":["fake"],"ports":[80],"resources":{"cpu":0.1}}`)
	d := loaded(t, `{"name":"serves","kind":"inference","image":"new.io/s:2","command":["fake"],"ports":[80],"resources":{"cpu":0.1}}`)
	if m := o.refused(draft.CodeConflict, submission.Update(submission.UpdateRequest{Ref: draft.Ref{ID: s}, Doc: d, Actor: "user:u"})); !strings.Contains(m, "review of new.io/s:2") {
		t.Error(m)
	}
}

func TestProgramsAreAskedAsTheirCheckSaysNow(t *testing.T) {
	o := newOffice(t, memstore.New())
	o.do(engineaccess.SwitchAudit(true, "root"))
	o.do(checks(core.SystemScope, "gate", `{"type":"webhook","url":"https://a.io/x","ca":"-----BEGIN CERTIFICATE-----"}`))
	w := o.made(`{"name":"w","command":["fake"]}`)
	if q := o.asked(); len(q) != 1 || q[0].URL != "https://a.io/x" || q[0].Hook == nil || q[0].Hook.CA == "" || q[0].Timeout != 10*time.Second {
		t.Fatalf("%+v", q)
	}
	o.refused(draft.CodeForbidden, saysOf(w, "gate", "u", true)) // nobody answers in its place
	o.open()
	o.e.Resume()
	if q := o.asked(); len(q) != 1 || q[0].Hook == nil {
		t.Fatalf("after a restart: %+v", q)
	}
	o.answers(w, submission.Answer{}, unheard())
	o.is(w.ID, lifecycle.Reviewing)
	o.do(checks(core.SystemScope, "gate", `{"type":"webhook","url":"https://b.io/y"}`))
	if q := o.asked(); len(q) != 1 || q[0].URL != "https://b.io/y" {
		t.Fatalf("the check was mended, and is asked %+v", q)
	}
	o.answers(w, submission.Answer{Verdict: core.CheckWaiting, Message: "later", After: time.Hour}, nil)
	if c := o.is(w.ID, lifecycle.Reviewing).Checks[0]; !c.AskAt.Equal(opens.Add(time.Hour)) || c.Message != "later" || c.Silent != 0 {
		t.Errorf("%+v", c)
	}
	o.do(review.DropCheck(core.SystemScope, "gate", "root"))
	o.is(w.ID, lifecycle.Starting)
	entries, err := o.st.Audit(t.Context(), store.AuditQuery{Actor: "check:gate"})
	if err != nil || len(entries) < 2 || entries[0].Message != "no answer: it is down" {
		t.Errorf("%+v %v", entries, err)
	}
}

func TestSilenceLetsThroughOrHolds(t *testing.T) {
	for _, c := range []struct {
		says  string
		tries int
		want  lifecycle.Phase
	}{
		{`{"type":"webhook","url":"https://a.io"}`, 9, lifecycle.Reviewing},
		{`{"type":"webhook","url":"https://a.io","unanswered":"open"}`, 2, lifecycle.Reviewing},
		{`{"type":"webhook","url":"https://a.io","unanswered":"open"}`, 3, lifecycle.Starting},
		{`{"type":"webhook","url":"https://a.io","unanswered":"open","tries":1}`, 1, lifecycle.Starting},
	} {
		o := newOffice(t, memstore.New())
		o.do(checks(core.SystemScope, "gate", c.says))
		w := o.made(`{"name":"w","command":["fake"]}`)
		now := opens
		for i := range c.tries {
			if i > 0 {
				now = now.Add(time.Hour)
				o.at(now, checks(core.SystemScope, "else", `{"type":"approval","minGpus":99}`))
			}
			o.at(now, submission.Answered(w.ID, 0, "gate", submission.Answer{}, unheard()))
		}
		o.is(w.ID, c.want)
	}
	// An answer in between begins anew.
	o := newOffice(t, memstore.New())
	o.do(checks(core.SystemScope, "gate", `{"type":"webhook","url":"https://a.io","unanswered":"open","tries":2}`))
	w := o.made(`{"name":"w","command":["fake"]}`)
	now := opens
	for _, failure := range []error{unheard(), nil, unheard()} {
		o.at(now, submission.Answered(w.ID, 0, "gate", submission.Answer{Verdict: core.CheckWaiting}, failure))
		now = now.Add(time.Hour)
		o.at(now, checks(core.SystemScope, "else", `{"type":"approval","minGpus":99}`))
	}
	o.is(w.ID, lifecycle.Reviewing)
}

func TestACheckThatCannotBeReadAsksPeople(t *testing.T) {
	o := newOffice(t, memstore.New())
	o.do(checks(core.SystemScope, "gate", `{"type":"webhook","url":"https://a.io"}`))
	all, err := o.st.Templates(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	all[0].Versions[0].Document = `{"type":"oracle"}`
	term, err := o.st.Acquire(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.st.Commit(t.Context(), term, &store.Batch{Templates: all}); err != nil {
		t.Fatal(err)
	}
	o.open()
	w := o.made(`{"name":"w","command":["fake"]}`)
	o.is(w.ID, lifecycle.Reviewing)
	o.do(saysOf(w, "gate", "anybody", true))
	o.is(w.ID, lifecycle.Starting)
}

// jobstat is ModelArts' code of a workload.
func jobstat(w *core.Workload) int {
	return *lifecycle.Say(lifecycle.Modelarts, workload.View(w, nil, nil)).Code
}

type down struct{}

func (down) Error() string { return "it is down" }

func unheard() error { return down{} }
