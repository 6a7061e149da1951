package schedule_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// TestVictimsAreNeeded leaves every victim of a plan where it is, one at a time,
// and sees whether the one for whom it was to leave has a place all the same.
func TestVictimsAreNeeded(t *testing.T) {
	t.Parallel()
	search(t, 1000, func(w *world) string {
		w = onePool(w) // of several, the first is tried first, whatever it costs
		plan := cycle.Cycle(&w.Snap, w.Cfg)
		by := core.WorkloadID("")
		for _, e := range plan.Evictions {
			if e.Moves || e.Cause == schedule.StaleGang || by != "" && e.For != by {
				return "" // several reasons in one plan: not to be told apart
			}
			by = e.For
		}
		if len(plan.Promises) > 1 {
			return "" // the others' room would not be kept for them
		}
		for i := range w.Snap.Jobs {
			if j := &w.Snap.Jobs[i]; j.ID == by && elastic(j) {
				return "" // it may have got more than it was worth a victim for
			}
		}
		g := &judge{w: w, plan: plan}
		for _, e := range plan.Evictions {
			l := &life{w: w}
			if j := l.job(e.ID); !g.wholeTree(j, g.tasksOf(j, false, true), 0) {
				continue // it loses what it was to get in this cycle as well
			}
			spared := [][]int{e.Tasks}
			if !e.Whole {
				spared = nil
				for _, task := range e.Tasks {
					spared = append(spared, []int{task})
				}
			}
			for _, tasks := range spared {
				c := w.clone()
				l := &life{w: c, held: map[core.WorkloadID]int{}}
				l.start(plan)
				for _, o := range plan.Evictions {
					j := l.job(o.ID)
					for k := range j.Held {
						h := &j.Held[k]
						h.Leaving = h.Leaving || slices.Contains(o.Tasks, h.Task) && (o.ID != e.ID || !slices.Contains(tasks, h.Task))
					}
				}
				if trial := explain.Try(state.Load(&c.Snap, c.Cfg), clock, *l.job(by)); (trial.Now || trial.Later) && len(trial.Victims) == 0 {
					return fmt.Sprintf("%s: %v of %s need not leave for %s: %+v", brief(plan), tasks, e.ID, by, trial)
				}
			}
		}
		return ""
	})
}

func elastic(j *schedule.Job) bool {
	for i := range j.Shape.Groups {
		if g := &j.Shape.Groups[i]; g.Wants() > g.Min || len(j.Held) > 0 {
			return true
		}
	}
	return slices.ContainsFunc(j.Shape.Sets, func(s schedule.Set) bool { return s.MinGroups > 0 })
}

// TestWasteIsReported sums, over many plans, the device-seconds that those who
// are displaced have run against the devices that were won by it.
func TestWasteIsReported(t *testing.T) {
	t.Parallel()
	var lost, won, evicted float64
	for seed := uint64(1); seed <= 1500; seed++ {
		w := drawn(seed)
		plan := cycle.Cycle(&w.Snap, w.Cfg)
		g := &judge{w: w, plan: plan, jobs: map[core.WorkloadID]*schedule.Job{}}
		for i := range w.Snap.Jobs {
			g.jobs[w.Snap.Jobs[i].ID] = &w.Snap.Jobs[i]
		}
		for _, e := range plan.Evictions {
			if e.Cause != schedule.Reclaim && e.Cause != schedule.Preempt {
				continue
			}
			j := g.jobs[e.ID]
			for _, task := range e.Tasks {
				h := taskOf(j, task)
				gpu := float64(amountOf(&h.Need, &h.Place)[quota.GPU]) / 1000
				lost += gpu * float64(clock-j.Started) / 1000
				evicted += gpu
			}
		}
		for _, pl := range plan.Promises {
			for _, x := range pl.Tasks {
				if need, _ := g.needOf(g.jobs[pl.ID], &x); !x.Moves && need != nil {
					won += float64(amountOf(need, &x.Place)[quota.GPU]) / 1000
				}
			}
		}
	}
	t.Logf("devices: %.1f evicted, %.1f promised; %.2f evicted device-seconds for each promised device", evicted, won, lost/won)
	if evicted > 3*won {
		t.Errorf("%.1f devices were taken from others for %.1f", evicted, won)
	}
}
