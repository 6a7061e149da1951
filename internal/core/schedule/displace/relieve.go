package displace

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Relieve looks at those whose patience is over, the longest due first. Of a
// job class that cannot be helped the others cannot be either.
func (c *Round) Relieve() {
	st := c.St
	st.TakesTurns = false
	if st.Now < st.Due {
		return
	}
	var due []*ledger.Job
	st.Due = ledger.Never
	for _, k := range st.ClassList {
		for _, l := range k.JobClasses {
			if l.Due <= st.Now && len(l.Jobs[0].Holds) == 0 {
				n := len(due)
				if due = append(due, longestDue(l, st.Now)...); len(due) == n {
					l.Due = nextDue(l) // whoever was due has left
				}
			}
			st.Due = min(st.Due, l.Due)
		}
	}
	slices.SortFunc(due, ledger.LongerDue)
	sorted := map[*ledger.Pool][]*ledger.Job{}
	hopelessJobClasses := passedOver(st, due)
	st.TakesTurns = len(hopelessJobClasses) > 0
	for _, j := range due {
		if hopelessJobClasses[j.JobClass] || len(j.Holds) > 0 || st.Gate(j) != nil {
			continue
		}
		helped := false
		for _, p := range st.PoolsOf(j) {
			if sorted[p] == nil {
				sorted[p] = hadEnough(st, p)
			}
			if helped = c.Relief(p, j, sorted[p], false); helped {
				break
			}
		}
		if helped {
			hopelessJobClasses = passedOver(st, due)
		} else {
			hopelessJobClasses[j.JobClass] = true
		}
	}
}

// A search for relief that fails looks at all who run. So many looks are for all
// searches of a cycle together, and so many searches there are at least.
const (
	reliefLooks = 400_000
	reliefLeast = 16
)

// passedOver are those job classes of due for which no room is looked for in this
// minute, where there are more than can be looked at: a quarter of the searches is
// for the longest due, and the others take turns from minute to minute.
func passedOver(st *state.State, due []*ledger.Job) map[*ledger.JobClass]bool {
	var classes []*ledger.JobClass
	seen := map[*ledger.JobClass]bool{}
	for _, j := range due {
		if !seen[j.JobClass] {
			seen[j.JobClass] = true
			classes = append(classes, j.JobClass)
		}
	}
	clear(seen)
	running := 1
	for _, p := range st.Pools {
		for q := range p.Q {
			running += len(p.Q[q].Victims)
		}
	}
	searches := max(reliefLooks/running, reliefLeast)
	if len(classes) <= searches {
		return seen
	}
	first := searches / 4
	turn, ring := searches-first, classes[first:]
	at := int(state.Minutes(st.Now) * int64(turn) % int64(len(ring)))
	for i := turn; i < len(ring); i++ {
		seen[ring[(at+i)%len(ring)]] = true
	}
	return seen
}

// nextDue is when the first of a job class is due.
func nextDue(l *ledger.JobClass) int64 {
	if len(l.Dues) == 0 {
		return ledger.Never
	}
	return l.Dues[0].Due
}

// dueLooked bounds how many of a job class are looked at who are due: the longest.
const dueLooked = 64

// longestDue are those of a job class whose patience is over, as many as are looked
// at. Age is no guide to them: who had to leave is old, and is due later.
func longestDue(l *ledger.JobClass, now int64) []*ledger.Job {
	n := 0
	for n < min(len(l.Dues), dueLooked) && l.Dues[n].Due <= now {
		n++
	}
	return l.Dues[:n]
}

// hadEnough are those who could be asked to leave, who has had the most first.
func hadEnough(st *state.State, p *ledger.Pool) []*ledger.Job {
	var all []*ledger.Job
	for q := range p.Q {
		for _, v := range p.Q[q].Victims {
			if hasHadEnough(st, v) {
				all = append(all, v)
			}
		}
	}
	slices.SortFunc(all, func(a, b *ledger.Job) int {
		return cmp.Or(cmp.Compare(spent(b), spent(a)), ledger.Older(a, b))
	})
	return all
}

// spent is what j has had by now, less what it would lose of that, as of no
// particular instant: it orders jobs.
func spent(j *ledger.Job) int64 {
	if j.Unsaved {
		return j.Started
	}
	return j.Attained - j.Started
}
