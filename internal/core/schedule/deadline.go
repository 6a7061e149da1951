package schedule

import (
	"cmp"
	"math"
)

// Slack is for how long, in ms, before its latest start a job with a deadline
// goes before others of its queue and priority.
const Slack = int64(2 * 60 * 60 * 1000)

// urgency is the latest start of a job that waits and must start soon to be done
// in time, else the end of all time. Before that, and once its latest start has
// passed, it is one like others: who cannot be in time any more holds up nobody
// who can.
func (st *State) urgency(j *job) int64 {
	if j.StartBy == 0 || len(j.Held) > 0 || st.now < j.StartBy-Slack || st.now > j.StartBy {
		return math.MaxInt64
	}
	return j.StartBy
}

// earlier orders jobs of one queue and priority: the most urgent first, then the
// oldest.
func (st *State) earlier(a, b *job) int {
	if a.StartBy|b.StartBy != 0 {
		if c := cmp.Compare(st.urgency(a), st.urgency(b)); c != 0 {
			return c
		}
	}
	return older(a, b)
}

// Turns are the instants (unix ms) at which j takes another place in the order of
// its queue because of its deadline; none: it has no latest start.
func (j *Job) Turns() []int64 {
	if j.StartBy == 0 || len(j.Held) > 0 {
		return nil
	}
	return []int64{j.StartBy - Slack, j.StartBy + 1}
}
