package schedule

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
)

// laneKey tells apart what is not interchangeable.
type laneKey struct {
	queue       core.ProjectID
	priority    int
	preemptible bool
	shape       string
	pools       string
	user        string // where users are limited
	licenses    string
	startBy     int64
	own         core.WorkloadID // of a job that holds something already
	pass        pass
}

// lane is waiting jobs that differ only in age, oldest first. What is found of
// one of them is true of all.
type lane struct {
	key     laneKey
	shape   *Shape
	jobs    []*job
	dues    []*job   // of jobs: those whose patience has an end, the first to end first
	pools   []string // to be tried, in this order; nil: all
	asks    [][]*ask // by group and run, where its class does not know
	options [][]try  // of those that hold nothing, once known, likewise
	known   bool
	leaf    int32 // index of its queue; negative: unknown
	slot    int   // its place among the lanes of its queue
	class   *class
	place   int           // its place in its class
	began   uint64        // the last cycle in which one of its jobs was placed
	past    int           // how many of its jobs the walk is past
	walk    uint64        // which walk
	over    bool          // past is at the first that was not served, though others after it may have been
	first   *pool         // where its demand counts; nil: nowhere
	each    quota.Amounts // of that, what each of its jobs wants
	counted bool          // in that pool
	listed  bool          // to be counted
	limited int           // how many of its jobs have a known end
	due     int64         // none of its jobs is due before
	memo    *memo         // of a hunt in its own queue; nil: none
}

// enlist puts a job that wants something in its lane.
func (st *State) enlist(j *job) {
	wants := 0
	for i := range j.Shape.Groups {
		wants += j.Shape.Groups[i].wants()
	}
	if wants == 0 || j.Aside {
		return
	}
	key := laneKey{queue: j.Queue, priority: j.Priority, preemptible: j.Preemptible, shape: j.Shape.Key, pools: strings.Join(j.Pools, ","), pass: j.pass, licenses: licensesKey(j.Licenses), startBy: j.StartBy}
	if j.leaf >= 0 {
		if q := &st.queues.list[j.leaf]; q.perUser() {
			key.user = j.User
		}
	}
	if len(j.holds) > 0 || len(j.Done) > 0 || j.Promised || j.Moved || j.Earmark.Pool != "" {
		key.own = j.ID
	}
	l := st.lanes[key]
	if l == nil {
		l = &lane{key: key, shape: j.Shape, leaf: j.leaf, due: never}
		if len(j.Pools) > 0 {
			l.pools = j.Pools
		}
		st.lanes[key] = l
		if j.leaf >= 0 {
			q := &st.queues.list[j.leaf]
			l.slot = len(q.lanes)
			q.lanes = append(q.lanes, l)
			st.classify(l)
		}
	}
	if j.MaxRun > 0 {
		l.limited++
	}
	if j.Due > 0 {
		l.due = min(l.due, j.Due)
		st.due = min(st.due, j.Due)
	}
	st.want(l, 1)
	j.lane = l
	if j.Shape != l.shape {
		j.Shape = l.shape // one for all is enough
	}
	i := sort.Search(len(l.jobs), func(i int) bool { return older(l.jobs[i], j) >= 0 })
	l.jobs = slices.Insert(l.jobs, i, j)
	if j.Due > 0 && st.cfg.Quantum > 0 {
		i, _ := slices.BinarySearchFunc(l.dues, j, longerDue)
		l.dues = slices.Insert(l.dues, i, j)
	}
}

func (l *lane) remove(j *job) {
	if i, ok := slices.BinarySearchFunc(l.dues, j, longerDue); ok {
		l.dues = slices.Delete(l.dues, i, i+1)
	}
	if j.MaxRun > 0 {
		l.limited--
	}
	i := sort.Search(len(l.jobs), func(i int) bool { return older(l.jobs[i], j) >= 0 })
	if i == 0 { // the usual case: whoever leaves is the oldest
		l.jobs[0] = nil
		l.jobs = l.jobs[1:]
		return
	}
	l.jobs = slices.Delete(l.jobs, i, i+1)
}

// lanesOf are the lanes of one queue.
func (st *State) lanesOf(q int32) []*lane {
	if q < 0 {
		return nil
	}
	return st.queues.list[q].lanes
}

// forgetLane takes an empty lane out.
func (st *State) forgetLane(l *lane, leaf int32) {
	delete(st.lanes, l.key)
	if leaf < 0 {
		return
	}
	q := &st.queues.list[leaf]
	last := len(q.lanes) - 1
	q.lanes[l.slot] = q.lanes[last]
	q.lanes[l.slot].slot = l.slot
	q.lanes[last] = nil
	q.lanes = q.lanes[:last]
	st.declassify(l)
}

// asksOf is what j's runs ask for, by group and run. All of a class ask for the
// same.
func (st *State) asksOf(j *job) [][]*ask {
	at := &j.asks
	if l := j.lane; l != nil {
		at = &l.asks
		if l.class != nil && !l.class.key.own {
			at = &l.class.asks
		}
	}
	if *at == nil {
		*at = st.findAsks(j.Shape, j.pass)
	}
	return *at
}

func (st *State) findAsks(sh *Shape, p pass) [][]*ask {
	out := make([][]*ask, len(sh.Groups))
	for g := range sh.Groups {
		for _, r := range sh.Groups[g].Runs {
			out[g] = append(out[g], st.askOf(r.Need, r.Rule, p))
		}
	}
	return out
}

// nextRun is the ask of the i-th task of group g that is still to be placed, or
// nil.
func (st *State) nextRun(j *job, g int, i int32) *ask {
	asks := st.asksOf(j)[g]
	for r, run := range j.Shape.Groups[g].Runs {
		if i < int32(run.Count) {
			return asks[r]
		}
		i -= int32(run.Count)
	}
	return nil
}

// demand is what all that j still wants counts for in p.
func (st *State) demand(j *job, p *pool) quota.Amounts {
	var sum quota.Amounts
	for g, asks := range st.asksOf(j) {
		for r, a := range asks {
			sum = plus(sum, p.amount(a), int64(j.Shape.Groups[g].Runs[r].Count))
		}
	}
	return sum
}

// try is tasks of one group that are placed together.
type try struct {
	group int
	count int
}

// next is what of j is to be placed next, all or nothing, and whether it is
// below its minimum. The second result is empty where it wants no more.
func (st *State) next(j *job) (below bool, tries []try) {
	if all := st.options(j); len(all) > 0 {
		tries = all[0]
	}
	return len(st.deficits(j, 0, 1)) > 0, tries
}

// wants reports whether j has anything left to be placed.
func (st *State) wants(j *job) bool { return len(st.options(j)) > 0 }

// options are the ways to go on with j, the best first: below its minimum the
// sets of groups that would make it whole, else one task more of some group.
// Jobs of one lane that hold nothing have the same.
func (st *State) options(j *job) [][]try {
	l := j.lane
	if len(j.holds) > 0 || l == nil || l.key.own != "" {
		return st.findOptions(j)
	}
	if k := l.class; k != nil {
		if !k.known {
			k.options, k.known = st.findOptions(j), true
		}
		return k.options
	}
	if !l.known {
		l.options, l.known = st.findOptions(j), true
	}
	return l.options
}

func (st *State) findOptions(j *job) [][]try {
	if ways := st.deficits(j, 0, maxWays); len(ways) > 0 {
		return slices.DeleteFunc(ways, func(tries []try) bool { return !st.hasAll(j, tries) })
	}
	return st.growth(j, 0)
}

// hasAll reports whether j has as many tasks left to place as the tries name.
func (st *State) hasAll(j *job, tries []try) bool {
	for _, t := range tries {
		if int(j.placed[t.group])+t.count > j.Shape.Groups[t.group].wants() {
			return false
		}
	}
	return true
}

// maxWays bounds in how many ways a job of which not all groups are needed is
// made whole.
const maxWays = 32

// deficits are the ways to make a set of j whole, at most limit; none: it is.
func (st *State) deficits(j *job, set, limit int) [][]try {
	var open [][][]try // of each member that is not whole, the ways to make it so
	members, whole := 0, 0
	for s := range j.Shape.Sets {
		if s == 0 || j.Shape.Sets[s].Parent != set {
			continue
		}
		members++
		if ways := st.deficits(j, s, limit); len(ways) > 0 {
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
		if short := grp.Min - int(j.active[g]); short > 0 {
			open = append(open, [][]try{{{g, short}}})
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
func combined(open [][][]try, lack, limit int, sofar []try, out [][]try) [][]try {
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

// cost is what the tries count for in p.
func (st *State) cost(j *job, p *pool, tries []try) quota.Amounts {
	var sum quota.Amounts
	for _, t := range tries {
		asks, skip, left := st.asksOf(j)[t.group], int(j.placed[t.group]), t.count
		for r, run := range j.Shape.Groups[t.group].Runs {
			n := min(max(run.Count-skip, 0), left)
			skip = max(skip-run.Count, 0)
			left -= n
			sum = plus(sum, p.amount(asks[r]), int64(n))
		}
	}
	return sum
}

// memo is what a lane knows of a hunt in its own queue that came to nothing: on
// which sites of a pool there would be room, and for how many tasks, if all left
// who may be made to. While that is too little nobody has to be told to go in
// order to find it out again, and only a site on which something has changed has
// to be looked at again.
type memo struct {
	pool  *pool
	shape uint64 // of the pool when it was worked out
	seq   uint64 // how much of the pool's news it has seen
	cycle uint64 // in which it was looked at last
	log   int    // how much of that cycle's journal it has seen
	until int64  // when somebody may be made to leave who may not now
	asks  []tallied
}

// tallied is a tally that is kept.
type tallied struct {
	ask        *ask
	need, have int
	sites      []*site // that have room
	room       []int
}

// longerDue orders those whose patience ends, the first to end first.
func longerDue(a, b *job) int { return cmp.Or(cmp.Compare(a.Due, b.Due), older(a, b)) }
