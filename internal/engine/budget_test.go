package engine_test

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/budget"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/explanation"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/spending"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// priced is an office with a pool of A100 and one of H100, two devices each.
func priced(t *testing.T, st store.Store) *office {
	o := &office{t: t, st: st}
	o.begin()
	o.shows()
	return o
}

func (o *office) shows() { o.shownAt(opens) }

func (o *office) documentOf(text string) *spec.Document {
	o.t.Helper()
	d, err := spec.Load([]byte(text))
	if err != nil {
		o.t.Fatal(err)
	}
	return d
}

func (o *office) shownAt(now time.Time) {
	o.at(now, engine.Inventory("p", []core.Node{
		{ID: "a", Backend: "p", Pool: "old", Ready: true, CPU: 64000, Memory: 64 << 30, Devices: []core.Device{{ID: "a0", Product: "NVIDIA A100-SXM4-80GB", Healthy: true}, {ID: "a1", Product: "NVIDIA A100-SXM4-80GB", Healthy: true}}},
		{ID: "h", Backend: "p", Pool: "new", Ready: true, CPU: 64000, Memory: 64 << 30, Devices: []core.Device{{ID: "h0", Product: "NVIDIA H100 80GB HBM3", Healthy: true}, {ID: "h1", Product: "NVIDIA H100 80GB HBM3", Healthy: true}}},
	}))
}

func budgeted(id string, parent string, budgets ...core.Budget) organisation.Edit {
	return organisation.Edit{What: organisation.RecordProject, Name: id, Project: func(p *core.Project) error {
		p.Parent, p.Budgets = core.ProjectID(parent), budgets
		return nil
	}}
}

func hours(n float64, period core.BudgetPeriod, end core.BudgetEnd) core.Budget {
	return core.Budget{GPUSeconds: n * 3600, Period: period, AtEnd: end}
}

// workload is one as the store has it.
func (o *office) workload(id core.WorkloadID) *core.Workload {
	o.t.Helper()
	w, err := o.st.Workload(context.Background(), id)
	if err != nil {
		o.t.Fatal(err)
	}
	return w
}

func (o *office) onGPU(project string, more string) draft.Command[*submission.Submitted] {
	return o.submit(fmt.Sprintf(`{"project":%q,"command":["fake"],"resources":{"gpu":1}%s}`, project, more))
}

func TestBudgetHoldsUntilItIsCountedAnew(t *testing.T) {
	o := priced(t, memstore.New())
	o.do(organisation.Organise([]organisation.Edit{budgeted("vision", "", hours(2, core.BudgetDay, core.BudgetHold)), budgeted("nlp", "")}, false))
	first := askAt(o, opens, o.onGPU("vision", "")).Workload.ID
	two := opens.Add(2 * time.Hour)
	o.passes(two.Add(-time.Second))
	early := askAt(o, two.Add(-time.Second), o.onGPU("vision", "")).Workload.ID
	if w := o.workload(early); w.Phase != lifecycle.Starting {
		t.Fatalf("with a second of the budget left it is %s", w.Phase)
	}
	o.passes(two.Add(time.Minute))
	late := askAt(o, two.Add(time.Minute), o.onGPU("vision", "")).Workload.ID
	w := o.workload(late)
	if w.Phase != lifecycle.Inadmissible || w.Reason != lifecycle.ReasonOverBudget || !strings.Contains(w.Message, "the budget of vision is used up: 2.") {
		t.Errorf("after the budget it is %s, %s: %s", w.Phase, w.Reason, w.Message)
	}
	if w := o.workload(first); w.Phase != lifecycle.Starting {
		t.Errorf("what runs is %s, and goes on", w.Phase)
	}
	other := askAt(o, two.Add(time.Minute), o.onGPU("nlp", "")).Workload.ID
	if w := o.workload(other); w.Phase != lifecycle.Starting {
		t.Errorf("of another project it is %s", w.Phase)
	}
	why := askAt(o, two.Add(2*time.Minute), explanation.Explain([]core.WorkloadID{late}))[late]
	next := opens.Add(24 * time.Hour)
	if len(why.Reasons) != 1 || why.Reasons[0].Token != schedule.OverBudget || why.EarliestStart != next.UnixMilli() || why.Reasons[0].Act() != schedule.ActWait || !strings.Contains(why.Reasons[0].Hint(), "2026-01-02T00:00:00Z") {
		t.Errorf("why: %+v", why)
	}
	if at := o.e.NextWake(); at.After(next) || at.IsZero() {
		t.Errorf("it wakes at %v, after the budget is counted anew", at)
	}
	o.seen(two.Add(time.Hour), first, 0, core.TaskRunning)
	o.seen(two.Add(time.Hour), first, 0, core.TaskSucceeded)
	o.passes(next)
	if w := o.workload(late); w.Phase != lifecycle.Starting {
		t.Errorf("in the next period it is %s: %s", w.Phase, w.Message)
	}
}

func TestBudgetStopsWhatRuns(t *testing.T) {
	o := priced(t, memstore.New())
	o.do(organisation.Organise([]organisation.Edit{
		{What: organisation.RecordDepartment, Name: "lab", Project: func(p *core.Project) error {
			p.Budgets = []core.Budget{hours(1, core.BudgetMonth, core.BudgetStop)}
			return nil
		}},
		budgeted("vision", "lab"),
	}, false))
	id := askAt(o, opens, o.onGPU("vision", "")).Workload.ID
	o.seen(opens, id, 0, core.TaskRunning)
	o.passes(opens.Add(time.Hour - time.Second))
	if w := o.workload(id); w.Phase != lifecycle.Running {
		t.Fatalf("before the budget is used up it is %s", w.Phase)
	}
	o.passes(opens.Add(time.Hour + time.Second))
	if w := o.workload(id); w.Phase != lifecycle.Terminating || w.Cause != lifecycle.CauseBudget || !strings.Contains(w.Message, "the budget of lab is used up") {
		t.Errorf("it is %s (cause %s): %s", w.Phase, w.Cause, w.Message)
	}
	o.seen(opens.Add(time.Hour+2*time.Second), id, 0, core.TaskFailed)
	if w := o.workload(id); w.Phase != lifecycle.Inadmissible || w.Reason != lifecycle.ReasonOverBudget {
		t.Errorf("once it has left it is %s, %s", w.Phase, w.Reason)
	}
	// A higher budget lets it go on at once.
	o.at(opens.Add(2*time.Hour), organisation.Organise([]organisation.Edit{{What: organisation.RecordDepartment, Name: "lab", Project: func(p *core.Project) error {
		p.Budgets = []core.Budget{hours(5, core.BudgetMonth, core.BudgetStop)}
		return nil
	}}}, false))
	if w := o.workload(id); w.Phase != lifecycle.Starting {
		t.Errorf("with more budget it is %s: %s", w.Phase, w.Message)
	}
	// Without any, nothing is held back either.
	o.passes(opens.Add(7 * time.Hour))
	o.seen(opens.Add(7*time.Hour), id, 1, core.TaskFailed)
	o.at(opens.Add(8*time.Hour), organisation.Organise([]organisation.Edit{{What: organisation.RecordDepartment, Name: "lab", Project: func(p *core.Project) error {
		p.Budgets = nil
		return nil
	}}}, false))
	if w := o.workload(id); w.Phase != lifecycle.Starting {
		t.Errorf("without a budget it is %s: %s", w.Phase, w.Message)
	}
}

func TestEachUserHasABudget(t *testing.T) {
	o := priced(t, memstore.New())
	each := hours(1, core.BudgetWeek, core.BudgetHold)
	each.EachUser = true
	o.do(organisation.Organise([]organisation.Edit{budgeted("vision", "", each)}, false))
	mine := askAt(o, opens, o.onGPU("vision", "")).Workload.ID
	o.passes(opens.Add(2 * time.Hour))
	again := askAt(o, opens.Add(2*time.Hour), o.onGPU("vision", "")).Workload.ID
	if w := o.workload(again); w.Phase != lifecycle.Inadmissible || !strings.Contains(w.Message, "the budget of u in vision") {
		t.Errorf("of who has used it up: %s: %s", w.Phase, w.Message)
	}
	doc := o.documentOf(`{"project":"vision","command":["fake"],"resources":{"gpu":1}}`)
	theirs := askAt(o, opens.Add(2*time.Hour), submission.Submit(submission.Submission{Doc: doc, User: "v", Actor: "user:v"})).Workload.ID
	if w := o.workload(theirs); w.Phase != lifecycle.Starting {
		t.Errorf("of another user: %s: %s", w.Phase, w.Message)
	}
	if w := o.workload(mine); w.Phase != lifecycle.Starting {
		t.Errorf("what holds its devices: %s", w.Phase)
	}
}

// Money counts at the price of the GPU that is held, and a new price does not change
// what was.
func TestPricesHoldFromTheirTimes(t *testing.T) {
	o := priced(t, memstore.New())
	money := core.Budget{Money: 100, Period: core.BudgetMonth, AtEnd: core.BudgetWarn}
	o.do(organisation.Organise([]organisation.Edit{budgeted("vision", "", money)}, false))
	o.do(spending.SetPrices(0, core.Prices{Currency: "EUR", Items: []core.Price{
		{PerGPUHour: 1}, {GPUType: "H100", PerGPUHour: 4}, {GPUType: "H100", PerGPUHour: 6, From: opens.Add(2 * time.Hour)},
	}}, "root"))
	o.at(opens, o.onGPU("vision", `,"pools":["new"]`))
	o.at(opens, o.onGPU("vision", `,"pools":["old"]`))
	used := func(at time.Time) float64 { return askAt(o, at, spending.Budgets())[0].Used }
	for _, c := range []struct {
		after time.Duration
		want  float64
	}{{time.Hour, 5}, {2 * time.Hour, 10}, {4 * time.Hour, 10 + 14}} {
		o.passes(opens.Add(c.after))
		if got := used(opens.Add(c.after)); math.Abs(got-c.want) > 0.001 {
			t.Errorf("after %v it has cost %v, want %v", c.after, got, c.want)
		}
	}
	o.at(opens.Add(4*time.Hour), spending.SetPrices(1, core.Prices{Currency: "EUR", Items: []core.Price{{PerGPUHour: 1}, {GPUType: "H100", PerGPUHour: 4}, {GPUType: "H100", PerGPUHour: 6, From: opens.Add(2 * time.Hour)}, {Pool: "new", PerGPUHour: 10, From: opens.Add(5 * time.Hour)}}}, "root"))
	o.passes(opens.Add(6 * time.Hour))
	before := used(opens.Add(6 * time.Hour))
	if math.Abs(before-(24+7+11)) > 0.001 {
		t.Errorf("with a price of the pool it has cost %v", before)
	}
	o.begin() // as after a restart of the server
	if got := used(opens.Add(6 * time.Hour)); math.Abs(got-before) > 0.001 {
		t.Errorf("after a restart it has cost %v, and before %v", got, before)
	}
	if m := o.refused(draft.CodeConflict, spending.SetPrices(1, core.Prices{}, "root")); !strings.Contains(m, "version 2") {
		t.Errorf("who has not seen the last prices is told %q", m)
	}
}

func TestBudgetsAreTold(t *testing.T) {
	o := priced(t, memstore.New())
	o.do(organisation.Organise([]organisation.Edit{budgeted("vision", "", hours(10, core.BudgetDay, core.BudgetWarn))}, false))
	o.do(o.submit(`{"name":"w","project":"vision","command":["fake"],"resources":{"gpu":1},"notifications":[{"webhook":"http://x","on":["BudgetNear","BudgetOver"]}]}`))
	o.passes(opens.Add(8*time.Hour + time.Minute))
	o.passes(opens.Add(11 * time.Hour))
	got, err := o.st.Deliveries(context.Background(), store.DeliveryQuery{User: "u"})
	if err != nil || len(got) != 2 {
		t.Fatalf("told %d times, %v: %+v", len(got), err, got)
	}
	var said []string
	for _, d := range got {
		said = append(said, string(d.What.Reason)+": "+d.What.Message)
	}
	all := strings.Join(said, "\n")
	if !strings.Contains(all, "BudgetNear: the budget of vision is used by more than 80%: 8.00 GPU-hours of 10.00 GPU-hours until 2026-01-02T00:00:00Z") || !strings.Contains(all, "BudgetOver: the budget of vision is used up: 10.00 GPU-hours of 10.00 GPU-hours") {
		t.Errorf("told %s", all)
	}
	if o.e.NextWake().Before(opens.Add(24 * time.Hour)) {
		t.Errorf("once all is told it wakes at %v", o.e.NextWake())
	}
}

func TestNoMoreWaitThanMay(t *testing.T) {
	o := priced(t, memstore.New())
	o.do(organisation.Organise([]organisation.Edit{{What: organisation.RecordProject, Name: "vision", Project: func(p *core.Project) error {
		p.StopMode, p.UserLimit.MaxQueued, p.MaxQueued = core.StopHold, 2, 3
		return nil
	}}}, false))
	o.do(o.onGPU("vision", ""), o.onGPU("vision", ""))
	if m := o.refused(draft.CodeConflict, o.onGPU("vision", "")); !strings.Contains(m, "2 workloads of u in project vision have not started, and each user may have at most 2 (userLimit.maxQueued of project vision)") {
		t.Errorf("refused with %q", m)
	}
	doc := o.documentOf(`{"project":"vision","command":["fake"]}`)
	other := submission.Submit(submission.Submission{Doc: doc, User: "v", Actor: "user:v"})
	o.do(other)
	if m := o.refused(draft.CodeConflict, submission.Submit(submission.Submission{Doc: o.documentOf(`{"project":"vision","command":["fake"]}`), User: "w", Actor: "user:w"})); !strings.Contains(m, "3 workloads of project vision") {
		t.Errorf("refused with %q", m)
	}
	o.do(organisation.SetProject(organisation.RecordProject, "vision", core.StopNone, ""))
	o.do(o.onGPU("vision", "")) // those before have started
}

// At any time what budgets count is what the store charges, nothing starts while one
// that holds is used up, and what waits for one knows until when.
func TestBudgetsCountWhatIsCharged(t *testing.T) {
	for seed := range int64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewSource(seed))
			o := priced(t, memstore.New())
			each := hours(3, core.BudgetDay, core.BudgetHold)
			each.EachUser = true
			prices := core.Prices{Currency: "EUR", Items: []core.Price{{PerGPUHour: 1}, {Pool: "new", PerGPUHour: 5, From: opens.Add(13 * time.Hour)}}}
			o.do(spending.SetPrices(0, prices, "root"))
			o.do(organisation.Organise([]organisation.Edit{
				{What: organisation.RecordDepartment, Name: "lab", Project: func(p *core.Project) error {
					p.Budgets = []core.Budget{{Money: 40, Period: core.BudgetDay, AtEnd: core.BudgetHold}, hours(60, core.BudgetMonth, core.BudgetWarn)}
					return nil
				}},
				budgeted("vision", "lab", each), budgeted("nlp", "lab", hours(4, core.BudgetDay, core.BudgetStop)),
			}, false))
			now, live, held, started := opens, []core.WorkloadID{}, 0, map[string]bool{}
			for range 120 {
				now = now.Add(time.Duration(random.Intn(1800_000)) * time.Millisecond)
				o.passes(now)
				switch random.Intn(5) {
				case 0, 1:
					doc := o.documentOf(fmt.Sprintf(`{"project":%q,"command":["fake"],"resources":{"gpu":%d}}`, []string{"vision", "nlp"}[random.Intn(2)], 1+random.Intn(2)))
					live = append(live, askAt(o, now, submission.Submit(submission.Submission{Doc: doc, User: []string{"u", "v"}[random.Intn(2)], Actor: "x"})).Workload.ID)
				case 2, 3:
					if len(live) > 0 {
						i := random.Intn(len(live))
						if w := o.workload(live[i]); w.Phase.Held() {
							if w.Phase == lifecycle.Starting {
								o.seen(now, w.ID, w.Attempt, core.TaskRunning)
							}
							o.seen(now, w.ID, w.Attempt, []core.TaskState{core.TaskSucceeded, core.TaskFailed}[random.Intn(2)])
						}
					}
				default:
					if random.Intn(3) == 0 {
						o.begin()
						o.at(now, engine.Reach("p", true, ""))
						o.shownAt(now)
					}
				}
				for _, b := range askAt(o, now, spending.Budgets()) {
					used, want := b.Used, o.charged(b, now, budget.NewRates(&prices))
					if math.Abs(used-want) > 0.02 && math.Abs(used-want) > want/1e4 {
						t.Fatalf("%v: the %s budget of %s%s counts %v, and the store charges %v", now, b.Period, b.Scope, b.User, used, want)
					}
				}
				for _, id := range live {
					w := o.workload(id)
					a := w.Attempts[len(w.Attempts)-1]
					x := o.e.Spending.Over(w.Project, w.User)
					if at := a.StartedAt; !at.IsZero() && !started[at.String()+string(id)] {
						started[at.String()+string(id)] = true
						for _, b := range askAt(o, now, spending.Budgets()) {
							if b.AtEnd == core.BudgetWarn || b.Scope != "lab" && b.Scope != w.Project || b.User != "" && b.User != w.User {
								continue
							}
							b.From, _ = budget.KeyOf(b.Scope, &b.Budget, b.User).Window(at)
							if used := o.charged(b, at, budget.NewRates(&prices)); used > b.All*1.0001 {
								t.Fatalf("%s has started at %v, when %v of the %v of %s%s was used", w.Name, at, used, b.All, b.Scope, b.User)
							}
						}
					}
					if w.Phase == lifecycle.Inadmissible {
						held++
						if x == nil {
							t.Fatalf("%v: %s waits (%s), and no budget is used up", now, w.Name, w.Message)
						}
						if p := askAt(o, now, explanation.Explain([]core.WorkloadID{id}))[id]; len(p.Reasons) != 1 || p.Reasons[0].Token != schedule.OverBudget || p.EarliestStart <= now.UnixMilli() {
							t.Fatalf("%v: %s waits, and why says %+v", now, w.Name, p)
						}
					}
				}
			}
			t.Logf("until %v %d workloads, of which waits for a budget were seen %d times", now, len(live), held)
		})
	}
}

// charged is what the store charges to a budget until now.
func (o *office) charged(b spending.State, now time.Time, r budget.Rates) (sum float64) {
	o.t.Helper()
	err := o.st.Uses(context.Background(), store.UseQuery{From: b.From, To: now, Now: now, User: b.User}, func(u core.Use) bool {
		if b.Scope != "lab" && b.Scope != u.Project {
			return true
		}
		if b.Money > 0 {
			sum += r.Cost(budget.SortOf(u.Pool, u.Product), u.From, u.To, int64(u.Milli))
		} else {
			sum += u.GPUSeconds
		}
		return true
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return sum
}

// An array that runs gets no more tasks while a budget is used up, and goes on when it
// is counted anew.
func TestWhatRunsGetsNoMoreBelowABudget(t *testing.T) {
	o := priced(t, memstore.New())
	o.do(organisation.Organise([]organisation.Edit{budgeted("vision", "", hours(2, core.BudgetDay, core.BudgetHold))}, false))
	id := askAt(o, opens, o.submit(`{"project":"vision","command":["fake"],"array":{"completions":9},"resources":{"gpu":1}}`)).Workload.ID
	placed := func() int {
		tasks, err := o.st.Tasks(context.Background(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		return len(tasks)
	}
	ends := func(now time.Time, index int) {
		code := 0
		o.at(now, engine.Observe(engine.Observations{Backend: "p", Seen: []backend.Observation{
			{ID: core.TaskID{Workload: id, Index: index}, State: core.TaskRunning, At: now},
			{ID: core.TaskID{Workload: id, Index: index}, State: core.TaskSucceeded, At: now, ExitCode: &code},
		}}))
	}
	if n := placed(); n != 2 {
		t.Fatalf("%d tasks are placed on the 2 devices of a pool", n)
	}
	o.passes(opens.Add(30 * time.Minute))
	if ends(opens.Add(30*time.Minute), 0); placed() != 3 {
		t.Errorf("with half the budget left %d are placed", placed())
	}
	o.passes(opens.Add(2 * time.Hour))
	if ends(opens.Add(2*time.Hour), 1); placed() != 3 {
		t.Errorf("after the budget %d are placed", placed())
	}
	o.passes(opens.Add(24 * time.Hour))
	if placed() != 4 {
		t.Errorf("on the next day %d are placed", placed())
	}
}
