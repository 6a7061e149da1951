package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones do not depend on the machine

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/policy"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/access"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/recurring"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// passes lets the time pass until then, as control does: the engine is driven when it
// asks for that, and not in between.
func (o *office) passes(until time.Time) {
	o.t.Helper()
	last := time.Time{}
	for n := 0; ; n++ {
		at := o.e.NextWake()
		if at.IsZero() || at.After(until) {
			break
		}
		if at.Before(last) {
			at = last
		}
		if last = at; n > 10_000 {
			o.t.Fatalf("the engine does not come to rest at %v", at)
		}
		o.e.Do(context.Background(), at, nil)
	}
	o.at(until, report.Cluster())
}

func removed(id core.WorkloadID) draft.Work { return submission.Removed(id, nil) }

func every(cron string) recurring.Edit {
	return recurring.Edit{
		Project: "default", Name: "night", User: "u", Document: []byte(`{"command":["fake"],"resources":{"cpu":"0.001"}}`),
		Schedule: core.Schedule{Cron: cron, TimeZone: "UTC", Concurrency: core.ConcurrencyAllow, KeepCompleted: 3, KeepFailed: 1},
	}
}

func (o *office) night() recurring.State {
	o.t.Helper()
	all := askIdle(o, recurring.List(""))
	if len(all) != 1 {
		o.t.Fatalf("there are %d schedules", len(all))
	}
	return all[0]
}

// askIdle asks without a round's time going on.
func askIdle[R any](o *office, c draft.Command[R]) R {
	o.t.Helper()
	asked := draft.Question[R]{Command: c}
	o.at(o.e.Now, &asked)
	return asked.Answer
}

// runs are the names of the runs that there are, and their phases.
func (o *office) runs() (out []string) {
	o.t.Helper()
	for _, r := range o.night().Schedule.Runs {
		out = append(out, strings.TrimPrefix(r.Name, "night-")+" "+string(r.Phase))
	}
	return out
}

func (o *office) ran(want ...string) {
	o.t.Helper()
	if got := o.runs(); !slices.Equal(got, want) {
		o.t.Errorf("at %v its runs are\n  %s\nwant\n  %s", o.e.Now, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func (o *office) happened(want ...string) {
	o.t.Helper()
	var got []string
	for _, e := range o.night().Schedule.Events {
		got = append(got, fmt.Sprintf("%s %s x%d", e.What, e.Due.Format("02T15:04"), e.Count))
	}
	if !slices.Equal(got, want) {
		o.t.Errorf("its events are %q, want %q", got, want)
	}
}

// ends has every run that holds something end so.
func (o *office) ends(at time.Time, state core.TaskState) {
	o.t.Helper()
	for _, r := range o.night().Schedule.Runs {
		if r.Live() {
			o.seen(at, r.ID, 0, core.TaskRunning)
			o.seen(at, r.ID, 0, state)
		}
	}
}

// A policy fills in what a run's document does not say, and takes nothing of what its
// schedule says.
func TestARunKeepsItsScheduleUnderAPolicy(t *testing.T) {
	o := newOffice(t, memstore.New())
	o.decide(decides("default", policy.All, "defaults: {env: {SITE: east}}"))
	ask(o, recurring.Put(every("0 2 * * *")))
	o.passes(opens.Add(2 * time.Hour))
	w := o.is(o.night().Schedule.Runs[0].ID, lifecycle.Starting)
	if w.Spec.Labels[core.LabelSchedule] != "night" || w.Spec.Annotations[core.AnnotationDueAt] != "2026-01-01T02:00:00Z" || w.Spec.Env["SITE"] != "east" {
		t.Errorf("the run has %v %v %v", w.Spec.Labels, w.Spec.Annotations, w.Spec.Env)
	}
}

func TestAScheduleRunsByTheClock(t *testing.T) {
	o := newOffice(t, memstore.New())
	e := every("0 2 * * *")
	made := ask(o, recurring.Put(e))
	if len(made.Next) != 3 || !made.Next[0].Equal(opens.Add(2*time.Hour)) {
		t.Errorf("it comes %v", made.Next)
	}
	o.passes(opens.Add(2*time.Hour - time.Second))
	o.ran()
	o.passes(opens.Add(2 * time.Hour))
	o.ran("202601010200 Starting")
	w := o.is(o.night().Schedule.Runs[0].ID, lifecycle.Starting)
	if w.User != "u" || w.Spec.Labels[core.LabelSchedule] != "night" || w.Spec.Annotations[core.AnnotationDueAt] != "2026-01-01T02:00:00Z" || w.Project != "default" {
		t.Errorf("the run is %+v %v %v", w, w.Spec.Labels, w.Spec.Annotations)
	}
	o.passes(opens.Add(50 * time.Hour))
	o.ran("202601010200 Starting", "202601020200 Starting", "202601030200 Starting")
	o.happened()
	if last := o.night().Schedule.Last; !last.Equal(opens.Add(50 * time.Hour)) {
		t.Errorf("its last time is %v", last)
	}
	// Other times count from when they are said.
	e.Cron = "0 1 * * *"
	askIdle(o, recurring.Put(e))
	o.passes(opens.Add(72 * time.Hour))
	o.ran("202601010200 Starting", "202601020200 Starting", "202601030200 Starting")
	o.passes(opens.Add(73 * time.Hour))
	o.ran("202601010200 Starting", "202601020200 Starting", "202601030200 Starting", "202601040100 Starting")
	askIdle(o, recurring.Suspend(recurring.ID("default", "night"), true))
	o.passes(opens.Add(100 * time.Hour))
	if s := o.night(); len(s.Schedule.Runs) != 4 || len(s.Next) != 0 {
		t.Errorf("it is suspended and comes %v, with the runs %v", s.Next, o.runs())
	}
	// What was missed meanwhile is made up when it goes on, once.
	askIdle(o, recurring.Suspend(recurring.ID("default", "night"), false))
	o.passes(opens.Add(100*time.Hour + time.Second))
	if got := o.runs(); len(got) != 5 || got[4] != "202601050100 Starting" {
		t.Errorf("its runs are %v", got)
	}
}

// Its times are those of clocks on a wall: one is skipped, and one comes twice.
func TestAScheduleFollowsTheClocksOfItsZone(t *testing.T) {
	o := newOffice(t, memstore.New())
	e := every("30 2 * * *")
	e.TimeZone = "Europe/Berlin"
	ask(o, recurring.Put(e))
	o.passes(time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC))
	before := len(o.runs())
	o.passes(time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC))
	if got := o.runs()[before:]; !slices.Equal(got, []string{"202603280130 Starting", "202603300030 Starting"}) && !slices.Equal(got, []string{"202603280130 Queued", "202603300030 Queued"}) {
		t.Errorf("when summer begins it runs at %v", got)
	}
	o.passes(time.Date(2026, 10, 24, 12, 0, 0, 0, time.UTC))
	before = len(o.runs())
	o.passes(time.Date(2026, 10, 26, 12, 0, 0, 0, time.UTC))
	if got := o.runs()[before:]; len(got) != 3 || !strings.HasPrefix(got[0], "202610250030 ") || !strings.HasPrefix(got[1], "202610250130 ") || !strings.HasPrefix(got[2], "202610260130 ") {
		t.Errorf("when summer ends it runs at %v", got)
	}
}

// back is a start of the server at a time.
func (o *office) back(at time.Time) {
	o.t.Helper()
	o.begin()
	o.at(at, engine.Inventory("p", []core.Node{{ID: "n1", Backend: "p", Ready: true, CPU: 4000, Memory: 8 << 30}}))
}

func TestTimesThatWereMissed(t *testing.T) {
	st := memstore.New()
	o := newOffice(t, st)
	ask(o, recurring.Put(every("@hourly")))
	o.passes(opens.Add(time.Hour))
	o.ran("202601010100 Starting")
	o.back(opens.Add(5*time.Hour + time.Minute)) // the server was away
	o.ran("202601010100 Starting", "202601010500 Starting")
	o.happened("Missed 01T05:00 x1")
	if m := o.night().Schedule.Events[0].Message; !strings.HasPrefix(m, "3 times") {
		t.Errorf("it says %q", m)
	}
	o.back(opens.Add(500*time.Hour + time.Minute))
	if got := o.runs(); len(got) != 3 || !strings.HasPrefix(got[2], "202601212000 ") {
		t.Errorf("its runs are %v", got)
	}
	if m := o.night().Schedule.Events[0].Message; !strings.HasPrefix(m, "more than 100 times") {
		t.Errorf("it says %q", m)
	}
	e := every("@hourly")
	e.Within = 5 * time.Minute
	askIdle(o, recurring.Put(e))
	o.back(opens.Add(502*time.Hour + 6*time.Minute))
	if got := o.runs(); len(got) != 3 {
		t.Errorf("it was started too late: %v", got)
	}
	o.happened("Missed 21T20:00 x2", "TooLate 21T22:00 x1", "Missed 21T22:00 x1")
	o.back(opens.Add(503*time.Hour + 4*time.Minute))
	if got := o.runs(); len(got) != 4 {
		t.Errorf("it was in time: %v", got)
	}
}

func TestARunWaitsForTheOneBeforeOrReplacesIt(t *testing.T) {
	o := newOffice(t, memstore.New())
	e := every("@hourly")
	e.Concurrency = core.ConcurrencyForbid
	ask(o, recurring.Put(e))
	o.passes(opens.Add(3*time.Hour + 10*time.Minute))
	o.ran("202601010100 Starting")
	o.happened("Held 01T03:00 x2")
	at := opens.Add(3*time.Hour + 20*time.Minute)
	o.ends(at, core.TaskSucceeded)
	o.passes(at.Add(time.Second)) // it starts as soon as it may
	o.ran("202601010100 Completed", "202601010300 Starting")
	o.happened("Held 01T03:00 x2", "Missed 01T03:00 x1")

	e.Concurrency = core.ConcurrencyReplace
	askIdle(o, recurring.Put(e))
	o.passes(opens.Add(4 * time.Hour))
	o.ran("202601010100 Completed", "202601010300 Terminating", "202601010400 Starting")
	o.happened("Held 01T03:00 x2", "Missed 01T03:00 x1", "Replaced 01T04:00 x1")
	stopped := o.is(o.night().Schedule.Runs[1].ID, lifecycle.Terminating)
	if !strings.Contains(stopped.Message, "replace") {
		t.Errorf("it says %q", stopped.Message)
	}
}

func TestEndedRunsAreKeptForAWhile(t *testing.T) {
	o := newOffice(t, memstore.New())
	e := every("@hourly")
	e.KeepCompleted, e.KeepFailed = 2, 1
	ask(o, recurring.Put(e))
	var first []core.ScheduledRun
	for hour := 1; hour <= 6; hour++ {
		at := opens.Add(time.Duration(hour) * time.Hour)
		o.passes(at)
		state := core.TaskSucceeded
		if hour%2 == 0 {
			state = core.TaskFailed
		}
		if hour == 1 {
			first = o.night().Schedule.Runs
		}
		o.ends(at.Add(time.Minute), state)
		o.passes(at.Add(2 * time.Minute))
		for _, r := range o.night().Schedule.Runs {
			if r.Phase == lifecycle.Deleting {
				o.at(at.Add(2*time.Minute), removed(r.ID))
			}
		}
		o.passes(at.Add(3 * time.Minute))
	}
	o.ran("202601010300 Completed", "202601010500 Completed", "202601010600 Failed")
	o.is(first[0].ID, lifecycle.Deleted)
	// What somebody deletes is gone from the list, and what is run again has not ended.
	id := o.night().Schedule.Runs[1].ID
	askIdle(o, submission.Delete(draft.Ref{ID: o.night().Schedule.Runs[0].ID}, "user:u"))
	o.at(o.e.Now, removed(o.night().Schedule.Runs[0].ID))
	o.passes(o.e.Now.Add(time.Second))
	o.ran("202601010500 Completed", "202601010600 Failed")
	askIdle(o, submission.Restart(draft.Ref{ID: id}, "user:u"))
	o.passes(o.e.Now.Add(time.Second))
	if r := o.night().Schedule.Runs[0]; !r.Live() {
		t.Errorf("it runs again, and is %+v", r)
	}
	// With the schedule go its runs where that is asked for.
	all := o.night().Schedule.Runs
	var refused *draft.Error
	if err := o.e.Do(context.Background(), o.e.Now, []draft.Work{recurring.Delete(recurring.ID("default", "night"), "user:u", func(w *core.Workload) bool { return w.ID != all[1].ID })})[0]; !errors.As(err, &refused) || refused.Code != draft.CodeForbidden {
		t.Errorf("it is deleted with what somebody may not delete: %v", err)
	}
	if now := o.night().Schedule.Runs; len(now) != len(all) {
		t.Errorf("of its runs %d are left", len(now))
	}
	askIdle(o, recurring.Delete(recurring.ID("default", "night"), "user:u", func(*core.Workload) bool { return true }))
	for _, r := range all {
		if w, err := o.st.Workload(t.Context(), r.ID); err != nil || w.Phase != lifecycle.Deleting && w.Target != lifecycle.Deleting && w.Phase != lifecycle.Terminating {
			t.Errorf("%s is %s: %v", r.Name, w.Phase, err)
		}
	}
	if left := askIdle(o, recurring.List("")); len(left) != 0 {
		t.Errorf("%d schedules are left", len(left))
	}
	o.passes(o.e.Now.Add(48 * time.Hour))
}

func TestARefusedRunIsSaid(t *testing.T) {
	o := newOffice(t, memstore.New())
	e := every("@hourly")
	e.Document = []byte(`{"command":["fake"],"licenses":{"matlab":1}}`)
	if made := ask(o, recurring.Put(e)); len(made.Warnings) != 1 || !strings.Contains(made.Warnings[0], "matlab") {
		t.Errorf("it warns %q", made.Warnings)
	}
	o.passes(opens.Add(3 * time.Hour))
	o.ran()
	o.happened("Refused 01T03:00 x3")
	if m := o.night().Schedule.Events[0].Message; !strings.Contains(m, `license "matlab" does not exist`) || !strings.Contains(m, "muster license set") {
		t.Errorf("it says %q", m)
	}
	o.at(o.e.Now, organisation.Organise([]organisation.Edit{{What: organisation.RecordLicense, Name: "matlab", License: func(l *core.License) error { l.Total = 1; return nil }}}, false))
	o.passes(opens.Add(4 * time.Hour))
	o.ran("202601010400 Starting")
}

// What fits nowhere at present may fit again: a node was away.
func TestARunThatFitsNowhereIsTriedAgain(t *testing.T) {
	o := newOffice(t, memstore.New())
	e := every("@hourly")
	e.Document, e.Within = []byte(`{"command":["fake"],"resources":{"gpu":2}}`), 30*time.Minute
	ask(o, recurring.Put(e))
	o.passes(opens.Add(2*time.Hour + 10*time.Minute))
	o.ran()
	o.happened("Refused 01T01:00 x1", "TooLate 01T01:00 x1", "Refused 01T02:00 x1")
	o.at(o.e.Now, engine.Inventory("p", []core.Node{{ID: "n1", Backend: "p", Ready: true, CPU: 4000, Memory: 8 << 30, Devices: []core.Device{{ID: "g", Healthy: true}, {ID: "h", Healthy: true}}}}))
	o.passes(o.e.Now.Add(time.Minute))
	o.ran("202601010200 Starting")
}

// Whose schedule it is says what its runs may do, at the time of each.
func TestARunHasTheRightsOfItsOwner(t *testing.T) {
	o := newOffice(t, memstore.New())
	owner := rbac.Caller{Name: "root", Kind: core.SubjectUser, Owner: true}
	e := every("@hourly")
	e.User = "ada"
	ask(o, recurring.Put(e))
	o.do(access.EditUser(access.UserEdit{Name: "ada", Kind: core.SubjectUser, New: true}), access.EditUser(access.UserEdit{Name: "eve", Kind: core.SubjectUser, New: true}), access.Switch(true, "root"))
	o.passes(opens.Add(time.Hour))
	o.ran()
	if m := o.night().Schedule.Events[0].Message; !strings.Contains(m, "ada, whose schedule it is, may not create trainings") {
		t.Errorf("it says %q", m)
	}
	rule := askIdle(o, access.CreateRule(owner, access.RuleRequest{Subject: core.Subject{Kind: core.SubjectUser, Name: "ada"}, Role: "l1-researcher", Scope: "default"}))
	o.passes(opens.Add(2 * time.Hour))
	o.ran()
	if m := o.night().Schedule.Events[0].Message; !strings.Contains(m, "image: without one") || !strings.Contains(m, "create:host-access") {
		t.Errorf("it says %q", m)
	}
	askIdle(o, access.CreateRule(owner, access.RuleRequest{Subject: core.Subject{Kind: core.SubjectUser, Name: "ada"}, Role: rbac.SystemAdministrator, Scope: core.SystemScope}))
	o.passes(opens.Add(3 * time.Hour))
	o.ran("202601010300 Starting")
	askIdle(o, access.DeleteRule(owner, rule.ID))
	yes := true
	askIdle(o, access.EditUser(access.UserEdit{Name: "ada", Kind: core.SubjectUser, Disabled: &yes}))
	o.passes(opens.Add(4 * time.Hour))
	o.ran("202601010300 Starting")
	// Who gives it another document has it run as them.
	e.User, e.Owner, e.Document = "root", true, []byte(`{"command":["fake","else"]}`)
	if s := askIdle(o, recurring.Put(e)); s.User != "root" {
		t.Errorf("it is %s's", s.User)
	}
	e.User, e.Owner, e.Cron = "eve", false, "@daily" // and who only says when does not
	if s := askIdle(o, recurring.Put(e)); s.User != "root" || !s.Schedule.ByOwner {
		t.Errorf("it is %s's", s.User)
	}
	o.passes(opens.Add(24 * time.Hour))
	o.ran("202601010300 Starting", "202601020000 Starting")
}

func TestARunThatIsAskedFor(t *testing.T) {
	o := newOffice(t, memstore.New())
	e := every("@yearly")
	e.Suspended = true
	ask(o, recurring.Put(e))
	w := ask(o, recurring.RunNow(recurring.ID("default", "night"), "user:bob"))
	if !strings.HasPrefix(w.Name, "night-") || w.User != "u" {
		t.Errorf("it is %s of %s", w.Name, w.User)
	}
	o.is(w.ID, lifecycle.Starting)
	if runs := o.night().Schedule.Runs; len(runs) != 1 || !runs[0].At.IsZero() {
		t.Errorf("its runs are %+v", runs)
	}
	o.refused(draft.CodeNotFound, recurring.RunNow(recurring.ID("default", "nihgt"), "user:bob"))
}

func TestASchedulesMistakes(t *testing.T) {
	o := newOffice(t, memstore.New())
	for field, change := range map[string]func(e *recurring.Edit){
		"cron":             func(e *recurring.Edit) { e.Cron = "61 * * * *" },
		"timeZone":         func(e *recurring.Edit) { e.TimeZone = "Mars/Olympus" },
		"concurrency":      func(e *recurring.Edit) { e.Concurrency = "maybe" },
		"startingDeadline": func(e *recurring.Edit) { e.Within = -time.Second },
		"keepFailed":       func(e *recurring.Edit) { e.KeepFailed = -1 },
		"name":             func(e *recurring.Edit) { e.Name = strings.Repeat("x", 40) },
		"document.name":    func(e *recurring.Edit) { e.Document = []byte(`{"name":"x","command":["fake"]}`) },
		"document.project": func(e *recurring.Edit) { e.Document = []byte(`{"project":"x","command":["fake"]}`) },
		"document.notBefore": func(e *recurring.Edit) {
			e.Document = []byte(`{"notBefore":"2027-01-31T08:00:00Z","command":["fake"]}`)
		},
	} {
		e := every("@hourly")
		change(&e)
		if m := o.refused(draft.CodeInvalid, recurring.Put(e)); !strings.HasPrefix(m, field+":") {
			t.Errorf("%s: it says %q", field, m)
		}
	}
	e := every("@hourly")
	e.Project = "nowhere"
	o.refused(draft.CodeNotFound, recurring.Put(e))
	e = every("@hourly")
	o.do(recurring.Put(e))
	e.Must = organisation.MustBeNew
	o.refused(draft.CodeConflict, recurring.Put(e))
	if all := ask(o, organisation.Templates("", "default")); len(all) != 0 {
		t.Errorf("a schedule is listed among assets: %+v", all)
	}
}

// mortal is a store whose server is killed at some commit: before anything of it is
// written, or after all of it is and before anybody hears of that.
type mortal struct {
	store.Store
	commits, dies int // at which of them
	late          bool
	dead          bool
}

var errKilled = errors.New("the server was killed")

func (m *mortal) Commit(ctx context.Context, term store.Term, b *store.Batch) (core.Revision, error) {
	if m.commits++; m.dead || m.commits < m.dies {
		if m.dead {
			return 0, errKilled
		}
		return m.Store.Commit(ctx, term, b)
	}
	if m.dead = true; m.late {
		if _, err := m.Store.Commit(ctx, term, b); err != nil {
			return 0, err
		}
	}
	return 0, errKilled
}

// A server that is killed at any moment has either the run and the note of its time, or
// neither: whatever the commit, and before it or after it.
func TestNoTimeIsLostOrRunTwice(t *testing.T) {
	for dies := 1; dies <= 4; dies++ {
		for _, late := range []bool{false, true} {
			st := memstore.New()
			o := newOffice(t, st)
			ask(o, recurring.Put(every("*/10 * * * *")))
			at := opens
			for range 20 {
				at = at.Add(10 * time.Minute)
				m := &mortal{Store: st, dies: dies, late: late}
				o.st = m
				for range 4 { // servers that are killed, one after the other
					o.begin()
					for n := 0; n < 6 && !m.dead; n++ {
						o.e.Do(context.Background(), at.Add(time.Duration(n)*time.Second), nil)
					}
					m.dead, m.commits = false, 0
				}
				o.st = st
				o.begin()
				o.e.Do(context.Background(), at.Add(time.Minute), nil) // one that lives
			}
			o.at(at.Add(2*time.Minute), report.Cluster())
			page, err := st.List(t.Context(), store.Query{Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for _, w := range page.Items {
				due := w.Spec.Annotations[core.AnnotationDueAt]
				if seen[due] {
					t.Errorf("%s has two runs", due)
				}
				seen[due] = true
			}
			if len(page.Items) != 20 || len(o.runs()) != 20 {
				t.Errorf("killed at commit %d, late %v: there are %d runs, and %d are in its list, of 20 times", dies, late, len(page.Items), len(o.runs()))
			}
			o.happened()
		}
	}
}
