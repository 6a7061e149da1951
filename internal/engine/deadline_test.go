package engine_test

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// full takes all cores of the office's nodes, and returns who does.
func (o *office) full() []*core.Workload {
	o.t.Helper()
	var all []*core.Workload
	for range 2 {
		w := o.made(`{"command":["fake"],"resources":{"cpu":4},"preemptible":false}`)
		o.is(w.ID, lifecycle.Starting)
		o.seen(opens, w.ID, 0, core.TaskRunning)
		all = append(all, w)
	}
	return all
}

func TestADeadlineComesFirstInTime(t *testing.T) {
	o := newOffice(t, memstore.New())
	busy := o.full()
	due := opens.Add(5 * time.Hour).Format(time.RFC3339)
	old := o.made(`{"command":["fake"],"resources":{"cpu":4}}`)
	soon := o.made(`{"command":["fake"],"resources":{"cpu":4},"deadline":"` + due + `","expectedDuration":"2h"}`)
	o.at(opens.Add(time.Hour), report.Cluster())
	o.seen(opens.Add(time.Hour+time.Second), busy[0].ID, 0, core.TaskSucceeded)
	o.is(soon.ID, lifecycle.Starting)
	o.is(old.ID, lifecycle.Queued)
}

func TestADeadlineIsWarnedOfAndMissed(t *testing.T) {
	o := newOffice(t, memstore.New())
	o.do(organisation.AddSubscription(core.Subscription{User: "u", Name: "s", Notification: spec.Notification{Webhook: "http://h/x"}}))
	o.full()
	at := opens.Add(5 * time.Hour)
	due := at.Format(time.RFC3339)
	warned := o.made(`{"command":["fake"],"resources":{"cpu":4},"deadline":"` + due + `","expectedDuration":"2h"}`)
	stopped := o.made(`{"command":["fake"],"resources":{"cpu":4},"deadline":"` + due + `","deadlineAction":"stop"}`)
	latest := opens.Add(3 * time.Hour)
	o.at(latest.Add(-31*time.Minute), report.Cluster())
	o.sends()
	o.at(latest.Add(-30*time.Minute), report.Cluster())
	o.sends("x DeadlineAtRisk: Queued/DeadlineAtRisk") // of the other no length is known
	o.at(at.Add(-time.Second), report.Cluster())
	o.is(stopped.ID, lifecycle.Queued)
	o.at(at, report.Cluster())
	o.is(warned.ID, lifecycle.Queued)
	if w := o.is(stopped.ID, lifecycle.Canceled); w.Reason != lifecycle.ReasonDeadlineMissed {
		t.Errorf("it is %s for %s", w.Phase, w.Reason)
	}
	o.sends("x DeadlineAtRisk: Queued/DeadlineAtRisk", "x Canceled: Canceled/DeadlineMissed", "x DeadlineMissed: Queued/DeadlineMissed")
	o.at(at.Add(time.Hour), report.Cluster()) // once is enough
	if n := len(o.sent()); n != 3 {
		t.Errorf("%d messages in all, want 3", n)
	}
}

func TestWhatRunsIsStoppedAtItsDeadlineIfItSaysSo(t *testing.T) {
	o := newOffice(t, memstore.New())
	at := opens.Add(time.Hour)
	due := at.Format(time.RFC3339)
	warn := o.made(`{"command":["fake"],"deadline":"` + due + `"}`)
	stop := o.made(`{"command":["fake"],"deadline":"` + due + `","deadlineAction":"stop"}`)
	for _, w := range []*core.Workload{warn, stop} {
		o.seen(opens, w.ID, 0, core.TaskRunning)
		o.is(w.ID, lifecycle.Running)
	}
	o.at(at, report.Cluster())
	if w := o.is(warn.ID, lifecycle.Running); len(w.Conditions) != 1 || w.Conditions[0].Type != lifecycle.DeadlineMissed {
		t.Errorf("it has the conditions %+v", w.Conditions)
	}
	if w := o.is(stop.ID, lifecycle.Terminating); w.Target != lifecycle.TimedOut || w.Reason != lifecycle.ReasonDeadlineMissed {
		t.Errorf("it goes to %s for %s", w.Target, w.Reason)
	}
}

// TestADeadlineDoesNotWakeABackoff has a warning come due while a failed attempt
// waits: it must not be tried again sooner for that.
func TestADeadlineDoesNotWakeABackoff(t *testing.T) {
	o := newOffice(t, memstore.New())
	due := opens.Add(2 * time.Hour).Format(time.RFC3339)
	w := o.made(`{"command":["fake"],"deadline":"` + due + `","expectedDuration":"1h","retry":{"limit":3,"backoff":"5h","maxBackoff":"9h"}}`)
	o.seen(opens, w.ID, 0, core.TaskRunning)
	o.seen(opens, w.ID, 0, core.TaskFailed)
	o.is(w.ID, lifecycle.Backoff)
	o.at(opens.Add(30*time.Minute), report.Cluster())
	if w := o.is(w.ID, lifecycle.Backoff); w.AtRisk.IsZero() {
		t.Error("it was not warned")
	}
	o.at(opens.Add(3*time.Hour), report.Cluster())
	if w := o.is(w.ID, lifecycle.Backoff); w.Missed.IsZero() {
		t.Error("it was not missed")
	}
	o.at(opens.Add(6*time.Hour), report.Cluster())
	if got := o.is(w.ID, lifecycle.Starting); got.Attempt != 1 {
		t.Errorf("attempt %d", got.Attempt)
	}
}
