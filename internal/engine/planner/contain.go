package planner

import (
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/engine/draft"
)

// The first time that a workload is set aside, and the longest; each time is
// twice the one before. For simplyFor only placing is planned.
const asideFirst, asideMost, simplyFor = 10 * time.Minute, 24 * time.Hour, 10 * time.Minute

// Plan is one cycle. Where the scheduler fails, it is made anew, and plans
// without the workload over which it failed; if it failed over none, or over
// that one again, it only places what fits. Everything else goes on.
func Plan(tx *draft.Tx) *schedule.Plan {
	e := tx.State
	for {
		var plan *schedule.Plan
		f := e.Sched.Safely(func() { plan = cycle.Run(e.Sched, tx.Now.UnixMilli()) })
		if f == nil {
			return plan
		}
		e.Failed(f)
		old, known := e.Aside[f.Job]
		_, _, live := tx.View(f.Job)
		switch {
		case live && (!known || old.Back):
			setAside(tx, f.Job, old.Times)
		case !tx.Now.Before(e.Simple):
			e.Simple = tx.Now.Add(simplyFor)
			e.Instants.Add(e.Simple.UnixMilli())
			e.D.Log.Error("the scheduler only places what fits", "until", e.Simple)
		default:
			renew(tx)
			return &schedule.Plan{} // the next change has it try again
		}
		renew(tx)
	}
}

func setAside(tx *draft.Tx, id core.WorkloadID, times int) {
	a := draft.SetAside{Until: tx.Now.Add(min(asideFirst<<min(times, 8), asideMost)), Times: times + 1}
	tx.State.Aside[id] = a
	tx.State.Instants.Add(a.Until.UnixMilli())
	tx.State.D.Log.Error("the scheduler plans without a workload", "workload", id, "until", a.Until)
}

// TakeBack ends what has lasted long enough.
func TakeBack(tx *draft.Tx) {
	e := tx.State
	for _, id := range slices.Sorted(maps.Keys(e.Aside)) {
		a := e.Aside[id]
		if a.Back || tx.Now.Before(a.Until) {
			continue
		}
		a.Back = true
		e.Aside[id] = a
		if w, tasks, ok := tx.View(id); ok {
			if j, ok := e.Job(w, tasks); ok {
				e.Sched.PutJob(j)
			}
		}
	}
	if !e.Simple.IsZero() && !tx.Now.Before(e.Simple) {
		e.Simple = time.Time{}
		renew(tx)
	}
}

// renew makes the scheduler's state anew from the draft: after a fault nothing
// of it can be trusted.
func renew(tx *draft.Tx) {
	e := tx.State
	e.Sched, e.Bare, e.Stale, e.Regroup = e.NewState(), explain.Bare(nil), true, true
	Sync(tx)
	e.Past.PassedAt = time.Time{}
	PassUsage(tx)
}

// Explain asks the scheduler why a workload waits.
func Explain(tx *draft.Tx, id core.WorkloadID) (ex schedule.Explanation, ok bool) {
	f := tx.State.Sched.Safely(func() { ex, ok = explain.Explain(tx.State.Sched, tx.Now.UnixMilli(), id) })
	if f == nil {
		return ex, ok
	}
	tx.State.Failed(f)
	renew(tx)
	return schedule.Explanation{Reasons: []schedule.Reason{{Token: schedule.PlanningFailed}}}, true
}

// everFits asks whether a job would fit on the nodes if nothing ran there. Where
// the scheduler fails at that, it is not what refuses the job.
func everFits(tx *draft.Tx, j schedule.Job) (r schedule.Reason, ok bool) {
	if f := tx.State.Bare.Safely(func() { r, ok = explain.Fits(tx.State.Bare, j) }); f != nil {
		tx.State.Failed(f)
		renew(tx)
		return schedule.Reason{}, true
	}
	return r, ok
}
