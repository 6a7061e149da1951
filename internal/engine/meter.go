package engine

import (
	"time"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Meter counts what happens. It is called by the one writer, in order, and must
// not wait for anything.
type Meter interface {
	// Committed is told of changes once they are durable.
	Committed(changes []Change)
	// Planned is told how long one run of the scheduler took.
	Planned(took time.Duration)
	// Estimated is told how long after the middle of the range that was first
	// told a workload started; negative: before.
	Estimated(off time.Duration)
	// Displaced is told by which right the scheduler made work leave.
	Displaced(cause lifecycle.Cause)
	// Counted is told of everything that there is, and for how long that may be
	// taken to have been so. It is not called by the writer.
	Counted(n *Census, span time.Duration)
}
