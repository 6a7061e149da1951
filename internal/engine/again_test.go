package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/submission"
)

// Who suspends and resumes at once means both: the second waits for the first,
// also over a restart of the server, and can be taken back.
func TestARestartWhileItEndsComesOnceItHasEnded(t *testing.T) {
	for name, c := range map[string]struct {
		then  func(h *hall, ref draft.Ref)
		phase lifecycle.Phase
		try   int
	}{
		"it runs again":  {func(*hall, draft.Ref) {}, lifecycle.Starting, 1},
		"over a restart": {func(h *hall, _ draft.Ref) { h.restart("p", "q") }, lifecycle.Starting, 1},
		"asked twice":    {func(h *hall, ref draft.Ref) { h.do(submission.Restart(ref, "user:u")) }, lifecycle.Starting, 1},
		"stopped after all": {func(h *hall, ref draft.Ref) {
			h.do(submission.Stop(submission.StopRequest{Ref: ref, Actor: "user:u"}))
		}, lifecycle.Stopped, 0},
		"deleted after all":       {func(h *hall, ref draft.Ref) { h.do(submission.Delete(ref, "user:u")) }, lifecycle.Deleting, 0},
		"its project was stopped": {func(h *hall, _ draft.Ref) { h.close("default") }, lifecycle.Inadmissible, 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHall(t, 1)
			h.run("a", `"resources":{"gpu":1}`)
			h.report("a", core.TaskRunning)
			h.now = h.now.Add(time.Second)
			ref := draft.Ref{ID: h.ids["a"]}
			h.do(submission.Stop(submission.StopRequest{Ref: ref, Actor: "user:u", Message: "suspended"}))
			h.do(submission.Restart(ref, "user:u"))
			h.phases("while it ends", map[string]lifecycle.Phase{"a": lifecycle.Terminating})
			c.then(h, ref)
			h.now = h.now.Add(time.Second)
			h.report("a", core.TaskFailed)
			h.phases("once it has ended", map[string]lifecycle.Phase{"a": c.phase})
			w := h.workload("a")
			if w.Attempt != c.try || w.Again != "" && c.phase != lifecycle.Deleting {
				t.Errorf("attempt %d, to run again for %q; want attempt %d", w.Attempt, w.Again, c.try)
			}
			if c.try == 1 && w.Attempts[0].Reason != lifecycle.ReasonStoppedByUser {
				t.Errorf("the first attempt ended because of %s", w.Attempts[0].Reason)
			}
		})
	}
}

// What goes on by itself once it has ended is not restarted.
func TestWhatGoesOnByItselfIsNotRestarted(t *testing.T) {
	h := newHall(t, 1)
	h.run("a", `"resources":{"gpu":1}`)
	h.report("a", core.TaskRunning)
	ref := draft.Ref{ID: h.ids["a"]}
	h.do(submission.Preempt(submission.PreemptRequest{Ref: ref, Actor: "user:u"}))
	err := h.e.Do(context.Background(), h.now, []draft.Work{submission.Restart(ref, "user:u")})[0]
	var refused *draft.Error
	if !errors.As(err, &refused) || refused.Code != draft.CodeIllegal {
		t.Errorf("it says %v", err)
	}
}

// close stops a project, whose workloads are not queued any more.
func (h *hall) close(name string) {
	h.do(organisation.Organise([]organisation.Edit{{What: organisation.RecordProject, Name: name, Project: func(p *core.Project) error {
		p.StopMode = core.StopHold
		return nil
	}}}, false))
}
