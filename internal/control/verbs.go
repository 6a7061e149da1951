package control

import (
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// StopRequest ends a workload and keeps its definition.
type StopRequest struct {
	Ref     Ref
	Actor   string
	Message string
	Grace   *time.Duration // instead of the workload's own
}

// Stop ends a workload; the value is the workload. One that is being stopped
// already, or has ended, is refused with its phase.
func Stop(r StopRequest) Command {
	return func(tx *tx) (any, error) {
		d, err := tx.find(r.Ref)
		if err != nil {
			return nil, err
		}
		in := lifecycle.Input{On: lifecycle.Stop, Reason: lifecycle.ReasonStoppedByUser, Message: r.Message}
		if _, err := lifecycle.Next(d.w.State, in); err != nil {
			return nil, illegal(d.w.Name, err)
		}
		err = tx.change(d, func() error { return tx.endWithin(d, in, r.Actor, r.Grace) })
		return d.w, err
	}
}

// end applies an event that ends the present attempt, tells what runs to end,
// and goes on to the target when nothing does. It must run inside change.
func (tx *tx) end(d *draft, in lifecycle.Input, actor string) error {
	return tx.endWithin(d, in, actor, nil)
}

func (tx *tx) endWithin(d *draft, in lifecycle.Input, actor string, within *time.Duration) error {
	if err := tx.step(d, in, actor); err != nil {
		return err
	}
	if d.w.Phase == lifecycle.Deleting {
		tx.actions = append(tx.actions, Action{Kind: ActDeleteLogs, Workload: d.w.ID})
	}
	if d.w.Phase != lifecycle.Terminating {
		return nil
	}
	d.w.EndGrace = 0
	g := grace(d.w)
	if within != nil {
		g, d.w.EndGrace = *within, *within
	}
	for _, t := range sortedTasks(d.tasks) {
		if t.State.Held() {
			c := *t
			c.State = core.TaskStopping
			d.setTask(c)
			tx.stop(&c, g)
		}
	}
	return tx.release(d)
}

// release gives the resources back once no task of the attempt is left.
func (tx *tx) release(d *draft) error {
	for _, t := range d.tasks {
		if t.State.Held() {
			return nil
		}
	}
	d.condition(core.Condition{Type: lifecycle.Degraded}, false)
	if err := tx.step(d, lifecycle.Input{On: lifecycle.Release}, actorControl); err != nil {
		return err
	}
	if d.w.Phase == lifecycle.Deleting {
		tx.actions = append(tx.actions, Action{Kind: ActDeleteLogs, Workload: d.w.ID})
	}
	return tx.queuedAgain(d)
}

// queuedAgain takes a workload that came back to its queue out of it where the
// queue has been closed meanwhile.
func (tx *tx) queuedAgain(d *draft) error {
	why, note := tx.closed(d.w.Project)
	if d.w.Phase != lifecycle.Queued || why == lifecycle.ReasonNone {
		return nil
	}
	return tx.step(d, lifecycle.Input{On: lifecycle.QueueClosed, Reason: why, Message: note}, actorControl)
}

// Restart runs an ended workload again from the start, as a new attempt.
func Restart(r Ref, actor string) Command {
	return func(tx *tx) (any, error) {
		d, err := tx.find(r)
		if err != nil {
			return nil, err
		}
		in := lifecycle.Input{On: lifecycle.Restart, Reason: lifecycle.ReasonRestartedByUser}
		if _, err := lifecycle.Next(d.w.State, in); err != nil {
			return nil, illegal(d.w.Name, err)
		}
		if err := tx.feasible(d.w.Spec); err != nil {
			return nil, err
		}
		if d, err = tx.reopen(d); err != nil {
			return nil, err
		}
		err = tx.change(d, func() error {
			if err := tx.step(d, in, actor); err != nil {
				return err
			}
			d.w.Failures, d.w.SystemFailures = 0, 0
			return tx.gate(d)
		})
		return d.w, err
	}
}

// Delete removes a workload, its logs and artifacts, ending it first.
func Delete(r Ref, actor string) Command {
	return func(tx *tx) (any, error) {
		d, err := tx.find(r)
		if err != nil {
			return nil, err
		}
		if _, err := lifecycle.Next(d.w.State, lifecycle.Input{On: lifecycle.Delete}); err != nil {
			return nil, illegal(d.w.Name, err)
		}
		if d, err = tx.reopen(d); err != nil {
			return nil, err
		}
		err = tx.change(d, func() error { return tx.remove(d, lifecycle.ReasonDeletedByUser, "", actor) })
		return d.w, err
	}
}

func (tx *tx) remove(d *draft, why lifecycle.Reason, message, actor string) error {
	return tx.end(d, lifecycle.Input{On: lifecycle.Delete, Reason: why, Message: message}, actor)
}

// Removed reports that the logs and artifacts of a Deleting workload are gone,
// or why they are not.
func Removed(id core.WorkloadID, failure error) Command {
	return func(tx *tx) (any, error) {
		d, ok := tx.open(id)
		if !ok || d.w.Phase != lifecycle.Deleting {
			return nil, nil
		}
		in := lifecycle.Input{On: lifecycle.Remove, Reason: d.w.Reason, Message: d.w.Message}
		if failure != nil {
			in = lifecycle.Input{On: lifecycle.RemoveFail, Reason: lifecycle.ReasonDeleteFailed, Message: failure.Error()}
		}
		return nil, tx.change(d, func() error { return tx.step(d, in, actorControl) })
	}
}

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

func (tx *tx) putProject(p core.Project) (any, error) {
	tx.projects = append(tx.projects, p)
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
		if p.Stopped == (w.Phase == lifecycle.Queued) && (w.Phase == lifecycle.Queued || w.Phase == lifecycle.Inadmissible) {
			d, _ := tx.open(id)
			if err := tx.change(d, func() error { return tx.gate(d) }); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}
