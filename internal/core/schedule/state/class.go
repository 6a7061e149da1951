package state

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
)

// Class is the job classes whose jobs want the same of the same pools, whatever their
// queues and priorities: whether there is a site for one there is for all. Job classes
// of jobs that hold something or are promised it are in classes of their own,
// for each of them has to be looked at.
type Class struct {
	Key        classKey
	pools      []string // to be tried, in this order; nil: all
	JobClasses []*JobClass
	at         int      // its place among all
	asks       [][]*Ask // by group and run
	Options    [][]Try  // once known
	known      bool
	priced     []quota.Amounts // what each option counts for in pricedIn
	pricedIn   *Pool
	pricedAt   uint64      // its shape
	Bookable   []bool      // by option: whether there will be room; empty: there is
	Begun      []*JobClass // of whom a job was placed in cycle since
	Since      uint64
	Kept       Vain
	Keeps      Room // of which all that are alike keep out
	Vain       Vain
}

type classKey struct {
	shape, pools string
	pass         Pass
	Own          bool
}

// classify puts a new job class where it belongs.
func (st *State) classify(l *JobClass) {
	key := classKey{shape: l.Key.shape, pools: l.Key.pools, pass: l.Key.pass}
	if l.Key.Own != "" {
		key = classKey{pools: l.Key.pools, Own: true}
	}
	k := st.classOf[key]
	if k == nil {
		k = &Class{Key: key, pools: l.pools, at: len(st.ClassList)}
		st.classOf[key] = k
		st.ClassList = append(st.ClassList, k)
		st.tour = nil
	}
	l.Class, l.place = k, len(k.JobClasses)
	k.JobClasses = append(k.JobClasses, l)
}

// declassify takes a job class out.
func (st *State) declassify(l *JobClass) {
	k, last := l.Class, len(l.Class.JobClasses)-1
	k.JobClasses[l.place] = k.JobClasses[last]
	k.JobClasses[l.place].place = l.place
	k.JobClasses[last] = nil
	k.JobClasses = k.JobClasses[:last]
	if last > 0 {
		return
	}
	end := len(st.ClassList) - 1
	st.ClassList[k.at] = st.ClassList[end]
	st.ClassList[k.at].at = k.at
	st.ClassList[end] = nil
	st.ClassList = st.ClassList[:end]
	delete(st.classOf, k.Key)
	st.tour = nil
}

// Visit is the classes that try one pool in one round.
type Visit struct {
	round, Pool int
	Classes     []*Class
}

// Visits are all that have job classes, in the order in which a walk takes them. Most
// classes name a pool or two of however many there are.
func (st *State) Visits() []Visit {
	names := st.PoolNames()
	if st.tour != nil {
		return st.tour
	}
	at := make(map[string]int, len(names))
	for i, name := range names {
		at[name] = i
	}
	all, found := []Visit{}, map[[2]int]int{}
	add := func(round, pool int, k *Class) {
		i, ok := found[[2]int{round, pool}]
		if !ok {
			i = len(all)
			found[[2]int{round, pool}] = i
			all = append(all, Visit{round: round, Pool: pool})
		}
		all[i].Classes = append(all[i].Classes, k)
	}
	for _, k := range st.ClassList {
		if k.pools == nil {
			for i := range names {
				add(i, i, k)
			}
			continue
		}
		round := 0
		for _, name := range k.pools { // those that do not exist do not count
			if pool, ok := at[name]; ok && round < len(names) {
				add(round, pool, k)
				round++
			}
		}
	}
	slices.SortFunc(all, func(a, b Visit) int { return cmp.Or(a.round-b.round, a.Pool-b.Pool) })
	st.tour = all
	return all
}

// Vain is a consolidation of somebody of a class that came to nothing because
// not even with all gone who may be moved there was enough room. Who is moved,
// and in which order, is the same for all of the class, so that it holds for the
// others until somebody gets a place.
type Vain struct {
	Pool   *Pool
	Cycle  uint64
	Log    int // of that cycle
	Booked int // how many had a time to start by then
}

// Room is that of a pool in one cycle.
type Room struct {
	Pool  *Pool
	Cycle uint64
}
