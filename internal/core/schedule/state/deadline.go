package state

import (
	"cmp"
	"math"

	"github.com/musterhq/muster/internal/core/schedule"
)

// Slack is for how long, in ms, before its latest start a job with a deadline
// goes before others of its queue and priority.
const Slack = int64(2 * 60 * 60 * 1000)

// Urgency is the latest start of a job that waits and must start soon to be done
// in time, else the end of all time. Before that, and once its latest start has
// passed, it is one like others: who cannot be in time any more holds up nobody
// who can.
func (st *State) Urgency(j *Job) int64 {
	if j.StartBy == 0 || len(j.Held) > 0 || st.Now < j.StartBy-Slack || st.Now > j.StartBy {
		return math.MaxInt64
	}
	return j.StartBy
}

// Earlier orders jobs of one queue and priority: the most urgent first, then the
// oldest.
func (st *State) Earlier(a, b *Job) int {
	if a.StartBy|b.StartBy != 0 {
		if c := cmp.Compare(st.Urgency(a), st.Urgency(b)); c != 0 {
			return c
		}
	}
	return Older(a, b)
}

// Turns are the instants (unix ms) at which j takes another place in the order of
// its queue because of its deadline; none: it has no latest start.
func Turns(j *schedule.Job) []int64 {
	if j.StartBy == 0 || len(j.Held) > 0 {
		return nil
	}
	return []int64{j.StartBy - Slack, j.StartBy + 1}
}
