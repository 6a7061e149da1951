package state

import (
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// PoolsOf are the pools that j may use, in the order in which it tries them.
func (st *State) PoolsOf(j *ledger.Job) []*ledger.Pool {
	names := j.Pools
	if len(names) == 0 {
		names = st.PoolNames()
	}
	var out []*ledger.Pool
	for _, n := range names {
		if p, home := st.Pools[n], j.Home(); p != nil && (home == nil || home == p) {
			out = append(out, p)
		}
	}
	return out
}

// Gate is what keeps j from being looked at whatever is free, or nil.
func (st *State) Gate(j *ledger.Job) *schedule.Reason {
	if j.Leaf < 0 {
		return &schedule.Reason{Token: schedule.QueueNotFound, Note: string(j.Queue)}
	}
	if q := st.Queues.List[j.Leaf].StoppedBy; q != "" {
		return &schedule.Reason{Token: schedule.QueueStopped, Queue: q, Note: string(q)}
	}
	if r := st.Win.Awaits(st.Queues, j, st.Now); r != nil {
		return r
	}
	return st.Full(j)
}

// Full is the first limit on what runs at once, or license, that keeps j from
// starting, or nil.
func (st *State) Full(j *ledger.Job) *schedule.Reason {
	if r := st.Crowded(j); r != nil {
		return r
	}
	if all := st.Unlicensed(j); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// Gates are all that keep j from being looked at whatever is free.
func (st *State) Gates(j *ledger.Job) []schedule.Reason {
	var all []schedule.Reason
	if q := st.Queues.List[j.Leaf].StoppedBy; q != "" {
		all = append(all, schedule.Reason{Token: schedule.QueueStopped, Queue: q, Note: string(q)})
	}
	if r := st.Win.Awaits(st.Queues, j, st.Now); r != nil {
		all = append(all, *r)
	}
	return append(append(all, st.Crowds(j)...), st.Unlicensed(j)...)
}
