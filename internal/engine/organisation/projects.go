package organisation

import (
	"errors"
	"maps"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
)

// CreateProject makes a project; workloads that waited for it are queued.
func CreateProject(id core.ProjectID) draft.Command[[]Edited] {
	return Organise([]Edit{{What: RecordProject, Name: string(id), Must: MustBeNew, Project: func(*core.Project) error { return nil }}}, false)
}

// SetProject stops a project or department, with everything below it, or opens it
// again.
func SetProject(what Record, id core.ProjectID, mode core.StopMode, note string) draft.Command[[]Edited] {
	return Organise([]Edit{{What: what, Name: string(id), Must: MustExist, Project: func(p *core.Project) error {
		p.StopMode, p.Note = mode, note
		return nil
	}}}, false)
}

// SetRules replaces what a project demands of what is submitted from now on.
func SetRules(id core.ProjectID, r core.Rules) draft.Command[[]Edited] {
	return Organise([]Edit{{What: RecordProject, Name: string(id), Must: MustExist, Project: func(p *core.Project) error {
		p.Rules = r
		return nil
	}}}, false)
}

// follow draws what follows from edits for workloads that are there.
func follow(tx *draft.Tx, edits []Edit, was draft.OrganisationDraft) error {
	changed, limits := map[core.ProjectID]bool{}, false
	for _, e := range edits {
		if e.What != RecordProject && e.What != RecordDepartment {
			continue
		}
		id := core.ProjectID(e.Name)
		changed[id] = true
		before, ok := tx.State.Projects[id]
		if p := was.Projects[id]; p != nil {
			before, ok = *p, true
		}
		now, _ := tx.Project(id)
		limits = limits || !maps.Equal(before.TimeLimit, now.TimeLimit) || !maps.Equal(before.IdleLimit, now.IdleLimit) || ok && before.Parent != now.Parent
	}
	tx.State.Dirty = true // what runs may grow again, or not any more
	if err := errors.Join(stay(tx, edits), expel(tx, edits, was)); err != nil {
		return err
	}
	if len(changed) == 0 {
		return nil
	}
	for id := range tx.Workloads() {
		w, _, ok := tx.View(id)
		if !ok || !changed[w.Project] && !belowAny(tx, w.Project, changed) {
			continue
		}
		if err := reconsider(tx, w, limits); err != nil {
			return err
		}
	}
	return nil
}

// belowAny reports whether something above a project is among ids.
func belowAny(tx *draft.Tx, id core.ProjectID, ids map[core.ProjectID]bool) bool {
	for p := range tx.Tree().Up(id) {
		if ids[p.ID] {
			return true
		}
	}
	return false
}

// reconsider applies what holds now for the project of w.
func reconsider(tx *draft.Tx, w *core.Workload, limits bool) error {
	why, note := consequence.ClosedTo(tx, w)
	open := why == consequence.QueueOpen
	waits := w.Phase.InQueue()
	toggles := !open && waits || open && w.Phase == lifecycle.Inadmissible
	mode, _ := tx.Tree().Stopped(w.Project)
	drains := mode == core.StopHoldAndDrain && w.Phase.Active()
	held := w.Hold != nil && w.Phase == lifecycle.Inadmissible
	if !toggles && !drains && !held && !(limits && w.Phase.Held()) {
		return nil
	}
	d, _ := tx.Open(w.ID)
	return tx.Change(d, func() error {
		d.Unwarn() // of what runs, the limits are counted anew
		switch {
		case toggles:
			return consequence.ToQueue(tx, d)
		case held:
			return consequence.CloseAnew(tx, d)
		case drains:
			return consequence.End(tx, d, lifecycle.Input{On: lifecycle.Preempt, Target: decide.AfterPreemption(d.W.Kind, d.W.Spec), Cause: lifecycle.CauseDrain, Message: note}, draft.ActorControl)
		default:
			return nil
		}
	})
}
