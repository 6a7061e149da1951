package queues

import (
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// Crowded is the first limit on running jobs that j would exceed by starting, or
// nil.
func (qs *Queues) Crowded(j *ledger.Job) *schedule.Reason {
	if all := qs.Crowds(j); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// Crowds are the limits on running jobs that j would exceed by starting.
func (qs *Queues) Crowds(j *ledger.Job) []schedule.Reason {
	if j.Standing > 0 || j.Marked() {
		return nil
	}
	var all []schedule.Reason
	for q := j.Leaf; q >= 0; q = qs.List[q].ParentIndex {
		if m := qs.List[q].MaxJobs; m > 0 && qs.Running[q] >= m {
			all = append(all, schedule.Reason{Token: schedule.OverLimit, Resource: schedule.RunningWorkloads, Queue: qs.List[q].ID, Allocated: int64(qs.Running[q]), Limit: int64(m), Requested: 1})
		}
	}
	leaf := &qs.List[j.Leaf]
	if u, m := qs.Users[userKey{j.Leaf, j.User}], leaf.UserJobs; m > 0 && u.jobs >= m {
		all = append(all, schedule.Reason{Token: schedule.OverLimit, Resource: schedule.RunningWorkloads, Queue: leaf.ID, User: j.User, Allocated: int64(u.jobs), Limit: int64(m), Requested: 1})
	}
	if b, ok := qs.Bound(j.User); ok && b.Jobs > 0 {
		if u := qs.Users[everywhere(j.User)]; u.jobs >= b.Jobs {
			all = append(all, schedule.Reason{Token: schedule.OverLimit, Resource: schedule.RunningWorkloads, User: j.User, Allocated: int64(u.jobs), Limit: int64(b.Jobs), Requested: 1})
		}
	}
	return all
}

// Bound is what a user may have in all queues together; false: anything.
func (qs *Queues) Bound(user string) (schedule.UserBound, bool) {
	if len(qs.Bounds) == 0 || user == "" {
		return schedule.UserBound{}, false
	}
	b, ok := qs.Bounds[user]
	if !ok {
		b, ok = qs.Bounds[""]
	}
	return b, ok
}

// OverBound is the limit on its user's GPUs in all queues together that j would
// exceed with so much more, or nil.
func (qs *Queues) OverBound(j *ledger.Job, more quota.Amounts) *schedule.Reason {
	need := more[quota.GPU]
	if need <= 0 {
		return nil
	}
	if b, ok := qs.Bound(j.User); ok && b.GPU >= 0 {
		if u := qs.Users[everywhere(j.User)]; u.gpu+need > b.GPU {
			return &schedule.Reason{Token: schedule.OverLimit, Resource: "gpu", User: j.User, Allocated: u.gpu, Limit: b.GPU, Requested: need}
		}
	}
	return nil
}

// OverUser is the limit on its user's GPUs in its queue that j would exceed with so
// much more, or nil.
func (qs *Queues) OverUser(j *ledger.Job, more quota.Amounts) *schedule.Reason {
	leaf := &qs.List[j.Leaf]
	if m, need := leaf.UserGPU, more[quota.GPU]; m > 0 && need > 0 {
		if u := qs.Users[userKey{j.Leaf, j.User}]; u.gpu+need > m {
			return &schedule.Reason{Token: schedule.OverLimit, Resource: "gpu", Queue: leaf.ID, User: j.User, Allocated: u.gpu, Limit: m, Requested: need}
		}
	}
	return nil
}

// userKey is one user in one queue, or in all of them.
type userKey struct {
	leaf int32 // negative: all
	user string
}

func everywhere(user string) userKey { return userKey{-1, user} }

// tally adds to what a user has, wherever that is bounded.
func (qs *Queues) tally(leaf int32, user string, jobs int, gpu int64) {
	add := func(k userKey) {
		u := qs.Users[k]
		u.jobs += jobs
		u.gpu += gpu
		qs.Users[k] = u
	}
	if leaf >= 0 && qs.List[leaf].PerUser() {
		add(userKey{leaf, user})
	}
	if _, ok := qs.Bound(user); ok && leaf >= 0 {
		add(everywhere(user))
	}
}

// Held is what a user has at present.
type Held struct {
	jobs int
	gpu  int64
}

// TallyJob counts j among those who run when its first hold comes (sign 1), or
// its last goes (-1).
func (qs *Queues) TallyJob(j *ledger.Job, sign int) {
	for q := j.Leaf; q >= 0; q = qs.List[q].ParentIndex {
		qs.Running[q] += sign
	}
	qs.tally(j.Leaf, j.User, sign, 0)
}

// Permits reports whether the queues and the user of j may have so much more in p.
func (qs *Queues) Permits(j *ledger.Job, p *ledger.Pool, more quota.Amounts) bool {
	rest := j.Beyond(p, more)
	if j.Leaf >= 0 && (qs.OverUser(j, rest) != nil || qs.OverBound(j, rest) != nil) {
		return false
	}
	if qs.cfg.NoQuota {
		return true
	}
	for q := j.Leaf; q >= 0; q = qs.List[q].ParentIndex {
		a := &p.Q[q]
		if !Allows(a.Limit, a.Alloc, rest) || !j.Preemptible && !Allows(a.Quota.Quota, a.Fixed, rest) || !qs.MayBorrow(j, q) && !Allows(a.Quota.Quota, a.Alloc, rest) {
			return false
		}
	}
	return len(p.Withholders) == 0 || qs.Unlent(j, p, more) == nil
}

// MayBorrow reports whether j ends soon enough for using more than the quota of q.
func (qs *Queues) MayBorrow(j *ledger.Job, q int32) bool {
	most := qs.List[q].BorrowMax
	return most == 0 || j.MaxRun > 0 && j.MaxRun <= most
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

// Mark counts what is reserved for j in p, or takes it off.
func (qs *Queues) Mark(p *ledger.Pool, j *ledger.Job, sign int64) {
	qs.TallyJob(j, int(sign))
	qs.Allot(p, j, j.Earmark.Amounts, sign)
	for q := j.Leaf; q >= 0; q = qs.List[q].ParentIndex {
		p.Q[q].Marked = ledger.Plus(p.Q[q].Marked, j.Earmark.Amounts, sign)
	}
	p.Unfair = true
}

// Allot adds so much of p to what j's user and queues have, or takes it off.
func (qs *Queues) Allot(p *ledger.Pool, j *ledger.Job, amount quota.Amounts, sign int64) {
	qs.tally(j.Leaf, j.User, 0, sign*amount[quota.GPU])
	for q := j.Leaf; q >= 0; q = qs.List[q].ParentIndex {
		p.Q[q].Alloc = ledger.Plus(p.Q[q].Alloc, amount, sign)
		if !j.Preemptible {
			p.Q[q].Fixed = ledger.Plus(p.Q[q].Fixed, amount, sign)
		}
	}
}
