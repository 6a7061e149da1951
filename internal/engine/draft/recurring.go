package draft

import (
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Recurring are the schedules, by what has to be known of them in every round. It
// follows from the templates and the workloads; a server that begins looks at all.
type Recurring struct {
	next    map[core.TemplateID]time.Time         // when the clock alone makes it worth a look; zero: never
	of      map[core.WorkloadID]core.TemplateID   // whose run a workload is
	runs    map[core.TemplateID][]core.WorkloadID // the other way round
	changed map[core.TemplateID]struct{}          // it, or a run of it, is not as it was looked at
	zones   map[string]*time.Location             // that were asked for
}

// Zone is the time zone of a name, such as Europe/Berlin.
func (e *State) Zone(name string) (*time.Location, error) {
	if z := e.Recurring.zones[name]; z != nil {
		return z, nil
	}
	z, err := time.LoadLocation(name)
	if err == nil {
		Put(&e.Recurring.zones, name, z)
	}
	return z, err
}

// recurs notes that a schedule is another, or gone.
func (e *State) recurs(id core.TemplateID, s *core.Schedule) {
	r := &e.Recurring
	for _, w := range r.runs[id] {
		delete(r.of, w)
	}
	delete(r.runs, id)
	delete(r.next, id)
	delete(r.changed, id)
	if s == nil {
		return
	}
	var all []core.WorkloadID
	for _, run := range s.Runs {
		Put(&r.of, run.ID, id)
		all = append(all, run.ID)
	}
	Put(&r.runs, id, all)
	Put(&r.changed, id, struct{}{})
}

// ran notes that a run of a schedule has ended, or is being deleted, or runs again.
func (e *State) ran(d *Draft) {
	id, ok := e.Recurring.of[d.W.ID]
	if !ok {
		return
	}
	if d.Was == nil || d.Was.Phase != d.W.Phase && (d.Was.Phase.End() || d.W.Phase.End() || d.W.Phase == lifecycle.Deleting) {
		Put(&e.Recurring.changed, id, struct{}{})
	}
}

// nextRecurring is when a schedule has to be looked at; zero: never.
func (e *State) nextRecurring() (at time.Time) {
	if len(e.Recurring.changed) > 0 {
		return e.Now // at once
	}
	for _, t := range e.Recurring.next {
		at = workload.Earliest(at, t)
	}
	return at
}

// DueSchedules are those that have to be looked at now, by project and name.
func (tx *Tx) DueSchedules() []core.TemplateID {
	r := &tx.State.Recurring
	due := maps.Clone(r.changed)
	for id, at := range r.next {
		if !at.IsZero() && !at.After(tx.Now) {
			Put(&due, id, struct{}{})
		}
	}
	return slices.SortedFunc(maps.Keys(due), compareTemplates)
}

// LookedAt notes when a schedule that was looked at is to be looked at again; zero:
// when something changes.
func (tx *Tx) LookedAt(id core.TemplateID, next time.Time) { Put(&tx.looked, id, next) }

// lookedAt takes over what the draft says of schedules. What is written after it
// may have them looked at again.
func (e *State) lookedAt(tx *Tx) {
	for id, next := range tx.looked {
		delete(e.Recurring.changed, id)
		Put(&e.Recurring.next, id, next)
	}
}

// PutTemplate has a template be as it is given.
func (tx *Tx) PutTemplate(t core.Template) {
	tx.Templated.Drop(t.ID())
	tx.Templated.Put = append(tx.Templated.Put, t)
}

// DropTemplate has a template be no more.
func (tx *Tx) DropTemplate(id core.TemplateID) {
	tx.Templated.Drop(id)
	tx.Templated.Gone = append(tx.Templated.Gone, id)
}
