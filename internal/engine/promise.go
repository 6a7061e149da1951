package engine

import (
	"cmp"
	"context"
	"fmt"
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
	now := make(map[core.WorkloadID]promise, len(plan.Promises))
	for i, p := range plan.Promises {
		now[p.ID] = promise{i + 1, len(p.Tasks)}
	}
	if !e.complete { // not all of the room can be seen that they were promised
		for _, p := range inLine(e.promised) {
			id := p.Workload
			if w, tasks, ok := tx.view(id); ok && now[id].rank == 0 && waiting(w, tasks) && !slices.ContainsFunc(plan.Placements, func(p schedule.Placement) bool { return p.ID == id }) {
				now[id] = promise{len(now) + 1, p.Tasks}
			}
		}
	}
	before := e.promised
	e.promised = now
	for _, m := range []map[core.WorkloadID]promise{before, now} {
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

// promise is what one workload is promised.
type promise struct {
	rank  int // its place in line, from 1
	tasks int // for how many of it others leave
}

// inLine are the promises in the order in which they are served.
func inLine(promised map[core.WorkloadID]promise) []core.Promise {
	var all []core.Promise
	for id, v := range promised {
		all = append(all, core.Promise{Workload: id, Tasks: v.tasks})
	}
	slices.SortFunc(all, func(a, b core.Promise) int { return cmp.Compare(promised[a.Workload].rank, promised[b.Workload].rank) })
	return all
}

// promises is what of the promises a commit has to write; nil: nothing.
func (e *Engine) promises() []core.Promise {
	all := inLine(e.promised)
	switch {
	case slices.Equal(all, e.pledged):
		return nil
	case all == nil:
		return []core.Promise{}
	default:
		return all
	}
}

// pledge takes over the promises that are stored.
func (e *Engine) pledge(all []core.Promise) {
	e.pledged, e.promised = all, make(map[core.WorkloadID]promise, len(all))
	for i, p := range all {
		e.promised[p.Workload] = promise{i + 1, p.Tasks}
	}
}

func (e *Engine) loadPromises(ctx context.Context) error {
	all, err := e.D.Store.Promises(ctx)
	if err != nil {
		return fmt.Errorf("read promises: %w", err)
	}
	e.pledge(all)
	return nil
}
