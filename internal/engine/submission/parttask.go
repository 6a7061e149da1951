package submission

import (
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// StopTasksRequest ends some tasks of an array for good.
type StopTasksRequest struct {
	Ref     draft.Ref
	Tasks   []int
	Actor   string
	Message string
	Grace   *time.Duration // instead of the workload's own
}

// StopTasks ends tasks of an array, or has them never started; the others go on,
// and how those end is no failure. Where none is left it stops the workload.
func StopTasks(r StopTasksRequest) draft.Command[*core.Workload] {
	return func(tx *draft.Tx) (*core.Workload, error) {
		d, err := tx.Find(r.Ref)
		if err != nil {
			return nil, err
		}
		if err := stoppable(d, r.Tasks); err != nil {
			return nil, err
		}
		gone := slices.Compact(slices.Sorted(slices.Values(slices.Concat(d.W.Canceled, r.Tasks))))
		if len(gone) == d.W.Spec.Size() || lastOf(tx, d, gone) {
			return Stop(StopRequest{Ref: draft.Ref{ID: d.W.ID}, Actor: r.Actor, Message: r.Message, Grace: r.Grace})(tx)
		}
		err = tx.Change(d, func() error { return cancel(tx, d, gone, r.Grace) })
		return d.W, err
	}
}

// stoppable refuses what cannot be ended by itself.
func stoppable(d *draft.Draft, tasks []int) error {
	w := d.W
	if err := named(w, tasks, "stop"); err != nil {
		return err
	}
	if w.Phase.End() || w.Phase == lifecycle.Deleting || w.Phase == lifecycle.Deleted || w.Phase == lifecycle.Publishing {
		return &draft.Error{Code: draft.CodeIllegal, Message: fmt.Sprintf("%s is %s", w.Name, w.Phase), Hint: "muster describe " + w.Name + " shows how its tasks ended"}
	}
	left := workload.Unfinished(w, d.Tasks)
	for _, i := range tasks {
		switch {
		case w.TaskCanceled(i):
			return &draft.Error{Code: draft.CodeConflict, Field: "tasks", Message: fmt.Sprintf("task %d of %s has been stopped already", i, w.Name), Hint: "muster describe " + w.Name + " shows its tasks"}
		case !slices.Contains(left, i):
			return &draft.Error{Code: draft.CodeConflict, Field: "tasks", Message: fmt.Sprintf("task %d of %s has succeeded already", i, w.Name), Hint: "muster describe " + w.Name + " shows its tasks"}
		}
	}
	return nil
}

// named refuses names of tasks that are none of an array's.
func named(w *core.Workload, tasks []int, verb string) error {
	wrong := func(message, hint string) error {
		return &draft.Error{Code: draft.CodeInvalid, Field: "tasks", Message: message, Hint: hint}
	}
	switch {
	case len(tasks) == 0:
		return wrong("no task is named", "name the index of one, as in muster "+verb+" "+w.Name+" --task 3")
	case w.Spec.Array == nil:
		return wrong(w.Name+" is no array: its tasks belong together", "muster "+verb+" "+w.Name+" is about all of it")
	}
	for _, i := range tasks {
		if i < 0 || i >= w.Spec.Size() {
			return wrong(fmt.Sprintf("%s has no task %d", w.Name, i), fmt.Sprintf("it has the tasks 0 to %d", w.Spec.Size()-1))
		}
	}
	return nil
}

// lastOf reports whether nothing is left of an array without those tasks while
// it holds nothing, so that nobody would see that all others have succeeded.
func lastOf(tx *draft.Tx, d *draft.Draft, gone []int) bool {
	if p := d.W.Phase; p == lifecycle.Starting || p == lifecycle.Running || p.InQueue() {
		return false
	}
	return !slices.ContainsFunc(workload.Unfinished(d.W, d.Tasks), func(i int) bool { return !contains(gone, i) })
}

func contains(sorted []int, i int) bool {
	_, is := slices.BinarySearch(sorted, i)
	return is
}

// cancel takes tasks out of what the attempt has to do. It must run inside
// change.
func cancel(tx *draft.Tx, d *draft.Draft, gone []int, within *time.Duration) error {
	a := d.Attempt()
	todo := []int{}
	for i := range workload.Total(d.W) {
		index := i
		if a.Todo != nil {
			index = a.Todo[i]
		}
		if !contains(gone, index) {
			todo = append(todo, index)
		}
	}
	a.Todo, d.W.Canceled = todo, gone
	g := d.W.Grace()
	if within != nil {
		g = *within
	}
	for _, i := range gone {
		t := d.Tasks.At(i)
		if t == nil {
			continue
		}
		c := *t
		switch c.Again = false; {
		case t.State.Held() && t.State != core.TaskStopping:
			c.State = core.TaskStopping
			tx.Stop(&c, g)
		case !t.Again:
			continue
		}
		d.SetTask(c)
	}
	tx.State.Dirty = true
	if len(workload.Unfinished(d.W, d.Tasks)) == 0 && d.W.Phase.InQueue() {
		return consequence.NothingLeft(tx, d)
	}
	return consequence.Conclude(tx, d)
}
