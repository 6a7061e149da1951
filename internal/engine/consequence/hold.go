package consequence

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/planner"
)

// ClosedTo says whether w is kept out of its queue at present, and why.
func ClosedTo(tx *draft.Tx, w *core.Workload) (closing, string) {
	why, note := Closed(tx, w.Project)
	if why == QueueOpen && w.Hold != nil {
		return heldBack, HeldNote(w.Hold)
	}
	if x := tx.State.Spending.Over(w.Project, w.User); why == QueueOpen && x != nil {
		return overBudget, OverNote(tx, x)
	}
	return why, note
}

// CloseAnew has the history say of what is Inadmissible that it is so for
// another reason than before.
func CloseAnew(tx *draft.Tx, d *draft.Draft) error {
	why, note := ClosedTo(tx, d.W)
	if why == QueueOpen || why.reason() == d.W.Reason {
		return nil
	}
	return tx.Step(d, lifecycle.Input{On: lifecycle.QueueClosed, Reason: why.reason(), Message: note}, draft.ActorControl)
}

// HeldNote says who holds a workload, and since when.
func HeldNote(h *core.Hold) string {
	return "held by " + strings.TrimPrefix(h.By, "user:") + " since " + h.At.UTC().Format(time.RFC3339) + More(h.Message)
}

// More is a message as it follows a sentence.
func More(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}

// HeldPending is that somebody holds it, as a reason for waiting.
func HeldPending(h *core.Hold) schedule.Reason {
	return schedule.Reason{Token: schedule.HeldBack, Note: HeldNote(h)}
}

// Few lists the first of many names.
func Few(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// closing is what keeps a workload out of its queue.
type closing int

// What may keep it out.
const (
	QueueOpen closing = iota // nothing does
	QueueMissing
	queueStopped
	heldBack // somebody holds the workload
	overBudget
)

// reason is how a transition explains it.
func (c closing) reason() lifecycle.Reason {
	return [...]lifecycle.Reason{lifecycle.ReasonNone, lifecycle.ReasonQueueNotFound, lifecycle.ReasonQueueStopped, lifecycle.ReasonHeld, lifecycle.ReasonOverBudget}[c]
}

// Closed says whether a project takes nothing at present, and why.
func Closed(tx *draft.Tx, id core.ProjectID) (closing, string) {
	p, ok := tx.Project(id)
	switch {
	case !ok:
		return QueueMissing, fmt.Sprintf("project %q does not exist; muster project create %s makes it", id, id)
	case p.Department:
		return QueueMissing, fmt.Sprintf("%q is a department, and only projects take workloads", id)
	}
	mode, by := tx.Tree().Stopped(id)
	switch {
	case mode == core.StopNone:
		return QueueOpen, ""
	case by.ID == id:
		return queueStopped, fmt.Sprintf("project %q is stopped%s; muster project start %s opens it", id, planner.Noted(by.Note), id)
	default:
		return queueStopped, fmt.Sprintf("department %q above project %q is stopped%s; muster department start %s opens it", by.ID, id, planner.Noted(by.Note), by.ID)
	}
}

// Takes refuses a document that names a department.
func Takes(tx *draft.Tx, id core.ProjectID) error {
	p, ok := tx.Project(id)
	if !ok || !p.Department {
		return nil
	}
	var below []string
	for x := range tx.EachProject() {
		if !x.Department && tx.Tree().Below(x.ID, id) {
			below = append(below, string(x.ID))
		}
	}
	hint := fmt.Sprintf("muster project create NAME --parent %s makes a project in it", id)
	if slices.Sort(below); len(below) > 0 {
		hint = "name one of its projects: " + Few(below)
	}
	return &draft.Error{Code: draft.CodeInvalid, Field: "project", Message: fmt.Sprintf("%q is a department, and only projects take workloads", id), Hint: hint}
}
