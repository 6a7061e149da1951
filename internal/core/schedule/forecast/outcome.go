package forecast

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Outcome is what a state comes to by itself at once, if nobody comes and nothing
// ends: cycle after cycle, until there is nothing more to do.
type Outcome struct {
	Starts []core.WorkloadID   // who held nothing, and then does
	Leaves []schedule.Eviction // who held something, and then holds nothing, or (not Whole) less
}

// OutcomeOf works it out. Who is told to leave is taken to have left.
func OutcomeOf(c *state.Copy) Outcome {
	f := newFuture(c, "", nil, func(s Span) int64 { return s.Likely })
	causes := map[core.WorkloadID]schedule.Eviction{}
	for range steadyRounds {
		p := cycle.Run(f.st, f.now)
		if len(p.Placements)+len(p.Evictions) == 0 {
			break
		}
		for _, pl := range p.Placements {
			f.place(pl)
		}
		for _, e := range p.Evictions {
			if _, known := causes[e.ID]; !known {
				causes[e.ID] = e
			}
			f.evict(e)
		}
		f.promise(p)
	}
	var out Outcome
	for i := range c.Jobs {
		was, is := &c.Jobs[i], f.jobs[c.Jobs[i].ID]
		switch had, has := staying(was), staying(is); {
		case had == 0 && has > 0:
			out.Starts = append(out.Starts, was.ID)
		case has < had:
			e := causes[was.ID]
			e.ID, e.Whole = was.ID, has == 0
			out.Leaves = append(out.Leaves, e)
		}
	}
	slices.Sort(out.Starts)
	slices.SortFunc(out.Leaves, func(a, b schedule.Eviction) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// staying is how many tasks of j hold a place that they were not told to leave.
func staying(j *schedule.Job) int {
	n := 0
	for i := range j.Held {
		if !j.Held[i].Leaving {
			n++
		}
	}
	return n
}
