package displace

import (
	"math"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule/place"
	"github.com/musterhq/muster/internal/core/schedule/queues"
)

// relocate leaves a victim where it is, or finds it another place.
func (h *victimSearch) relocate(u *unit) bool {
	st := h.c.St
	u.moved, u.next = false, nil
	if !u.whole && len(u.job.Deficits(0, 1)) > 0 {
		return false // what it could do without is of no use without the rest
	}
	if !h.mayReturn(u) {
		h.own = true
		return false
	}
	if h.stays(u) {
		place.Gather(st, u.job) // others of its gang may have to wait by now
		return true
	}
	mark := len(st.Log)
	for _, x := range u.holds {
		if x.Ask.Need.Never {
			st.Undo(mark)
			return false
		}
		s := st.Best(h.pool.PartsFor(u.job)[0], x.Ask)
		if s == nil || place.Bound(u.job) || st.Queues.List[u.leaf].StoppedBy != "" {
			st.Undo(mark)
			return false
		}
		y := st.Take(u.job, int(x.Group), x.Ask, s, x.Task, x.Counted)
		y.Moves = x.Moves || !x.Fresh
		x.Heir = y
		if y.Moves || x.Later {
			st.Wait(y)
		}
		u.next = append(u.next, y)
	}
	place.Gather(st, u.job)
	u.moved = true
	return true
}

// mayReturn reports whether limits allow the unit what it had. They have become
// tighter only where the search's job has taken of them.
func (h *victimSearch) mayReturn(u *unit) bool {
	st, j := h.c.St, h.j
	amount := u.amount()
	for r := range amount {
		if h.need[r] == 0 {
			amount[r] = 0
		}
	}
	if u.job.User == j.User && (u.leaf == j.Leaf && st.OverUser(u.job, amount) != nil || st.OverBound(u.job, amount) != nil) {
		return false
	}
	if st.Full(u.job) != nil {
		return false // others run instead by now, or have its licenses
	}
	if st.Cfg.NoQuota {
		return true
	}
	mine := j.Leaf
	for q := u.leaf; q >= 0; q = st.Queues.List[q].ParentIndex {
		for mine >= 0 && st.Queues.List[mine].Depth > st.Queues.List[q].Depth {
			mine = st.Queues.List[mine].ParentIndex
		}
		if a := &h.pool.Q[q]; q == mine && (!queues.Allows(a.Limit, a.Alloc, amount) || !st.MayBorrow(j, q) && !st.MayBorrow(u.job, q) && !queues.Allows(a.Quota.Quota, a.Alloc, amount)) {
			return false
		}
	}
	return true
}

// fair reports whether all of left may be made to leave for a queue's due: each
// from a queue that, until then, has more than its own; and that no queue that
// takes is served better than the one it took from.
func (h *victimSearch) fair(left []*unit) bool {
	st := h.c.St
	limit := max(st.Cfg.Saturation, 1)
	gone := map[int32]quota.Amounts{} // of what is gone in the end, what was not gone yet at that point
	for _, v := range left {
		for q := v.leaf; q >= 0; q = st.Queues.List[q].ParentIndex {
			gone[q] = gone[q].Add(v.amount())
		}
	}
	for _, v := range left {
		if !h.exceeds(v.leaf, gone, true) {
			return false
		}
		for q := v.leaf; q >= 0; q = st.Queues.List[q].ParentIndex {
			gone[q] = gone[q].Sub(v.amount())
		}
	}
	for _, v := range left {
		a, b := st.Queues.Fork(h.j.Leaf, v.leaf)
		x, y := &h.pool.Q[a], &h.pool.Q[b]
		for r, n := range h.need.Add(v.amount()) {
			if n == 0 || x.Alloc[r] <= x.Share[r] || y.Share[r] <= 0 {
				continue
			}
			if saturation(x.Alloc[r], x.Share[r])*limit >= saturation(y.Alloc[r], y.Share[r]) {
				return false
			}
		}
	}
	return true
}

// placed reports whether the unit stays or has another place.
func (h *victimSearch) placed(u *unit) bool {
	if u.moved {
		return true
	}
	for _, x := range u.holds {
		if x = present(x); x.Leaving || x.Gone {
			return false
		}
	}
	return true
}

func saturation(have, share int64) float64 {
	if share <= 0 {
		return math.Inf(1)
	}
	return float64(have) / float64(share)
}
