package engine_test

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// demand has project team demand something of its training.
func demand(o *office, limit time.Duration, types ...string) {
	o.do(organisation.Organise([]organisation.Edit{{What: organisation.RecordProject, Name: "team", Project: func(p *core.Project) error {
		p.TimeLimit, p.NodeTypes = nil, nil
		if limit > 0 {
			p.TimeLimit = map[lifecycle.Kind]time.Duration{lifecycle.Training: limit}
		}
		if types != nil {
			p.NodeTypes = map[lifecycle.Kind][]string{lifecycle.Training: types}
		}
		return nil
	}}}, false))
}

// TestRulesAreThoseOfTheSubmission changes what a project demands: what was submitted
// before keeps what held then, over a restart of it and of the server, until it is given
// another document.
func TestRulesAreThoseOfTheSubmission(t *testing.T) {
	o := newOffice(t, memstore.New())
	demand(o, 2*time.Hour)
	before := o.made(plain("before", ""))
	demand(o, time.Hour)
	after := o.made(plain("after", ""))
	limit := func(id core.WorkloadID) time.Duration {
		t.Helper()
		w := o.workload(id)
		if w.Bounds == nil {
			t.Fatalf("%s has kept nothing", w.Name)
		}
		return w.Bounds.TimeLimit
	}
	if b, a := limit(before.ID), limit(after.ID); b != 2*time.Hour || a != time.Hour {
		t.Fatalf("before %v, after %v", b, a)
	}
	for _, w := range []*core.Workload{before, after} {
		o.seen(opens, w.ID, 0, core.TaskRunning)
	}
	o.open() // a start of the server
	late := opens.Add(time.Hour + time.Minute)
	o.passes(late)
	o.seen(late, after.ID, 0, core.TaskFailed)
	o.is(after.ID, lifecycle.TimedOut)
	o.is(before.ID, lifecycle.Running)

	demand(o, 0, "a100")
	askAt(o, late, submission.Restart(draft.Ref{ID: after.ID}, "user:u"))
	if got := limit(after.ID); got != time.Hour {
		t.Errorf("run again it may run for %v", got)
	}
	o.seen(late, after.ID, 1, core.TaskRunning)
	o.seen(late, after.ID, 1, core.TaskSucceeded)
	ask(o, submission.Revise(submission.Revision{Ref: draft.Ref{ID: after.ID}, Doc: o.documentOf(`{"name":"after","project":"team","command":["other"]}`), Actor: "user:u"}))
	if b := o.workload(after.ID).Bounds; b.TimeLimit != 0 || len(b.NodeTypes) != 1 {
		t.Errorf("another document is held to %+v", b)
	}
}

// TestWhoSubmittedStaysAtARestart: a workload that is run again is still of the user of
// the machine who submitted it.
func TestWhoSubmittedStaysAtARestart(t *testing.T) {
	o := newOffice(t, memstore.New())
	w := ask(o, submission.Submit(submission.Submission{Doc: o.documentOf(`{"name":"a","command":["fake"]}`), User: "u", Actor: "user:u", As: &core.OSUser{UID: 7, Name: "u"}})).Workload
	o.seen(opens, w.ID, 0, core.TaskRunning)
	o.seen(opens, w.ID, 0, core.TaskSucceeded)
	ask(o, submission.Restart(draft.Ref{ID: w.ID}, "user:u"))
	if as := o.is(w.ID, lifecycle.Starting).As; as == nil || as.UID != 7 {
		t.Errorf("it runs again as %+v", as)
	}
}
