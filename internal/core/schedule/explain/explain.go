// Package explain says why a job waits, where it stands in its queue, and what
// would become of it if it were another. It is given a state, which is afterwards
// as it was.
package explain

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/booking"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/displace"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/place"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// aheadShown is how many of those ahead an explanation names.
const aheadShown = 5

// Explain says why job id waits, where it stands and who is ahead of it. The
// plan that the state gives has been applied: what is explained is what is left.
func Explain(st *state.State, now int64, id core.WorkloadID) (schedule.Explanation, bool) {
	st.Now = now
	cycle.Prepare(st)
	j := st.Jobs[id]
	if j == nil || j.JobClass == nil && !j.Aside {
		return schedule.Explanation{}, false
	}
	if j.Aside {
		return schedule.Explanation{Reasons: []schedule.Reason{{Token: schedule.PlanningFailed, Until: j.AsideUntil}}}, true
	}
	ex := schedule.Explanation{Reasons: whyNow(st, j), Position: 1}
	if j.Patient > now {
		for i := range ex.Reasons {
			if t := ex.Reasons[i].Token; t == schedule.WaitingForCapacity || t == schedule.Fragmented {
				ex.Reasons[i].Patient = j.Patient
				break
			}
		}
	}
	for i := range ex.Reasons {
		if t := ex.Reasons[i].Token; t == schedule.WaitingForCapacity || t == schedule.Fragmented || t == schedule.WaitingForQuota {
			ex.Reasons[i].Unsaved, ex.Reasons[i].Younger = displace.Unsaved(st, j), displace.Younger(st, j)
			ex.Reasons[i].Takes = j.Expected
			break
		}
	}
	ahead := ahead(st, j)
	for _, l := range st.JobClassesOf(j.Leaf) {
		if len(l.Jobs[0].Holds) == 0 { // who runs already does not wait to start
			ex.Waiting += len(l.Jobs)
		}
	}
	for _, n := range ahead {
		ex.Position += n.count
	}
	ex.Ahead = foremost(st, ahead)
	ex.Checked = fine(st, j, ex)
	ex.EarliestStart = earliest(st, j)
	return ex, true
}

// SetEnd says by when a job that runs will have ended, in unix ms; 0: nobody
// knows.
func SetEnd(st *state.State, id core.WorkloadID, by int64) {
	if j := st.Jobs[id]; j != nil && j.EndsBy != by {
		j.EndsBy, st.Ends = by, nil
		for _, h := range j.Holds {
			h.Site.Pool.Outdate(h.Site)
		}
	}
}

// whyNow is why j waits, with those in their promised places for whom others
// were told to leave and, where that is not the whole reason, with all in their
// places who get theirs before j.
func whyNow(st *state.State, j *ledger.Job) []schedule.Reason {
	c := cycle.New(st)
	c.Redeem()
	defer cycle.Finish(st, c)
	if r, ok := comes(st, j); ok {
		return []schedule.Reason{r}
	}
	if reasons := Why(st, j); len(reasons) > 0 {
		return reasons
	}
	// It would fit. Redeeming is one step of each, and some want more: further
	// tasks of arrays, services and elastic gangs.
	c.Walk(schedule.Allocate)
	if r, ok := comes(st, j); ok {
		return []schedule.Reason{r}
	}
	if reasons := Why(st, j); len(reasons) > 0 {
		return reasons
	}
	if r := keptFor(c, j); r.For != "" { // it must keep out of the way of those who have a time
		return []schedule.Reason{r}
	}
	return []schedule.Reason{{Token: schedule.NotYetEvaluated}}
}

// comes is that j has been given a place from which others are still to leave.
func comes(st *state.State, j *ledger.Job) (schedule.Reason, bool) {
	for _, h := range j.Holds {
		if h.Fresh && h.Later {
			return schedule.Reason{Token: schedule.WaitingForPreemption, Tasks: int64(len(j.Holds)), Note: leavers(st, j)}, true
		}
	}
	return schedule.Reason{}, false
}

// keptFor finds the gang for which the room is kept that j could use, once
// everybody has been looked at.
func keptFor(c *cycle.Pass, j *ledger.Job) schedule.Reason {
	r := schedule.Reason{Token: schedule.Reserved}
	for _, p := range c.St.PoolsOf(j) {
		for _, b := range c.Booked[p] {
			if b.J != j && (r.Until == 0 || b.At < r.Until) {
				r.For, r.Until, r.Pool = b.J.ID, b.At, p.Name
			}
		}
	}
	return r
}

// leavers says how many leave for j, and where.
func leavers(st *state.State, j *ledger.Job) string {
	who := map[core.WorkloadID]bool{}
	for _, h := range j.Holds {
		for _, x := range h.Site.Pool.Leaving {
			if x.Site == h.Site {
				who[x.Job.ID] = true
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

// part is how many of a job class go before a job.
type part struct {
	jobClass *ledger.JobClass
	count    int
}

// ahead are those of j's queue that go before it.
func ahead(st *state.State, j *ledger.Job) []part {
	var out []part
	for _, l := range st.JobClassesOf(j.Leaf) {
		first := l.Jobs[0]
		switch {
		case len(first.Holds) > 0 || l.Key.Priority < j.Priority:
		case l.Key.Priority > j.Priority:
			out = append(out, part{l, len(l.Jobs)})
		case st.Urgency(first) < st.Urgency(j):
			out = append(out, part{l, len(l.Jobs)})
		case st.Urgency(first) > st.Urgency(j):
		default:
			if n := sort.Search(len(l.Jobs), func(k int) bool { return ledger.Older(l.Jobs[k], j) >= 0 }); n > 0 {
				out = append(out, part{l, n})
			}
		}
	}
	return out
}

// foremost are the first few of those ahead.
func foremost(st *state.State, ahead []part) []core.WorkloadID {
	var first []*ledger.Job
	for _, p := range ahead {
		first = append(first, p.jobClass.Jobs[:min(p.count, aheadShown)]...)
	}
	slices.SortFunc(first, func(a, b *ledger.Job) int { return cmp.Or(cmp.Compare(b.Priority, a.Priority), st.Earlier(a, b)) })
	var ids []core.WorkloadID
	for _, j := range first[:min(len(first), aheadShown)] {
		ids = append(ids, j.ID)
	}
	return ids
}

// EarliestStart is what Explanation.EarliestStart says of a job that waits; 0 of
// any other.
func EarliestStart(st *state.State, id core.WorkloadID) int64 {
	cycle.Prepare(st)
	if j := st.Jobs[id]; j != nil && j.JobClass != nil {
		return earliest(st, j)
	}
	return 0
}

// earliest finds the first known end of what runs after which j has room. What
// fits goes on to fit as more ends, so not every end is tried.
func earliest(st *state.State, j *ledger.Job) int64 {
	ends := inOrderOfEnd(st)
	if len(ends) == 0 {
		return 0
	}
	_, tries := j.Next()
	mark := len(st.Log)
	n := sort.Search(len(ends), func(n int) bool {
		defer st.Undo(mark)
		for _, x := range ends[:n+1] {
			booking.Vacate(st, x)
		}
		for _, p := range st.PoolsOf(j) {
			if len(st.UnlicensedAfter(j, ends[:n+1])) == 0 && st.Permits(j, p, st.Cost(j, p, tries)) && place.PlaceIn(st, p, j, tries) {
				return true
			}
		}
		return false
	})
	if n == len(ends) {
		return 0
	}
	return max(ends[n].EndsBy, st.Now)
}

// inOrderOfEnd are the jobs that hold something and whose end is known, the
// first to end first. They are remembered until something changes: whole lists
// are explained at once.
func inOrderOfEnd(st *state.State) []*ledger.Job {
	if st.Ends == nil {
		st.Ends = []*ledger.Job{}
		for _, x := range st.Jobs {
			if x.EndsBy > 0 && len(x.Holds) > 0 {
				st.Ends = append(st.Ends, x)
			}
		}
		slices.SortFunc(st.Ends, func(a, b *ledger.Job) int { return cmp.Or(cmp.Compare(a.EndsBy, b.EndsBy), cmp.Compare(a.ID, b.ID)) })
	}
	return st.Ends
}
