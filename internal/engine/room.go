package engine

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// waiting reports whether the scheduler has something to place for w: all of
// it, or further tasks of a running array, service or elastic gang.
func waiting(w *core.Workload, tasks map[int]*core.Task) bool {
	switch w.Phase {
	case lifecycle.Queued:
		return w.AskAt.IsZero()
	case lifecycle.Reserved:
		return !checksOpen(w, atReservation)
	case lifecycle.Starting, lifecycle.Running, lifecycle.Restarting:
		if !w.AskAt.IsZero() {
			return false // the backend has just refused more of it
		}
		return grows(w) && room(w, tasks) > 0 || w.Spec.Elastic() && w.Phase == lifecycle.Running && missingRanks(w, tasks) > 0
	default:
		return false
	}
}

// grows reports whether w gets further tasks while it runs.
func grows(w *core.Workload) bool { return w.Spec.Array != nil || w.Kind == lifecycle.Inference }

// numbered reports whether the tasks of w get ever new indexes.
func numbered(w *core.Workload) bool { return w.Kind == lifecycle.Inference || w.Spec.Elastic() }

// room is how many further tasks of an array or replicas may be placed now.
func room(w *core.Workload, tasks map[int]*core.Task) int {
	if w.Kind == lifecycle.Inference {
		return replicasMissing(w, tasks)
	}
	left := total(w)
	for i, t := range tasks {
		left -= core.Bit(!t.Again && !w.TaskCanceled(i))
	}
	if p := w.Spec.Array.Parallelism; p > 0 {
		active := 0
		for _, t := range tasks {
			if t.State.Held() {
				active++
			}
		}
		left = min(left, p-active)
	}
	return max(left, 0)
}

// total is how many tasks the present attempt has to run.
func total(w *core.Workload) int {
	if todo := w.Attempts[len(w.Attempts)-1].Todo; todo != nil {
		return len(todo)
	}
	return w.Spec.Size()
}

// next returns the indexes of the first n tasks that have not been placed in
// the present attempt, or had to leave.
func next(w *core.Workload, tasks map[int]*core.Task, n int) []int {
	if numbered(w) {
		first := w.Attempts[len(w.Attempts)-1].Next
		out := make([]int, n)
		for i := range out {
			out[i] = first + i
		}
		return out
	}
	todo := w.Attempts[len(w.Attempts)-1].Todo
	var out []int
	for i := 0; i < total(w) && len(out) < n; i++ {
		index := i
		if todo != nil {
			index = todo[i]
		}
		if t := tasks[index]; t == nil || t.Again {
			out = append(out, index)
		}
	}
	return out
}

// unfinished is what an array's next attempt has to do.
func unfinished(w *core.Workload, tasks map[int]*core.Task) []int {
	todo := w.Attempts[len(w.Attempts)-1].Todo
	out := []int{}
	for i := range total(w) {
		index := i
		if todo != nil {
			index = todo[i]
		}
		if t := tasks[index]; t == nil || t.State != core.TaskSucceeded {
			out = append(out, index)
		}
	}
	return out
}
