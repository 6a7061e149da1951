package schedule

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule/fragmentation"
)

// Fault is a fault of the scheduler itself: planning panicked, or came to no
// end. The state in which that happened is of no use any more.
type Fault struct {
	Job    core.WorkloadID `json:"workload,omitempty"` // whose turn it was; empty: nobody's
	What   string          `json:"what"`
	Stack  string          `json:"stack"`
	Record Record          `json:"record"` // what it planned, so that it can be planned again
}

// Record is everything that a cycle goes by. As JSON it can be kept, and loaded
// elsewhere.
type Record struct {
	Snapshot
	Config Config
	Work   []fragmentation.Shape // the usual work, where the state knew it
}

// Trap is called before each look at a job; what it does is as if the scheduler
// did it. It is for tests of what becomes of a fault.
type Trap struct {
	Look func(a Action, id core.WorkloadID)
}

// Trapped sets a trap.
func Trapped(t *Trap) Option { return func(p *Policy) { p.Trap = t } }
