package consequence

import (
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// firstFellows says whether some task of w may run, as its fellow in x has
// succeeded.
func firstFellows(tx *draft.Tx, w, x *core.Workload, c *core.CheckState) (core.CheckVerdict, string) {
	tasks, err := tasksOf(tx, x)
	if err != nil {
		tx.State.D.Log.Warn("the tasks that others wait for cannot be read; looking again", "workload", w.ID, "after", c.Of, "err", err)
		c.AskAt = tx.Now.Add(lookAgain)
		return core.CheckWaiting, "the tasks of " + c.Of + " cannot be read at present"
	}
	all := len(c.Left) > 0 && slices.Equal(c.Left, []core.IndexRange{{From: 0, To: w.Spec.Size() - 1}})
	c.Left = workload.FellowsLeft(w, x, tasks, c.Left)
	switch none := all && slices.Equal(c.Left, []core.IndexRange{{From: 0, To: w.Spec.Size() - 1}}); {
	case !none:
		return core.CheckApproved, fmt.Sprintf("tasks of %s have succeeded", x.Name)
	case x.Phase.End():
		return core.CheckWaiting, fmt.Sprintf("%s is %s: this goes on if that is restarted and its tasks succeed", x.Name, x.Phase)
	}
	return core.CheckWaiting, ""
}

// fellowsCome takes over which further tasks of d may run. It must run inside change.
func fellowsCome(tx *draft.Tx, d *draft.Draft, i int) {
	c := d.W.Checks[i]
	x, err := awaited(tx, d.W, &c)
	switch {
	case draft.IsNotFound(err) || err == nil && x.Phase == lifecycle.Deleted:
		c.Message = c.Of + " was deleted: these tasks can only be stopped"
	case err == nil:
		tasks, readErr := tasksOf(tx, x)
		if err = readErr; err != nil {
			break
		}
		before := c.Left
		if c.Left, c.Message = workload.FellowsLeft(d.W, x, tasks, before), ""; !slices.Equal(c.Left, before) {
			tx.State.Dirty = true
		}
		if x.Phase.End() && len(c.Left) > 0 {
			c.Message = fmt.Sprintf("%s is %s: they go on if that is restarted and theirs succeed", x.Name, x.Phase)
		}
	}
	if err != nil && !draft.IsNotFound(err) {
		tx.State.D.Log.Warn("the tasks that others wait for cannot be read", "workload", d.W.ID, "after", c.Of, "err", err)
		return
	}
	d.W.Checks = slices.Clone(d.W.Checks)
	d.W.Checks[i] = c
}

// tasksOf are the tasks of x's present attempt, which may have ended long ago.
func tasksOf(tx *draft.Tx, x *core.Workload) (*workload.Tasks, error) {
	if _, tasks, live := tx.View(x.ID); live {
		return tasks, nil
	}
	if x.Phase == lifecycle.Completed {
		return nil, nil // all have succeeded
	}
	stored, err := tx.State.D.Store.Tasks(tx.Ctx, x.ID, x.Attempt)
	if err != nil {
		return nil, draft.FromStore(err)
	}
	return workload.Latest(stored, x.Attempt), nil
}

// Foregoers is the workload that a document waits for, and which of its tasks; nil:
// all of it. Where it has no such task, the workload comes with the error. Of an array whose jobs have a workload each it is the job that is meant.
func Foregoers(tx *draft.Tx, project core.ProjectID, a spec.Dependency) (*core.Workload, []core.IndexRange, error) {
	x, err := Foregoer(tx, project, a.Workload)
	if err != nil || a.Tasks == "" {
		return x, nil, err
	}
	numbers, err := spec.ParseIndexes(a.Tasks)
	if err != nil {
		return nil, nil, err // no document has it
	}
	none := func(n int) error {
		return &draft.Error{Code: draft.CodeNotFound, Message: fmt.Sprintf("%s has no task %d", x.Name, n)}
	}
	if place, all, is := x.Spec.Slurm.ArrayPlace(); is && len(numbers) == 1 {
		at := slices.Index(all, numbers[0])
		if at < 0 {
			return x, nil, none(numbers[0])
		}
		x, err = Foregoer(tx, project, fmt.Sprint(x.Seq+int64(at-place)))
		return x, nil, err
	}
	var out []core.IndexRange
	for _, n := range numbers {
		i, has := workload.IndexOf(x.Spec, n)
		if !has {
			return x, nil, none(n)
		}
		out = append(out, core.IndexRange{From: i, To: i})
	}
	return x, out, nil
}

// tasksCome says whether the tasks of x that c is about are as far as it waits for.
func tasksCome(tx *draft.Tx, w, x *core.Workload, c *core.CheckState) (core.CheckVerdict, string) {
	tasks, err := tasksOf(tx, x)
	if err != nil {
		tx.State.D.Log.Warn("the tasks that others wait for cannot be read; looking again", "workload", w.ID, "after", c.Of, "err", err)
		c.AskAt = tx.Now.Add(lookAgain)
		return core.CheckWaiting, "the tasks of " + c.Of + " cannot be read at present"
	}
	var last time.Time
	vain := ""
	for _, s := range c.Tasks {
		for i := s.From; i <= s.To; i++ {
			p := workload.TaskProgress(x, tasks, i)
			come, never := p.Come(c.Event)
			switch {
			case never:
				vain = fmt.Sprintf("task %d of %s has ended otherwise: this goes on if that is run again and has %s", i, x.Name, c.Event)
			case !come:
				return core.CheckWaiting, ""
			case p.At.After(last):
				last = p.At
			}
		}
	}
	if vain != "" {
		return core.CheckWaiting, vain
	}
	c.Came = last
	return delayed(tx, c, fmt.Sprintf("task %s of %s has %s", workload.SpanWords(c.Tasks), x.Name, c.Event))
}
