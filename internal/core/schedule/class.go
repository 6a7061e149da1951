package schedule

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
)

// class is the lanes whose jobs want the same of the same pools, whatever their
// queues and priorities: whether there is a site for one there is for all. Lanes
// of jobs that hold something or are promised it are in classes of their own,
// for each of them has to be looked at.
type class struct {
	key      classKey
	pools    []string // to be tried, in this order; nil: all
	lanes    []*lane
	at       int      // its place among all
	asks     [][]*ask // by group and run
	options  [][]try  // once known
	known    bool
	priced   []quota.Amounts // what each option counts for in pricedIn
	pricedIn *pool
	pricedAt uint64  // its shape
	bookable []bool  // by option: whether there will be room; empty: there is
	begun    []*lane // of whom a job was placed in cycle since
	since    uint64
	kept     vain
	keeps    room // of which all that are alike keep out
	vain     vain
}

type classKey struct {
	shape, pools string
	pass         pass
	own          bool
}

// classify puts a new lane where it belongs.
func (st *State) classify(l *lane) {
	key := classKey{shape: l.key.shape, pools: l.key.pools, pass: l.key.pass}
	if l.key.own != "" {
		key = classKey{pools: l.key.pools, own: true}
	}
	k := st.classOf[key]
	if k == nil {
		k = &class{key: key, pools: l.pools, at: len(st.classes)}
		st.classOf[key] = k
		st.classes = append(st.classes, k)
		st.tour = nil
	}
	l.class, l.place = k, len(k.lanes)
	k.lanes = append(k.lanes, l)
}

// declassify takes a lane out.
func (st *State) declassify(l *lane) {
	k, last := l.class, len(l.class.lanes)-1
	k.lanes[l.place] = k.lanes[last]
	k.lanes[l.place].place = l.place
	k.lanes[last] = nil
	k.lanes = k.lanes[:last]
	if last > 0 {
		return
	}
	end := len(st.classes) - 1
	st.classes[k.at] = st.classes[end]
	st.classes[k.at].at = k.at
	st.classes[end] = nil
	st.classes = st.classes[:end]
	delete(st.classOf, k.key)
	st.tour = nil
}

// visit is the classes that try one pool in one round.
type visit struct {
	round, pool int
	classes     []*class
}

// visits are all that have lanes, in the order in which a walk takes them. Most
// classes name a pool or two of however many there are.
func (st *State) visits() []visit {
	names := st.poolNames()
	if st.tour != nil {
		return st.tour
	}
	at := make(map[string]int, len(names))
	for i, name := range names {
		at[name] = i
	}
	all, found := []visit{}, map[[2]int]int{}
	add := func(round, pool int, k *class) {
		i, ok := found[[2]int{round, pool}]
		if !ok {
			i = len(all)
			found[[2]int{round, pool}] = i
			all = append(all, visit{round: round, pool: pool})
		}
		all[i].classes = append(all[i].classes, k)
	}
	for _, k := range st.classes {
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
	slices.SortFunc(all, func(a, b visit) int { return cmp.Or(a.round-b.round, a.pool-b.pool) })
	st.tour = all
	return all
}

// vain is a consolidation of somebody of a class that came to nothing because
// not even with all gone who may be moved there was enough room. Who is moved,
// and in which order, is the same for all of the class, so that it holds for the
// others until somebody gets a place.
type vain struct {
	pool   *pool
	cycle  uint64
	log    int // of that cycle
	booked int // how many had a time to start by then
}

// room is that of a pool in one cycle.
type room struct {
	pool  *pool
	cycle uint64
}
