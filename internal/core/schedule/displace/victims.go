package displace

import (
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// pick returns the job that is to lose something next, or nil.
func (h *victimSearch) pick() *ledger.Job {
	if h.kind == schedule.Preempt {
		return h.nextOf(h.j.Leaf)
	}
	return h.pickBelow(-1)
}

// candidates reports whether there is any victim at all.
func (h *victimSearch) candidates() bool {
	if h.kind != schedule.Preempt {
		return h.alive(-1)
	}
	if len(h.c.Fresh[h.j.Leaf]) > 0 {
		return true
	}
	acc := &h.pool.Q[h.j.Leaf]
	for _, v := range acc.Victims[acc.Gone:] { // the least important first
		if v.Priority >= h.j.Priority {
			return false
		}
		if h.eligible(v) {
			return true
		}
	}
	return false
}

// pickBelow goes down the tree by the reverse of the order of service.
func (h *victimSearch) pickBelow(parent int32) *ledger.Job {
	r := h.ranked(parent)
	for len(r.heap) > 0 {
		if r.taken { // who comes first has less than when it was put there
			r.down(h, 0)
			r.taken = false
		}
		last := r.heap[0]
		if h.alive(last) {
			var v *ledger.Job
			if len(h.c.St.Queues.List[last].Children) > 0 {
				v = h.pickBelow(last)
			} else {
				v = h.nextOf(last)
			}
			if v != nil {
				r.taken = true
				return v
			}
		}
		end := len(r.heap) - 1 // nothing of it for good
		r.heap[0] = r.heap[end]
		r.heap = r.heap[:end]
		r.down(h, 0)
	}
	return nil
}

func childrenOf(st *state.State, parent int32) []int32 {
	if parent >= 0 {
		return st.Queues.List[parent].Children
	}
	return st.Queues.Top
}

// alive reports whether something below q may still be taken.
func (h *victimSearch) alive(q int32) bool {
	st := h.c.St
	if ch := childrenOf(st, q); q < 0 || len(ch) > 0 {
		for _, c := range ch {
			if h.alive(c) {
				return true
			}
		}
		return false
	}
	if h.kind == schedule.Reclaim && q == h.j.Leaf || len(h.pool.Q[q].Victims)+len(h.c.Fresh[q]) == 0 {
		return false
	}
	p := h.leafs[q]
	return p == nil || !p.over
}

// nextOf is the next victim in queue q, or nil for good.
func (h *victimSearch) nextOf(q int32) *ledger.Job {
	acc := &h.pool.Q[q]
	p := h.leafs[q]
	if p == nil {
		for acc.Gone < len(acc.Victims) && acc.Victims[acc.Gone].Standing == 0 {
			if acc.Gone++; acc.Gone == 1 {
				h.c.St.Passed = append(h.c.St.Passed, acc)
			}
		}
		p = &candidates{next: acc.Gone}
		for _, v := range h.c.Fresh[q] {
			if v.Home() == h.pool && h.eligible(v) {
				p.back = append(p.back, v)
			}
		}
		h.leafs[q] = p
	}
	if p.over || h.kind == schedule.Reclaim && !h.wide && !h.exceeds(q, nil, false) {
		p.over = true
		return nil
	}
	for p.next < len(acc.Victims) && !h.eligible(acc.Victims[p.next]) {
		p.next++
	}
	best := -1
	for i, v := range p.back {
		if best < 0 || ledger.VictimOrder(v, p.back[best]) < 0 {
			best = i
		}
	}
	if p.next < len(acc.Victims) && (best < 0 || ledger.VictimOrder(acc.Victims[p.next], p.back[best]) < 0) {
		p.next++
		return acc.Victims[p.next-1]
	}
	if best < 0 {
		p.over = true
		return nil
	}
	v := p.back[best]
	p.back = append(p.back[:best], p.back[best+1:]...)
	return v
}

// eligible reports whether anything of v can be taken for h's job.
func (h *victimSearch) eligible(v *ledger.Job) bool {
	if v == h.j || h.kind == schedule.Preempt && v.Priority >= h.j.Priority {
		return false
	}
	if h.kind == schedule.Consolidate && h.c.St.Queues.List[v.Leaf].StoppedBy != "" {
		return false // it could not start again where it is to move
	}
	if (h.kind == schedule.Consolidate || h.wide) && h.c.St.Now-v.Started < h.c.St.Cfg.MoveRest {
		return false // it has hardly begun; it may have moved just now
	}
	if h.protects(v) {
		return false
	}
	held := false
	for _, x := range v.Holds {
		held = held || !x.Leaving
		if x.Ask.Need.Never {
			return false // it could not come back
		}
	}
	return held && (h.kind == schedule.Consolidate || !h.sheltered(v))
}

// sheltered reports whether v has not run for as long as it may without being
// disturbed. What it has above its minimum can be taken all the same.
func (h *victimSearch) sheltered(v *ledger.Job) bool {
	st := h.c.St
	if st.Cfg.NoRuntime || v.Started == 0 {
		return false
	}
	return st.Now-v.Started < h.shelter(v) && v.Level() < 2
}

// shelter is for how many ms after its start v is left alone.
func (h *victimSearch) shelter(v *ledger.Job) int64 {
	if list := h.c.St.Queues.List; h.kind == schedule.Preempt {
		return max(h.pool.MinRuntime, list[v.Leaf].PreemptMin)
	}
	_, q := h.c.St.Queues.Fork(h.j.Leaf, v.Leaf)
	return max(h.pool.MinRuntime, h.c.St.Queues.List[q].ReclaimMin)
}

// exceeds reports whether the queue that q belongs to, where its branch and
// that of h's job part, has more than its due: with the job, once it has its
// place, and with those who have left already added again.
func (h *victimSearch) exceeds(q int32, gone map[int32]quota.Amounts, entered bool) bool {
	_, b := h.c.St.Queues.Fork(h.j.Leaf, q)
	return h.over(q, h.pool.Q[b].Held().Add(gone[b]), entered)
}

// beyondDue is exceeds of a queue with what is reserved for it.
func (h *victimSearch) beyondDue(q int32) bool {
	_, b := h.c.St.Queues.Fork(h.j.Leaf, q)
	return h.over(q, h.pool.Q[b].Alloc, false)
}

// over is exceeds of a queue that has so much.
func (h *victimSearch) over(q int32, has quota.Amounts, entered bool) bool {
	a, b := h.c.St.Queues.Fork(h.j.Leaf, q)
	x, y := &h.pool.Q[a], &h.pool.Q[b]
	will := x.Alloc
	if !entered {
		will = will.Add(h.j.Beyond(h.pool, h.need))
	}
	if !has.Within(y.May) {
		return true
	}
	return will.Within(x.Quota.Quota) && !has.Within(y.Quota.Quota)
}

// poorer orders two queues of one parent by who is to be served next; the last
// is taken from. What they lost in this search counts for their shares only:
// whether they are over their due is as it was before.
func (h *victimSearch) poorer(a, b int32) int {
	st, p := h.c.St, h.pool
	wa, wb := p.Q[a].Alloc.Add(h.lost[a]), p.Q[b].Alloc.Add(h.lost[b])
	x, y := st.Standing(p, a, &wa, &wa, &p.Q[a].Alloc), st.Standing(p, b, &wb, &wb, &p.Q[b].Alloc)
	return st.Compare(p, a, b, &x, &y)
}
