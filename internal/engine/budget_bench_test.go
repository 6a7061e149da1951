package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// BenchmarkRoundsBelowBudgets submits work with GPUs of 10,000 users in 1,000 projects,
// without budgets, and with one of each project, one of each of its users and one of
// the department above all: all of it starts.
func BenchmarkRoundsBelowBudgets(b *testing.B) {
	for _, budgets := range []bool{false, true} {
		b.Run(fmt.Sprintf("budgets=%v", budgets), func(b *testing.B) {
			o := &office{t: &testing.T{}, st: memstore.New()}
			o.begin()
			var nodes []core.Node
			for i := range 500 {
				n := core.Node{ID: core.NodeID(fmt.Sprintf("n%d", i)), Backend: "p", Ready: true, CPU: 1e6, Memory: 1 << 40}
				for d := range 8 {
					n.Devices = append(n.Devices, core.Device{ID: fmt.Sprintf("n%d-%d", i, d), Product: "H100", Healthy: true})
				}
				nodes = append(nodes, n)
			}
			o.do(engine.Inventory("p", nodes))
			edits := []organisation.Edit{{What: organisation.RecordDepartment, Name: "lab", Project: func(p *core.Project) error {
				if budgets {
					p.Budgets = []core.Budget{{GPUSeconds: 1e12, Period: core.BudgetMonth, AtEnd: core.BudgetStop}}
				}
				return nil
			}}}
			each := hours(1e6, core.BudgetWeek, core.BudgetHold)
			each.EachUser = true
			for i := range 1000 {
				if budgets {
					edits = append(edits, budgeted(fmt.Sprintf("p%d", i), "lab", hours(1e6, core.BudgetDay, core.BudgetHold), each))
				} else {
					edits = append(edits, budgeted(fmt.Sprintf("p%d", i), "lab"))
				}
			}
			o.do(organisation.Organise(edits, false))
			now := opens
			b.ResetTimer()
			for i := range b.N {
				doc, err := spec.Load([]byte(fmt.Sprintf(`{"project":"p%d","command":["fake"],"resources":{"gpu":0.001,"cpu":"0.001","memory":"1Mi"}}`, i%1000)))
				if err != nil {
					b.Fatal(err)
				}
				now = now.Add(10 * time.Millisecond)
				c := submission.Submit(submission.Submission{Doc: doc, User: fmt.Sprintf("u%d", i%10_000), Actor: "x"})
				if err := o.e.Do(context.Background(), now, []draft.Work{c})[0]; err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
