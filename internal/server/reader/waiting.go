package reader

import (
	"context"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/store"
)

// waitingMost is how many waiting workloads are explained, of which waitingOthers are
// not first in a queue.
const (
	waitingMost   = 1000
	waitingOthers = 200
)

// Waiting are the ids of those that are explained: who is first in the queues, so
// that what is said of a queue is said of its head however long it is; then the
// newest of the others, who are held, back off, or are behind.
func (s *Reader) Waiting(ctx context.Context) ([]core.WorkloadID, error) {
	ids, err := s.Control.Foremost(ctx, waitingMost-waitingOthers)
	if err != nil {
		return nil, err
	}
	have := make(map[core.WorkloadID]bool, len(ids))
	for _, id := range ids {
		have[id] = true
	}
	// Those that do not queue have their part, whatever else there is.
	for _, phases := range [][]lifecycle.Phase{{lifecycle.Inadmissible, lifecycle.Backoff}, {lifecycle.Queued}} {
		page, err := s.Store.List(ctx, store.Query{Phases: phases, Limit: waitingMost})
		if err != nil {
			return nil, err
		}
		for _, w := range page.Items {
			if len(ids) < waitingMost && !have[w.ID] {
				ids, have[w.ID] = append(ids, w.ID), true
			}
		}
	}
	return ids, nil
}
