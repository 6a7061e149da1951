package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/musterhq/muster/internal/core"
)

// aheadShown is how many of those ahead an explanation names.
const aheadShown = 5

// Explain says why job id waits, where it stands and who is ahead of it. The
// plan that the state gives has been applied: what is explained is what is left.
func (st *State) Explain(now int64, id core.WorkloadID) (Explanation, bool) {
	st.now = now
	st.prepare()
	j := st.jobs[id]
	if j == nil || j.lane == nil && !j.Aside {
		return Explanation{}, false
	}
	if j.Aside {
		return Explanation{Reasons: []Reason{{Token: PlanningFailed, Until: j.AsideUntil}}}, true
	}
	ex := Explanation{Reasons: st.whyNow(j), Position: 1}
	if j.Patient > now {
		for i := range ex.Reasons {
			if t := ex.Reasons[i].Token; t == WaitingForCapacity || t == Fragmented {
				ex.Reasons[i].Patient = j.Patient
				break
			}
		}
	}
	for i := range ex.Reasons {
		if t := ex.Reasons[i].Token; t == WaitingForCapacity || t == Fragmented || t == WaitingForQuota {
			ex.Reasons[i].Unsaved = st.unsaved(j)
			break
		}
	}
	ahead := st.ahead(j)
	for _, l := range st.lanesOf(j.leaf) {
		if len(l.jobs[0].holds) == 0 { // who runs already does not wait to start
			ex.Waiting += len(l.jobs)
		}
	}
	for _, n := range ahead {
		ex.Position += n.count
	}
	ex.Ahead = st.foremost(ahead)
	ex.Checked = st.fine(j, ex)
	ex.EarliestStart = st.earliest(j)
	return ex, true
}

// SetEnd says by when a job that runs will have ended, in unix ms; 0: nobody
// knows.
func (st *State) SetEnd(id core.WorkloadID, by int64) {
	if j := st.jobs[id]; j != nil && j.EndsBy != by {
		j.EndsBy, st.ends = by, nil
		for _, h := range j.holds {
			h.site.pool.outdate(h.site)
		}
	}
}

// whyNow is why j waits, with those in their promised places for whom others
// were told to leave and, where that is not the whole reason, with all in their
// places who get theirs before j.
func (st *State) whyNow(j *job) []Reason {
	c := newCycle(st)
	c.redeem()
	defer st.finish(c)
	if r, ok := st.comes(j); ok {
		return []Reason{r}
	}
	if reasons := st.why(j); len(reasons) > 0 {
		return reasons
	}
	// It would fit. Redeeming is one step of each, and some want more: further
	// tasks of arrays, services and elastic gangs.
	c.walk(Allocate)
	if r, ok := st.comes(j); ok {
		return []Reason{r}
	}
	if reasons := st.why(j); len(reasons) > 0 {
		return reasons
	}
	if r := c.keptFor(j); r.For != "" { // it must keep out of the way of those who have a time
		return []Reason{r}
	}
	return []Reason{{Token: NotYetEvaluated}}
}

// comes is that j has been given a place from which others are still to leave.
func (st *State) comes(j *job) (Reason, bool) {
	for _, h := range j.holds {
		if h.fresh && h.later {
			return Reason{Token: WaitingForPreemption, Tasks: int64(len(j.holds)), Note: st.leavers(j)}, true
		}
	}
	return Reason{}, false
}

// keptFor finds the gang for which the room is kept that j could use, once
// everybody has been looked at.
func (c *cycle) keptFor(j *job) Reason {
	r := Reason{Token: Reserved}
	for _, p := range c.st.poolsOf(j) {
		for _, b := range c.booked[p] {
			if b.j != j && (r.Until == 0 || b.at < r.Until) {
				r.For, r.Until, r.Pool = b.j.ID, b.at, p.Name
			}
		}
	}
	return r
}

// leavers says how many leave for j, and where.
func (st *State) leavers(j *job) string {
	who := map[core.WorkloadID]bool{}
	for _, h := range j.holds {
		for _, x := range h.site.pool.leaving {
			if x.site == h.site {
				who[x.job.ID] = true
			}
		}
	}
	switch len(who) {
	case 0:
		return ""
	case 1:
		return "1 workload"
	default:
		return fmt.Sprintf("%d workloads", len(who))
	}
}

// part is how many of a lane go before a job.
type part struct {
	lane  *lane
	count int
}

// ahead are those of j's queue that go before it.
func (st *State) ahead(j *job) []part {
	var out []part
	for _, l := range st.lanesOf(j.leaf) {
		first := l.jobs[0]
		switch {
		case len(first.holds) > 0 || l.key.priority < j.Priority:
		case l.key.priority > j.Priority:
			out = append(out, part{l, len(l.jobs)})
		case st.urgency(first) < st.urgency(j):
			out = append(out, part{l, len(l.jobs)})
		case st.urgency(first) > st.urgency(j):
		default:
			if n := sort.Search(len(l.jobs), func(k int) bool { return older(l.jobs[k], j) >= 0 }); n > 0 {
				out = append(out, part{l, n})
			}
		}
	}
	return out
}

// foremost are the first few of those ahead.
func (st *State) foremost(ahead []part) []core.WorkloadID {
	var first []*job
	for _, p := range ahead {
		first = append(first, p.lane.jobs[:min(p.count, aheadShown)]...)
	}
	slices.SortFunc(first, func(a, b *job) int { return cmp.Or(cmp.Compare(b.Priority, a.Priority), st.earlier(a, b)) })
	var ids []core.WorkloadID
	for _, j := range first[:min(len(first), aheadShown)] {
		ids = append(ids, j.ID)
	}
	return ids
}

// EarliestStart is what Explanation.EarliestStart says of a job that waits; 0 of
// any other.
func (st *State) EarliestStart(id core.WorkloadID) int64 {
	st.prepare()
	if j := st.jobs[id]; j != nil && j.lane != nil {
		return st.earliest(j)
	}
	return 0
}

// earliest finds the first known end of what runs after which j has room. What
// fits goes on to fit as more ends, so not every end is tried.
func (st *State) earliest(j *job) int64 {
	ends := st.inOrderOfEnd()
	if len(ends) == 0 {
		return 0
	}
	_, tries := st.next(j)
	mark := len(st.log)
	n := sort.Search(len(ends), func(n int) bool {
		defer st.undo(mark)
		for _, x := range ends[:n+1] {
			st.vacate(x)
		}
		for _, p := range st.poolsOf(j) {
			if len(st.unlicensedAfter(j, ends[:n+1])) == 0 && st.permits(j, p, st.cost(j, p, tries)) && st.placeIn(p, j, tries) {
				return true
			}
		}
		return false
	})
	if n == len(ends) {
		return 0
	}
	return max(ends[n].EndsBy, st.now)
}

// inOrderOfEnd are the jobs that hold something and whose end is known, the
// first to end first. They are remembered until something changes: whole lists
// are explained at once.
func (st *State) inOrderOfEnd() []*job {
	if st.ends == nil {
		st.ends = []*job{}
		for _, x := range st.jobs {
			if x.EndsBy > 0 && len(x.holds) > 0 {
				st.ends = append(st.ends, x)
			}
		}
		slices.SortFunc(st.ends, func(a, b *job) int { return cmp.Or(cmp.Compare(a.EndsBy, b.EndsBy), cmp.Compare(a.ID, b.ID)) })
	}
	return st.ends
}
