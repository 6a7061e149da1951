package engine_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// within gives a project or department so many cores, and no more.
func within(what organisation.Record, name, parent string, cores float64) organisation.Edit {
	return organisation.Edit{What: what, Name: name, Project: func(p *core.Project) error {
		q := core.ResourceQuota{Quota: &cores, Limit: &cores}
		p.Parent, p.Pools = core.ProjectID(parent), map[string]core.PoolQuota{core.AnyPool: {CPU: q}}
		return nil
	}}
}

func checked(name, more string) string {
	return `{"name":"` + name + `","project":"team","command":["fake"],"resources":{"cpu":2},"checks":[{"name":"legal","type":"approval","when":"reservation"}]` + more + `}`
}

func plain(name, more string) string {
	return `{"name":"` + name + `","project":"team","command":["fake"],"resources":{"cpu":2}` + more + `}`
}

func approve(w *core.Workload) draft.Work {
	return submission.Decide(submission.Decision{Ref: draft.Ref{ID: w.ID}, Approve: true, User: "ada", Actor: "user:ada"})
}

func (o *office) standing(project string) report.Standing {
	o.t.Helper()
	for _, s := range ask(o, report.Standings()) {
		if string(s.Project.ID) == project {
			return s
		}
	}
	o.t.Fatalf("nobody says how %s stands", project)
	panic("unreachable")
}

func TestWhatIsReservedIsNobodyElses(t *testing.T) {
	o := newOffice(t, memstore.New())
	o.do(organisation.Organise([]organisation.Edit{within(organisation.RecordDepartment, "lab", "", 100), within(organisation.RecordProject, "team", "lab", 2)}, false))
	first := o.made(checked("first", ""))
	o.is(first.ID, lifecycle.Reserved)
	second := o.made(plain("second", ""))
	for range 2 { // the second time after a restart
		o.is(first.ID, lifecycle.Reserved)
		o.is(second.ID, lifecycle.Queued)
		if r := o.why(second.ID); r.Token != schedule.OverLimit || r.Reserved != r.Allocated || !strings.Contains(r.String(), "it holds 2 CPU of at most 2 CPU (all of it reserved for what waits for its checks)") {
			t.Errorf("second waits because of %s", r)
		}
		for _, name := range []string{"team", "lab"} {
			if s := o.standing(name); s.Reserved[core.CPU] != 2 || s.Used[core.CPU] != 0 || s.Queued != 1 {
				t.Errorf("%s has %v reserved, %v used, %d queued", name, s.Reserved, s.Used, s.Queued)
			}
		}
		o.open()
	}
	o.do(approve(first))
	o.is(first.ID, lifecycle.Starting)
	if s := o.standing("team"); s.Reserved[core.CPU] != 0 || s.Used[core.CPU] != 2 {
		t.Errorf("team has %v reserved, %v used", s.Reserved, s.Used)
	}
	o.is(second.ID, lifecycle.Queued)
	o.seen(opens, first.ID, 0, core.TaskRunning)
	o.seen(opens, first.ID, 0, core.TaskSucceeded)
	o.is(second.ID, lifecycle.Starting)
}

func TestAReservationThatEndsGivesItsQuotaBack(t *testing.T) {
	for what, end := range map[string]func(*core.Workload) draft.Work{
		"rejected": func(w *core.Workload) draft.Work {
			return submission.Decide(submission.Decision{Ref: draft.Ref{ID: w.ID}, User: "ada", Actor: "user:ada"})
		},
		"stopped": func(w *core.Workload) draft.Work {
			return submission.Stop(submission.StopRequest{Ref: draft.Ref{ID: w.ID}, Actor: "user:u"})
		},
		"held": hold,
	} {
		o := newOffice(t, memstore.New())
		o.do(organisation.Organise([]organisation.Edit{within(organisation.RecordProject, "team", "", 2)}, false))
		first := o.made(checked("first", ""))
		second := o.made(plain("second", ""))
		o.is(second.ID, lifecycle.Queued)
		o.do(end(first))
		o.is(second.ID, lifecycle.Starting)
		if s := o.standing("team"); s.Reserved[core.CPU] != 0 {
			t.Errorf("%s: %v is reserved", what, s.Reserved)
		}
	}
}

func TestMoreImportantWorkTakesAReservationBack(t *testing.T) {
	o := newOffice(t, memstore.New())
	o.do(organisation.Organise([]organisation.Edit{within(organisation.RecordProject, "team", "", 4)}, false))
	older := o.made(checked("older", ""))
	younger := o.made(checked("younger", ""))
	urgent := o.made(plain("urgent", `,"priority":"high"`))
	o.is(older.ID, lifecycle.Reserved)
	w := o.is(younger.ID, lifecycle.Queued)
	if w.Reason != lifecycle.ReasonPreempted || !strings.Contains(w.Message, "urgent of project team has a higher priority") {
		t.Errorf("reason %s, %q", w.Reason, w.Message)
	}
	o.is(urgent.ID, lifecycle.Starting)
	o.seen(opens, urgent.ID, 0, core.TaskRunning)
	o.seen(opens, urgent.ID, 0, core.TaskSucceeded)
	o.is(younger.ID, lifecycle.Reserved)
	if o.do(approve(younger)); o.phase(younger) != lifecycle.Starting {
		t.Error("its check is not asked anew")
	}

	o = newOffice(t, memstore.New())
	o.do(organisation.Organise([]organisation.Edit{within(organisation.RecordProject, "team", "", 2)}, false))
	kept := o.made(checked("kept", `,"preemptible":false`))
	o.is(o.made(plain("urgent", `,"priority":"high"`)).ID, lifecycle.Queued)
	o.is(kept.ID, lifecycle.Reserved)
}

func TestAProjectThatIsDueTakesAReservationBack(t *testing.T) {
	o := newOffice(t, memstore.New())
	own := within(organisation.RecordProject, "team", "lab", 8)
	quota := 1.0
	greedy := organisation.Edit{What: organisation.RecordProject, Name: "team", Project: func(p *core.Project) error {
		p.Parent, p.Pools = "lab", map[string]core.PoolQuota{core.AnyPool: {CPU: core.ResourceQuota{Quota: &quota}}}
		return nil
	}}
	own.Name = "due"
	o.do(organisation.Organise([]organisation.Edit{within(organisation.RecordDepartment, "lab", "", 2), greedy, own}, false))
	first := o.made(checked("first", ""))
	o.is(first.ID, lifecycle.Reserved)
	due := o.made(strings.Replace(plain("due", ""), `"team"`, `"due"`, 1))
	o.is(due.ID, lifecycle.Starting)
	if w := o.is(first.ID, lifecycle.Queued); w.Reason != lifecycle.ReasonPreempted || !strings.Contains(w.Message, "its project holds more than its due; due of project due claims its own") {
		t.Errorf("reason %s, %q", w.Reason, w.Message)
	}
}

func TestWhatIsApprovedWaitsForRoomOnly(t *testing.T) {
	o := newOffice(t, memstore.New())
	o.do(organisation.Organise([]organisation.Edit{within(organisation.RecordProject, "team", "", 4)}, false))
	first := o.made(`{"name":"first","project":"team","command":["fake"],"resources":{"cpu":4},"checks":[{"name":"legal","type":"approval","when":"reservation"}]}`)
	var others []*core.Workload
	for _, name := range []string{"a", "b"} {
		others = append(others, o.made(`{"name":"`+name+`","command":["fake"],"preemptible":false,"resources":{"cpu":4}}`))
		o.is(others[len(others)-1].ID, lifecycle.Starting) // quota is reserved, and no place
	}
	o.do(approve(first))
	w := o.is(first.ID, lifecycle.Reserved)
	if strings.Contains(w.Message, "waits for check") {
		t.Errorf("it says %q", w.Message)
	}
	if r := o.why(first.ID); r.Token != schedule.WaitingForCapacity {
		t.Errorf("it waits because of %s", r)
	}
	late := o.made(`{"name":"late","project":"team","command":["fake"],"resources":{"cpu":4}}`)
	if r := o.why(late.ID); r.Token != schedule.OverLimit {
		t.Errorf("late waits because of %s", r)
	}
	o.seen(opens, others[0].ID, 0, core.TaskRunning)
	o.seen(opens, others[0].ID, 0, core.TaskSucceeded)
	o.is(first.ID, lifecycle.Starting)
	o.is(late.ID, lifecycle.Queued)
}

func TestWhatMovesKeepsItsQuota(t *testing.T) {
	o := newOffice(t, memstore.New())
	o.do(organisation.Organise([]organisation.Edit{within(organisation.RecordProject, "team", "", 2)}, false))
	first := o.made(plain("first", ""))
	o.seen(opens, first.ID, 0, core.TaskRunning)
	o.do(organisation.CordonNode("n1", true, ""))
	o.do(organisation.CordonNode("n2", true, ""))
	o.do(submission.Preempt(submission.PreemptRequest{Ref: draft.Ref{ID: first.ID}, Actor: "user:u", Move: true}))
	o.seen(opens, first.ID, 0, core.TaskFailed)
	o.is(first.ID, lifecycle.Reserved)
	if s := o.standing("team"); s.Reserved[core.CPU] != 2 || s.Used[core.CPU] != 0 {
		t.Errorf("team has %v reserved, %v used", s.Reserved, s.Used)
	}
	second := o.made(plain("second", ""))
	o.do(organisation.CordonNode("n1", false, ""))
	o.is(first.ID, lifecycle.Starting)
	o.is(second.ID, lifecycle.Queued)
}
