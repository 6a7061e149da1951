package schedule

import "github.com/musterhq/muster/internal/core/quota"

// poolsOf are the pools that j may use, in the order in which it tries them.
func (st *State) poolsOf(j *job) []*pool {
	names := j.Pools
	if len(names) == 0 {
		names = st.poolNames()
	}
	var out []*pool
	for _, n := range names {
		if p, home := st.pools[n], j.home(); p != nil && (home == nil || home == p) {
			out = append(out, p)
		}
	}
	return out
}

// gate is what keeps j from being looked at whatever is free, or nil.
func (st *State) gate(j *job) *Reason {
	if j.leaf < 0 {
		return &Reason{Token: QueueNotFound, Note: string(j.Queue)}
	}
	if q := st.queues.list[j.leaf].stopped; q != "" {
		return &Reason{Token: QueueStopped, Queue: q, Note: string(q)}
	}
	if r := st.awaits(j); r != nil {
		return r
	}
	return st.full(j)
}

// full is the first limit on what runs at once, or license, that keeps j from
// starting, or nil.
func (st *State) full(j *job) *Reason {
	if r := st.crowded(j); r != nil {
		return r
	}
	if all := st.unlicensed(j); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// gates are all that keep j from being looked at whatever is free.
func (st *State) gates(j *job) []Reason {
	var all []Reason
	if q := st.queues.list[j.leaf].stopped; q != "" {
		all = append(all, Reason{Token: QueueStopped, Queue: q, Note: string(q)})
	}
	if r := st.awaits(j); r != nil {
		all = append(all, *r)
	}
	return append(append(all, st.crowds(j)...), st.unlicensed(j)...)
}

// crowded is the first limit on running jobs that j would exceed by starting, or
// nil.
func (st *State) crowded(j *job) *Reason {
	if all := st.crowds(j); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// crowds are the limits on running jobs that j would exceed by starting.
func (st *State) crowds(j *job) []Reason {
	if j.standing > 0 || j.marked() {
		return nil
	}
	var all []Reason
	for q := j.leaf; q >= 0; q = st.queues.list[q].parent {
		if m := st.queues.list[q].MaxJobs; m > 0 && st.running[q] >= m {
			all = append(all, Reason{Token: OverLimit, Resource: runningWorkloads, Queue: st.queues.list[q].ID, Allocated: int64(st.running[q]), Limit: int64(m), Requested: 1})
		}
	}
	leaf := &st.queues.list[j.leaf]
	if u, m := st.users[userKey{j.leaf, j.User}], leaf.UserJobs; m > 0 && u.jobs >= m {
		all = append(all, Reason{Token: OverLimit, Resource: runningWorkloads, Queue: leaf.ID, User: j.User, Allocated: int64(u.jobs), Limit: int64(m), Requested: 1})
	}
	return all
}

// overUser is the limit on its user's GPUs that j would exceed with so much
// more, or nil.
func (st *State) overUser(j *job, more quota.Amounts) *Reason {
	leaf := &st.queues.list[j.leaf]
	if m, need := leaf.UserGPU, more[quota.GPU]; m > 0 && need > 0 {
		if u := st.users[userKey{j.leaf, j.User}]; u.gpu+need > m {
			return &Reason{Token: OverLimit, Resource: "gpu", Queue: leaf.ID, User: j.User, Allocated: u.gpu, Limit: m, Requested: need}
		}
	}
	return nil
}

// userKey is one user in one queue.
type userKey struct {
	leaf int32
	user string
}

// held is what a user has at present.
type held struct {
	jobs int
	gpu  int64
}

// tallyJob counts j among those who run when its first hold comes (sign 1), or
// its last goes (-1).
func (st *State) tallyJob(j *job, sign int) {
	for q := j.leaf; q >= 0; q = st.queues.list[q].parent {
		st.running[q] += sign
	}
	if j.leaf >= 0 && st.queues.list[j.leaf].perUser() {
		k := userKey{j.leaf, j.User}
		u := st.users[k]
		u.jobs += sign
		st.users[k] = u
	}
}

func (q *queue) perUser() bool { return q.UserJobs > 0 || q.UserGPU > 0 }

// permits reports whether the queues and the user of j may have so much more in p.
func (st *State) permits(j *job, p *pool, more quota.Amounts) bool {
	rest := j.beyond(p, more)
	if j.leaf >= 0 && st.overUser(j, rest) != nil {
		return false
	}
	if st.cfg.NoQuota {
		return true
	}
	for q := j.leaf; q >= 0; q = st.queues.list[q].parent {
		a := &p.q[q]
		if !allows(a.Limit, a.alloc, rest) || !j.Preemptible && !allows(a.Quota.Quota, a.fixed, rest) {
			return false
		}
	}
	return len(p.supervisors) == 0 || st.unlent(j, p, more) == nil
}

// allows reports whether a limit allows so much more. Of what is not asked for
// it does not matter how much is held.
func allows(limit, held, more quota.Amounts) bool {
	for r, n := range more {
		if n > 0 && limit[r] >= 0 && held[r]+n > limit[r] {
			return false
		}
	}
	return true
}
