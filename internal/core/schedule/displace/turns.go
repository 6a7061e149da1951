package displace

import (
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// turn is someone in the line of those who would want the room that victims
// leave: the search's job, a victim who would come back, or another who waits and
// only holds up those behind it.
type turn struct {
	job  *ledger.Job
	need quota.Amounts
	unit []*unit // a victim's
	self bool
}

// turns says which victims would be served before the search's job, by the order
// in which all who wait and they themselves are served; they are put back
// before it, so that nobody is made to leave whose room the next cycle would
// give back to them. All others follow.
func (h *victimSearch) turns() (early, late []*unit) {
	if h.kind != schedule.Reclaim {
		for i := len(h.victims) - 1; i >= 0; i-- {
			late = append(late, &h.victims[i])
		}
		return nil, late
	}
	return h.order()
}

// order is turns by the order of service, whatever the kind of search.
func (h *victimSearch) order() (early, late []*unit) {
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
			for q := t.job.Leaf; q >= 0; q = h.c.St.Queues.List[q].ParentIndex {
				gained[q] = gained[q].Add(t.need)
			}
		case t.unit != nil:
			late = append(late, t.unit...)
		}
	}
}

// lines are, by queue, those of the search's queue and of its victims' who wait,
// in the order in which they are served.
func (h *victimSearch) lines() map[int32][]turn {
	st := h.c.St
	lines := map[int32][]turn{h.j.Leaf: {{job: h.j, need: h.need, self: true}}}
	at := map[*ledger.Job]int{}
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
		for _, l := range st.JobClassesOf(q) {
			next := l.Passed(st.Walks)
			for next < len(l.Jobs) && l.Jobs[next] != h.j && l.Jobs[next].Standing > 0 {
				next++
			}
			if next >= len(l.Jobs) || l.Jobs[next] == h.j {
				continue
			}
			j := l.Jobs[next]
			if _, victim := at[j]; victim {
				continue
			}
			if _, tries := j.Next(); len(tries) > 0 {
				lines[q] = append(lines[q], turn{job: j, need: st.Cost(j, h.pool, tries)})
			}
		}
		slices.SortStableFunc(lines[q], func(a, b turn) int { return st.JobOrder(a.job, b.job) })
	}
	return lines
}

// sooner reports whether queue a is served before b.
func (h *victimSearch) sooner(a, b int32, lines map[int32][]turn, gained map[int32]quota.Amounts) bool {
	x, y := h.c.St.Queues.Fork(a, b)
	return h.c.St.Before(h.pool, x, y, lines[a][0].need.Add(gained[x]), lines[b][0].need.Add(gained[y])) < 0
}

func sortedQueues(m map[int32][]turn) []int32 {
	out := make([]int32, 0, len(m))
	for q := range m {
		out = append(out, q)
	}
	slices.Sort(out)
	return out
}
