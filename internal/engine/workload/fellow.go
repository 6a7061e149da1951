package workload

import (
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// The tasks of an array may each wait for one of another array, its fellow. What
// is left to wait for is kept with the check, since the other array may be gone
// when the server begins again.

// PerTask reports whether tasks of w wait for fellows still.
func PerTask(w *core.Workload) bool {
	return slices.ContainsFunc(w.Checks, func(c core.CheckState) bool { return len(c.Left) > 0 })
}

// WaitsForFellow reports whether the task of that index does.
func WaitsForFellow(w *core.Workload, index int) bool {
	for i := range w.Checks {
		if core.Within(w.Checks[i].Left, index) {
			return true
		}
	}
	return false
}

// Picks reports whether some tasks of w may be kept back while others start: each
// for its fellow, or since a person holds it.
func Picks(w *core.Workload) bool { return len(w.HeldTasks) > 0 || PerTask(w) }

// KeptBack reports whether the task of that index may not start.
func KeptBack(w *core.Workload, index int) bool { return w.TaskHeld(index) || WaitsForFellow(w, index) }

// AreKeptBack is how many tasks of the present attempt may not start, of those that
// are not placed.
func AreKeptBack(w *core.Workload, tasks *Tasks) int {
	if !Picks(w) {
		return 0
	}
	n := 0
	todo := w.Attempts[len(w.Attempts)-1].Todo
	for i := range Total(w) {
		index := i
		if todo != nil {
			index = todo[i]
		}
		if t := tasks.At(index); t == nil || t.Again {
			n += core.Bit(KeptBack(w, index))
		}
	}
	return n
}

// HeldBack reports whether tasks of w are kept back, and nothing else of it waits.
func HeldBack(w *core.Workload, tasks *Tasks) bool {
	if !Picks(w) || w.Phase != lifecycle.Queued && w.Phase != lifecycle.Running {
		return false
	}
	left := unplaced(w, tasks)
	return left > 0 && left == AreKeptBack(w, tasks)
}

// FellowsLeft are the indexes of tasks of w, of those in left, whose fellow in x has
// not succeeded. The tasks are those of x's present attempt.
func FellowsLeft(w, x *core.Workload, tasks *Tasks, left []core.IndexRange) []core.IndexRange {
	open := map[int]bool{} // indexes of x that have not succeeded
	if x.Phase != lifecycle.Completed {
		for _, i := range Unfinished(x, tasks) {
			open[i] = true
		}
	}
	for _, i := range x.Canceled {
		open[i] = true
	}
	fellow := fellows(w.Spec, x.Spec)
	var out []core.IndexRange
	for _, s := range left {
		for i := s.From; i <= s.To; i++ {
			j, has := fellow(i)
			if waits := has && open[j] || !has && x.Phase != lifecycle.Completed; !waits {
				continue
			}
			if n := len(out); n > 0 && out[n-1].To == i-1 {
				out[n-1].To = i
			} else {
				out = append(out, core.IndexRange{From: i, To: i})
			}
		}
	}
	return out
}

// fellows is the index of the task of x that has the number of w's task of an
// index; false: none has.
func fellows(w, x *spec.Document) func(index int) (int, bool) {
	if x.Array == nil {
		return func(int) (int, bool) { return 0, false }
	}
	mine, theirs := numbers(w), numbers(x)
	index := map[int]int{}
	for i, n := range theirs {
		index[n] = i
	}
	return func(i int) (int, bool) {
		if mine != nil && i < len(mine) {
			i = mine[i]
		}
		if theirs == nil {
			return i, i < x.Size()
		}
		j, has := index[i]
		return j, has
	}
}

// numbers are the numbers of an array's tasks; nil: from 0.
func numbers(d *spec.Document) []int {
	if d.Slurm == nil || d.Slurm.Indexes == "" {
		return nil
	}
	all, err := spec.ParseIndexes(d.Slurm.Indexes)
	if err != nil {
		return nil // no document has it
	}
	return all
}

// spansShown is how many ranges people are shown.
const spansShown = 12

// SpanWords are indexes as people write them: 0-3,7; of very many the first.
func SpanWords(spans []core.IndexRange) string {
	if len(spans) > spansShown {
		return core.RangesText(spans[:spansShown]) + ",…"
	}
	return core.RangesText(spans)
}
