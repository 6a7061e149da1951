package cycle

import (
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// permits is State.permits, where reservations that j has a better right to may
// be taken back for it. The caller undoes that where nothing comes of it.
func (c *Pass) permits(j *state.Job, p *state.Pool, more quota.Amounts) bool {
	st := c.St
	if st.Permits(j, p, more) {
		return true
	}
	mark := len(st.Log)
	var taken []*state.Job
	for _, v := range c.recallable(j, p, more) {
		st.Do(state.Entry{Op: state.Recalls, H: &state.Hold{Job: v, Site: p.Sites[0]}})
		taken = append(taken, v)
		if !st.Permits(j, p, more) {
			continue
		}
		for _, x := range taken {
			if !c.returns(x, j, p, more) {
				c.cause[x] = verdictOf{schedule.Preempt, j.ID}
				if x.Leaf != j.Leaf {
					c.cause[x] = verdictOf{schedule.Reclaim, j.ID}
				}
			}
		}
		return true
	}
	st.Undo(mark)
	return false
}

// returns gives back what was taken from v, where j can do without.
func (c *Pass) returns(v, j *state.Job, p *state.Pool, more quota.Amounts) bool {
	st, mark := c.St, len(c.St.Log)
	st.Do(state.Entry{Op: state.Returns, H: &state.Hold{Job: v, Site: p.Sites[0]}})
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
func (c *Pass) recallable(j *state.Job, p *state.Pool, more quota.Amounts) []*state.Job {
	st := c.St
	if len(st.Marks) == 0 || len(p.Sites) == 0 || j.Leaf < 0 {
		return nil
	}
	claim := victimSearch{c: c, kind: schedule.Reclaim, pool: p, j: j, need: more}
	due := !st.Cfg.NoQuota && claim.entitled()
	var out []*state.Job
	for _, v := range st.Marks {
		if v == j || !v.Marked() || v.Earmark.Pool != p.Name || !v.Yields() {
			continue
		}
		if v.Leaf == j.Leaf && v.Priority < j.Priority || v.Leaf != j.Leaf && due && claim.beyondDue(v.Leaf) {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b *state.Job) int {
		if own := a.Leaf == j.Leaf; own != (b.Leaf == j.Leaf) {
			if own {
				return -1
			}
			return 1
		}
		return state.VictimOrder(a, b)
	})
	return out
}

// Recalled are the reservations that the cycle takes back, by ID.
func (c *Pass) Recalled() []schedule.Eviction {
	var out []schedule.Eviction
	for _, id := range state.SortedIDs(c.St.Marks) {
		if j := c.St.Marks[id]; j.Recalled && j.Standing == 0 {
			out = append(out, schedule.Eviction{ID: id, Cause: c.cause[j].cause, For: c.cause[j].by, Whole: true})
		}
	}
	return out
}
