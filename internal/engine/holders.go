package engine

import (
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
	"github.com/musterhq/muster/internal/engine/estimate"
)

// Holders is who holds which devices.
type Holders struct {
	At       time.Time
	Holders  []Holder
	Holdings []Holding
}

// Holder is a workload that holds devices. Ends is when it is expected to let go
// of them, in instants; zero: nobody knows.
type Holder struct {
	Workload *core.Workload
	Ends     forecast.Span
}

// WhoHolds reads who holds which devices, and until when; the value is a
// *Holders.
func WhoHolds() Command {
	return func(tx *tx) (any, error) {
		out := &Holders{At: tx.now}
		for _, id := range SortedKeys(tx.e.held) {
			w, tasks, ok := tx.view(id)
			if !ok {
				continue
			}
			n := len(out.Holdings)
			if out.Holdings = appendHoldings(out.Holdings, w, tasks); len(out.Holdings) > n {
				out.Holders = append(out.Holders, Holder{Workload: w, Ends: tx.endsOf(w, tasks)})
			}
		}
		return out, nil
	}
}

// endsOf is when a workload that holds resources is expected to end.
func (tx *tx) endsOf(w *core.Workload, tasks map[int]*core.Task) forecast.Span {
	job, ok := tx.e.job(w, tasks)
	if !ok {
		return forecast.Span{}
	}
	if end, ok := tx.firstEnd(w); ok {
		job.EndsBy = end.At.UnixMilli()
	}
	return tx.e.Insight.Span(w, &job, tx.now.UnixMilli(), &estimate.Basis{})
}
