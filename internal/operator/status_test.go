package operator

import (
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
)

var begin = time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)

// at is a workload in a phase, so many seconds after its submission.
func at(phase string, after int) *api.Workload {
	return &api.Workload{ID: "1", Name: "a", Project: "default", Kind: "training", Phase: phase, Since: api.Time(begin.Add(time.Duration(after) * time.Second)), CreatedAt: api.Time(begin)}
}

// said is what conditions say, those that hold with +.
func said(s status) string {
	var all []string
	for _, c := range s.Conditions {
		sign := "-"
		if c.Status == yes {
			sign = "+"
		}
		all = append(all, sign+c.Type+"@"+c.LastTransitionTime[17:19])
	}
	return strings.Join(all, " ")
}

func TestConditionsFollowTheLife(t *testing.T) {
	var s status
	running := at("Running", 3)
	running.Conditions = []api.Condition{{Type: "Idle", Since: running.Since}}
	for _, c := range []struct {
		w    *api.Workload
		want string
	}{
		{at("Queued", 1), "-Completed@01 -Ended@01 -Failed@01 +Queued@01"},
		{running, "-Completed@01 -Ended@01 -Failed@01 +Idle@03 -Queued@03 +Running@03"},
		{at("Failed", 5), "-Completed@01 +Ended@05 +Failed@05 -Idle@05 -Queued@03 -Running@05"},
		{at("Queued", 7), "-Completed@01 -Ended@07 -Failed@07 -Idle@05 +Queued@07 -Running@05"},
		{at("Completed", 9), "+Completed@09 +Ended@09 -Failed@07 -Idle@05 -Queued@09 -Running@05"},
	} {
		s = statusOf(s, c.w)
		if got := said(s); got != c.want {
			t.Errorf("%s: %s, want %s", c.w.Phase, got, c.want)
		}
	}
}

func TestWhatIsWrongWithAnObjectStaysUntilItIsMended(t *testing.T) {
	s := judged(status{}, 1, reasonRefused, "resources.gpu: is a word", begin)
	if s.invalid() != reasonRefused || s.ObservedGeneration != 1 {
		t.Fatalf("%+v", s)
	}
	s = judged(statusOf(s, at("Queued", 1)), 2, reasonChanged, "no", begin.Add(time.Minute))
	if c := s.Conditions[3]; c.Type != conditionInvalid || c.Reason != reasonChanged || c.LastTransitionTime != "2026-05-01T10:00:00Z" {
		t.Errorf("it has been invalid all the time: %+v", c)
	}
	s = judged(s, 3, "", "", begin.Add(2*time.Minute))
	if s.invalid() != "" || s.ObservedGeneration != 3 || s.Phase != "Queued" {
		t.Errorf("%+v", s)
	}
}

func TestWhereNamesFewNodesAndCountsMany(t *testing.T) {
	on := func(total int, nodes ...string) *api.Workload {
		w := at("Running", 1)
		w.Tasks.Total = total
		a := api.Attempt{}
		for _, n := range nodes {
			a.Tasks = append(a.Tasks, api.Task{Node: n})
		}
		w.Attempts = []api.Attempt{a}
		return w
	}
	s := statusOf(status{}, on(2, "b", "a", "b"))
	if s.Where != "a,b" {
		t.Errorf("two nodes are %q", s.Where)
	}
	if s = statusOf(s, on(3, "a", "b", "c")); s.Where != "3 nodes" {
		t.Errorf("three nodes are %q", s.Where)
	}
	if s = statusOf(s, on(100, "x")); s.Where != "3 nodes" {
		t.Errorf("a change of one task of many makes %q", s.Where)
	}
	again := on(3)
	again.Attempt = 1
	if s = statusOf(s, again); s.Where != "" {
		t.Errorf("a new attempt is on %q", s.Where)
	}
}

func TestWhyItWaitsIsToldOnceForEachReason(t *testing.T) {
	waits := func(reason, message string) *api.Workload {
		w := at("Queued", 1)
		w.Conditions = []api.Condition{{Type: "Unschedulable", Reason: reason, Message: message, Since: w.Since}}
		return w
	}
	s := statusOf(status{}, waits("NoQuota", "5 are ahead"))
	same := statusOf(s, waits("NoQuota", "4 are ahead"))
	if same.Message != "5 are ahead" || same.Reason != "NoQuota" {
		t.Errorf("the same reason became %q", same.Message)
	}
	if s = statusOf(s, waits("NoRoom", "no node has 8")); s.Reason != "NoRoom" || s.Message != "no node has 8" {
		t.Errorf("another reason is %+v", s)
	}
	long := statusOf(status{}, waits("NoRoom", strings.Repeat("ü", 2000)))
	if len(long.Message) > longest+8 || !strings.HasSuffix(long.Message, "…") {
		t.Errorf("a long message has %d bytes", len(long.Message))
	}
}
