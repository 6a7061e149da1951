package engine

import (
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// setAside says how long the scheduler plans without a workload.
type setAside struct {
	until time.Time
	times int  // how often it has failed over it
	back  bool // it is planned again
}

// The first time that a workload is set aside, and the longest; each time is
// twice the one before. For simplyFor only placing is planned.
const asideFirst, asideMost, simplyFor = 10 * time.Minute, 24 * time.Hour, 10 * time.Minute

// plan is one cycle. Where the scheduler fails, it is made anew, and plans
// without the workload over which it failed; if it failed over none, or over
// that one again, it only places what fits. Everything else goes on.
func (tx *tx) plan() *schedule.Plan {
	e := tx.e
	for {
		var plan *schedule.Plan
		f := e.sched.Safely(func() { plan = cycle.Run(e.sched, tx.now.UnixMilli()) })
		if f == nil {
			return plan
		}
		e.failed(f)
		old, known := e.aside[f.Job]
		_, _, live := tx.view(f.Job)
		switch {
		case live && (!known || old.back):
			tx.setAside(f.Job, old.times)
		case !tx.now.Before(e.simple):
			e.simple = tx.now.Add(simplyFor)
			e.instants.add(e.simple.UnixMilli())
			e.D.Log.Error("the scheduler only places what fits", "until", e.simple)
		default:
			tx.renew()
			return &schedule.Plan{} // the next change has it try again
		}
		tx.renew()
	}
}

func (tx *tx) setAside(id core.WorkloadID, times int) {
	a := setAside{until: tx.now.Add(min(asideFirst<<min(times, 8), asideMost)), times: times + 1}
	tx.e.aside[id] = a
	tx.e.instants.add(a.until.UnixMilli())
	tx.e.D.Log.Error("the scheduler plans without a workload", "workload", id, "until", a.until)
}

// takeBack ends what has lasted long enough.
func (tx *tx) takeBack() {
	e := tx.e
	for _, id := range SortedKeys(e.aside) {
		a := e.aside[id]
		if a.back || tx.now.Before(a.until) {
			continue
		}
		a.back = true
		e.aside[id] = a
		if w, tasks, ok := tx.view(id); ok {
			if j, ok := e.job(w, tasks); ok {
				e.sched.PutJob(j)
			}
		}
	}
	if !e.simple.IsZero() && !tx.now.Before(e.simple) {
		e.simple = time.Time{}
		tx.renew()
	}
}

// renew makes the scheduler's state anew from the draft: after a fault nothing
// of it can be trusted.
func (tx *tx) renew() {
	e := tx.e
	e.sched, e.bare, e.stale, e.regroup = e.newState(), explain.Bare(nil), true, true
	tx.sync()
	e.past.told = time.Time{}
	tx.tellPast()
}

// newState is a state that knows nothing yet.
func (e *Engine) newState() *state.State { return state.NewState(e.policy().Config) }

// policy is how work is scheduled at present.
func (e *Engine) policy() *schedule.Policy {
	if e.simple.IsZero() {
		return &e.D.Policy
	}
	p := e.D.Policy.Simple()
	return &p
}

// failed tells of a fault of the scheduler.
func (e *Engine) failed(f *schedule.Fault) {
	e.D.Log.Error("the scheduler failed", "workload", f.Job, "err", f.What, "stack", f.Stack)
	if e.D.Failed != nil {
		e.D.Failed(f)
	}
}

// explain asks the scheduler why a workload waits.
func (tx *tx) explain(id core.WorkloadID) (ex schedule.Explanation, ok bool) {
	f := tx.e.sched.Safely(func() { ex, ok = explain.Explain(tx.e.sched, tx.now.UnixMilli(), id) })
	if f == nil {
		return ex, ok
	}
	tx.e.failed(f)
	tx.renew()
	return one(schedule.Reason{Token: schedule.PlanningFailed}).Explanation, true
}

// everFits asks whether a job would fit on the nodes if nothing ran there. Where
// the scheduler fails at that, it is not what refuses the job.
func (tx *tx) everFits(j schedule.Job) (r schedule.Reason, ok bool) {
	if f := tx.e.bare.Safely(func() { r, ok = explain.Fits(tx.e.bare, j) }); f != nil {
		tx.e.failed(f)
		tx.renew()
		return schedule.Reason{}, true
	}
	return r, ok
}
