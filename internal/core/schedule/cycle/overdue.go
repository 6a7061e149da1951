package cycle

import (
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/displace"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// Overdue gives room that is free to those first who have waited for as long as
// anyone is to wait, where their queue has less than its due. A queue whose jobs
// are larger than what is left of its due would otherwise come last whenever room
// becomes free, and what is smaller takes that bit by bit. Of each job class the one
// that is due the longest, and nobody before what is more important in its queue.
func (c *Pass) Overdue() {
	st := c.St
	if st.Now < st.Due {
		return
	}
	var due []*ledger.Job
	for _, k := range st.ClassList {
		for _, l := range k.JobClasses {
			if l.Due <= st.Now && len(l.Dues) > 0 && l.Dues[0].Due <= st.Now && len(l.Jobs[0].Holds) == 0 {
				due = append(due, l.Dues[0])
			}
		}
	}
	slices.SortFunc(due, ledger.LongerDue)
	for _, j := range due {
		if j.Standing > 0 || j.Leaf < 0 || st.Queues.List[j.Leaf].StoppedBy != "" || st.Gate(j) != nil || c.outranked(j) {
			continue
		}
		for _, p := range st.PoolsOf(j) {
			a := &p.Q[j.Leaf]
			roomy := slices.ContainsFunc(j.Options(), func(tries []ledger.Try) bool { return anywhere(st, p, j, tries) })
			if roomy && a.Alloc.Within(a.Share) && c.Look(schedule.Allocate, p, j) == displace.Grows {
				c.newcomer(j)
				j.Overdue = j.PlacedNow
				c.begins(j.JobClass)
				break
			}
		}
	}
}

// outranked reports whether somebody waits in j's queue who is more important.
func (c *Pass) outranked(j *ledger.Job) bool {
	return slices.ContainsFunc(c.St.JobClassesOf(j.Leaf), func(l *ledger.JobClass) bool {
		return !c.St.Cfg.NoPriority && l.Key.Priority > j.Priority
	})
}
