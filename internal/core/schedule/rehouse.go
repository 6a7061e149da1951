package schedule

import (
	"math"

	"github.com/musterhq/muster/internal/core/quota"
)

// rehouse leaves a victim where it is, or finds it another place.
func (h *hunt) rehouse(u *unit) bool {
	st := h.c.st
	u.moved, u.next = false, nil
	if !u.whole && len(st.deficits(u.job, 0, 1)) > 0 {
		return false // what it could do without is of no use without the rest
	}
	if !h.mayReturn(u) {
		return false
	}
	if h.stays(u) {
		st.gather(u.job) // others of its gang may have to wait by now
		return true
	}
	mark := len(st.log)
	for _, x := range u.holds {
		if x.ask.need.Never {
			st.undo(mark)
			return false
		}
		s := st.best(h.pool.partsFor(u.job)[0], x.ask)
		if s == nil || u.job.bound() || st.queues.list[u.leaf].stopped != "" {
			st.undo(mark)
			return false
		}
		y := st.take(u.job, int(x.group), x.ask, s, x.task, x.counted)
		y.moves = x.moves || !x.fresh
		x.heir = y
		if y.moves || x.later {
			st.wait(y)
		}
		u.next = append(u.next, y)
	}
	st.gather(u.job)
	u.moved = true
	return true
}

// mayReturn reports whether limits allow the unit what it had. They have become
// tighter only where the hunt's job has taken of them.
func (h *hunt) mayReturn(u *unit) bool {
	st, j := h.c.st, h.j
	amount := u.amount()
	for r := range amount {
		if h.need[r] == 0 {
			amount[r] = 0
		}
	}
	if u.leaf == j.leaf && u.job.User == j.User && st.overUser(u.job, amount) != nil {
		return false
	}
	if len(st.unlicensed(u.job)) > 0 {
		return false
	}
	if st.cfg.NoQuota {
		return true
	}
	mine := j.leaf
	for q := u.leaf; q >= 0; q = st.queues.list[q].parent {
		for mine >= 0 && st.queues.list[mine].depth > st.queues.list[q].depth {
			mine = st.queues.list[mine].parent
		}
		if a := &h.pool.q[q]; q == mine && !allows(a.Limit, a.alloc, amount) {
			return false
		}
	}
	return true
}

// fair reports whether all of left may be made to leave for a queue's due: each
// from a queue that, until then, has more than its own; and that no queue that
// takes is served better than the one it took from.
func (h *hunt) fair(left []*unit) bool {
	st := h.c.st
	limit := max(st.cfg.Saturation, 1)
	gone := map[int32]quota.Amounts{} // of what is gone in the end, what was not gone yet at that point
	for _, v := range left {
		for q := v.leaf; q >= 0; q = st.queues.list[q].parent {
			gone[q] = gone[q].Add(v.amount())
		}
	}
	for _, v := range left {
		if !h.exceeds(v.leaf, gone, true) {
			return false
		}
		for q := v.leaf; q >= 0; q = st.queues.list[q].parent {
			gone[q] = gone[q].Sub(v.amount())
		}
	}
	for _, v := range left {
		a, b := st.queues.fork(h.j.leaf, v.leaf)
		x, y := &h.pool.q[a], &h.pool.q[b]
		for r, n := range h.need.Add(v.amount()) {
			if n == 0 || x.alloc[r] <= x.share[r] || y.share[r] <= 0 {
				continue
			}
			if saturation(x.alloc[r], x.share[r])*limit >= saturation(y.alloc[r], y.share[r]) {
				return false
			}
		}
	}
	return true
}

// placed reports whether the unit stays or has another place.
func (h *hunt) placed(u *unit) bool {
	if u.moved {
		return true
	}
	for _, x := range u.holds {
		if x = x.present(); x.leaving || x.gone {
			return false
		}
	}
	return true
}

func (u *unit) amount() quota.Amounts {
	var sum quota.Amounts
	for _, x := range u.holds {
		sum = sum.Add(x.amount)
	}
	return sum
}

func saturation(have, share int64) float64 {
	if share <= 0 {
		return math.Inf(1)
	}
	return float64(have) / float64(share)
}
