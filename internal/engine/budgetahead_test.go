package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/spending"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// What a budget will have leave is told so before, once, where the rate of use tells when.
func TestTheEndOfABudgetIsTold(t *testing.T) {
	o := priced(t, memstore.New())
	stop := hours(2, core.BudgetMonth, core.BudgetStop)
	stop.Notice = 30 * time.Minute
	o.do(organisation.Organise([]organisation.Edit{budgeted("vision", "", stop), budgeted("nlp", "", hours(2, core.BudgetMonth, core.BudgetHold))}, false))
	asks := `,"notifications":[{"webhook":"http://x","on":["BudgetNear"]}]`
	first := askAt(o, opens, o.onGPU("vision", asks)).Workload.ID
	held := askAt(o, opens, o.onGPU("nlp", asks)).Workload.ID
	o.seen(opens, first, 0, core.TaskRunning)
	o.seen(opens, held, 0, core.TaskRunning)
	told := func(id core.WorkloadID) string {
		for _, c := range o.workload(id).Conditions {
			if c.Type == lifecycle.DeadlineNear {
				return c.Since.UTC().Format("15:04") + " " + c.Message
			}
		}
		return ""
	}
	o.passes(opens.Add(89 * time.Minute))
	if text := told(first); text != "" {
		t.Fatalf("before the notice it was told %q", text)
	}
	o.passes(opens.Add(100 * time.Minute))
	end := opens.Add(2 * time.Hour).UTC().Format("2006-01-02T15:04")
	text := told(first)
	if !strings.HasPrefix(text, opens.Add(90*time.Minute).UTC().Format("15:04")) || !strings.Contains(text, "it will have to leave at about "+end) || !strings.Contains(text, "the budget of vision is used up then, 1.50 GPU-hours of 2.00 GPU-hours by now") {
		t.Errorf("it was told %q", text)
	}
	// What comes and goes does not repeat it.
	second := askAt(o, opens.Add(101*time.Minute), o.onGPU("vision", "")).Workload.ID
	o.seen(opens.Add(102*time.Minute), second, 0, core.TaskFailed)
	o.passes(opens.Add(110 * time.Minute))
	if text := told(held); text != "" {
		t.Errorf("what goes on was told %q", text)
	}
	got, err := o.st.Deliveries(context.Background(), store.DeliveryQuery{User: "u"})
	if err != nil {
		t.Fatal(err)
	}
	told2 := 0
	for _, d := range got {
		if strings.Contains(d.What.Message, "it will have to leave at about") {
			told2++
		}
	}
	if told2 != 1 {
		t.Errorf("%d notifications tell of it: %+v", told2, got)
	}
	// A higher budget takes it back.
	stop.GPUSeconds = 100 * 3600
	o.at(opens.Add(111*time.Minute), organisation.Organise([]organisation.Edit{budgeted("vision", "", stop)}, false))
	if text := told(first); text != "" {
		t.Errorf("with more budget it is still told %q", text)
	}
}

// Who submits what does not fit the rest of a budget, by its own time limit, is told.
func TestWhatDoesNotFitTheRestOfABudgetIsSaid(t *testing.T) {
	o := priced(t, memstore.New())
	o.do(spending.SetPrices(0, core.Prices{Currency: "EUR", Items: []core.Price{{PerGPUHour: 1}, {GPUType: "H100", PerGPUHour: 4}}}, "root"))
	money := core.Budget{Money: 10, Period: core.BudgetDay, AtEnd: core.BudgetStop}
	o.do(organisation.Organise([]organisation.Edit{
		budgeted("vision", "", hours(3, core.BudgetDay, core.BudgetHold), money),
		{What: organisation.RecordProject, Name: "nlp", Project: func(p *core.Project) error {
			p.Budgets, p.TimeLimit = []core.Budget{hours(3, core.BudgetMonth, core.BudgetWarn)}, map[lifecycle.Kind]time.Duration{lifecycle.Training: 5 * time.Hour}
			return nil
		}},
		budgeted("free", ""),
	}, false))
	said := func(project, more string, dry bool) []string {
		t.Helper()
		doc := o.documentOf(`{"project":"` + project + `","command":["fake"]` + more + `}`)
		return askAt(o, opens, submission.Submit(submission.Submission{Doc: doc, User: "ann", DryRun: dry})).Warnings
	}
	for _, c := range []struct {
		project, more string
		says          []string
	}{
		{"vision", `,"resources":{"gpu":1}`, nil},
		{"vision", `,"maxDuration":"9h"`, nil},
		{"vision", `,"resources":{"gpu":1},"maxDuration":"3h"`, nil},
		{"vision", `,"resources":{"gpu":1},"maxDuration":"4h"`, []string{"it may use 4.00 GPU-hours until 2026-01-02T00:00:00Z, by its time limit of 4h0m0s, and of the budget of vision 3.00 GPU-hours are left; once that is used up nothing new starts"}},
		{"vision", `,"resources":{"gpu":{"count":1,"type":"H100"}},"maxDuration":"3h"`, []string{"it may use 12.00 EUR until 2026-01-02T00:00:00Z, by its time limit of 3h0m0s, and of the budget of vision 10.00 EUR are left; once that is used up it has to leave"}},
		{"nlp", `,"resources":{"gpu":1}`, []string{"it may use 5.00 GPU-hours"}},
		{"free", `,"resources":{"gpu":1},"maxDuration":"900h"`, nil},
	} {
		for _, dry := range []bool{true, false} {
			got := said(c.project, c.more, dry)
			ok := len(got) == len(c.says)
			for i := range c.says {
				ok = ok && strings.HasPrefix(got[i], c.says[i])
			}
			if !ok {
				t.Errorf("%s %s (dry run: %v): %q", c.project, c.more, dry, got)
			}
		}
	}
}
