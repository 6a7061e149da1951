package workload

import (
	"cmp"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// SortedTasks returns the tasks by index.
func SortedTasks(m *Tasks) []*core.Task {
	all := make([]*core.Task, 0, m.Len())
	for _, t := range m.All() {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *core.Task) int { return cmp.Compare(a.ID.Index, b.ID.Index) })
	return all
}

// OpenIf returns the tasks of which keep holds, by index, of those that are not finished.
func OpenIf(m *Tasks, keep func(*core.Task) bool) []*core.Task {
	var some []*core.Task
	for _, t := range m.Open() {
		if keep(t) {
			some = append(some, t)
		}
	}
	slices.SortFunc(some, func(a, b *core.Task) int { return cmp.Compare(a.ID.Index, b.ID.Index) })
	return some
}

// Minimum is how many members of an external workload run together or not at
// all, of those that have not ended well; at least 1.
func Minimum(w *core.Workload, tasks *Tasks) int {
	n := w.Spec.MinWorkers
	for _, t := range tasks.All() {
		n -= core.Bit(t.State == core.TaskSucceeded)
	}
	return max(n, 1)
}

// Earliest is the first of two times; a zero one is never.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// WithDevices is how many running tasks hold devices.
func WithDevices(tasks *Tasks) int {
	n := 0
	for _, t := range tasks.Open() {
		if len(t.Devices) > 0 && t.State == core.TaskRunning {
			n++
		}
	}
	return n
}

// Latest are the tasks of an attempt by index, each by its last run, without
// those that are history.
func Latest(tasks []core.Task, attempt int) *Tasks {
	s := TasksOf()
	for _, t := range latest(tasks, attempt) {
		s.Set(t)
	}
	return s
}

func latest(tasks []core.Task, attempt int) map[int]*core.Task {
	m := make(map[int]*core.Task, len(tasks))
	for i := range tasks {
		t := &tasks[i]
		if last := m[t.ID.Index]; t.ID.Attempt == attempt && !t.Closed && (last == nil || last.ID.Run < t.ID.Run) {
			m[t.ID.Index] = t
		}
	}
	return m
}

// WaitAgain is how many tasks had to leave and wait to be run again.
func WaitAgain(tasks *Tasks) int {
	n := 0
	for _, t := range tasks.Open() {
		n += core.Bit(t.Again)
	}
	return n
}

// HoldsElsewhere reports whether some task that holds its place is elsewhere than on a
// node.
func HoldsElsewhere(tasks *Tasks, on core.NodeID) bool {
	for _, t := range tasks.Open() {
		if t.Node != on && t.State.Held() && !t.Leaving {
			return true
		}
	}
	return false
}

// stagesMost bounds what is kept of a start: backends have a dozen words at most.
const stagesMost = 16

// WithStage adds a backend's word for a task that starts to those that it had: as
// the events of Kubernetes, one that comes again counts up. What every task
// goes through says nothing.
func WithStage(all []core.Stage, word, message string, at time.Time) []core.Stage {
	if word == "" || word == "ContainerCreating" {
		return all
	}
	all = slices.Clone(all) // copies of the task share it
	if i := slices.IndexFunc(all, func(s core.Stage) bool { return s.Word == word }); i >= 0 {
		s := &all[i]
		s.Last, s.Count = at, s.Count+1
		if message != "" {
			s.Message = message
		}
		return all
	}
	if len(all) == stagesMost {
		return all
	}
	return append(all, core.Stage{Word: word, Message: message, At: at, Last: at, Count: 1})
}

// CrashLoop is the word of a task that waits to be started again where it is.
const CrashLoop = "CrashLoopBackOff"

// errorShown is for how long such a task says first that it has failed.
const errorShown = 2 * time.Second

// LoopsAt is when a failed task says that it waits to be started again; zero: it
// does already, or does not wait.
func LoopsAt(t *core.Task) time.Time {
	if t.RestartAt.IsZero() || t.Waiting == CrashLoop {
		return time.Time{}
	}
	return t.EndedAt.Add(errorShown)
}

// Counts are the tasks of the present attempt by state.
func Counts(w *core.Workload, tasks *Tasks) core.TaskCounts {
	sum := tasks.Sum(w)
	c := core.TaskCounts{Succeeded: sum.Succeeded, Failed: sum.Failed}
	for i, t := range tasks.Open() {
		if t.Again || t.State.Ended() && w.TaskCanceled(i) {
			continue // it waits, or never counts
		}
		switch t.State {
		case core.TaskStarting:
			c.Starting++
		case core.TaskRunning:
			c.Running++
		case core.TaskStopping:
			c.Stopping++
		case core.TaskSucceeded:
			c.Succeeded++
		case core.TaskFailed, core.TaskLost:
			c.Failed++
		}
	}
	return c
}

// Later is the last of two times.
func Later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Condition returns a condition that holds, or nil.
func Condition(w *core.Workload, t lifecycle.ConditionType) *core.Condition {
	for i := range w.Conditions {
		if w.Conditions[i].Type == t {
			return &w.Conditions[i]
		}
	}
	return nil
}
