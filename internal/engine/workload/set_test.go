package workload

import (
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// TestTasksAreAMap: whatever is put in and taken away, copied in between, they are what
// a plain map is, and what the finished ones add up to is what a look at all says.
func TestTasksAreAMap(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		s, plain := TasksOf(), map[int]*core.Task{}
		type kept struct {
			tasks *Tasks
			plain map[int]*core.Task
		}
		var former []kept
		w := &core.Workload{}
		for _, i := range []int{3, 40, 41, 99} {
			if r.IntN(2) == 0 {
				w.Canceled = append(w.Canceled, i)
			}
		}
		for range 400 {
			switch i := r.IntN(150); r.IntN(10) {
			case 0:
				s.Delete(i)
				delete(plain, i)
			case 1:
				former = append(former, kept{s, maps.Clone(plain)})
				s = s.Clone()
			default:
				task := anyTask(r, i)
				s.Set(task)
				plain[i] = task
			}
		}
		same(t, seed, w, s, plain)
		for _, f := range former {
			same(t, seed, w, f.tasks, f.plain)
		}
		if t.Failed() {
			return
		}
	}
}

func anyTask(r *rand.Rand, index int) *core.Task {
	at := time.Unix(int64(r.IntN(50)), 0)
	task := &core.Task{ID: core.TaskID{Index: index}, State: []core.TaskState{
		core.TaskRunning, core.TaskSucceeded, core.TaskSucceeded, core.TaskFailed, core.TaskLost}[r.IntN(5)]}
	if !task.State.Ended() {
		return task
	}
	task.EndedAt = at
	if r.IntN(4) > 0 {
		task.ReleasedAt = at
	}
	if r.IntN(2) == 0 {
		task.StartedAt = at.Add(-time.Second)
	}
	if task.State != core.TaskSucceeded && r.IntN(3) == 0 {
		task.Class = lifecycle.FailureNode
	}
	task.Again, task.Leaving, task.Repeat = r.IntN(8) == 0, r.IntN(8) == 0, r.IntN(8) == 0
	return task
}

func same(t *testing.T, seed uint64, w *core.Workload, s *Tasks, plain map[int]*core.Task) {
	t.Helper()
	if all := maps.Collect(s.All()); !maps.Equal(all, plain) || s.Len() != len(plain) {
		t.Errorf("seed %d: %d tasks, want %d", seed, s.Len(), len(plain))
	}
	var sum Finished
	var failed *core.Task
	finished := map[int]bool{}
	for i, task := range plain {
		if s.At(i) != task {
			t.Errorf("seed %d: task %d is another", seed, i)
		}
		if !finishes(task) {
			continue
		}
		finished[i] = true
		if w.TaskCanceled(i) {
			continue
		}
		sum.Count++
		switch {
		case task.State == core.TaskSucceeded:
			sum.Succeeded++
		default:
			sum.Failed++
			sum.Started += core.Bit(!task.StartedAt.IsZero())
			if FailedBefore(task, failed) {
				failed = task
			}
		}
	}
	if got := s.Sum(w); got != sum {
		t.Errorf("seed %d: the finished add up to %+v, want %+v", seed, got, sum)
	}
	if got := s.FirstFailed(w); got != failed {
		t.Errorf("seed %d: first failed %+v, want %+v", seed, got, failed)
	}
	for i := range 160 {
		next := i
		for finished[next] {
			next++
		}
		if got := s.FirstMissing(i); got != next {
			t.Errorf("seed %d: none is finished from %d on at %d, want %d", seed, i, got, next)
		}
	}
	last := -1
	for i := range s.Finished() {
		if i <= last || !finished[i] {
			t.Errorf("seed %d: %d comes after %d", seed, i, last)
		}
		last = i
	}
}
