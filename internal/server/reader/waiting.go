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
		q := store.Query{Phases: phases}
		for more := true; more && len(ids) < waitingMost; {
			q.Limit = waitingMost - len(ids) // no more than is missing: each costs to be read
			page, err := s.Store.List(ctx, q)
			if err != nil {
				return nil, err
			}
			for _, w := range page.Items {
				if !have[w.ID] {
					ids, have[w.ID] = append(ids, w.ID), true
				}
			}
			q.Cursor, more = page.Next, page.Next > 0
		}
	}
	return ids, nil
}

// WaitingNow are the workloads of Waiting as they are committed: out of memory, for a
// thousand of them take a database a tenth of a second.
func (s *Reader) WaitingNow(ctx context.Context) ([]*core.Workload, error) {
	ids, err := s.Waiting(ctx)
	if err != nil {
		return nil, err
	}
	return s.Control.Committed(ctx, ids)
}
