package state

import (
	"cmp"
	"math"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// Slack is for how long, in ms, before its latest start a job with a deadline
// goes before others of its queue and priority.
const Slack = int64(2 * 60 * 60 * 1000)

// Urgency is the latest start of a job that waits and must start soon to be done
// in time, else the end of all time. Before that, and once its latest start has
// passed, it is one like others: who cannot be in time any more holds up nobody
// who can.
func (st *State) Urgency(j *ledger.Job) int64 {
	if j.StartBy == 0 || len(j.Held) > 0 || st.Now < j.StartBy-Slack || st.Now > j.StartBy {
		return math.MaxInt64
	}
	return j.StartBy
}

// Earlier orders jobs of one queue and priority: the most urgent first, then the
// oldest.
func (st *State) Earlier(a, b *ledger.Job) int {
	if a.StartBy|b.StartBy != 0 {
		if c := cmp.Compare(st.Urgency(a), st.Urgency(b)); c != 0 {
			return c
		}
	}
	return ledger.Older(a, b)
}

// Turns are the instants (unix ms) at which j takes another place in the order of
// its queue because of its deadline; none: it has no latest start.
func Turns(j *schedule.Job) []int64 {
	if j.StartBy == 0 || len(j.Held) > 0 {
		return nil
	}
	return []int64{j.StartBy - Slack, j.StartBy + 1}
}

// JobOrder is the order in which jobs of one queue are served.
func (st *State) JobOrder(a, b *ledger.Job) int {
	c := 0
	if !st.Cfg.NoPriority {
		c = cmp.Compare(b.Priority, a.Priority)
	}
	if c == 0 && !st.Cfg.NoElastic {
		c = cmp.Compare(a.Level(), b.Level())
	}
	return cmp.Or(c, st.Earlier(a, b))
}
