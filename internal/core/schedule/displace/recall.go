package displace

import (
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// Permits is State.permits, where reservations that j has a better right to may
// be taken back for it. The caller undoes that where nothing comes of it.
func (c *Round) Permits(j *ledger.Job, p *ledger.Pool, more quota.Amounts) bool {
	st := c.St
	if st.Permits(j, p, more) {
		return true
	}
	mark := len(st.Log)
	var taken []*ledger.Job
	for _, v := range c.recallable(j, p, more) {
		st.Do(ledger.Entry{Op: ledger.Recalls, H: &ledger.Hold{Job: v, Site: p.Sites[0]}})
		taken = append(taken, v)
		if !st.Permits(j, p, more) {
			continue
		}
		for _, x := range taken {
			if !c.returns(x, j, p, more) {
				c.Cause[x] = Verdict{schedule.Preempt, j.ID}
				if x.Leaf != j.Leaf {
					c.Cause[x] = Verdict{schedule.Reclaim, j.ID}
				}
			}
		}
		return true
	}
	st.Undo(mark)
	return false
}

// returns gives back what was taken from v, where j can do without.
func (c *Round) returns(v, j *ledger.Job, p *ledger.Pool, more quota.Amounts) bool {
	st, mark := c.St, len(c.St.Log)
	st.Do(ledger.Entry{Op: ledger.Returns, H: &ledger.Hold{Job: v, Site: p.Sites[0]}})
	if st.Permits(j, p, more) {
		return true
	}
	st.Undo(mark)
	return false
}

// recallable are those whose reservations in p j may have taken back, in the
// order in which they lose them: those of less important work of its own queue,
// and those of queues that have more than their due where its own asks for what
// it is due.
func (c *Round) recallable(j *ledger.Job, p *ledger.Pool, more quota.Amounts) []*ledger.Job {
	st := c.St
	if len(st.Marks) == 0 || len(p.Sites) == 0 || j.Leaf < 0 {
		return nil
	}
	claim := victimSearch{c: c, kind: schedule.Reclaim, pool: p, j: j, need: more}
	due := !st.Cfg.NoQuota && claim.entitled()
	var out []*ledger.Job
	for _, v := range st.Marks {
		if v == j || !v.Marked() || v.Earmark.Pool != p.Name || !v.Yields() {
			continue
		}
		if v.Leaf == j.Leaf && v.Priority < j.Priority || v.Leaf != j.Leaf && due && claim.beyondDue(v.Leaf) {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b *ledger.Job) int {
		if own := a.Leaf == j.Leaf; own != (b.Leaf == j.Leaf) {
			if own {
				return -1
			}
			return 1
		}
		return ledger.VictimOrder(a, b)
	})
	return out
}

// Recalled are the reservations that the cycle takes back, by ID.
func (c *Round) Recalled() []schedule.Eviction {
	var out []schedule.Eviction
	for _, id := range ledger.SortedIDs(c.St.Marks) {
		if j := c.St.Marks[id]; j.Recalled && j.Standing == 0 {
			out = append(out, schedule.Eviction{ID: id, Cause: c.Cause[j].Cause, For: c.Cause[j].By, Whole: true})
		}
	}
	return out
}
