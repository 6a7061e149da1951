package state

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
)

// Marked reports whether quota is reserved for j now: what has a place counts by
// that, and what was taken back counts no more.
func (j *Job) Marked() bool {
	return j.Earmark.Pool != "" && j.Leaf >= 0 && j.Standing == 0 && !j.Recalled
}

// mark counts what is reserved for j, or takes it off.
func (st *State) mark(j *Job, sign int64) {
	p, m := st.poolOf(j.Earmark.Pool), j.Earmark.Amounts
	st.tallyJob(j, int(sign))
	if st.Queues.List[j.Leaf].PerUser() {
		k := userKey{j.Leaf, j.User}
		u := st.Users[k]
		u.gpu += sign * m[quota.GPU]
		st.Users[k] = u
	}
	for q := j.Leaf; q >= 0; q = st.Queues.List[q].ParentIndex {
		a := &p.Q[q]
		a.Alloc, a.Marked = plus(a.Alloc, m, sign), plus(a.Marked, m, sign)
		if !j.Preemptible {
			a.Fixed = plus(a.Fixed, m, sign)
		}
	}
	p.unfair = true
}

// Beyond is what of more is not reserved for j in p already.
func (j *Job) Beyond(p *Pool, more quota.Amounts) quota.Amounts {
	if !j.Marked() || j.Earmark.Pool != p.Name {
		return more
	}
	for r := range more {
		more[r] = max(more[r]-j.Earmark.Amounts[r], 0)
	}
	return more
}

// Held is what the account's queue has places for.
func (a *Account) Held() quota.Amounts { return a.Alloc.Sub(a.Marked) }

// Takes is what those of j's tasks that start now count for.
func (j *Job) Takes() schedule.Earmark {
	var e schedule.Earmark
	for _, h := range j.Holds {
		if h.Fresh && !h.Leaving && !h.Later {
			e.Pool, e.Amounts = h.Site.Pool.Name, e.Amounts.Add(h.Amount)
		}
	}
	return e
}

func (st *State) remember(j *Job) {
	if j.Earmark.Pool == "" {
		return
	}
	if st.Marks == nil {
		st.Marks = map[core.WorkloadID]*Job{}
	}
	st.Marks[j.ID] = j
	if j.Marked() {
		st.mark(j, 1)
	}
}

func (st *State) forgetMark(j *Job) {
	if st.Marks[j.ID] != j {
		return
	}
	delete(st.Marks, j.ID)
	if j.Marked() {
		st.mark(j, -1)
	}
}
