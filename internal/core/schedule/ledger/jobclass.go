package ledger

import (
	"cmp"
	"slices"
	"sort"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
)

// JobClassKey tells apart what is not interchangeable.
type JobClassKey struct {
	Queue       core.ProjectID
	Priority    int
	Preemptible bool
	Shape       string
	Pools       string
	User        string // where users are limited
	Licenses    string
	StartBy     int64
	MaxRun      int64           // where what lasts too long keeps within its quota
	Own         core.WorkloadID // of a job that holds something already
	Pass        Pass
}

// JobClass is waiting jobs that differ only in age, oldest first. What is found of
// one of them is true of all.
type JobClass struct {
	Key     JobClassKey
	Shape   *schedule.Shape
	Jobs    []*Job
	Dues    []*Job   // of jobs: those whose patience has an end, the first to end first
	Pools   []string // to be tried, in this order; nil: all
	Asks    [][]*Ask // by group and run, where its class does not know
	options [][]Try  // of those that hold nothing, once known, likewise
	known   bool
	Leaf    int32 // index of its queue; negative: unknown
	Slot    int   // its place among the job classes of its queue
	Class   *Class
	Place   int           // its place in its class
	Began   uint64        // the last cycle in which one of its jobs was placed
	Past    int           // how many of its jobs the walk is past
	Walk    uint64        // which walk
	Over    bool          // past is at the first that was not served, though others after it may have been
	First   *Pool         // where its demand counts; nil: nowhere
	Each    quota.Amounts // of that, what each of its jobs wants
	Counted bool          // in that pool
	Listed  bool          // to be counted
	Limited int           // how many of its jobs have a known end
	Due     int64         // none of its jobs is due before
	Keeps   []Room        // of which its jobs keep out for those who have a time to start
	Memo    *Memo         // of a search for victims in its own queue; nil: none
	Vain    uint64        // the last walk into whose line it did not come because of that
}

// KeepOut notes that all of l keep out of p in that cycle.
func (l *JobClass) KeepOut(p *Pool, cycle uint64) {
	if len(l.Keeps) > 0 && l.Keeps[0].Cycle != cycle {
		l.Keeps = l.Keeps[:0]
	}
	l.Keeps = append(l.Keeps, Room{Pool: p, Cycle: cycle})
}

// Remove takes a job out.
func (l *JobClass) Remove(j *Job) {
	if i, ok := slices.BinarySearchFunc(l.Dues, j, LongerDue); ok {
		l.Dues = slices.Delete(l.Dues, i, i+1)
	}
	if j.MaxRun > 0 {
		l.Limited--
	}
	i := sort.Search(len(l.Jobs), func(i int) bool { return Older(l.Jobs[i], j) >= 0 })
	if i == 0 { // the usual case: whoever leaves is the oldest
		l.Jobs[0] = nil
		l.Jobs = l.Jobs[1:]
		return
	}
	l.Jobs = slices.Delete(l.Jobs, i, i+1)
}

// Memo is what a job class knows of a search for victims in its own queue that came to nothing: on
// which sites of a pool there would be room, and for how many tasks, if all left
// who may be made to. While that is too little nobody has to be told to go in
// order to find it out again, and only a site on which something has changed has
// to be looked at again.
type Memo struct {
	Pool  *Pool
	Shape uint64 // of the pool when it was worked out
	Seq   uint64 // how much of the pool's news it has seen
	Own   uint64 // how much of those of its queue
	Until int64  // when somebody may be made to leave who may not now
	Asks  []Tallied
}

// Enough reports whether there would be room for all.
func (m *Memo) Enough() bool {
	return !slices.ContainsFunc(m.Asks, func(t Tallied) bool { return t.Have < t.Need })
}

// Tallied is a tally that is kept.
type Tallied struct {
	Ask        *Ask
	Need, Have int
	Sites      []*Site // that have room
	Room       []int
}

// LongerDue orders those whose patience ends, the first to end first.
func LongerDue(a, b *Job) int { return cmp.Or(cmp.Compare(a.Due, b.Due), Older(a, b)) }

// Passed is how many of a job class's jobs the present walk is past.
func (l *JobClass) Passed(walk uint64) int {
	if l.Walk != walk {
		return 0
	}
	return l.Past
}
