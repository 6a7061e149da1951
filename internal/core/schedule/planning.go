package schedule

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core"
)

// plan reads the journal's outcome off the jobs it touched.
func (c *cycle) plan() *Plan {
	plan := &Plan{}
	if len(c.st.log) == 0 {
		return plan
	}
	evicted := map[*job]bool{} // the jobs that are touched, and whether any of them is evicted
	var jobs []*job
	was := map[*hold]bool{} // whether a hold was leaving when the cycle began
	for i := len(c.st.log) - 1; i >= 0; i-- {
		if e := c.st.log[i]; e.op == went || e.op == stays {
			was[e.h] = e.op == stays
		}
	}
	line := map[core.WorkloadID]int{} // when each job that is promised something was given it
	for i, e := range c.st.log {
		if e.op == took && !e.h.leaving && line[e.h.job.ID] == 0 {
			line[e.h.job.ID] = i + 1
		}
		if _, seen := evicted[e.h.job]; !seen {
			evicted[e.h.job] = false
			jobs = append(jobs, e.h.job)
		}
		if e.op == went && e.h.leaving && !e.h.fresh {
			evicted[e.h.job] = true
		}
	}
	for _, j := range jobs {
		if evicted[j] {
			plan.Evictions = append(plan.Evictions, c.eviction(j, was))
		}
		now, later := c.placed(j)
		if len(now) > 0 {
			plan.Placements = append(plan.Placements, Placement{ID: j.ID, Tasks: now, Takes: j.takes()})
		}
		if len(later) > 0 {
			plan.Promises = append(plan.Promises, Placement{ID: j.ID, Tasks: later})
		}
	}
	plan.Evictions = append(plan.Evictions, c.recalled()...)
	slices.SortStableFunc(plan.Promises, func(a, b Placement) int { return cmp.Compare(line[a.ID], line[b.ID]) })
	slices.SortStableFunc(plan.Evictions, func(a, b Eviction) int { return cmp.Compare(a.ID, b.ID) })
	return plan
}

// placed are the tasks of j that start now, and those that do once others have
// left.
func (c *cycle) placed(j *job) (now, later []Placed) {
	nth := make([]int, len(j.placed))
	for _, h := range j.holds {
		if !h.fresh || h.leaving {
			continue
		}
		t := Placed{Group: int(h.group), Task: h.task, Moves: h.moves, Later: h.later, Place: h.place()}
		if !h.moves {
			t.Task = nth[h.group]
			nth[h.group]++
		}
		if h.later {
			later = append(later, t)
		} else {
			now = append(now, t)
		}
	}
	return now, later
}

func (c *cycle) eviction(j *job, was map[*hold]bool) Eviction {
	ev := Eviction{ID: j.ID, Cause: c.cause[j].cause, For: c.cause[j].by, Whole: true}
	if ev.Cause == Reserve {
		ev.Window = c.windows[j]
	}
	moved := 0
	for _, h := range j.holds {
		left, touched := was[h]
		switch {
		case h.fresh && h.moves:
			moved++
		case h.fresh || touched && left || !touched && h.leaving:
		case h.leaving:
			ev.Tasks = append(ev.Tasks, h.task)
		default:
			ev.Whole = false
		}
	}
	ev.Moves = moved == len(ev.Tasks)
	return ev
}
