package workload

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Waiting reports whether the scheduler has something to place for w: all of
// it, or further tasks of a running array, service or elastic gang.
func Waiting(w *core.Workload, tasks *Tasks) bool {
	switch p := w.Phase; {
	case p == lifecycle.Queued:
		return w.AskAt.IsZero() && (!Picks(w) || Room(w, tasks) > 0)
	case p == lifecycle.Reserved:
		return !ChecksOpen(w, AtReservation) && (!Picks(w) || Room(w, tasks) > 0)
	case p.Active():
		if !w.AskAt.IsZero() {
			return false // the backend has just refused more of it
		}
		return Grows(w) && Room(w, tasks) > 0 || w.Spec.Elastic() && p == lifecycle.Running && MissingRanks(w, tasks) > 0
	default:
		return false
	}
}

// Grows reports whether w gets further tasks while it runs.
func Grows(w *core.Workload) bool { return w.Spec.Array != nil || w.Kind.Replicated() }

// Numbered reports whether the tasks of w get ever new indexes.
func Numbered(w *core.Workload) bool { return w.Kind.Replicated() || w.Spec.Elastic() }

// Room is how many further tasks of an array or replicas may be placed now.
func Room(w *core.Workload, tasks *Tasks) int {
	if w.Kind.Replicated() {
		return replicasMissing(w, tasks)
	}
	left := unplaced(w, tasks)
	left -= AreKeptBack(w, tasks)
	if p := w.Spec.Array.Parallelism; p > 0 {
		active := 0
		for _, t := range tasks.Open() {
			if t.State.Held() {
				active++
			}
		}
		left = min(left, p-active)
	}
	return max(left, 0)
}

// unplaced is how many tasks of the present attempt have not been placed, or wait to be
// placed again.
func unplaced(w *core.Workload, tasks *Tasks) int {
	left := Total(w) - tasks.Sum(w).Count
	for i, t := range tasks.Open() {
		left -= core.Bit(!t.Again && !w.TaskCanceled(i))
	}
	return left
}

// Total is how many tasks the present attempt has to run.
func Total(w *core.Workload) int {
	if todo := w.Attempts[len(w.Attempts)-1].Todo; todo != nil {
		return len(todo)
	}
	return w.Spec.Size()
}

// NextIndexes returns the indexes of the first n tasks that have not been placed in
// the present attempt, or had to leave.
func NextIndexes(w *core.Workload, tasks *Tasks, n int) []int {
	if Numbered(w) {
		first := w.Attempts[len(w.Attempts)-1].Next
		out := make([]int, n)
		for i := range out {
			out[i] = first + i
		}
		return out
	}
	todo := w.Attempts[len(w.Attempts)-1].Todo
	var out []int
	next := tasks.FirstMissing
	if todo != nil {
		next = func(i int) int { return i }
	}
	total := Total(w)
	for i := next(0); i < total && len(out) < n; i = next(i + 1) {
		index := i
		if todo != nil {
			index = todo[i]
		}
		if t := tasks.At(index); (t == nil || t.Again) && !KeptBack(w, index) {
			out = append(out, index)
		}
	}
	return out
}

// Unfinished is what an array's next attempt has to do.
func Unfinished(w *core.Workload, tasks *Tasks) []int {
	todo := w.Attempts[len(w.Attempts)-1].Todo
	out := []int{}
	for i := range Total(w) {
		index := i
		if todo != nil {
			index = todo[i]
		}
		if t := tasks.At(index); t == nil || t.State != core.TaskSucceeded || t.Again || t.Repeat {
			out = append(out, index)
		}
	}
	return out
}
