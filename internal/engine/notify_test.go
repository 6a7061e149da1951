package engine_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// sent is what u is told, in order: receiver, status, phase and reason.
func (o *office) sent() []string {
	o.t.Helper()
	all, err := o.st.Deliveries(context.Background(), store.DeliveryQuery{User: "u"})
	if err != nil {
		o.t.Fatal(err)
	}
	var out []string
	ids := map[string]bool{}
	for _, d := range slices.Backward(all) {
		if ids[d.ID] || d.State != core.DeliveryWaiting || len(d.To.On) > 0 {
			o.t.Errorf("delivery %+v", d)
		}
		ids[d.ID] = true
		out = append(out, fmt.Sprintf("%s %s: %s/%s", strings.TrimPrefix(d.To.Webhook, "http://h/"), d.On, d.What.Phase, d.What.Reason))
	}
	return out
}

func (o *office) sends(want ...string) {
	o.t.Helper()
	if got := o.sent(); !slices.Equal(got, want) {
		o.t.Errorf("told\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func (o *office) seen(at time.Time, id core.WorkloadID, attempt int, state core.TaskState) {
	o.t.Helper()
	code := map[core.TaskState]int{core.TaskFailed: 3}[state]
	b := backend.Observation{ID: core.TaskID{Workload: id, Attempt: attempt}, State: state, At: at}
	if state.Ended() {
		b.ExitCode = &code
	}
	o.at(at, engine.Observe(engine.Observations{Backend: "p", Seen: []backend.Observation{b}}))
}

func TestThoseWhoAskedAreTold(t *testing.T) {
	o := newOffice(t, memstore.New())
	add := func(name string, s core.Subscription) {
		s.User, s.Name = "u", name
		o.do(organisation.AddSubscription(s))
	}
	hook := func(to string, on ...string) spec.Notification {
		return spec.Notification{Webhook: "http://h/" + to, On: on}
	}
	add("ends", core.Subscription{Notification: hook("ends")})
	add("labelled", core.Subscription{Notification: hook("labelled", "Running"), Labels: map[string]string{"team": "b"}})
	add("other", core.Subscription{Notification: hook("other", "Running"), Project: "elsewhere"})
	add("both", core.Subscription{Notification: hook("doc", "running")}) // the same step to the same receiver is one message
	o.do(organisation.AddSubscription(core.Subscription{User: "eve", Name: "a", Notification: hook("eve", "Running")}))
	o.begin() // they are there after a restart
	o.open()
	w := ask(o, o.submit(`{"name":"a","command":["fake"],"labels":{"team":"a"},"retry":{"limit":1,"backoff":"1s"},
		"notifications":[{"webhook":"http://h/doc","on":["Running","Backoff","mcli:COMPLETED"]}]}`)).Workload
	o.sends()
	at := opens.Add(time.Second)
	o.seen(at, w.ID, 0, core.TaskRunning)
	o.sends("doc Running: Running/")
	o.seen(at, w.ID, 0, core.TaskRunning) // once more changes nothing
	o.sends("doc Running: Running/")
	o.seen(at.Add(time.Second), w.ID, 0, core.TaskFailed)
	o.at(at.Add(time.Minute), report.Cluster())
	o.seen(at.Add(2*time.Minute), w.ID, 1, core.TaskRunning)
	o.seen(at.Add(3*time.Minute), w.ID, 1, core.TaskSucceeded)
	o.sends("doc Running: Running/", "doc Backoff: Backoff/Error", "doc Running: Running/", "doc mcli:COMPLETED: Completed/", "ends Completed: Completed/")
	if all, err := o.st.Deliveries(t.Context(), store.DeliveryQuery{User: "eve"}); err != nil || len(all) != 0 {
		t.Errorf("another user is told %v, %v", all, err)
	}
}

func TestALimitIsWarnedOf(t *testing.T) {
	o := newOffice(t, memstore.New())
	w := ask(o, o.submit(`{"name":"a","command":["fake"],"maxDuration":"1h","notifications":[{"webhook":"http://h/x"}]}`)).Workload
	o.seen(opens, w.ID, 0, core.TaskRunning)
	o.at(opens.Add(53*time.Minute), report.Cluster())
	o.sends()
	for _, after := range []time.Duration{54 * time.Minute, 55 * time.Minute} { // once
		o.at(opens.Add(after), report.Cluster())
		o.sends("x DeadlineNear: Running/MaxDurationExceeded")
	}
	all, err := o.st.Deliveries(t.Context(), store.DeliveryQuery{User: "u"})
	if err != nil || !all[0].What.EndsAt.Equal(opens.Add(time.Hour)) || !strings.Contains(all[0].What.Message, "2026-01-01T01:00:00Z") {
		t.Errorf("%+v, %v", all, err)
	}
	o.at(opens.Add(time.Hour), report.Cluster())
	o.seen(opens.Add(time.Hour), w.ID, 0, core.TaskFailed)
	o.sends("x DeadlineNear: Running/MaxDurationExceeded", "x TimedOut: TimedOut/MaxDurationExceeded")
}

func TestWhoCannotBeReachedIsRefused(t *testing.T) {
	o := newOffice(t, memstore.New())
	o.do(organisation.CreateSecret(core.Secret{User: "u", Name: "key", Type: "env"}))
	o.do(organisation.CreateSecret(core.Secret{User: "u", Name: "docker", Type: "docker"}))
	for doc, says := range map[string]string{
		`{"webhook":"http://h","secret":"none"}`:   `no secret "none"`,
		`{"webhook":"http://h","secret":"docker"}`: "type docker",
		`{"slack":"none"}`:                         `no secret "none"`,
	} {
		if got := o.refused(draft.CodeInvalid, o.submit(`{"command":["fake"],"notifications":[`+doc+`]}`)); !strings.Contains(got, says) {
			t.Errorf("%s: %q", doc, got)
		}
	}
	o.refused(draft.CodeUnsupported, o.submit(`{"command":["fake"],"notifications":[{"email":"a@example.com"}]}`))
	o.do(o.submit(`{"command":["fake"],"notifications":[{"slack":"key"},{"webhook":"http://h","secret":"key"}]}`))
	to := spec.Notification{Webhook: "http://h"}
	o.refused(draft.CodeInvalid, organisation.AddSubscription(core.Subscription{User: "u", Name: "No", Notification: to}))
	o.refused(draft.CodeInvalid, organisation.AddSubscription(core.Subscription{User: "u", Name: "a", Notification: spec.Notification{Webhook: "http://h", On: []string{"Runing"}}}))
	many := map[string]string{}
	for i := range 65 {
		many[fmt.Sprint("k", i)] = "v"
	}
	for _, s := range []core.Subscription{
		{Notification: spec.Notification{Webhook: "http://h/" + strings.Repeat("x", 2048)}}, {Notification: spec.Notification{Slack: "http://h/" + strings.Repeat("x", 2048)}},
		{Notification: spec.Notification{Webhook: "http://h", On: slices.Repeat([]string{"Running"}, 51)}},
		{Notification: to, Labels: many}, {Notification: to, Labels: map[string]string{"a": strings.Repeat("x", 10_000)}}, {Notification: to, Project: core.ProjectID(strings.Repeat("x", 200))},
	} {
		s.User, s.Name = "u", "long"
		o.refused(draft.CodeInvalid, organisation.AddSubscription(s))
	}
	o.do(organisation.AddSubscription(core.Subscription{User: "u", Name: "a", Notification: to}))
	o.refused(draft.CodeConflict, organisation.AddSubscription(core.Subscription{User: "u", Name: "a", Notification: to}))
	o.refused(draft.CodeNotFound, organisation.DropSubscription(core.SubscriptionID{User: "v", Name: "a"}))
	o.do(organisation.DropSubscription(core.SubscriptionID{User: "u", Name: "a"}))
	o.refused(draft.CodeNotFound, organisation.TestDelivery("u", "a", spec.Notification{}))
}

func TestTestsThatWaitAreFew(t *testing.T) {
	o := newOffice(t, memstore.New())
	var last core.Delivery
	for range 20 {
		last = ask(o, organisation.TestDelivery("u", "", spec.Notification{Webhook: "http://h/x"}))
	}
	o.refused(draft.CodeConflict, organisation.TestDelivery("u", "", spec.Notification{Webhook: "http://h/x"}))
	o.do(organisation.TestDelivery("eve", "", spec.Notification{Webhook: "http://h/x"}))
	last.State, last.NextAt = core.DeliveryDelivered, time.Time{}
	o.do(organisation.Tried([]core.Delivery{last}))
	o.do(organisation.TestDelivery("u", "", spec.Notification{Webhook: "http://h/x"}))
}

// TestWhatHappenedAtOnceIsToldInOrder, whatever the order of the words.
func TestWhatHappenedAtOnceIsToldInOrder(t *testing.T) {
	o := newOffice(t, memstore.New())
	o.open()
	w := ask(o, o.submit(`{"name":"a","command":["fake"],"notifications":[{"webhook":"http://h/doc","on":["Completed","mcli:COMPLETED","Running","Starting"]},{"webhook":"http://h/b","on":["Running"]}]}`)).Workload
	at := opens.Add(time.Minute)
	code := 0
	o.at(at, engine.Observe(engine.Observations{Backend: "p", Seen: []backend.Observation{
		{ID: core.TaskID{Workload: w.ID}, State: core.TaskRunning, At: at}, {ID: core.TaskID{Workload: w.ID}, State: core.TaskSucceeded, At: at.Add(time.Second), ExitCode: &code},
	}}))
	o.sends("doc Starting: Starting/", "doc Running: Running/", "b Running: Running/", "doc Completed: Completed/")
}

func TestADeliveryIsTriedAgain(t *testing.T) {
	o := newOffice(t, memstore.New())
	d := ask(o, organisation.TestDelivery("u", "", spec.Notification{Webhook: "http://h/x"}))
	o.sends("x test: /")
	d.State, d.NextAt, d.Tries, d.Problem = core.DeliveryFailed, time.Time{}, 8, "no"
	o.do(organisation.Tried([]core.Delivery{d}))
	o.refused(draft.CodeNotFound, organisation.Redeliver("eve", d.ID)) // it is not theirs
	o.refused(draft.CodeNotFound, organisation.Redeliver("u", "none"))
	if got := ask(o, organisation.Redeliver("u", d.ID)); got.State != core.DeliveryWaiting || got.Tries != 0 || got.ID != d.ID || got.NextAt.IsZero() {
		t.Errorf("again: %+v", got)
	}
	o.sends("x test: /")
}

func TestThoseWhoWatchAProjectAreToldOfEveryone(t *testing.T) {
	o := newOffice(t, memstore.New())
	o.do(organisation.Organise([]organisation.Edit{
		{What: organisation.RecordDepartment, Name: "lab", Project: func(p *core.Project) error { p.Department = true; return nil }},
		{What: organisation.RecordProject, Name: "nlp", Project: func(p *core.Project) error { p.Parent = "lab"; return nil }},
	}, false))
	watch := func(user, name string, s core.Subscription) draft.Work {
		s.User, s.Name, s.Everyone = user, name, true
		s.Webhook, s.On = "http://h/"+name, []string{"Running"}
		return organisation.AddSubscription(s)
	}
	o.do(watch("eve", "project", core.Subscription{Project: "nlp"}))
	o.do(watch("eve", "labelled", core.Subscription{Project: "nlp", Labels: map[string]string{"team": "b"}}))
	o.do(watch("fay", "department", core.Subscription{Project: "lab"}))
	o.do(watch("fay", "elsewhere", core.Subscription{Project: "default"}))
	o.do(watch("u", "own", core.Subscription{Project: "nlp"}))
	o.refused(draft.CodeInvalid, watch("eve", "all", core.Subscription{}))
	o.refused(draft.CodeNotFound, watch("eve", "none", core.Subscription{Project: "nobody"}))
	o.begin() // they are there after a restart
	o.open()
	w := o.made(`{"name":"a","project":"nlp","command":["fake"]}`)
	o.seen(opens, w.ID, 0, core.TaskRunning)
	told := map[string]string{}
	var all []core.Delivery
	for _, user := range []string{"eve", "fay", "u"} {
		more, err := o.st.Deliveries(t.Context(), store.DeliveryQuery{User: user})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, more...)
	}
	for _, d := range all {
		told[strings.TrimPrefix(d.To.Webhook, "http://h/")] = d.User + " of " + d.What.Owner
	}
	if want := map[string]string{"project": "eve of u", "department": "fay of u", "own": "u of u"}; !maps.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	o.do(organisation.DropSubscription(core.SubscriptionID{User: "eve", Name: "project"}))
	o.seen(opens.Add(time.Second), w.ID, 0, core.TaskSucceeded)
	again := o.made(`{"name":"b","project":"nlp","command":["fake"]}`)
	o.seen(opens.Add(2*time.Second), again.ID, 0, core.TaskRunning)
	all, err := o.st.Deliveries(t.Context(), store.DeliveryQuery{User: "eve"})
	if err != nil || len(all) != 1 {
		t.Errorf("after it was removed: %v, %v", all, err)
	}
}
