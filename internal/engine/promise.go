package engine

import (
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// A promise says for whom room is about to be free: others were told to leave
// for it. Promises are stored with the evictions that they are about, so that
// whoever leads next keeps them.

// promise remembers for whom room is about to be free: they are served first
// until they have it. Of the others nothing is remembered. It reports whether
// they are others than before.
func promise(tx *draft.Tx, plan *schedule.Plan) (changed bool) {
	e := tx.State
	now := make(map[core.WorkloadID]draft.Promise, len(plan.Promises))
	for i, p := range plan.Promises {
		now[p.ID] = draft.Promise{Rank: i + 1, Tasks: len(p.Tasks)}
	}
	if !e.Complete { // not all of the room can be seen that they were promised
		for _, p := range draft.InLine(e.Promised) {
			id := p.Workload
			if w, tasks, ok := tx.View(id); ok && now[id].Rank == 0 && workload.Waiting(w, tasks) && !slices.ContainsFunc(plan.Placements, func(p schedule.Placement) bool { return p.ID == id }) {
				now[id] = draft.Promise{Rank: len(now) + 1, Tasks: p.Tasks}
			}
		}
	}
	before := e.Promised
	e.Promised = now
	for _, m := range []map[core.WorkloadID]draft.Promise{before, now} {
		for id := range m {
			if before[id] == now[id] {
				continue
			}
			changed = true
			w, tasks, ok := tx.View(id)
			if !ok {
				continue
			}
			if j, ok := e.Job(w, tasks); ok {
				e.Sched.PutJob(j)
			}
		}
	}
	return changed
}
