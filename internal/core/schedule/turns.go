package schedule

import (
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
)

// turn is someone in the line of those who would want the room that victims
// leave: the hunt's job, a victim who would come back, or another who waits and
// only holds up those behind it.
type turn struct {
	job  *job
	need quota.Amounts
	unit []*unit // a victim's
	self bool
}

// turns says which victims would be served before the hunt's job, by the order
// in which all who wait and they themselves are served; they are put back
// before it, so that nobody is made to leave whose room the next cycle would
// give back to them. All others follow.
func (h *hunt) turns() (early, late []*unit) {
	if h.kind != Reclaim {
		for i := len(h.victims) - 1; i >= 0; i-- {
			late = append(late, &h.victims[i])
		}
		return nil, late
	}
	return h.order()
}

// order is turns by the order of service, whatever the kind of hunt.
func (h *hunt) order() (early, late []*unit) {
	lines := h.lines()
	gained := map[int32]quota.Amounts{} // what those who were put back hold again
	for before := true; ; {
		best := int32(-1)
		for _, q := range sortedQueues(lines) {
			if len(lines[q]) > 0 && (best < 0 || h.sooner(q, best, lines, gained)) {
				best = q
			}
		}
		if best < 0 {
			return early, late
		}
		t := lines[best][0]
		lines[best] = lines[best][1:]
		switch {
		case t.self:
			before = false
		case t.unit != nil && before:
			early = append(early, t.unit...)
			for q := t.job.leaf; q >= 0; q = h.c.st.queues.list[q].parent {
				gained[q] = gained[q].Add(t.need)
			}
		case t.unit != nil:
			late = append(late, t.unit...)
		}
	}
}

// lines are, by queue, those of the hunt's queue and of its victims' who wait,
// in the order in which they are served.
func (h *hunt) lines() map[int32][]turn {
	st := h.c.st
	lines := map[int32][]turn{h.j.leaf: {{job: h.j, need: h.need, self: true}}}
	at := map[*job]int{}
	for i := len(h.victims) - 1; i >= 0; i-- {
		u := &h.victims[i]
		k, seen := at[u.job]
		if !seen {
			k = len(lines[u.leaf])
			at[u.job] = k
			lines[u.leaf] = append(lines[u.leaf], turn{job: u.job})
		}
		t := &lines[u.leaf][k]
		t.unit, t.need = append(t.unit, u), t.need.Add(u.amount())
	}
	for q := range lines {
		for _, l := range st.lanesOf(q) {
			next := l.passed(st)
			for next < len(l.jobs) && l.jobs[next] != h.j && l.jobs[next].standing > 0 {
				next++
			}
			if next >= len(l.jobs) || l.jobs[next] == h.j {
				continue
			}
			j := l.jobs[next]
			if _, victim := at[j]; victim {
				continue
			}
			if _, tries := st.next(j); len(tries) > 0 {
				lines[q] = append(lines[q], turn{job: j, need: st.cost(j, h.pool, tries)})
			}
		}
		slices.SortStableFunc(lines[q], func(a, b turn) int { return st.jobOrder(a.job, b.job) })
	}
	return lines
}

// sooner reports whether queue a is served before b.
func (h *hunt) sooner(a, b int32, lines map[int32][]turn, gained map[int32]quota.Amounts) bool {
	x, y := h.c.st.queues.fork(a, b)
	return h.c.st.before(h.pool, x, y, lines[a][0].need.Add(gained[x]), lines[b][0].need.Add(gained[y])) < 0
}

func sortedQueues(m map[int32][]turn) []int32 {
	out := make([]int32, 0, len(m))
	for q := range m {
		out = append(out, q)
	}
	slices.Sort(out)
	return out
}
