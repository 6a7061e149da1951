package reader

import (
	"context"
	"sync"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/server/wire"
	"github.com/musterhq/muster/internal/store"
)

// TasksMost is up to how many tasks of each attempt an answer has all, unless it
// is asked for more: of an array of a hundred thousand, all would be fifty
// megabytes.
const TasksMost = 1000

// heldStates are those of tasks that have a place.
var heldStates = []core.TaskState{core.TaskStarting, core.TaskRunning, core.TaskStopping}

// Many reports whether an attempt of w may have more tasks than are wanted; most
// negative: all are. Of a service none is left out: its replicas are few.
func Many(w *core.Workload, most int) bool {
	return most >= 0 && !w.Kind.Replicated() && w.Spec.Size() > most
}

// gatherSome reads the first tasks of each attempt, of the present one only where
// that is enough, the one that failed first, and what all tasks come to.
func (s *Reader) gatherSome(ctx context.Context, w *core.Workload, attempt, most int) ([]core.Task, *wire.Cut, error) {
	c := &wire.Cut{Left: map[int]int{}, Lost: map[int]float64{}}
	var all []core.Task
	for i := range w.Attempts {
		a := &w.Attempts[i]
		if attempt >= 0 && a.Index != attempt || a.StartedAt.IsZero() {
			continue
		}
		tasks, err := s.Store.FindTasks(ctx, store.TaskQuery{Workload: w.ID, Attempt: a.Index, Limit: max(most, 1)})
		if err != nil {
			return nil, nil, err
		}
		tasks = tasks[:min(len(tasks), most)]
		if k := a.Culprit; k != nil && (len(tasks) == 0 || tasks[len(tasks)-1].ID.Index < *k) {
			culprit, err := s.Store.FindTasks(ctx, store.TaskQuery{Workload: w.ID, Attempt: a.Index, From: *k, To: *k + 1})
			if err != nil {
				return nil, nil, err
			}
			tasks = append(tasks, culprit...)
		}
		counts, err := s.CountTasks(ctx, w, a.Index)
		if err != nil {
			return nil, nil, err
		}
		for _, n := range counts {
			c.Left[a.Index] += n
		}
		c.Left[a.Index] -= len(tasks)
		all = append(all, tasks...)
	}
	return all, c, s.charges(ctx, w, c)
}

// charges reads what the tasks of w come to in GPU time.
func (s *Reader) charges(ctx context.Context, w *core.Workload, c *wire.Cut) error {
	if w.Spec.TotalMilli() == 0 {
		return nil
	}
	last, sum := core.TaskID{Index: -1}, 0.0 // of the last run of a task
	err := s.Store.Uses(ctx, store.UseQuery{Workload: w.ID, Now: s.Clock()}, func(u core.Use) bool {
		if u.Attempt < len(w.Attempts) {
			c.Lost[u.Attempt] += w.Attempts[u.Attempt].Lost(u.Succeeded, u.From, u.To).Seconds() * float64(u.Milli) / 1000
		}
		if u.Attempt != w.Attempt || !w.Phase.Held() {
			return true
		}
		if id := (core.TaskID{Index: u.Task, Run: u.Run}); id != last {
			if id.Index != last.Index {
				c.Charged += sum
			}
			last, sum = id, 0 // runs before it are in the workload's own
		}
		sum += u.GPUSeconds
		return true
	})
	c.Charged += sum
	return err
}

// someTasks are all tasks of the present attempt, or of a large one those that
// have a place.
func (s *Reader) someTasks(ctx context.Context, w *core.Workload) ([]core.Task, error) {
	if !Many(w, TasksMost) {
		return s.Store.Tasks(ctx, w.ID, w.Attempt)
	}
	return s.Store.FindTasks(ctx, store.TaskQuery{Workload: w.ID, Attempt: w.Attempt, States: heldStates, Limit: 5 * TasksMost})
}

// OneTask is a task of an attempt by its last run; false: there is none of that
// index.
func (s *Reader) OneTask(ctx context.Context, w *core.Workload, attempt, index int) (core.Task, bool, error) {
	found, err := s.Store.FindTasks(ctx, store.TaskQuery{Workload: w.ID, Attempt: attempt, From: index, To: index + 1})
	if err != nil || len(found) == 0 {
		return core.Task{}, false, err
	}
	return found[0], true, nil
}

// counted is how many tasks of attempts stand in which state, as versions of their
// workloads have it: who scrolls through a large array asks for it again and again.
type counted struct {
	mu  sync.Mutex
	all map[core.TaskID]countedAt // by workload and attempt
}

type countedAt struct {
	version int64
	counts  map[core.TaskState]int
}

// countedMost bounds how many attempts are remembered.
const countedMost = 200

// CountTasks is how many tasks of an attempt stand in which state; nobody changes
// it.
func (s *Reader) CountTasks(ctx context.Context, w *core.Workload, attempt int) (map[core.TaskState]int, error) {
	c, id := &s.counted, core.TaskID{Workload: w.ID, Attempt: attempt}
	c.mu.Lock()
	have, known := c.all[id]
	c.mu.Unlock()
	if known && have.version == w.Version {
		return have.counts, nil
	}
	counts, err := s.Store.CountTasks(ctx, w.ID, attempt)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil || len(c.all) >= countedMost {
		c.all = map[core.TaskID]countedAt{}
	}
	c.all[id] = countedAt{w.Version, counts}
	return counts, nil
}
