package control

import (
	"cmp"
	"slices"
	"sort"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
)

// laneKey tells classes of interchangeable waiting workloads apart.
type laneKey struct {
	project     core.ProjectID
	priority    int
	preemptible bool
	shape       string
}

// lane is one class, oldest first. It is kept between cycles, so that a cycle
// costs what changed and not how many wait.
type lane struct {
	shape *schedule.Shape
	jobs  []schedule.Waiter
}

// waiting reports whether the scheduler has something to place for w: all of
// it, or further tasks of a running array.
func waiting(w *core.Workload, tasks map[int]*core.Task) bool {
	switch w.Phase {
	case lifecycle.Queued:
		return w.AskAt.IsZero()
	case lifecycle.Reserved:
		return !checksOpen(w, atReservation)
	case lifecycle.Starting, lifecycle.Running, lifecycle.Restarting:
		return grows(w) && room(w, tasks) > 0
	default:
		return false
	}
}

// grows reports whether w gets further tasks while it runs.
func grows(w *core.Workload) bool { return w.Spec.Array != nil || w.Kind == lifecycle.Inference }

// room is how many further tasks of an array or replicas may be placed now.
func room(w *core.Workload, tasks map[int]*core.Task) int {
	if w.Kind == lifecycle.Inference {
		return replicasMissing(w, tasks)
	}
	left := total(w) - len(tasks)
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
// the present attempt.
func next(w *core.Workload, tasks map[int]*core.Task, n int) []int {
	if w.Kind == lifecycle.Inference {
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
		if _, placed := tasks[index]; !placed {
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

// shapeOf is what decides where w can go.
func shapeOf(w *core.Workload, tasks map[int]*core.Task) *schedule.Shape {
	if w.Spec.Gang() {
		return gangShape(w)
	}
	g := schedule.Group{Name: "tasks", Count: 1, Min: 1, Need: need(w, 0)}
	switch running := w.Phase.Held(); {
	case !grows(w):
	case running:
		g.Count, g.Min = room(w, tasks), 0
	default:
		g.Count = room(w, tasks)
		g.Min = min(1, g.Count)
	}
	return schedule.NewShape([]schedule.Group{g}, nil)
}

// gangShape is all tasks at once: the first apart where it needs something else.
func gangShape(w *core.Workload) *schedule.Shape {
	n := w.Spec.Size()
	first := need(w, 0)
	if n == 1 || first == need(w, 1) {
		return schedule.NewShape([]schedule.Group{{Name: "tasks", Count: n, Min: n, Need: first}}, nil)
	}
	return schedule.NewShape([]schedule.Group{
		{Name: w.Spec.Role(0), Count: 1, Min: 1, Need: first},
		{Name: "tasks", Count: n - 1, Min: n - 1, Need: need(w, 1)},
	}, nil)
}

func keyOf(w *core.Workload, shape *schedule.Shape) laneKey {
	return laneKey{w.Project, int(w.Spec.Priority), *w.Spec.Preemptible, shape.Key}
}

func (e *Engine) enqueue(w *core.Workload, tasks map[int]*core.Task) {
	shape := shapeOf(w, tasks)
	key := keyOf(w, shape)
	l := e.lanes[key]
	if l == nil {
		l = &lane{shape: shape}
		e.lanes[key] = l
	}
	i := l.find(w.Seq)
	l.jobs = slices.Insert(l.jobs, i, schedule.Waiter{ID: w.ID, Order: w.Seq, Since: w.PhaseAt.UnixMilli()})
}

func (e *Engine) dequeue(w *core.Workload, tasks map[int]*core.Task) {
	key := keyOf(w, shapeOf(w, tasks))
	l := e.lanes[key]
	switch i := l.find(w.Seq); i {
	case 0: // the usual case: whoever leaves is the oldest
		l.jobs = l.jobs[1:]
	default:
		l.jobs = slices.Delete(l.jobs, i, i+1)
	}
	if len(l.jobs) == 0 {
		delete(e.lanes, key)
	}
}

func (l *lane) find(order int64) int {
	return sort.Search(len(l.jobs), func(i int) bool { return l.jobs[i].Order >= order })
}

// snapshot is what the scheduler sees of the draft. Running jobs are only for
// those who ask when something will be free.
func (tx *tx) snapshot(running bool) *schedule.Snapshot {
	e := tx.e
	s := &schedule.Snapshot{Revision: e.seq.Revision, Now: tx.now.UnixMilli()}
	for _, n := range e.nodes {
		s.Nodes = append(s.Nodes, e.nodeState(n))
	}
	slices.SortFunc(s.Nodes, func(a, b schedule.Node) int { return cmp.Compare(a.ID, b.ID) })
	for p := range tx.eachProject() {
		mode, _ := tx.tree().Stopped(p.ID)
		s.Queues = append(s.Queues, schedule.Queue{ID: p.ID, Stopped: mode != core.StopNone})
	}
	slices.SortFunc(s.Queues, func(a, b schedule.Queue) int { return cmp.Compare(a.ID, b.ID) })
	for k, l := range e.lanes {
		s.Waiting = append(s.Waiting, schedule.Class{Queue: k.project, Priority: k.priority, Preemptible: k.preemptible, Shape: l.shape, Jobs: l.jobs})
	}
	slices.SortFunc(s.Waiting, func(a, b schedule.Class) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Jobs[0].Order, b.Jobs[0].Order))
	})
	if running {
		s.Running = tx.running()
	}
	return s
}

func (e *Engine) nodeState(n core.Node) schedule.Node {
	st := schedule.Node{Node: n, UsedMilli: make([]int, len(n.Devices))}
	if u := e.usage[n.ID]; u != nil {
		st.UsedCPU, st.UsedMemory = u.cpu, u.memory
		for i, d := range n.Devices {
			st.UsedMilli[i] = u.milli[d.ID]
		}
	}
	return st
}

func (tx *tx) running() []schedule.Job {
	var jobs []schedule.Job
	for id := range tx.e.held {
		w, tasks, ok := tx.view(id)
		if !ok {
			continue
		}
		j := schedule.Job{ID: id, Queue: w.Project, Priority: int(w.Spec.Priority), Preemptible: *w.Spec.Preemptible, Leaving: w.Phase == lifecycle.Terminating}
		if end, ok := tx.firstEnd(w); ok {
			j.EndsBy = end.at.UnixMilli()
		}
		for _, t := range sortedTasks(tasks) {
			if holds(w, t) {
				cpu, memory := taken(w, t)
				j.Places = append(j.Places, schedule.Place{Node: t.Node, Devices: t.Devices, CPU: cpu, Memory: memory})
			}
		}
		jobs = append(jobs, j)
	}
	slices.SortFunc(jobs, func(a, b schedule.Job) int { return cmp.Compare(a.ID, b.ID) })
	return jobs
}
