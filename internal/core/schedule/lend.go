package schedule

import "github.com/musterhq/muster/internal/core/quota"

// own is what a queue with this quota keeps of it while it does not use it.
func (q *Quota) own() quota.Amounts {
	var out quota.Amounts
	for r := range out {
		if q.Quota[r] > 0 {
			out[r] = min(max(q.Keep[r], 0), q.Quota[r])
		}
	}
	return out
}

// keep notes what each queue of p keeps of its quota, and at least what those
// below it keep.
func (st *State) keep(p *pool) {
	p.supervisors = nil
	sums := make([]quota.Amounts, len(p.q))
	for i := len(p.q) - 1; i >= 0; i-- { // children stand behind their parents
		a := &p.q[i]
		a.kept = most(a.own(), sums[i])
		if a.kept == (quota.Amounts{}) {
			continue
		}
		p.supervisors = append(p.supervisors, int32(i))
		if up := st.queues.list[i].parent; up >= 0 {
			sums[up] = sums[up].Add(a.kept)
		}
	}
	p.spare = nil
	if len(p.supervisors) > 0 {
		p.spare = make([]quota.Amounts, len(p.q))
	}
}

func most(a, b quota.Amounts) quota.Amounts {
	for r := range a {
		a[r] = max(a[r], b[r])
	}
	return a
}

// kept is what of p must stay free for queues that j does not belong to: what
// they keep and do not use. The second result is who keeps the most GPUs of it.
func (st *State) kept(p *pool, leaf int32) (quota.Amounts, int32) {
	var all quota.Amounts
	who, share := int32(-1), int64(-1)
	for _, i := range p.supervisors {
		p.spare[i] = quota.Amounts{}
	}
	mine := func(i int32) bool {
		for q := leaf; q >= 0; q = st.queues.list[q].parent {
			if q == i {
				return true
			}
		}
		return false
	}
	for _, i := range p.supervisors { // children first
		a := &p.q[i]
		if !mine(i) {
			var unused quota.Amounts
			for r, n := range a.own() {
				unused[r] = max(n-a.alloc[r]+a.marked[r], 0)
			}
			if sum := unused[quota.GPU] + unused[quota.CPU]; unused != (quota.Amounts{}) && sum > share {
				who, share = i, sum
			}
			p.spare[i] = most(p.spare[i], unused)
		}
		if up := st.queues.list[i].parent; up >= 0 {
			p.spare[up] = p.spare[up].Add(p.spare[i])
		} else {
			all = all.Add(p.spare[i])
		}
	}
	return all, who
}

// unlent says that j would have to use what others do not lend, or nil. Sums are
// compared: it says nothing of which nodes are free.
func (st *State) unlent(j *job, p *pool, more quota.Amounts) *Reason {
	kept, who := st.kept(p, j.leaf)
	for r, n := range more {
		if n > 0 && kept[r] > 0 && p.free[r]-n < kept[r] {
			return &Reason{Token: NotLent, Resource: resourceNames[r], Queue: st.queues.list[who].ID, Requested: n, Allocated: max(p.free[r], 0), Quota: kept[r]}
		}
	}
	return nil
}

var resourceNames = [quota.Resources]string{quota.GPU: "gpu", quota.CPU: "cpu", quota.Memory: "memory"}
