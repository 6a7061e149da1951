package control

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
)

// A promise says for whom room is about to be free: others were told to leave
// for it. Promises are stored with the evictions that they are about, so that
// whoever leads next keeps them.

// promise remembers for whom room is about to be free: they are served first
// until they have it. Of the others nothing is remembered. It reports whether
// they are others than before.
func (tx *tx) promise(plan *schedule.Plan) (changed bool) {
	e := tx.e
	now := make(map[core.WorkloadID]int, len(plan.Promises))
	for i, p := range plan.Promises {
		now[p.ID] = i + 1
	}
	if !e.complete { // not all of the room can be seen that they were promised
		for _, id := range inLine(e.promised) {
			if w, tasks, ok := tx.view(id); ok && now[id] == 0 && waiting(w, tasks) && !slices.ContainsFunc(plan.Placements, func(p schedule.Placement) bool { return p.ID == id }) {
				now[id] = len(now) + 1
			}
		}
	}
	before := e.promised
	e.promised = now
	for _, m := range []map[core.WorkloadID]int{before, now} {
		for id := range m {
			if before[id] == now[id] {
				continue
			}
			changed = true
			w, tasks, ok := tx.view(id)
			if !ok {
				continue
			}
			if j, ok := e.job(w, tasks); ok {
				e.sched.PutJob(j)
			}
		}
	}
	return changed
}

// inLine are those who are promised something, in the order in which they are
// served.
func inLine(promised map[core.WorkloadID]int) []core.WorkloadID {
	return slices.SortedFunc(maps.Keys(promised), func(a, b core.WorkloadID) int { return cmp.Compare(promised[a], promised[b]) })
}

// promises is what of the promises a commit has to write; nil: nothing.
func (e *Engine) promises() []core.WorkloadID {
	all := inLine(e.promised)
	switch {
	case slices.Equal(all, e.pledged):
		return nil
	case all == nil:
		return []core.WorkloadID{}
	default:
		return all
	}
}

// pledge takes over the promises that are stored.
func (e *Engine) pledge(all []core.WorkloadID) {
	e.pledged, e.promised = all, make(map[core.WorkloadID]int, len(all))
	for i, id := range all {
		e.promised[id] = i + 1
	}
}

func (e *Engine) loadPromises(ctx context.Context) error {
	all, err := e.d.Store.Promises(ctx)
	if err != nil {
		return fmt.Errorf("read promises: %w", err)
	}
	e.pledge(all)
	return nil
}
