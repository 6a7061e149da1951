package submission

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/planner"
	"github.com/musterhq/muster/internal/engine/workload"
)

// TasksRequest is about some tasks of an array.
type TasksRequest struct {
	Ref     draft.Ref
	Tasks   []int // their indexes
	Actor   string
	Message string
}

// PreemptTasks takes the resources of tasks of an array back: each runs again when
// there is room, in the same attempt and however it ends, while the others go on.
func PreemptTasks(r TasksRequest) draft.Command[*core.Workload] {
	return func(tx *draft.Tx) (*core.Workload, error) {
		d, err := tx.Find(r.Ref)
		if err != nil {
			return nil, err
		}
		w := d.W
		if err := named(w, r.Tasks, "preempt"); err != nil {
			return nil, err
		}
		switch {
		case !w.Phase.Held() || w.Phase == lifecycle.Terminating:
			return nil, &draft.Error{Code: draft.CodeIllegal, Message: fmt.Sprintf("%s is %s: none of its tasks runs", w.Name, w.Phase), Hint: "muster restart " + w.Name + " --task runs tasks again that have ended"}
		case !workload.Takes(w, "preempt"):
			return nil, &draft.Error{Code: draft.CodeConflict, Message: w.Name + " is not preemptible", Hint: "muster stop " + w.Name + " --task ends tasks of it"}
		}
		var going []*core.Task
		for _, i := range indexes(r.Tasks) {
			t := d.Tasks.At(i)
			if t == nil || !t.State.Held() || t.Repeat || w.TaskCanceled(i) {
				return nil, &draft.Error{Code: draft.CodeIllegal, Field: "tasks", Message: fmt.Sprintf("task %d of %s %s", i, w.Name, standing(d, i)), Hint: "muster describe " + w.Name + " shows its tasks"}
			}
			going = append(going, t)
		}
		err = tx.Change(d, func() error { return consequence.RunAgain(tx, d, going, r.Message, r.Actor) })
		return d.W, err
	}
}

// RestartTasks runs tasks of an array again that have ended or were stopped. An array
// that has ended begins anew for these alone, if all others have succeeded or were
// stopped: an attempt that leaves out what failed would end as if that had not.
func RestartTasks(r TasksRequest) draft.Command[*core.Workload] {
	return func(tx *draft.Tx) (*core.Workload, error) {
		d, err := tx.Find(r.Ref)
		if err != nil {
			return nil, err
		}
		if err := named(d.W, r.Tasks, "restart"); err != nil {
			return nil, err
		}
		switch w := d.W; {
		case w.Phase.End():
			return restartEnded(tx, d, r)
		case !workload.Amendable(w):
			return nil, &draft.Error{Code: draft.CodeIllegal, Message: fmt.Sprintf("%s is %s", w.Name, w.Phase), Hint: "try again once it has ended"}
		}
		again := indexes(r.Tasks)
		for _, i := range again {
			if t := d.Tasks.At(i); t != nil && t.State.Held() || !over(d, i) {
				return nil, &draft.Error{Code: draft.CodeIllegal, Field: "tasks", Message: fmt.Sprintf("task %d of %s %s", i, d.W.Name, standing(d, i)), Hint: "muster preempt " + d.W.Name + " --task runs tasks again that run"}
			}
		}
		err = tx.Change(d, func() error {
			added := listed(d, again)
			d.W.Canceled = without(d.W.Canceled, again)
			var ended []*core.Task
			for _, i := range again {
				if t := d.Tasks.At(i); t != nil {
					ended = append(ended, t)
				}
			}
			tx.State.Dirty = true
			d.Attempt().Todo = added
			if !d.W.Phase.Held() {
				return nil
			}
			return consequence.RunAgain(tx, d, ended, r.Message, r.Actor)
		})
		return d.W, err
	}
}

// restartEnded begins an array anew for some of its tasks.
func restartEnded(tx *draft.Tx, d *draft.Draft, r TasksRequest) (*core.Workload, error) {
	if err := planner.Feasible(tx, d.W.Spec, d.W.User); err != nil {
		return nil, err
	}
	if err := consequence.MayRestart(tx, d.W); err != nil {
		return nil, err
	}
	d, err := tx.Reopen(d)
	if err != nil {
		return nil, err
	}
	w := d.W
	again := indexes(r.Tasks)
	for _, i := range workload.Unfinished(w, d.Tasks) {
		if !slices.Contains(again, i) && !w.TaskCanceled(i) {
			return nil, &draft.Error{Code: draft.CodeConflict, Field: "tasks", Message: fmt.Sprintf("task %d of %s has not succeeded either", i, w.Name), Hint: fmt.Sprintf("name it as well with --task %d, or run all of it again with muster restart %s", i, w.Name)}
		}
	}
	stopped := without(w.Canceled, again)
	in := lifecycle.Input{On: lifecycle.Restart, Reason: lifecycle.ReasonRestartedByUser, Message: fmt.Sprintf("%d of its tasks", len(again)) + consequence.More(r.Message)}
	err = tx.Change(d, func() error {
		return consequence.AgainOnly(tx, d, in, r.Actor, again, stopped)
	})
	return d.W, err
}

// HoldTasks keeps tasks of an array from starting until they are released, while the
// others go on.
func HoldTasks(r TasksRequest) draft.Command[*core.Workload] {
	return func(tx *draft.Tx) (*core.Workload, error) {
		d, err := tx.Find(r.Ref)
		if err != nil {
			return nil, err
		}
		w := d.W
		if err := named(w, r.Tasks, "hold"); err != nil {
			return nil, err
		}
		if !workload.Amendable(w) {
			return nil, &draft.Error{Code: draft.CodeIllegal, Message: fmt.Sprintf("%s is %s; only what waits can be held", w.Name, w.Phase), Hint: "muster describe " + w.Name + " shows its tasks"}
		}
		held := indexes(r.Tasks)
		for _, i := range held {
			if standing(d, i) != waits {
				return nil, &draft.Error{Code: draft.CodeIllegal, Field: "tasks", Message: fmt.Sprintf("task %d of %s %s; only what waits can be held", i, w.Name, standing(d, i)), Hint: "muster preempt " + w.Name + " --task has tasks that run wait again"}
			}
		}
		err = tx.Change(d, func() error {
			for _, s := range w.HeldTasks {
				for i := s.From; i <= s.To; i++ {
					held = append(held, i)
				}
			}
			d.W.HeldTasks = core.Ranged(indexes(held))
			tx.State.Dirty = true
			return nil
		})
		return d.W, err
	}
}

// ReleaseTasks lets tasks of an array go that are held.
func ReleaseTasks(r TasksRequest) draft.Command[*core.Workload] {
	return func(tx *draft.Tx) (*core.Workload, error) {
		d, err := tx.Find(r.Ref)
		if err != nil {
			return nil, err
		}
		w := d.W
		if err := named(w, r.Tasks, "release"); err != nil {
			return nil, err
		}
		for _, i := range r.Tasks {
			if !w.TaskHeld(i) {
				return nil, &draft.Error{Code: draft.CodeConflict, Field: "tasks", Message: fmt.Sprintf("nobody holds task %d of %s: it %s", i, w.Name, standing(d, i)), Hint: "muster why " + w.Name + " says what it waits for"}
			}
		}
		err = tx.Change(d, func() error { return free(tx, d, r.Tasks) })
		return d.W, err
	}
}

// free lets tasks go. It must run inside change.
func free(tx *draft.Tx, d *draft.Draft, tasks []int) error {
	var still []int
	for _, s := range d.W.HeldTasks {
		for i := s.From; i <= s.To; i++ {
			if !slices.Contains(tasks, i) {
				still = append(still, i)
			}
		}
	}
	d.W.HeldTasks = core.Ranged(still)
	tx.State.Dirty = true
	return nil
}

// without are indexes without some others; none: nil.
func without(all, some []int) (out []int) {
	for _, i := range all {
		if !slices.Contains(some, i) {
			out = append(out, i)
		}
	}
	return out
}

// indexes are sorted and named once.
func indexes(tasks []int) []int { return slices.Compact(slices.Sorted(slices.Values(tasks))) }

// waits is said of a task that may start, or may once it is released.
const waits = "waits"

// standing says what one task of an array does, as the end of a sentence.
func standing(d *draft.Draft, i int) string {
	t := d.Tasks.At(i)
	switch {
	case d.W.TaskCanceled(i):
		return "was stopped"
	case t == nil && !slices.Contains(workload.Unfinished(d.W, d.Tasks), i):
		return "has succeeded already"
	case t == nil || t.Again:
		return waits
	case t.Repeat:
		return "is ending, to run again"
	}
	return "is " + string(t.State)
}

// over reports whether a task of an array has nothing more before it.
func over(d *draft.Draft, i int) bool {
	t := d.Tasks.At(i)
	if t != nil && !t.Again || d.W.TaskCanceled(i) {
		return true
	}
	return standing(d, i) != waits
}

// listed is what the attempt has to do with further tasks; nil: all.
func listed(d *draft.Draft, more []int) []int {
	todo := d.Attempt().Todo
	if todo == nil {
		return nil
	}
	return indexes(slices.Concat(todo, more))
}
