package report

import (
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/estimate"
	"github.com/musterhq/muster/internal/engine/workload"
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

// WhoHolds reads who holds which devices, and until when.
func WhoHolds() draft.Command[*Holders] {
	return func(tx *draft.Tx) (*Holders, error) {
		out := &Holders{At: tx.Now}
		for _, id := range slices.Sorted(maps.Keys(tx.State.Held)) {
			w, tasks, ok := tx.View(id)
			if !ok {
				continue
			}
			n := len(out.Holdings)
			if out.Holdings = appendHoldings(out.Holdings, w, tasks); len(out.Holdings) > n {
				out.Holders = append(out.Holders, Holder{Workload: w, Ends: endsOf(tx, w, tasks)})
			}
		}
		return out, nil
	}
}

// endsOf is when a workload that holds resources is expected to end.
func endsOf(tx *draft.Tx, w *core.Workload, tasks *workload.Tasks) forecast.Span {
	job, ok := tx.State.Job(w, tasks)
	if !ok {
		return forecast.Span{}
	}
	if end, ok := tx.FirstEnd(w); ok {
		job.EndsBy = end.At.UnixMilli()
	}
	return tx.State.Insight.Span(w, &job, tx.Now.UnixMilli(), &estimate.Basis{})
}
