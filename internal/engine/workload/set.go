package workload

import (
	"iter"
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Tasks are the tasks of an attempt by index, each by its last run. Those of which
// nothing more can follow by itself, since they have ended, hold nothing and are not
// to be run again, are finished: they are kept apart and counted, so that what is asked
// at each change of an array costs what is open of it and not all that has ever run,
// which for 100,000 short tasks would be its square. A nil one is empty.
type Tasks struct {
	open     map[int]*core.Task
	finished []*block // by index / blockSize; nil: none there. Blocks of others are copied before they change
	sum      Finished
	failed   *core.Task // the first of them that failed; nil: none has, or it takes a look at all
	mark     *mark      // of the blocks that are its own
}

// mark tells one from another; its size makes each have an address of its own.
type mark struct{ _ byte }

// Finished is what the finished tasks add up to.
type Finished struct {
	Count     int
	Succeeded int
	Failed    int // lost ones, too
	Started   int // of those that failed: that had started
}

// blockSize is how many finished tasks are copied when one of them changes.
const blockSize = 32

type block struct {
	owner *mark
	count int
	tasks [blockSize]*core.Task
}

// TasksOf are some tasks, no two of the same index.
func TasksOf(all ...*core.Task) *Tasks {
	s := &Tasks{open: map[int]*core.Task{}, mark: new(mark)}
	for _, t := range all {
		s.Set(t)
	}
	return s
}

// finishes reports whether nothing follows from t any more but from what it counts. A
// task whose node was lost may yet be run again, if its array survives that.
func finishes(t *core.Task) bool {
	return t.State.Ended() && !t.ReleasedAt.IsZero() && t.RestartAt.IsZero() && t.ID.Index >= 0 &&
		!t.Again && !t.Repeat && !t.Leaving && !t.Closed && (t.State == core.TaskSucceeded || t.Class != lifecycle.FailureNode)
}

// Clone returns a copy to be changed, while the original is not any more. It takes as
// long as there are open tasks.
func (s *Tasks) Clone() *Tasks {
	if s == nil {
		return TasksOf()
	}
	c := &Tasks{open: maps.Clone(s.open), finished: slices.Clone(s.finished), sum: s.sum, failed: s.failed, mark: new(mark)}
	if c.open == nil {
		c.open = map[int]*core.Task{}
	}
	return c
}

// Len is how many there are.
func (s *Tasks) Len() int {
	if s == nil {
		return 0
	}
	return len(s.open) + s.sum.Count
}

// At is the task of an index; nil: it was never placed.
func (s *Tasks) At(index int) *core.Task {
	if s == nil {
		return nil
	}
	if t, ok := s.open[index]; ok {
		return t
	}
	return s.finishedAt(index)
}

func (s *Tasks) finishedAt(index int) *core.Task {
	if b := index / blockSize; index >= 0 && b < len(s.finished) && s.finished[b] != nil {
		return s.finished[b].tasks[index%blockSize]
	}
	return nil
}

// All are all of them, in no order.
func (s *Tasks) All() iter.Seq2[int, *core.Task] {
	return func(yield func(int, *core.Task) bool) {
		for i, t := range s.Open() {
			if !yield(i, t) {
				return
			}
		}
		for i, t := range s.Finished() {
			if !yield(i, t) {
				return
			}
		}
	}
}

// Open are those that are not finished, in no order.
func (s *Tasks) Open() iter.Seq2[int, *core.Task] {
	return func(yield func(int, *core.Task) bool) {
		if s == nil {
			return
		}
		for i, t := range s.open {
			if !yield(i, t) {
				return
			}
		}
	}
}

// Finished are those that are finished, by index.
func (s *Tasks) Finished() iter.Seq2[int, *core.Task] {
	return func(yield func(int, *core.Task) bool) {
		if s == nil {
			return
		}
		for b, part := range s.finished {
			if part == nil || part.count == 0 {
				continue
			}
			for i, t := range part.tasks {
				if t != nil && !yield(b*blockSize+i, t) {
					return
				}
			}
		}
	}
}

// Sum is what the finished ones add up to, without those of w that were stopped by
// themselves, which do not count.
func (s *Tasks) Sum(w *core.Workload) Finished {
	if s == nil {
		return Finished{}
	}
	sum := s.sum
	if sum.Count > 0 {
		for _, i := range w.Canceled {
			if t := s.finishedAt(i); t != nil {
				sum.count(t, -1)
			}
		}
	}
	return sum
}

// FirstFailed is the finished task that failed first, of those of w that count; nil: none
// has.
func (s *Tasks) FirstFailed(w *core.Workload) *core.Task {
	if s == nil || s.sum.Failed == 0 {
		return nil
	}
	if f := s.failed; f != nil && !w.TaskCanceled(f.ID.Index) {
		return f
	}
	var first *core.Task
	for i, t := range s.Finished() {
		if t.State != core.TaskSucceeded && !w.TaskCanceled(i) && FailedBefore(t, first) {
			first = t
		}
	}
	return first
}

// FailedBefore reports whether t failed before another one, or there is none.
func FailedBefore(t, other *core.Task) bool {
	return other == nil || t.EndedAt.Before(other.EndedAt) || t.EndedAt.Equal(other.EndedAt) && t.ID.Index < other.ID.Index
}

// FirstMissing is the first index from one on of which no task is finished.
func (s *Tasks) FirstMissing(from int) int {
	if s == nil {
		return from
	}
	for i := from; ; {
		b := i / blockSize
		switch {
		case b >= len(s.finished) || s.finished[b] == nil:
			return i
		case s.finished[b].count == blockSize:
			i = (b + 1) * blockSize
		case s.finished[b].tasks[i%blockSize] == nil:
			return i
		default:
			i++
		}
	}
}

// Set puts a task in the place of the one of its index.
func (s *Tasks) Set(t *core.Task) {
	i := t.ID.Index
	s.Delete(i)
	if !finishes(t) {
		s.open[i] = t
		return
	}
	b := i / blockSize
	for len(s.finished) <= b {
		s.finished = append(s.finished, nil)
	}
	part := s.own(b)
	part.tasks[i%blockSize] = t
	part.count++
	if t.State != core.TaskSucceeded && (s.sum.Failed == 0 || s.failed != nil && FailedBefore(t, s.failed)) {
		s.failed = t
	}
	s.sum.count(t, 1)
}

// Delete takes the task of an index away.
func (s *Tasks) Delete(index int) {
	delete(s.open, index)
	if t := s.finishedAt(index); t != nil {
		part := s.own(index / blockSize)
		part.tasks[index%blockSize] = nil
		part.count--
		s.sum.count(t, -1)
		if t == s.failed {
			s.failed = nil
		}
	}
}

// own is a block that may be changed.
func (s *Tasks) own(b int) *block {
	switch part := s.finished[b]; {
	case part == nil:
		s.finished[b] = &block{owner: s.mark}
	case part.owner != s.mark:
		c := *part
		c.owner = s.mark
		s.finished[b] = &c
	}
	return s.finished[b]
}

func (s *Finished) count(t *core.Task, sign int) {
	s.Count += sign
	if t.State == core.TaskSucceeded {
		s.Succeeded += sign
		return
	}
	s.Failed += sign
	if !t.StartedAt.IsZero() {
		s.Started += sign
	}
}
