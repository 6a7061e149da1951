package schedule

import (
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
)

// Earmark is quota that is reserved for a job which holds nothing yet: it counts
// against quotas, limits and shares as if its tasks had their places, and no place
// is kept for them.
type Earmark struct {
	Pool    string // empty: nothing is reserved
	Amounts quota.Amounts
}

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

// permits is State.permits, where reservations that j has a better right to may
// be taken back for it. The caller undoes that where nothing comes of it.
func (c *cycle) permits(j *job, p *pool, more quota.Amounts) bool {
	st := c.st
	if st.permits(j, p, more) {
		return true
	}
	mark := len(st.log)
	var taken []*job
	for _, v := range c.recallable(j, p, more) {
		st.do(entry{op: recalls, h: &hold{job: v, site: p.sites[0]}})
		taken = append(taken, v)
		if !st.permits(j, p, more) {
			continue
		}
		for _, x := range taken {
			if !c.returns(x, j, p, more) {
				c.cause[x] = verdictOf{Preempt, j.ID}
				if x.leaf != j.leaf {
					c.cause[x] = verdictOf{Reclaim, j.ID}
				}
			}
		}
		return true
	}
	st.undo(mark)
	return false
}

// returns gives back what was taken from v, where j can do without.
func (c *cycle) returns(v, j *job, p *pool, more quota.Amounts) bool {
	st, mark := c.st, len(c.st.log)
	st.do(entry{op: returns, h: &hold{job: v, site: p.sites[0]}})
	if st.permits(j, p, more) {
		return true
	}
	st.undo(mark)
	return false
}

// recallable are those whose reservations in p j may have taken back, in the
// order in which they lose them: those of less important work of its own queue,
// and those of queues that have more than their due where its own asks for what
// it is due.
func (c *cycle) recallable(j *job, p *pool, more quota.Amounts) []*job {
	st := c.st
	if len(st.marks) == 0 || len(p.sites) == 0 || j.leaf < 0 {
		return nil
	}
	claim := hunt{c: c, kind: Reclaim, pool: p, j: j, need: more}
	due := !st.cfg.NoQuota && claim.entitled()
	var out []*job
	for _, v := range st.marks {
		if v == j || !v.marked() || v.Earmark.Pool != p.Name || !v.yields() {
			continue
		}
		if v.leaf == j.leaf && v.Priority < j.Priority || v.leaf != j.leaf && due && claim.beyondDue(v.leaf) {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b *job) int {
		if own := a.leaf == j.leaf; own != (b.leaf == j.leaf) {
			if own {
				return -1
			}
			return 1
		}
		return victimOrder(a, b)
	})
	return out
}

// recalled are the reservations that the cycle takes back, by ID.
func (c *cycle) recalled() []Eviction {
	var out []Eviction
	for _, id := range sortedIDs(c.st.marks) {
		if j := c.st.marks[id]; j.recalled && j.standing == 0 {
			out = append(out, Eviction{ID: id, Cause: c.cause[j].cause, For: c.cause[j].by, Whole: true})
		}
	}
	return out
}

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
