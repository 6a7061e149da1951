package displace

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// Verdict is why a job leaves, and for whom.
type Verdict struct {
	Cause schedule.Action
	By    core.WorkloadID
}

// Outcome says how the walk goes on after a job was looked at.
type Outcome uint8

const (
	Hopeless Outcome = iota // nor will others of its job class
	Passed                  // not served; of others of its job class it says nothing
	Shut                    // passed, and so are all others of its job class
	served
	Grows // served, and to be looked at again for more
)

// Relieve bounds how long anyone waits: who is due makes those leave who have
// had the most. It is the sixth action; a Config names it, or has Quantum set.
const Relieve schedule.Action = "relieve"

// Between is a cause for which v leaves for j, once it has left for another for
// that cause.
func Between(was schedule.Action, v, j *ledger.Job) schedule.Action {
	switch {
	case was == schedule.Reclaim && v.Leaf == j.Leaf:
		return schedule.Preempt
	case was == schedule.Preempt && v.Leaf != j.Leaf:
		return schedule.Reclaim
	}
	return was
}
