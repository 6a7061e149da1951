package explain

import (
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Again plans what was recorded, and asks why the fault's job waits where that
// goes well. It returns the plan, or what has gone wrong again.
func Again(f *schedule.Fault) (*schedule.Plan, *schedule.Fault) {
	r := &f.Record
	for i := range r.Jobs {
		if sh := r.Jobs[i].Shape; sh != nil && sh.Key == "" { // it comes from a file
			r.Jobs[i].Shape = schedule.NewShape(sh.Sets, sh.Groups)
		}
	}
	var plan *schedule.Plan
	st := state.NewState(r.Config)
	again := st.Safely(func() {
		st.Load(&r.Snapshot)
		if r.Work != nil {
			st.SetWork(r.Work)
		}
		plan = cycle.Run(st, r.Now)
		Explain(st, r.Now, f.Job)
	})
	return plan, again
}
