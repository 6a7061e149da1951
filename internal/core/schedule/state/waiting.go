package state

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// Waiting is the job classes of those that wait, and the classes that these are
// of.
type Waiting struct {
	JobClasses map[ledger.JobClassKey]*ledger.JobClass
	ClassList  []*ledger.Class
	classOf    map[ledger.ClassKey]*ledger.Class
	tour       []Visit            // of all classes; nil: not known
	Walks      uint64             // that there were
	fresh      []*ledger.JobClass // whose demand is not counted yet
	expected   int                // how many jobs wait of which it is known how long they probably take
}

func newWaiting() Waiting {
	return Waiting{JobClasses: map[ledger.JobClassKey]*ledger.JobClass{}, classOf: map[ledger.ClassKey]*ledger.Class{}}
}

// classify puts a new job class where it belongs.
func (ws *Waiting) classify(l *ledger.JobClass) {
	key := ledger.ClassKey{Shape: l.Key.Shape, Pools: l.Key.Pools, Pass: l.Key.Pass}
	if l.Key.Own != "" {
		key = ledger.ClassKey{Pools: l.Key.Pools, Own: true}
	}
	k := ws.classOf[key]
	if k == nil {
		k = &ledger.Class{Key: key, Pools: l.Pools, At: len(ws.ClassList)}
		ws.classOf[key] = k
		ws.ClassList = append(ws.ClassList, k)
		ws.tour = nil
	}
	l.Class, l.Place = k, len(k.JobClasses)
	k.JobClasses = append(k.JobClasses, l)
}

// declassify takes a job class out.
func (ws *Waiting) declassify(l *ledger.JobClass) {
	k, last := l.Class, len(l.Class.JobClasses)-1
	k.JobClasses[l.Place] = k.JobClasses[last]
	k.JobClasses[l.Place].Place = l.Place
	k.JobClasses[last] = nil
	k.JobClasses = k.JobClasses[:last]
	if last > 0 {
		return
	}
	end := len(ws.ClassList) - 1
	ws.ClassList[k.At] = ws.ClassList[end]
	ws.ClassList[k.At].At = k.At
	ws.ClassList[end] = nil
	ws.ClassList = ws.ClassList[:end]
	delete(ws.classOf, k.Key)
	ws.tour = nil
}

// Visit is the classes that try one pool in one round.
type Visit struct {
	round, Pool int
	Classes     []*ledger.Class
}

// Visits are all that have job classes, in the order in which a walk takes them. Most
// classes name a pool or two of however many there are.
func (ws *Waiting) Visits(names []string) []Visit {
	if ws.tour != nil {
		return ws.tour
	}
	at := make(map[string]int, len(names))
	for i, name := range names {
		at[name] = i
	}
	all, found := []Visit{}, map[[2]int]int{}
	add := func(round, pool int, k *ledger.Class) {
		i, ok := found[[2]int{round, pool}]
		if !ok {
			i = len(all)
			found[[2]int{round, pool}] = i
			all = append(all, Visit{round: round, Pool: pool})
		}
		all[i].Classes = append(all[i].Classes, k)
	}
	for _, k := range ws.ClassList {
		if k.Pools == nil {
			for i := range names {
				add(i, i, k)
			}
			continue
		}
		round := 0
		for _, name := range k.Pools { // those that do not exist do not count
			if pool, ok := at[name]; ok && round < len(names) {
				add(round, pool, k)
				round++
			}
		}
	}
	slices.SortFunc(all, func(a, b Visit) int { return cmp.Or(a.round-b.round, a.Pool-b.Pool) })
	ws.tour = all
	return all
}

// want counts n jobs more of a job class.
func (ws *Waiting) want(l *ledger.JobClass, n int64) {
	switch {
	case l.Leaf < 0:
	case !l.Counted:
		if !l.Listed {
			l.Listed = true
			ws.fresh = append(ws.fresh, l)
		}
	case l.First != nil:
		a := &l.First.Q[l.Leaf]
		a.Wanted = ledger.Plus(a.Wanted, l.Each, n)
		l.First.Unfair = true
	}
}

// enlist puts a job that wants something in its job class.
func (st *State) enlist(j *ledger.Job) {
	wants := 0
	for i := range j.Shape.Groups {
		wants += j.Shape.Groups[i].Wants()
	}
	if wants == 0 || j.Aside {
		return
	}
	key := ledger.JobClassKey{Queue: j.Queue, Priority: j.Priority, Preemptible: j.Preemptible, Shape: j.Shape.Key, Pools: strings.Join(j.Pools, ","), Pass: j.Pass, Licenses: licensesKey(j.Licenses), StartBy: j.StartBy}
	if j.Leaf >= 0 {
		if _, bound := st.Bound(j.User); bound || st.Queues.List[j.Leaf].PerUser() {
			key.User = j.User
		}
		if st.Queues.List[j.Leaf].BorrowMax > 0 {
			key.MaxRun = j.MaxRun
		}
	}
	if len(j.Holds) > 0 || len(j.Done) > 0 || j.Promised || j.Moved || j.Earmark.Pool != "" {
		key.Own = j.ID
	}
	l := st.JobClasses[key]
	if l == nil {
		l = &ledger.JobClass{Key: key, Shape: j.Shape, Leaf: j.Leaf, Due: ledger.Never}
		if len(j.Pools) > 0 {
			l.Pools = j.Pools
		}
		st.JobClasses[key] = l
		if j.Leaf >= 0 {
			q := &st.Queues.List[j.Leaf]
			l.Slot = len(q.JobClasses)
			q.JobClasses = append(q.JobClasses, l)
			st.classify(l)
		}
	}
	if j.MaxRun > 0 {
		l.Limited++
	}
	st.expected += core.Bit(j.Expected > 0)
	if j.Due > 0 {
		l.Due = min(l.Due, j.Due)
		st.Due = min(st.Due, j.Due)
	}
	st.want(l, 1)
	j.JobClass = l
	if j.Shape != l.Shape {
		j.Shape = l.Shape // one for all is enough
	}
	i := sort.Search(len(l.Jobs), func(i int) bool { return ledger.Older(l.Jobs[i], j) >= 0 })
	l.Jobs = slices.Insert(l.Jobs, i, j)
	if j.Due > 0 && st.Cfg.Quantum > 0 {
		i, _ := slices.BinarySearchFunc(l.Dues, j, ledger.LongerDue)
		l.Dues = slices.Insert(l.Dues, i, j)
	}
}

// JobClassesOf are the job classes of one queue.
func (st *State) JobClassesOf(q int32) []*ledger.JobClass {
	if q < 0 {
		return nil
	}
	return st.Queues.List[q].JobClasses
}

// forgetJobClass takes an empty job class out.
func (st *State) forgetJobClass(l *ledger.JobClass, leaf int32) {
	delete(st.JobClasses, l.Key)
	if leaf < 0 {
		return
	}
	q := &st.Queues.List[leaf]
	last := len(q.JobClasses) - 1
	q.JobClasses[l.Slot] = q.JobClasses[last]
	q.JobClasses[l.Slot].Slot = l.Slot
	q.JobClasses[last] = nil
	q.JobClasses = q.JobClasses[:last]
	st.declassify(l)
}

// licensesKey tells apart jobs by the licenses that they need.
func licensesKey(all []schedule.Count) string {
	if len(all) == 0 {
		return ""
	}
	var k []byte
	for _, c := range all {
		k = append(strconv.AppendInt(append(append(k, c.Name...), '='), c.N, 10), ',')
	}
	return string(k)
}
