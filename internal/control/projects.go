package control

import (
	"fmt"
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// project returns a project as the draft has it.
func (tx *tx) project(id core.ProjectID) (core.Project, bool) {
	for i := len(tx.projects) - 1; i >= 0; i-- {
		if tx.projects[i].ID == id {
			return tx.projects[i], true
		}
	}
	p, ok := tx.e.projects[id]
	return p, ok
}

// CreateProject makes a project; workloads that waited for it are queued.
func CreateProject(id core.ProjectID) Command {
	return func(tx *tx) (any, error) {
		if _, ok := tx.project(id); ok {
			return nil, &Error{Code: CodeConflict, Field: "name", Message: fmt.Sprintf("project %q exists already", id), Hint: "muster project list shows all"}
		}
		return tx.putProject(core.Project{ID: id, CreatedAt: tx.now})
	}
}

// SetProject stops a project (nothing of it is queued; what runs goes on) or
// opens it again.
func SetProject(id core.ProjectID, stopped bool, note string) Command {
	return func(tx *tx) (any, error) {
		p, ok := tx.project(id)
		if !ok {
			return nil, notFound(fmt.Sprintf("project %q", id))
		}
		p.Stopped, p.Note = stopped, note
		return tx.putProject(p)
	}
}

// SetRules replaces what a project demands. Limits hold at once, checks for
// what is submitted from now on.
func SetRules(id core.ProjectID, r core.Rules) Command {
	return func(tx *tx) (any, error) {
		p, ok := tx.project(id)
		if !ok {
			return nil, notFound(fmt.Sprintf("project %q", id))
		}
		p.Rules = r
		return tx.putProject(p)
	}
}

func (tx *tx) putProject(p core.Project) (any, error) {
	before, _ := tx.project(p.ID)
	limits := !maps.Equal(before.TimeLimit, p.TimeLimit) || !maps.Equal(before.IdleLimit, p.IdleLimit)
	tx.projects = append(tx.projects, p)
	tx.e.dirty = true // what runs may grow again, or not any more
	var ids []core.WorkloadID
	for id := range tx.e.live {
		ids = append(ids, id)
	}
	for id := range tx.drafts {
		if _, ok := tx.e.live[id]; !ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids) // the same commands make the same history
	for _, id := range ids {
		w, _, ok := tx.view(id)
		if !ok || w.Project != p.ID {
			continue
		}
		waits := w.Phase == lifecycle.Queued || w.Phase == lifecycle.Reserved
		toggles := p.Stopped && waits || !p.Stopped && w.Phase == lifecycle.Inadmissible
		if !toggles && !(limits && w.Phase.Held()) {
			continue
		}
		d, _ := tx.open(id)
		err := tx.change(d, func() error { // of what runs, the limits are counted anew
			d.unwarn()
			if toggles {
				return tx.toQueue(d)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return p, nil
}
