// Package agenda is what has to be known of schedules in every round: when each is to be
// looked at again, and which workloads are its runs.
package agenda

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Agenda follows from the schedules and their runs, as they are committed. The zero one
// knows none.
type Agenda struct {
	next    map[core.TemplateID]time.Time         // when the clock alone makes it worth a look; zero: never
	of      map[core.WorkloadID]core.TemplateID   // whose run a workload is
	runs    map[core.TemplateID][]core.WorkloadID // the other way round
	changed map[core.TemplateID]struct{}          // it, or a run of it, is not as it was looked at
	soonest time.Time                             // of next; zero: there is none, or stale is set
	stale   bool
	zones   map[string]*time.Location // that were asked for
}

// Zone is the time zone of a name, such as Europe/Berlin.
func (a *Agenda) Zone(name string) (*time.Location, error) {
	if z := a.zones[name]; z != nil {
		return z, nil
	}
	z, err := time.LoadLocation(name)
	if err == nil {
		put(&a.zones, name, z)
	}
	return z, err
}

// Put notes that a schedule is another than before; nil: it is gone.
func (a *Agenda) Put(id core.TemplateID, s *core.Schedule) {
	for _, w := range a.runs[id] {
		delete(a.of, w)
	}
	delete(a.runs, id)
	delete(a.next, id)
	delete(a.changed, id)
	a.stale = true
	if s == nil {
		return
	}
	var all []core.WorkloadID
	for _, run := range s.Runs {
		put(&a.of, run.ID, id)
		all = append(all, run.ID)
	}
	put(&a.runs, id, all)
	put(&a.changed, id, struct{}{})
}

// Saw notes how a workload has changed; was is nil where it is new.
func (a *Agenda) Saw(was, is *core.Workload) {
	id, ok := a.of[is.ID]
	if !ok {
		return
	}
	if was == nil || was.Phase != is.Phase && (was.Phase.End() || is.Phase.End() || is.Phase == lifecycle.Deleting) {
		put(&a.changed, id, struct{}{})
	}
}

// Looked notes that schedules were looked at, and when that is to be done again by the
// clock alone; zero: never.
func (a *Agenda) Looked(next map[core.TemplateID]time.Time) {
	for id, at := range next {
		delete(a.changed, id)
		put(&a.next, id, at)
		a.stale = true
	}
}

// Next is when some schedule has to be looked at; zero: never.
func (a *Agenda) Next(now time.Time) time.Time {
	if len(a.changed) > 0 {
		return now
	}
	if a.stale {
		a.soonest, a.stale = time.Time{}, false
		for _, t := range a.next {
			a.soonest = workload.Earliest(a.soonest, t)
		}
	}
	return a.soonest
}

// Due are the schedules that have to be looked at now, by project and name.
func (a *Agenda) Due(now time.Time) []core.TemplateID {
	if at := a.Next(now); at.IsZero() || at.After(now) {
		return nil
	}
	due := maps.Clone(a.changed)
	for id, at := range a.next {
		if !at.IsZero() && !at.After(now) {
			put(&due, id, struct{}{})
		}
	}
	return slices.SortedFunc(maps.Keys(due), func(x, y core.TemplateID) int {
		return cmp.Or(cmp.Compare(x.Project, y.Project), cmp.Compare(x.Name, y.Name))
	})
}

func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}
