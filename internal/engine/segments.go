package engine

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/place"
)

// segmented reports whether parts of w's gang are kept closer together than all
// of it.
func segmented(w *core.Workload) bool {
	return w.Spec.Topology.Segment.Size > 0 && w.Spec.Gang() && !w.Spec.Elastic()
}

// outside is how many tasks are in no segment: an mpi launcher, which is no rank.
func outside(w *core.Workload) int { return core.Bit(w.Spec.Framework == "mpi") }

// segments are the groups of w's tasks by the order of their indexes: the
// launcher where there is one, then each segment.
func (e *Engine) segments(w *core.Workload, pools []string, rule *schedule.Rule) []schedule.Group {
	var out []schedule.Group
	if outside(w) > 0 {
		out = append(out, schedule.Group{Name: w.Spec.Role(0), Min: 1, Runs: []schedule.Run{{Need: need(w, 0), Rule: rule, Count: 1}}})
	}
	var runs []schedule.Run
	first, left := outside(w), w.Spec.Size()-outside(w)
	if first == 0 && left > 1 && need(w, 0) != need(w, 1) {
		runs, left, first = append(runs, schedule.Run{Need: need(w, 0), Rule: rule, Count: 1}), left-1, 1
	}
	runs = append(runs, schedule.Run{Need: need(w, first), Rule: rule, Count: left})
	t := w.Spec.Topology
	return append(out, place.Segments(t.Segment.Size, e.levels(pools, t, t.Segment.Required, t.Segment.Preferred), runs)...)
}

// unwant makes groups those of a gang that has all its tasks.
func unwant(groups []schedule.Group) {
	for g := range groups {
		groups[g].Runs = nil
	}
}

// segmentOf is the number of the segment of the task of that index, and how many
// tasks it has; false where it is in none.
func segmentOf(w *core.Workload, index int) (number, size int, ok bool) {
	index -= outside(w)
	if !segmented(w) || index < 0 {
		return 0, 0, false
	}
	n := w.Spec.Topology.Segment.Size
	number = index / n
	return number, min(n, w.Spec.Size()-outside(w)-number*n), true
}
