package state

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
)

// jobClassKey tells apart what is not interchangeable.
type jobClassKey struct {
	queue       core.ProjectID
	Priority    int
	preemptible bool
	shape       string
	pools       string
	user        string // where users are limited
	licenses    string
	startBy     int64
	Own         core.WorkloadID // of a job that holds something already
	pass        Pass
}

// JobClass is waiting jobs that differ only in age, oldest first. What is found of
// one of them is true of all.
type JobClass struct {
	Key     jobClassKey
	shape   *schedule.Shape
	Jobs    []*Job
	Dues    []*Job   // of jobs: those whose patience has an end, the first to end first
	pools   []string // to be tried, in this order; nil: all
	asks    [][]*Ask // by group and run, where its class does not know
	options [][]Try  // of those that hold nothing, once known, likewise
	known   bool
	Leaf    int32 // index of its queue; negative: unknown
	Slot    int   // its place among the job classes of its queue
	Class   *Class
	place   int           // its place in its class
	Began   uint64        // the last cycle in which one of its jobs was placed
	Past    int           // how many of its jobs the walk is past
	Walk    uint64        // which walk
	Over    bool          // past is at the first that was not served, though others after it may have been
	first   *Pool         // where its demand counts; nil: nowhere
	each    quota.Amounts // of that, what each of its jobs wants
	counted bool          // in that pool
	listed  bool          // to be counted
	Limited int           // how many of its jobs have a known end
	Due     int64         // none of its jobs is due before
	Memo    *Memo         // of a search for victims in its own queue; nil: none
}

// enlist puts a job that wants something in its job class.
func (st *State) enlist(j *Job) {
	wants := 0
	for i := range j.Shape.Groups {
		wants += j.Shape.Groups[i].Wants()
	}
	if wants == 0 || j.Aside {
		return
	}
	key := jobClassKey{queue: j.Queue, Priority: j.Priority, preemptible: j.Preemptible, shape: j.Shape.Key, pools: strings.Join(j.Pools, ","), pass: j.Pass, licenses: licensesKey(j.Licenses), startBy: j.StartBy}
	if j.Leaf >= 0 {
		if q := &st.Queues.List[j.Leaf]; q.PerUser() {
			key.user = j.User
		}
	}
	if len(j.Holds) > 0 || len(j.Done) > 0 || j.Promised || j.Moved || j.Earmark.Pool != "" {
		key.Own = j.ID
	}
	l := st.JobClasses[key]
	if l == nil {
		l = &JobClass{Key: key, shape: j.Shape, Leaf: j.Leaf, Due: Never}
		if len(j.Pools) > 0 {
			l.pools = j.Pools
		}
		st.JobClasses[key] = l
		if j.Leaf >= 0 {
			q := &st.Queues.List[j.Leaf]
			l.Slot = len(q.jobClasses)
			q.jobClasses = append(q.jobClasses, l)
			st.classify(l)
		}
	}
	if j.MaxRun > 0 {
		l.Limited++
	}
	if j.Due > 0 {
		l.Due = min(l.Due, j.Due)
		st.Due = min(st.Due, j.Due)
	}
	st.want(l, 1)
	j.JobClass = l
	if j.Shape != l.shape {
		j.Shape = l.shape // one for all is enough
	}
	i := sort.Search(len(l.Jobs), func(i int) bool { return Older(l.Jobs[i], j) >= 0 })
	l.Jobs = slices.Insert(l.Jobs, i, j)
	if j.Due > 0 && st.Cfg.Quantum > 0 {
		i, _ := slices.BinarySearchFunc(l.Dues, j, LongerDue)
		l.Dues = slices.Insert(l.Dues, i, j)
	}
}

func (l *JobClass) remove(j *Job) {
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

// JobClassesOf are the job classes of one queue.
func (st *State) JobClassesOf(q int32) []*JobClass {
	if q < 0 {
		return nil
	}
	return st.Queues.List[q].jobClasses
}

// forgetJobClass takes an empty job class out.
func (st *State) forgetJobClass(l *JobClass, leaf int32) {
	delete(st.JobClasses, l.Key)
	if leaf < 0 {
		return
	}
	q := &st.Queues.List[leaf]
	last := len(q.jobClasses) - 1
	q.jobClasses[l.Slot] = q.jobClasses[last]
	q.jobClasses[l.Slot].Slot = l.Slot
	q.jobClasses[last] = nil
	q.jobClasses = q.jobClasses[:last]
	st.declassify(l)
}

// AsksOf is what j's runs ask for, by group and run. All of a class ask for the
// same.
func (st *State) AsksOf(j *Job) [][]*Ask {
	at := &j.Asks
	if l := j.JobClass; l != nil {
		at = &l.asks
		if l.Class != nil && !l.Class.Key.Own {
			at = &l.Class.asks
		}
	}
	if *at == nil {
		*at = st.findAsks(j.Shape, j.Pass)
	}
	return *at
}

func (st *State) findAsks(sh *schedule.Shape, p Pass) [][]*Ask {
	out := make([][]*Ask, len(sh.Groups))
	for g := range sh.Groups {
		for _, r := range sh.Groups[g].Runs {
			out[g] = append(out[g], st.AskOf(r.Need, r.Rule, p))
		}
	}
	return out
}

// NextRun is the ask of the i-th task of group g that is still to be placed, or
// nil.
func (st *State) NextRun(j *Job, g int, i int32) *Ask {
	asks := st.AsksOf(j)[g]
	for r, run := range j.Shape.Groups[g].Runs {
		if i < int32(run.Count) {
			return asks[r]
		}
		i -= int32(run.Count)
	}
	return nil
}

// demand is what all that j still wants counts for in p.
func (st *State) demand(j *Job, p *Pool) quota.Amounts {
	var sum quota.Amounts
	for g, asks := range st.AsksOf(j) {
		for r, a := range asks {
			sum = plus(sum, p.amount(a), int64(j.Shape.Groups[g].Runs[r].Count))
		}
	}
	return sum
}

// Try is tasks of one group that are placed together.
type Try struct {
	Group int
	Count int
}

// Next is what of j is to be placed next, all or nothing, and whether it is
// below its minimum. The second result is empty where it wants no more.
func (st *State) Next(j *Job) (below bool, tries []Try) {
	if all := st.Options(j); len(all) > 0 {
		tries = all[0]
	}
	return len(st.Deficits(j, 0, 1)) > 0, tries
}

// Wants reports whether j has anything left to be placed.
func (st *State) Wants(j *Job) bool { return len(st.Options(j)) > 0 }

// Options are the ways to go on with j, the best first: below its minimum the
// sets of groups that would make it whole, else one task more of some group.
// Jobs of one job class that hold nothing have the same.
func (st *State) Options(j *Job) [][]Try {
	l := j.JobClass
	if len(j.Holds) > 0 || l == nil || l.Key.Own != "" {
		return st.findOptions(j)
	}
	if k := l.Class; k != nil {
		if !k.known {
			k.Options, k.known = st.findOptions(j), true
		}
		return k.Options
	}
	if !l.known {
		l.options, l.known = st.findOptions(j), true
	}
	return l.options
}

func (st *State) findOptions(j *Job) [][]Try {
	if ways := st.Deficits(j, 0, maxWays); len(ways) > 0 {
		return slices.DeleteFunc(ways, func(tries []Try) bool { return !st.hasAll(j, tries) })
	}
	return st.growth(j, 0)
}

// hasAll reports whether j has as many tasks left to place as the tries name.
func (st *State) hasAll(j *Job, tries []Try) bool {
	for _, t := range tries {
		if int(j.Placed[t.Group])+t.Count > j.Shape.Groups[t.Group].Wants() {
			return false
		}
	}
	return true
}

// maxWays bounds in how many ways a job of which not all groups are needed is
// made whole.
const maxWays = 32

// Deficits are the ways to make a set of j whole, at most limit; none: it is.
func (st *State) Deficits(j *Job, set, limit int) [][]Try {
	var open [][][]Try // of each member that is not whole, the ways to make it so
	members, whole := 0, 0
	for s := range j.Shape.Sets {
		if s == 0 || j.Shape.Sets[s].Parent != set {
			continue
		}
		members++
		if ways := st.Deficits(j, s, limit); len(ways) > 0 {
			open = append(open, ways)
		} else {
			whole++
		}
	}
	for g := range j.Shape.Groups {
		grp := &j.Shape.Groups[g]
		if grp.Set != set {
			continue
		}
		members++
		if short := grp.Min - int(j.Active[g]); short > 0 {
			open = append(open, [][]Try{{{g, short}}})
		} else {
			whole++
		}
	}
	want := members
	if m := j.Shape.Sets[set].MinGroups; m > 0 {
		want = min(m, members)
	}
	if lack := want - whole; lack > 0 {
		return combined(open, lack, limit, nil, nil)
	}
	return nil
}

// combined appends to out the ways to choose so many of open, those in front
// first, each in every way of its own.
func combined(open [][][]Try, lack, limit int, sofar []Try, out [][]Try) [][]Try {
	if lack == 0 {
		return append(out, slices.Clone(sofar))
	}
	for i := 0; i+lack <= len(open); i++ {
		for _, way := range open[i] {
			if len(out) >= limit {
				return out
			}
			out = combined(open[i+1:], lack-1, limit, slices.Concat(sofar, way), out)
		}
	}
	return out
}

// Cost is what the tries count for in p.
func (st *State) Cost(j *Job, p *Pool, tries []Try) quota.Amounts {
	var sum quota.Amounts
	for _, t := range tries {
		asks, skip, left := st.AsksOf(j)[t.Group], int(j.Placed[t.Group]), t.Count
		for r, run := range j.Shape.Groups[t.Group].Runs {
			n := min(max(run.Count-skip, 0), left)
			skip = max(skip-run.Count, 0)
			left -= n
			sum = plus(sum, p.amount(asks[r]), int64(n))
		}
	}
	return sum
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
	Cycle uint64 // in which it was looked at last
	Log   int    // how much of that cycle's journal it has seen
	Until int64  // when somebody may be made to leave who may not now
	Asks  []Tallied
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
