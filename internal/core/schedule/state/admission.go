package state

import (
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
)

// PoolsOf are the pools that j may use, in the order in which it tries them.
func (st *State) PoolsOf(j *Job) []*Pool {
	names := j.Pools
	if len(names) == 0 {
		names = st.PoolNames()
	}
	var out []*Pool
	for _, n := range names {
		if p, home := st.Pools[n], j.Home(); p != nil && (home == nil || home == p) {
			out = append(out, p)
		}
	}
	return out
}

// Gate is what keeps j from being looked at whatever is free, or nil.
func (st *State) Gate(j *Job) *schedule.Reason {
	if j.Leaf < 0 {
		return &schedule.Reason{Token: schedule.QueueNotFound, Note: string(j.Queue)}
	}
	if q := st.Queues.List[j.Leaf].StoppedBy; q != "" {
		return &schedule.Reason{Token: schedule.QueueStopped, Queue: q, Note: string(q)}
	}
	if r := st.Awaits(j); r != nil {
		return r
	}
	return st.Full(j)
}

// Full is the first limit on what runs at once, or license, that keeps j from
// starting, or nil.
func (st *State) Full(j *Job) *schedule.Reason {
	if r := st.Crowded(j); r != nil {
		return r
	}
	if all := st.Unlicensed(j); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// Gates are all that keep j from being looked at whatever is free.
func (st *State) Gates(j *Job) []schedule.Reason {
	var all []schedule.Reason
	if q := st.Queues.List[j.Leaf].StoppedBy; q != "" {
		all = append(all, schedule.Reason{Token: schedule.QueueStopped, Queue: q, Note: string(q)})
	}
	if r := st.Awaits(j); r != nil {
		all = append(all, *r)
	}
	return append(append(all, st.crowds(j)...), st.Unlicensed(j)...)
}

// Crowded is the first limit on running jobs that j would exceed by starting, or
// nil.
func (st *State) Crowded(j *Job) *schedule.Reason {
	if all := st.crowds(j); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// crowds are the limits on running jobs that j would exceed by starting.
func (st *State) crowds(j *Job) []schedule.Reason {
	if j.Standing > 0 || j.Marked() {
		return nil
	}
	var all []schedule.Reason
	for q := j.Leaf; q >= 0; q = st.Queues.List[q].ParentIndex {
		if m := st.Queues.List[q].MaxJobs; m > 0 && st.Running[q] >= m {
			all = append(all, schedule.Reason{Token: schedule.OverLimit, Resource: schedule.RunningWorkloads, Queue: st.Queues.List[q].ID, Allocated: int64(st.Running[q]), Limit: int64(m), Requested: 1})
		}
	}
	leaf := &st.Queues.List[j.Leaf]
	if u, m := st.Users[userKey{j.Leaf, j.User}], leaf.UserJobs; m > 0 && u.jobs >= m {
		all = append(all, schedule.Reason{Token: schedule.OverLimit, Resource: schedule.RunningWorkloads, Queue: leaf.ID, User: j.User, Allocated: int64(u.jobs), Limit: int64(m), Requested: 1})
	}
	return all
}

// OverUser is the limit on its user's GPUs that j would exceed with so much
// more, or nil.
func (st *State) OverUser(j *Job, more quota.Amounts) *schedule.Reason {
	leaf := &st.Queues.List[j.Leaf]
	if m, need := leaf.UserGPU, more[quota.GPU]; m > 0 && need > 0 {
		if u := st.Users[userKey{j.Leaf, j.User}]; u.gpu+need > m {
			return &schedule.Reason{Token: schedule.OverLimit, Resource: "gpu", Queue: leaf.ID, User: j.User, Allocated: u.gpu, Limit: m, Requested: need}
		}
	}
	return nil
}

// userKey is one user in one queue.
type userKey struct {
	leaf int32
	user string
}

// Held is what a user has at present.
type Held struct {
	jobs int
	gpu  int64
}

// tallyJob counts j among those who run when its first hold comes (sign 1), or
// its last goes (-1).
func (st *State) tallyJob(j *Job, sign int) {
	for q := j.Leaf; q >= 0; q = st.Queues.List[q].ParentIndex {
		st.Running[q] += sign
	}
	if j.Leaf >= 0 && st.Queues.List[j.Leaf].PerUser() {
		k := userKey{j.Leaf, j.User}
		u := st.Users[k]
		u.jobs += sign
		st.Users[k] = u
	}
}

func (q *queue) PerUser() bool { return q.UserJobs > 0 || q.UserGPU > 0 }

// Permits reports whether the queues and the user of j may have so much more in p.
func (st *State) Permits(j *Job, p *Pool, more quota.Amounts) bool {
	rest := j.Beyond(p, more)
	if j.Leaf >= 0 && st.OverUser(j, rest) != nil {
		return false
	}
	if st.Cfg.NoQuota {
		return true
	}
	for q := j.Leaf; q >= 0; q = st.Queues.List[q].ParentIndex {
		a := &p.Q[q]
		if !Allows(a.Limit, a.Alloc, rest) || !j.Preemptible && !Allows(a.Quota.Quota, a.Fixed, rest) {
			return false
		}
	}
	return len(p.Supervisors) == 0 || st.Unlent(j, p, more) == nil
}

// Allows reports whether a limit allows so much more. Of what is not asked for
// it does not matter how much is held.
func Allows(limit, held, more quota.Amounts) bool {
	for r, n := range more {
		if n > 0 && limit[r] >= 0 && held[r]+n > limit[r] {
			return false
		}
	}
	return true
}
