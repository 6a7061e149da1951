package schedule

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
)

// marked reports whether quota is reserved for j now: what has a place counts by
// that, and what was taken back counts no more.
func (j *job) marked() bool {
	return j.Earmark.Pool != "" && j.leaf >= 0 && j.standing == 0 && !j.recalled
}

// mark counts what is reserved for j, or takes it off.
func (st *State) mark(j *job, sign int64) {
	p, m := st.poolOf(j.Earmark.Pool), j.Earmark.Amounts
	st.tallyJob(j, int(sign))
	if st.queues.list[j.leaf].perUser() {
		k := userKey{j.leaf, j.User}
		u := st.users[k]
		u.gpu += sign * m[quota.GPU]
		st.users[k] = u
	}
	for q := j.leaf; q >= 0; q = st.queues.list[q].parent {
		a := &p.q[q]
		a.alloc, a.marked = plus(a.alloc, m, sign), plus(a.marked, m, sign)
		if !j.Preemptible {
			a.fixed = plus(a.fixed, m, sign)
		}
	}
	p.unfair = true
}

// beyond is what of more is not reserved for j in p already.
func (j *job) beyond(p *pool, more quota.Amounts) quota.Amounts {
	if !j.marked() || j.Earmark.Pool != p.Name {
		return more
	}
	for r := range more {
		more[r] = max(more[r]-j.Earmark.Amounts[r], 0)
	}
	return more
}

// held is what the account's queue has places for.
func (a *account) held() quota.Amounts { return a.alloc.Sub(a.marked) }

// takes is what those of j's tasks that start now count for.
func (j *job) takes() Earmark {
	var e Earmark
	for _, h := range j.holds {
		if h.fresh && !h.leaving && !h.later {
			e.Pool, e.Amounts = h.site.pool.Name, e.Amounts.Add(h.amount)
		}
	}
	return e
}

func (st *State) remember(j *job) {
	if j.Earmark.Pool == "" {
		return
	}
	if st.marks == nil {
		st.marks = map[core.WorkloadID]*job{}
	}
	st.marks[j.ID] = j
	if j.marked() {
		st.mark(j, 1)
	}
}

func (st *State) forgetMark(j *job) {
	if st.marks[j.ID] != j {
		return
	}
	delete(st.marks, j.ID)
	if j.marked() {
		st.mark(j, -1)
	}
}
