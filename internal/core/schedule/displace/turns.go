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
// give back to them. All others follow: late says who, also after the early ones
// have been given places.
func (h *victimSearch) turns() (early []*unit, late func() []*unit) {
	if h.kind == schedule.Reclaim {
		return h.order()
	}
	return nil, func() (late []*unit) {
		for i := len(h.victims) - 1; i >= 0; i-- {
			late = append(late, &h.victims[i])
		}
		return late
	}
}

// order is turns by the order of service, whatever the kind of search.
func (h *victimSearch) order() (early []*unit, late func() []*unit) {
	lines, needs := h.lines(), map[int32][]quota.Amounts{}
	for q, line := range lines {
		for i := range line {
			needs[q] = append(needs[q], line[i].need)
		}
	}
	service := h.c.St.Serve(h.pool, needs)
	next := func() *turn {
		q, i := service.First()
		return &lines[q][i]
	}
	for t := next(); !t.self; t = next() {
		var gained quota.Amounts
		if t.unit != nil {
			early = append(early, t.unit...)
			gained = t.need
		}
		service.Served(gained)
	}
	return early, func() (late []*unit) {
		for len(early)+len(late) < len(h.victims) {
			late = append(late, next().unit...)
			service.Served(quota.Amounts{})
		}
		return late
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
		lines[q] = append(lines[q], h.waiting(q, at)...)
		slices.SortStableFunc(lines[q], func(a, b turn) int { return st.JobOrder(a.job, b.job) })
	}
	return lines
}

// waiting is who of a queue waits beside the search's job and its victims, the
// first of each of its job classes. It is the same until another of the queue is
// told to go.
func (h *victimSearch) waiting(q int32, victims map[*ledger.Job]int) []turn {
	st, n := h.c.St, 0
	for i := range h.victims {
		if h.victims[i].leaf == q {
			n++
		}
	}
	if w, known := h.others[q]; known && w.victims == n {
		return w.turns
	}
	w := others{victims: n}
	for _, l := range st.JobClassesOf(q) {
		next := l.Passed(st.Walks)
		for next < len(l.Jobs) && l.Jobs[next] != h.j && l.Jobs[next].Standing > 0 {
			next++
		}
		if next >= len(l.Jobs) || l.Jobs[next] == h.j {
			continue
		}
		j := l.Jobs[next]
		if _, victim := victims[j]; victim {
			continue
		}
		if _, tries := j.Next(); len(tries) > 0 {
			w.turns = append(w.turns, turn{job: j, need: st.Cost(j, h.pool, tries)})
		}
	}
	if h.others == nil {
		h.others = map[int32]others{}
	}
	h.others[q] = w
	return w.turns
}

// others are those of a queue who wait, with so many victims of it.
type others struct {
	victims int
	turns   []turn
}

// blocked is a search whose job found no place beside the victims who are served
// before it, and therefore stay. With more of them told to go these stay as well:
// it is the same as long as there is no more room than there was, and the job's
// queue has not come to be served sooner because others of its parents have lost
// something.
type blocked struct {
	room  int
	above quota.Amounts
}

func blockedNow(h *victimSearch) blocked {
	if h.kind != schedule.Reclaim || h.own {
		return blocked{}
	}
	list, top := h.c.St.Queues.List, h.j.Leaf
	for list[top].ParentIndex >= 0 {
		top = list[top].ParentIndex
	}
	return blocked{room: h.room.sum(), above: h.lost[top]}
}

// still reports whether the search is blocked as it was.
func (b blocked) still(h *victimSearch) bool { return b.room > 0 && b == blockedNow(h) }
