package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// CreateProject makes a project; workloads that waited for it are queued. The
// value is an []Edited.
func CreateProject(id core.ProjectID) Command {
	return Organise([]Edit{{What: RecordProject, Name: string(id), Must: MustBeNew, Project: func(*core.Project) error { return nil }}}, false)
}

// SetProject stops a project or department, with everything below it, or opens
// it again; the value is an []Edited.
func SetProject(what Record, id core.ProjectID, mode core.StopMode, note string) Command {
	return Organise([]Edit{{What: what, Name: string(id), Must: MustExist, Project: func(p *core.Project) error {
		p.StopMode, p.Note = mode, note
		return nil
	}}}, false)
}

// SetRules replaces what a project demands. Limits hold at once, checks for
// what is submitted from now on. The value is an []Edited.
func SetRules(id core.ProjectID, r core.Rules) Command {
	return Organise([]Edit{{What: RecordProject, Name: string(id), Must: MustExist, Project: func(p *core.Project) error {
		p.Rules = r
		return nil
	}}}, false)
}

// follow draws what follows from edits for workloads that are there.
func (tx *tx) follow(edits []Edit, was organisation) error {
	changed, limits := map[core.ProjectID]bool{}, false
	for _, e := range edits {
		if e.What == RecordPool || e.What == RecordNode || e.What == RecordLicense || e.What == RecordReservation {
			continue
		}
		id := core.ProjectID(e.Name)
		changed[id] = true
		before, ok := tx.e.projects[id]
		if p := was.projects[id]; p != nil {
			before, ok = *p, true
		}
		now, _ := tx.project(id)
		limits = limits || !maps.Equal(before.TimeLimit, now.TimeLimit) || !maps.Equal(before.IdleLimit, now.IdleLimit) || ok && before.Parent != now.Parent
	}
	tx.e.dirty = true // what runs may grow again, or not any more
	if err := errors.Join(tx.stay(edits), tx.expel(edits, was)); err != nil {
		return err
	}
	if len(changed) == 0 {
		return nil
	}
	for id := range tx.workloads() {
		w, _, ok := tx.view(id)
		if !ok || !changed[w.Project] && !tx.belowAny(w.Project, changed) {
			continue
		}
		if err := tx.reconsider(w, limits); err != nil {
			return err
		}
	}
	return nil
}

// belowAny reports whether something above a project is among ids.
func (tx *tx) belowAny(id core.ProjectID, ids map[core.ProjectID]bool) bool {
	for p := range tx.tree().Up(id) {
		if ids[p.ID] {
			return true
		}
	}
	return false
}

// reconsider applies what holds now for the project of w.
func (tx *tx) reconsider(w *core.Workload, limits bool) error {
	why, note := tx.closedTo(w)
	open := why == queueOpen
	waits := w.Phase == lifecycle.Queued || w.Phase == lifecycle.Reserved
	toggles := !open && waits || open && w.Phase == lifecycle.Inadmissible
	mode, _ := tx.tree().Stopped(w.Project)
	drains := mode == core.StopHoldAndDrain && w.Phase.Active()
	held := w.Hold != nil && w.Phase == lifecycle.Inadmissible
	if !toggles && !drains && !held && !(limits && w.Phase.Held()) {
		return nil
	}
	d, _ := tx.open(w.ID)
	return tx.change(d, func() error {
		d.unwarn() // of what runs, the limits are counted anew
		switch {
		case toggles:
			return tx.toQueue(d)
		case held:
			return tx.closeAnew(d)
		case drains:
			return tx.end(d, lifecycle.Input{On: lifecycle.Preempt, Target: decide.AfterPreemption(d.w.Kind, d.w.Spec), Cause: lifecycle.CauseDrain, Message: note}, actorControl)
		default:
			return nil
		}
	})
}

// closing is what keeps a workload out of its queue.
type closing int

// What may keep it out.
const (
	queueOpen closing = iota // nothing does
	queueMissing
	queueStopped
	heldBack // somebody holds the workload
)

// reason is how a transition explains it.
func (c closing) reason() lifecycle.Reason {
	return [...]lifecycle.Reason{lifecycle.ReasonNone, lifecycle.ReasonQueueNotFound, lifecycle.ReasonQueueStopped, lifecycle.ReasonHeld}[c]
}

// closed says whether a project takes nothing at present, and why.
func (tx *tx) closed(id core.ProjectID) (closing, string) {
	p, ok := tx.project(id)
	switch {
	case !ok:
		return queueMissing, fmt.Sprintf("project %q does not exist; muster project create %s makes it", id, id)
	case p.Department:
		return queueMissing, fmt.Sprintf("%q is a department, and only projects take workloads", id)
	}
	mode, by := tx.tree().Stopped(id)
	switch {
	case mode == core.StopNone:
		return queueOpen, ""
	case by.ID == id:
		return queueStopped, fmt.Sprintf("project %q is stopped%s; muster project start %s opens it", id, noted(by.Note), id)
	default:
		return queueStopped, fmt.Sprintf("department %q above project %q is stopped%s; muster department start %s opens it", by.ID, id, noted(by.Note), by.ID)
	}
}

func noted(note string) string {
	if note == "" {
		return ""
	}
	return " (" + note + ")"
}

// takes refuses a document that names a department.
func (tx *tx) takes(id core.ProjectID) error {
	p, ok := tx.project(id)
	if !ok || !p.Department {
		return nil
	}
	var below []string
	for x := range tx.eachProject() {
		if !x.Department && tx.tree().Below(x.ID, id) {
			below = append(below, string(x.ID))
		}
	}
	hint := fmt.Sprintf("muster project create NAME --parent %s makes a project in it", id)
	if slices.Sort(below); len(below) > 0 {
		hint = "name one of its projects: " + few(below)
	}
	return &Error{Code: CodeInvalid, Field: "project", Message: fmt.Sprintf("%q is a department, and only projects take workloads", id), Hint: hint}
}
