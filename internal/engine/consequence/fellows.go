package consequence

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
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
