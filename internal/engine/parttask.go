package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// StopTasksRequest ends some tasks of an array for good.
type StopTasksRequest struct {
	Ref     Ref
	Tasks   []int
	Actor   string
	Message string
	Grace   *time.Duration // instead of the workload's own
}

// StopTasks ends tasks of an array, or has them never started; the others go on,
// and how those end is no failure. Where none is left it stops the workload.
// The value is the workload.
func StopTasks(r StopTasksRequest) Command {
	return func(tx *tx) (any, error) {
		d, err := tx.find(r.Ref)
		if err != nil {
			return nil, err
		}
		if err := stoppable(d, r.Tasks); err != nil {
			return nil, err
		}
		gone := slices.Compact(slices.Sorted(slices.Values(slices.Concat(d.w.Canceled, r.Tasks))))
		if len(gone) == d.w.Spec.Size() || tx.lastOf(d, gone) {
			return Stop(StopRequest{Ref: Ref{ID: d.w.ID}, Actor: r.Actor, Message: r.Message, Grace: r.Grace})(tx)
		}
		err = tx.change(d, func() error { return tx.cancel(d, gone, r.Grace) })
		return d.w, err
	}
}

// stoppable refuses what cannot be ended by itself.
func stoppable(d *draft, tasks []int) error {
	w := d.w
	wrong := func(message, hint string) error {
		return &Error{Code: CodeInvalid, Field: "tasks", Message: message, Hint: hint}
	}
	switch {
	case len(tasks) == 0:
		return wrong("no task is named", "name the index of one, as in muster stop "+w.Name+" --task 3")
	case w.Spec.Array == nil:
		return wrong(w.Name+" is no array: its tasks belong together", "muster stop "+w.Name+" ends all of it")
	case w.Phase.End() || w.Phase == lifecycle.Deleting || w.Phase == lifecycle.Deleted || w.Phase == lifecycle.Publishing:
		return &Error{Code: CodeIllegal, Message: fmt.Sprintf("%s is %s", w.Name, w.Phase), Hint: "muster describe " + w.Name + " shows how its tasks ended"}
	}
	left := unfinished(w, d.tasks)
	for _, i := range tasks {
		switch {
		case i < 0 || i >= w.Spec.Size():
			return wrong(fmt.Sprintf("%s has no task %d", w.Name, i), fmt.Sprintf("it has the tasks 0 to %d", w.Spec.Size()-1))
		case w.TaskCanceled(i):
			return &Error{Code: CodeConflict, Field: "tasks", Message: fmt.Sprintf("task %d of %s has been stopped already", i, w.Name), Hint: "muster describe " + w.Name + " shows its tasks"}
		case !slices.Contains(left, i):
			return &Error{Code: CodeConflict, Field: "tasks", Message: fmt.Sprintf("task %d of %s has succeeded already", i, w.Name), Hint: "muster describe " + w.Name + " shows its tasks"}
		}
	}
	return nil
}

// lastOf reports whether nothing is left of an array without those tasks while
// it holds nothing, so that nobody would see that all others have succeeded.
func (tx *tx) lastOf(d *draft, gone []int) bool {
	if p := d.w.Phase; p == lifecycle.Starting || p == lifecycle.Running || p == lifecycle.Queued || p == lifecycle.Reserved {
		return false
	}
	return !slices.ContainsFunc(unfinished(d.w, d.tasks), func(i int) bool { return !contains(gone, i) })
}

func contains(sorted []int, i int) bool {
	_, is := slices.BinarySearch(sorted, i)
	return is
}

// cancel takes tasks out of what the attempt has to do. It must run inside
// change.
func (tx *tx) cancel(d *draft, gone []int, within *time.Duration) error {
	a := d.attempt()
	todo := []int{}
	for i := range total(d.w) {
		index := i
		if a.Todo != nil {
			index = a.Todo[i]
		}
		if !contains(gone, index) {
			todo = append(todo, index)
		}
	}
	a.Todo, d.w.Canceled = todo, gone
	g := d.w.Grace()
	if within != nil {
		g = *within
	}
	for _, i := range gone {
		t := d.tasks[i]
		if t == nil {
			continue
		}
		c := *t
		switch c.Again = false; {
		case t.State.Held() && t.State != core.TaskStopping:
			c.State = core.TaskStopping
			tx.stop(&c, g)
		case !t.Again:
			continue
		}
		d.setTask(c)
	}
	tx.e.dirty = true
	if len(unfinished(d.w, d.tasks)) == 0 && (d.w.Phase == lifecycle.Queued || d.w.Phase == lifecycle.Reserved) {
		return tx.nothingLeft(d)
	}
	return tx.conclude(d)
}
