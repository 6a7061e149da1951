package cycle

import (
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// rouse puts into the line those job classes that were left out since they would
// find no victims, and now may: where the journal has changed something since and
// left something free, somebody of their queue holds something, or there is room
// for them as it is. What is not free others have who leave as little for them as
// those did who had it before, unless somebody is back there. Whose turn would have
// been before this one has had it.
func (c *Pass) rouse(l *state.Line, v *state.Visit, t *turn, since int) {
	st := c.St
	again := func(ln *ledger.JobClass) {
		if ln.Vain != st.Walks || t.after(c, l.Pool, ln) || c.Vain(l.Pool, ln.Jobs[0]) {
			return
		}
		ln.Vain = 0
		c.join(l, ln, true)
	}
	var seen map[int32]bool
	look := func(leaf int32) {
		if leaf < 0 || seen[leaf] {
			return
		}
		if seen == nil {
			seen = map[int32]bool{}
		}
		seen[leaf] = true
		for _, ln := range st.JobClassesOf(leaf) {
			again(ln)
		}
	}
	left := false
	for _, e := range st.Log[since:] {
		if (e.Op == ledger.Took || e.Op == ledger.Went || e.Op == ledger.Waits) && e.H.Site.Soon.Sum == 0 && e.H.Ask.Need.Devices > 0 {
			continue
		}
		left = true
		look(e.H.Job.Leaf)
		for _, h := range e.H.Site.Holds {
			look(h.Job.Leaf)
		}
	}
	if !left {
		return
	}
	for _, k := range v.Classes {
		if first := waits(k); first != nil && anyTries(st, l.Pool, first) {
			for _, ln := range k.JobClasses {
				again(ln)
			}
		}
	}
}

// waits is one of a class that holds nothing, or nil.
func waits(k *ledger.Class) *ledger.Job {
	for _, ln := range k.JobClasses {
		if j := ln.Jobs[0]; !k.Key.Own && j.Standing == 0 {
			return j
		}
	}
	return nil
}

func anyTries(st *state.State, p *ledger.Pool, j *ledger.Job) bool {
	for _, tries := range j.Options() {
		if anywhere(st, p, j, tries) {
			return true
		}
	}
	return false
}

// turn is that of one job, as things were before it was looked at.
type turn struct {
	job  *ledger.Job
	need quota.Amounts
	had  []quota.Amounts // by its queue, and those above
}

// begin notes the turn of the job on which a cursor stands.
func (t *turn) begin(st *state.State, p *ledger.Pool, cur *state.Cursor) {
	t.job, t.need, t.had = cur.At(), cur.Need(), t.had[:0]
	for q := t.job.Leaf; q >= 0; q = st.Queues.List[q].ParentIndex {
		t.had = append(t.had, p.Q[q].Alloc)
	}
}

// after reports whether the first of a job class would have had its turn before.
func (t *turn) after(c *Pass, p *ledger.Pool, ln *ledger.JobClass) bool {
	st, j := c.St, ln.Jobs[0]
	if j.Leaf == t.job.Leaf {
		return st.JobOrder(j, t.job) < 0
	}
	a, b := st.Queues.Fork(t.job.Leaf, j.Leaf)
	if a < 0 || b < 0 {
		return false
	}
	up := 0
	for q := t.job.Leaf; q != a; q = st.Queues.List[q].ParentIndex {
		up++
	}
	had, has := t.had[up], p.Q[b].Alloc
	would, will := had.Add(t.need), has.Add(ln.Class.Prices(&st.Asks, p, j)[0])
	x, y := st.Standing(p, a, &had, &would, &would), st.Standing(p, b, &has, &will, &will)
	return st.Compare(p, a, b, &x, &y) > 0
}
