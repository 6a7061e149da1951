package cycle

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// Plan reads the journal's outcome off the jobs it touched.
func (c *Pass) Plan() *schedule.Plan {
	plan := &schedule.Plan{}
	if len(c.St.Log) == 0 {
		return plan
	}
	evicted := map[*ledger.Job]bool{} // the jobs that are touched, and whether any of them is evicted
	var jobs []*ledger.Job
	was := map[*ledger.Hold]bool{} // whether a hold was leaving when the cycle began
	for i := len(c.St.Log) - 1; i >= 0; i-- {
		if e := c.St.Log[i]; e.Op == ledger.Went || e.Op == ledger.Stays {
			was[e.H] = e.Op == ledger.Stays
		}
	}
	line := map[core.WorkloadID]int{} // when each job that is promised something was given it
	for i, e := range c.St.Log {
		if e.Op == ledger.Took && !e.H.Leaving && line[e.H.Job.ID] == 0 {
			line[e.H.Job.ID] = i + 1
		}
		if _, seen := evicted[e.H.Job]; !seen {
			evicted[e.H.Job] = false
			jobs = append(jobs, e.H.Job)
		}
		if e.Op == ledger.Went && e.H.Leaving && !e.H.Fresh {
			evicted[e.H.Job] = true
		}
	}
	for _, j := range jobs {
		if evicted[j] {
			plan.Evictions = append(plan.Evictions, c.eviction(j, was))
		}
		now, later := c.placed(j)
		if len(now) > 0 {
			plan.Placements = append(plan.Placements, schedule.Placement{ID: j.ID, Tasks: now, Takes: j.Takes()})
		}
		if len(later) > 0 {
			plan.Promises = append(plan.Promises, schedule.Placement{ID: j.ID, Tasks: later})
		}
	}
	plan.Evictions = append(plan.Evictions, c.Recalled()...)
	slices.SortStableFunc(plan.Promises, func(a, b schedule.Placement) int { return cmp.Compare(line[a.ID], line[b.ID]) })
	slices.SortStableFunc(plan.Evictions, func(a, b schedule.Eviction) int { return cmp.Compare(a.ID, b.ID) })
	return plan
}

// placed are the tasks of j that start now, and those that do once others have
// left.
func (c *Pass) placed(j *ledger.Job) (now, later []schedule.Placed) {
	nth := make([]int, len(j.Placed))
	for _, h := range j.Holds {
		if !h.Fresh || h.Leaving {
			continue
		}
		t := schedule.Placed{Group: int(h.Group), Task: h.Task, Moves: h.Moves, Later: h.Later, Place: h.Place()}
		if !h.Moves {
			t.Task = nth[h.Group]
			nth[h.Group]++
		}
		if h.Later {
			later = append(later, t)
		} else {
			now = append(now, t)
		}
	}
	return now, later
}

func (c *Pass) eviction(j *ledger.Job, was map[*ledger.Hold]bool) schedule.Eviction {
	ev := schedule.Eviction{ID: j.ID, Cause: c.Cause[j].Cause, For: c.Cause[j].By, Whole: true}
	if ev.Cause == schedule.Reserve {
		ev.Window = c.windows[j]
	}
	moved := 0
	for _, h := range j.Holds {
		left, touched := was[h]
		switch {
		case h.Fresh && h.Moves:
			moved++
		case h.Fresh || touched && left || !touched && h.Leaving:
		case h.Leaving:
			ev.Tasks = append(ev.Tasks, h.Task)
		default:
			ev.Whole = false
		}
	}
	ev.Moves = moved == len(ev.Tasks)
	return ev
}
