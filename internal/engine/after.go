package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/store"
)

// Checks that nobody is asked about: they follow from how far another workload
// is, or from the time. They are checks because they are what those are,
// something that has to come true before a workload competes for anything; so
// everything that knows of checks knows of them.
const (
	checkAfter = "workload"
	checkTime  = "time"
)

// awaitedBy keeps, by workload, who waits for it.
type awaitedBy map[core.WorkloadID]map[core.WorkloadID]struct{}

func (a awaitedBy) index(w *core.Workload) {
	for id := range awaits(w) {
		if a[id] == nil {
			a[id] = map[core.WorkloadID]struct{}{}
		}
		a[id][w.ID] = struct{}{}
	}
}

func (a awaitedBy) unindex(w *core.Workload) {
	for id := range awaits(w) {
		if delete(a[id], w.ID); len(a[id]) == 0 {
			delete(a, id)
		}
	}
}

// awaits are the workloads that w waits for.
func awaits(w *core.Workload) map[core.WorkloadID]struct{} {
	if w.Phase != lifecycle.Reviewing {
		return nil
	}
	var out map[core.WorkloadID]struct{}
	for _, c := range w.Checks {
		if c.Type == checkAfter && c.Verdict == core.CheckWaiting && c.Workload != "" {
			if out == nil {
				out = map[core.WorkloadID]struct{}{}
			}
			out[c.Workload] = struct{}{}
		}
	}
	return out
}

// foregoing are the checks that follow from what a document says of others and
// of the time. What is run again does not wait for what was deleted meanwhile.
func (tx *tx) foregoing(w *core.Workload) (all []core.CheckState) {
	if at := w.Spec.Begin(); at.After(tx.now) {
		all = append(all, core.CheckState{Name: "not-before", Type: checkTime, When: atQueue, AskAt: at, Verdict: core.CheckWaiting})
	}
	for _, a := range w.Spec.After {
		c := core.CheckState{Name: "after-" + a.Workload, Type: checkAfter, When: atQueue, Event: a.Event(), Verdict: core.CheckWaiting}
		if a.Event() != spec.AfterSucceeded {
			c.Name += "-" + a.Event()
		}
		switch x, err := tx.foregoer(w.Project, a.Workload); {
		case err == nil:
			c.Workload, c.Of = x.ID, x.Name
		case isNotFound(err) && w.Attempt > 0:
			continue
		default:
			c.Of = a.Workload // come finds it later, or finds out that it was deleted
		}
		all = append(all, c)
	}
	return all
}

// foregoer is the workload that a document names as one that comes before.
func (tx *tx) foregoer(project core.ProjectID, ref string) (*core.Workload, error) {
	d, err := tx.find(Ref{Project: project, Name: ref})
	if isNotFound(err) {
		d, err = tx.find(Ref{ID: core.WorkloadID(ref)})
	}
	if n, is := strconv.ParseInt(ref, 10, 64); isNotFound(err) && is == nil && n > 0 {
		page, listErr := tx.e.D.Store.List(tx.ctx, store.Query{Cursor: n + 1, Limit: 1}) // what comes next below
		if listErr != nil {
			return nil, fromStore(listErr)
		}
		if len(page.Items) == 1 && page.Items[0].Seq == n {
			d, err = tx.find(Ref{ID: page.Items[0].ID})
		}
	}
	if err != nil {
		return nil, err
	}
	return d.w, nil
}

// follows refuses a document that waits for workloads that are not there, nor
// come before it.
func (tx *tx) follows(doc *spec.Document, before []*spec.Document) error {
	for i, a := range doc.After {
		if slices.ContainsFunc(before, func(b *spec.Document) bool { return b != nil && b.Project == doc.Project && b.Name == a.Workload }) {
			continue
		}
		switch _, err := tx.foregoer(core.ProjectID(doc.Project), a.Workload); {
		case isNotFound(err):
			return &Error{
				Code: CodeInvalid, Field: fmt.Sprintf("after[%d].workload", i), Message: fmt.Sprintf("there is no workload %q in project %s", a.Workload, doc.Project),
				Hint: "submit that one first; muster get lists what there is",
			}
		case err != nil:
			return err
		}
	}
	return nil
}

// followsAnew is follows for another document of w: what w had waited for before
// may be gone, and it cannot wait for itself.
func (tx *tx) followsAnew(w *core.Workload, doc *spec.Document) error {
	var before []*spec.Document
	for _, a := range w.Spec.After {
		before = append(before, &spec.Document{Project: doc.Project, Name: a.Workload})
	}
	for i, a := range doc.After {
		if x, err := tx.foregoer(w.Project, a.Workload); err == nil && x.ID == w.ID {
			return &Error{Code: CodeInvalid, Field: fmt.Sprintf("after[%d].workload", i), Message: w.Name + " cannot wait for itself", Hint: "name another workload, or leave it out"}
		}
	}
	return tx.follows(doc, before)
}

// heed takes over what has come of the workloads and times that d waits for. It
// must run inside change.
func (tx *tx) heed(d *draft) error {
	for i := range d.w.Checks {
		c := d.w.Checks[i]
		if c.Verdict != core.CheckWaiting || c.Type != checkAfter && c.Type != checkTime {
			continue
		}
		verdict, why := tx.come(d.w, &c)
		if verdict == core.CheckWaiting {
			c.Message = why
			d.w.Checks = slices.Clone(d.w.Checks)
			d.w.Checks[i] = c
			continue
		}
		if err := tx.decide(d, i, verdict, actorControl, why); err != nil || d.w.Phase != lifecycle.Reviewing {
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
func (tx *tx) come(w *core.Workload, c *core.CheckState) (core.CheckVerdict, string) {
	if c.Type == checkTime {
		if c.AskAt.After(tx.now) {
			return core.CheckWaiting, ""
		}
		return core.CheckApproved, "it is time"
	}
	x, err := tx.awaited(w, c)
	switch {
	case err != nil && !isNotFound(err):
		tx.e.D.Log.Warn("a workload that another waits for cannot be read; looking again", "workload", w.ID, "after", c.Of, "err", err)
		c.AskAt = tx.now.Add(lookAgain)
		return core.CheckWaiting, c.Of + " cannot be read at present"
	case err != nil || x.Phase == lifecycle.Deleted:
		if c.Event == spec.AfterEnded || c.Event == spec.AfterStarted || c.Workload == "" && w.Attempt > 0 {
			return core.CheckApproved, c.Of + " was deleted"
		}
		return core.CheckRejected, c.Of + " was deleted, and cannot have " + c.Event + " any more"
	}
	c.Workload, c.Of, c.AskAt = x.ID, x.Name, time.Time{}
	end, well := x.Phase.End(), x.Phase == lifecycle.Completed
	switch {
	case c.Event == spec.AfterStarted && (!x.StartedAt.IsZero() || end),
		c.Event == spec.AfterEnded && end,
		c.Event == spec.AfterSucceeded && well,
		c.Event == spec.AfterFailed && end && !well:
		return core.CheckApproved, fmt.Sprintf("%s is %s", x.Name, x.Phase)
	case end:
		return core.CheckWaiting, fmt.Sprintf("%s is %s: this goes on if that is restarted and has %s", x.Name, x.Phase, c.Event)
	}
	return core.CheckWaiting, ""
}

// awaited is the workload that c waits for.
func (tx *tx) awaited(w *core.Workload, c *core.CheckState) (*core.Workload, error) {
	if c.Workload == "" {
		return tx.foregoer(w.Project, c.Of)
	}
	d, err := tx.find(Ref{ID: c.Workload})
	if err != nil {
		return nil, err
	}
	return d.w, nil
}

// heedAll has everything that waits for workloads heed those that have come
// further in this draft.
func (tx *tx) heedAll() {
	for len(tx.moved) > 0 {
		id := tx.moved[0]
		tx.moved = tx.moved[1:]
		for _, next := range slices.Sorted(maps.Keys(tx.e.awaited[id])) {
			if d, ok := tx.open(next); ok {
				if err := tx.change(d, func() error { return tx.heed(d) }); err != nil {
					tx.e.D.Log.Error("what a workload waited for does not fit its state", "workload", next, "err", err)
				}
			}
		}
	}
}

// foregoingPending is a reason for waiting for another workload, or the time.
func (tx *tx) foregoingPending(c *core.CheckState) schedule.Reason {
	if c.Type == checkTime {
		return schedule.Reason{Token: schedule.BeginTime, Resource: c.Name, Until: c.AskAt.UnixMilli(), Note: "at " + c.AskAt.UTC().Format(time.RFC3339)}
	}
	what := map[string]string{spec.AfterSucceeded: "succeed", spec.AfterFailed: "fail", spec.AfterEnded: "end", spec.AfterStarted: "start"}[c.Event]
	note := c.Of + " to " + what
	switch w, _, ok := tx.view(c.Workload); {
	case c.Message != "":
		note += "; " + c.Message
	case ok:
		note += "; it is " + strings.TrimSpace(string(w.Phase)) + " since " + w.PhaseAt.UTC().Format(time.RFC3339)
	}
	return schedule.Reason{Token: schedule.Dependency, Resource: c.Name, Note: note}
}
