package schedule

import "github.com/musterhq/muster/internal/core/quota"

// pick returns the job that is to lose something next, or nil.
func (h *hunt) pick() *job {
	if h.kind == Preempt {
		return h.nextOf(h.j.leaf)
	}
	return h.pickBelow(-1)
}

// prey reports whether there is any victim at all.
func (h *hunt) prey() bool {
	if h.kind != Preempt {
		return h.alive(-1)
	}
	if len(h.c.fresh[h.j.leaf]) > 0 {
		return true
	}
	acc := &h.pool.q[h.j.leaf]
	for _, v := range acc.victims[acc.gone:] { // the least important first
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
func (h *hunt) pickBelow(parent int32) *job {
	r := h.ranked(parent)
	for len(r.heap) > 0 {
		if r.taken { // who comes first has less than when it was put there
			r.down(h, 0)
			r.taken = false
		}
		last := r.heap[0]
		if h.alive(last) {
			var v *job
			if len(h.c.st.queues.list[last].children) > 0 {
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

func (st *State) childrenOf(parent int32) []int32 {
	if parent >= 0 {
		return st.queues.list[parent].children
	}
	return st.queues.top
}

// alive reports whether something below q may still be taken.
func (h *hunt) alive(q int32) bool {
	st := h.c.st
	if ch := st.childrenOf(q); q < 0 || len(ch) > 0 {
		for _, c := range ch {
			if h.alive(c) {
				return true
			}
		}
		return false
	}
	if h.kind == Reclaim && q == h.j.leaf || len(h.pool.q[q].victims)+len(h.c.fresh[q]) == 0 {
		return false
	}
	p := h.leafs[q]
	return p == nil || !p.over
}

// nextOf is the next victim in queue q, or nil for good.
func (h *hunt) nextOf(q int32) *job {
	acc := &h.pool.q[q]
	p := h.leafs[q]
	if p == nil {
		for acc.gone < len(acc.victims) && acc.victims[acc.gone].standing == 0 {
			if acc.gone++; acc.gone == 1 {
				h.c.st.passed = append(h.c.st.passed, acc)
			}
		}
		p = &prey{next: acc.gone}
		for _, v := range h.c.fresh[q] {
			if v.home() == h.pool && h.eligible(v) {
				p.back = append(p.back, v)
			}
		}
		h.leafs[q] = p
	}
	if p.over || h.kind == Reclaim && !h.wide && !h.exceeds(q, nil, false) {
		p.over = true
		return nil
	}
	for p.next < len(acc.victims) && !h.eligible(acc.victims[p.next]) {
		p.next++
	}
	best := -1
	for i, v := range p.back {
		if best < 0 || victimOrder(v, p.back[best]) < 0 {
			best = i
		}
	}
	if p.next < len(acc.victims) && (best < 0 || victimOrder(acc.victims[p.next], p.back[best]) < 0) {
		p.next++
		return acc.victims[p.next-1]
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
func (h *hunt) eligible(v *job) bool {
	if v == h.j || h.kind == Preempt && v.Priority >= h.j.Priority {
		return false
	}
	if h.kind == Consolidate && h.c.st.queues.list[v.leaf].stopped != "" {
		return false // it could not start again where it is to move
	}
	if (h.kind == Consolidate || h.wide) && h.c.st.now-v.Started < h.c.st.cfg.MoveRest {
		return false // it has hardly begun; it may have moved just now
	}
	if h.wastes(v) {
		return false
	}
	held := false
	for _, x := range v.holds {
		held = held || !x.leaving
		if x.ask.need.Never {
			return false // it could not come back
		}
	}
	return held && (h.kind == Consolidate || !h.sheltered(v))
}

// sheltered reports whether v has not run for as long as it may without being
// disturbed. What it has above its minimum can be taken all the same.
func (h *hunt) sheltered(v *job) bool {
	st := h.c.st
	if st.cfg.NoRuntime || v.Started == 0 {
		return false
	}
	return st.now-v.Started < h.shelter(v) && v.level() < 2
}

// shelter is for how many ms after its start v is left alone.
func (h *hunt) shelter(v *job) int64 {
	if list := h.c.st.queues.list; h.kind == Preempt {
		return max(h.pool.MinRuntime, list[v.leaf].PreemptMin)
	}
	_, q := h.c.st.queues.fork(h.j.leaf, v.leaf)
	return max(h.pool.MinRuntime, h.c.st.queues.list[q].ReclaimMin)
}

// exceeds reports whether the queue that q belongs to, where its branch and
// that of h's job part, has more than its due: with the job, once it has its
// place, and with those who have left already added again.
func (h *hunt) exceeds(q int32, gone map[int32]quota.Amounts, entered bool) bool {
	_, b := h.c.st.queues.fork(h.j.leaf, q)
	return h.over(q, h.pool.q[b].held().Add(gone[b]), entered)
}

// beyondDue is exceeds of a queue with what is reserved for it.
func (h *hunt) beyondDue(q int32) bool {
	_, b := h.c.st.queues.fork(h.j.leaf, q)
	return h.over(q, h.pool.q[b].alloc, false)
}

// over is exceeds of a queue that has so much.
func (h *hunt) over(q int32, has quota.Amounts, entered bool) bool {
	a, b := h.c.st.queues.fork(h.j.leaf, q)
	x, y := &h.pool.q[a], &h.pool.q[b]
	will := x.alloc
	if !entered {
		will = will.Add(h.j.beyond(h.pool, h.need))
	}
	if !has.Within(y.may) {
		return true
	}
	return will.Within(x.Quota.Quota) && !has.Within(y.Quota.Quota)
}

// poorer orders two queues of one parent by who is to be served next; the last
// is taken from. What they lost in this hunt counts for their shares only:
// whether they are over their due is as it was before.
func (h *hunt) poorer(a, b int32) int {
	st, p := h.c.st, h.pool
	wa, wb := p.q[a].alloc.Add(h.lost[a]), p.q[b].alloc.Add(h.lost[b])
	x, y := st.standing(p, a, &wa, &wa, &p.q[a].alloc), st.standing(p, b, &wb, &wb, &p.q[b].alloc)
	return st.compare(p, a, b, &x, &y)
}
