package consequence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/predecessor"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
	"github.com/musterhq/muster/internal/store"
)

// foregoing are the checks that follow from what a document says of others and
// of the time. What is run again does not wait for what was deleted meanwhile.
func foregoing(tx *draft.Tx, w *core.Workload) (all []core.CheckState) {
	if at := w.Spec.Begin(); at.After(tx.Now) {
		all = append(all, core.CheckState{Name: "not-before", Type: workload.CheckTime, When: workload.AtQueue, AskAt: at, Verdict: core.CheckWaiting})
	}
	for _, a := range w.Spec.After {
		c := core.CheckState{Name: predecessor.Name(a), Type: workload.CheckAfter, When: workload.AtQueue, Event: a.Event(), Delay: a.Delay.Std(), Any: a.Any, Verdict: core.CheckWaiting}
		if a.PerTask {
			c.PerTask, c.Left = true, []core.IndexRange{{From: 0, To: w.Spec.Size() - 1}}
		}
		switch x, tasks, err := Foregoers(tx, w.Project, a); {
		case err == nil:
			c.Workload, c.Of, c.Tasks = x.ID, x.Name, tasks
		case draft.IsNotFound(err) && w.Attempt > 0:
			continue
		default:
			c.Of = a.Workload // come finds it later, or finds out that it was deleted
		}
		all = append(all, c)
	}
	return all
}

// Foregoer is the workload that a document names as one that comes before.
func Foregoer(tx *draft.Tx, project core.ProjectID, ref string) (*core.Workload, error) {
	d, err := tx.Find(draft.Ref{Project: project, Name: ref})
	if draft.IsNotFound(err) {
		d, err = tx.Find(draft.Ref{ID: core.WorkloadID(ref)})
	}
	if n, is := strconv.ParseInt(ref, 10, 64); draft.IsNotFound(err) && is == nil && n > 0 {
		page, listErr := tx.State.D.Store.List(tx.Ctx, store.Query{Cursor: n + 1, Limit: 1}) // what comes next below
		if listErr != nil {
			return nil, draft.FromStore(listErr)
		}
		if len(page.Items) == 1 && page.Items[0].Seq == n {
			d, err = tx.Find(draft.Ref{ID: page.Items[0].ID})
		}
	}
	if err != nil {
		return nil, err
	}
	return d.W, nil
}

// checkDependencies takes over what has come of the workloads and times that d
// waits for. It must run inside change.
func checkDependencies(tx *draft.Tx, d *draft.Draft) error {
	for i := range d.W.Checks {
		c := d.W.Checks[i]
		if c.Verdict == core.CheckApproved && len(c.Left) > 0 {
			fellowsCome(tx, d, i)
			continue
		}
		if d.W.Phase != lifecycle.Reviewing || c.Verdict != core.CheckWaiting || c.Type != workload.CheckAfter && c.Type != workload.CheckTime {
			continue
		}
		verdict, why := come(tx, d.W, &c)
		if c.Any && verdict == core.CheckRejected && othersHope(tx, d.W, i) {
			verdict = core.CheckWaiting
		}
		if verdict == core.CheckWaiting {
			c.Message = why
		}
		d.W.Checks = slices.Clone(d.W.Checks)
		d.W.Checks[i] = c
		if verdict == core.CheckWaiting {
			continue
		}
		if c.Any && verdict == core.CheckApproved {
			enough(tx, d, i)
		}
		err := Decide(tx, d, i, verdict, draft.ActorControl, why)
		if c.PerTask {
			d.W.Checks[i].Message = "" // it goes on for other tasks
		}
		if err != nil || d.W.Phase != lifecycle.Reviewing {
			return err
		}
	}
	return nil
}

// lookAgain is after how long it is looked again at a workload that could not be
// read.
const lookAgain = 10 * time.Second

// come says whether what c waits for has come, and with what result; while it
// has not, what that waits for.
func come(tx *draft.Tx, w *core.Workload, c *core.CheckState) (core.CheckVerdict, string) {
	if c.Type == workload.CheckTime {
		if c.AskAt.After(tx.Now) {
			return core.CheckWaiting, ""
		}
		return core.CheckApproved, "it is time"
	}
	x, err := awaited(tx, w, c)
	switch {
	case err != nil && !draft.IsNotFound(err):
		tx.State.D.Log.Warn("a workload that another waits for cannot be read; looking again", "workload", w.ID, "after", c.Of, "err", err)
		c.AskAt = tx.Now.Add(lookAgain)
		return core.CheckWaiting, c.Of + " cannot be read at present"
	case !c.Came.IsZero() && (err != nil || x.Phase == lifecycle.Deleting || x.Phase == lifecycle.Deleted):
		return delayed(tx, c, c.Of+" was deleted")
	case err != nil || x.Phase == lifecycle.Deleted:
		if c.Event == spec.AfterEnded || c.Event == spec.AfterStarted || c.Workload == "" && w.Attempt > 0 {
			if err == nil && c.Came.IsZero() {
				c.Came = cmp.Or(x.EndedAt, x.PhaseAt)
			}
			return delayed(tx, c, c.Of+" was deleted")
		}
		return core.CheckRejected, c.Of + " was deleted, and cannot have " + c.Event + " any more"
	}
	c.Workload, c.Of, c.AskAt, c.Came = x.ID, x.Name, time.Time{}, time.Time{}
	if c.PerTask {
		return firstFellows(tx, w, x, c)
	}
	if c.Tasks != nil {
		return tasksCome(tx, w, x, c)
	}
	end, well := x.Phase.End(), x.Phase == lifecycle.Completed
	since := x.EndedAt
	if c.Event == spec.AfterStarted && !x.StartedAt.IsZero() {
		since = x.StartedAt
	}
	switch {
	case c.Event == spec.AfterStarted && (!x.StartedAt.IsZero() || end),
		c.Event == spec.AfterEnded && end,
		c.Event == spec.AfterSucceeded && well,
		c.Event == spec.AfterFailed && end && !well:
		c.Came = since
		return delayed(tx, c, fmt.Sprintf("%s is %s", x.Name, x.Phase))
	case end:
		return core.CheckWaiting, fmt.Sprintf("%s is %s: this goes on if that is restarted and has %s", x.Name, x.Phase, c.Event)
	}
	return core.CheckWaiting, ""
}

// delayed is the verdict on c, which waits for something that has come, once the
// delay after it is over.
func delayed(tx *draft.Tx, c *core.CheckState, why string) (core.CheckVerdict, string) {
	at := c.Came.Add(c.Delay)
	if c.Delay <= 0 || !at.After(tx.Now) {
		return core.CheckApproved, why
	}
	c.AskAt = at
	return core.CheckWaiting, fmt.Sprintf("it has %s at %s, and this goes on at %s", c.Event, c.Came.UTC().Format(time.RFC3339), at.UTC().Format(time.RFC3339))
}

// awaited is the workload that c waits for.
func awaited(tx *draft.Tx, w *core.Workload, c *core.CheckState) (*core.Workload, error) {
	if c.Workload == "" {
		return Foregoer(tx, w.Project, c.Of)
	}
	d, err := tx.Find(draft.Ref{ID: c.Workload})
	if err != nil {
		return nil, err
	}
	return d.W, nil
}

// CheckDependencies takes over, for everything that waits for workloads, those that
// have come further in this draft.
func CheckDependencies(tx *draft.Tx) {
	for len(tx.Moved) > 0 {
		id := tx.Moved[0]
		tx.Moved = tx.Moved[1:]
		for _, next := range slices.Sorted(maps.Keys(tx.State.Awaited[id])) {
			if d, ok := tx.Open(next); ok {
				if err := tx.Change(d, func() error { return checkDependencies(tx, d) }); err != nil {
					tx.State.D.Log.Error("what a workload waited for does not fit its state", "workload", next, "err", err)
				}
			}
		}
	}
}

// ForegoingPending is a reason for waiting for another workload, or the time.
func ForegoingPending(tx *draft.Tx, c *core.CheckState) schedule.Reason {
	if c.Type == workload.CheckTime {
		return schedule.Reason{Token: schedule.BeginTime, Resource: c.Name, Until: c.AskAt.UnixMilli(), Note: "at " + c.AskAt.UTC().Format(time.RFC3339)}
	}
	what := map[string]string{spec.AfterSucceeded: "succeed", spec.AfterFailed: "fail", spec.AfterEnded: "end", spec.AfterStarted: "start"}[c.Event]
	note := c.Of + " to " + what
	if c.PerTask {
		note = "tasks of " + c.Of + " to " + what + ", one for each of its own: " + workload.SpanWords(c.Left) + " wait"
	}
	if c.Tasks != nil {
		note = "task " + workload.SpanWords(c.Tasks) + " of " + note
	}
	if c.Any {
		note += ", or for another of those that any stands at"
	}
	if c.Delay > 0 {
		note += ", and " + spec.Duration(c.Delay).String() + " longer"
	}
	switch w, _, ok := tx.View(c.Workload); {
	case c.Message != "":
		note += "; " + c.Message
	case ok:
		note += "; it is " + strings.TrimSpace(string(w.Phase)) + " since " + w.PhaseAt.UTC().Format(time.RFC3339)
	}
	return schedule.Reason{Token: schedule.Dependency, Resource: c.Name, Note: note}
}

// othersHope reports whether, of the checks of w of which one is enough, another than
// check i may still be approved.
func othersHope(tx *draft.Tx, w *core.Workload, i int) bool {
	for j := range w.Checks {
		c := w.Checks[j] // a copy: come notes in it what it finds
		if j == i || !c.Any || c.Type != workload.CheckAfter {
			continue
		}
		if verdict, _ := come(tx, w, &c); verdict != core.CheckRejected {
			return true
		}
	}
	return false
}

// enough approves those checks of d, of which one is enough, that stand beside i.
func enough(tx *draft.Tx, d *draft.Draft, i int) {
	d.W.Checks = slices.Clone(d.W.Checks)
	first := d.W.Checks[i].Of
	for j := range d.W.Checks {
		if c := &d.W.Checks[j]; j != i && c.Any && c.Type == workload.CheckAfter && c.Verdict == core.CheckWaiting {
			c.Verdict, c.By, c.At, c.AskAt = core.CheckApproved, draft.ActorControl, tx.Now, time.Time{}
			c.Message = first + " came first"
		}
	}
}
