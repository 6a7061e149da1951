package workload

import "github.com/musterhq/muster/internal/core"

// Segmented reports whether parts of w's gang are kept closer together than all
// of it.
func Segmented(w *core.Workload) bool {
	return w.Spec.Topology.Segment.Size > 0 && w.Spec.Gang() && !w.Spec.Elastic()
}

// OutsideSegments is how many tasks are in no segment: an mpi launcher, which is no rank.
func OutsideSegments(w *core.Workload) int { return core.Bit(w.Spec.Framework == "mpi") }

// SegmentOf is the number of the segment of the task of that index, and how many
// tasks it has; false where it is in none.
func SegmentOf(w *core.Workload, index int) (number, size int, ok bool) {
	index -= OutsideSegments(w)
	if !Segmented(w) || index < 0 {
		return 0, 0, false
	}
	n := w.Spec.Topology.Segment.Size
	number = index / n
	return number, min(n, w.Spec.Size()-OutsideSegments(w)-number*n), true
}
