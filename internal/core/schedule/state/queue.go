package state

import (
	"cmp"
	"slices"
	"sort"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
)

// tree is the queues, parents before their children.
type tree struct {
	List []queue
	Top  []int32 // those without a parent
	byID map[core.ProjectID]int32
}

type queue struct {
	schedule.Queue
	ParentIndex int32 // negative: top level
	Depth       int32
	Children    []int32
	jobClasses  []*JobClass
	StoppedBy   core.ProjectID // itself or the ancestor that is stopped; empty: none
}

// Account is what one queue has in one pool.
type Account struct {
	schedule.Quota
	Alloc   quota.Amounts // held, without what leaves, or marked
	Fixed   quota.Amounts // of that, by jobs that are never displaced
	Marked  quota.Amounts // of alloc, what is reserved for jobs that hold nothing yet
	wanted  quota.Amounts // by those who wait, where it is first for them
	request quota.Amounts // held and wanted
	Share   quota.Amounts // fair share
	kept    quota.Amounts // of Quota, what others never get; of those below it too
	May     quota.Amounts // min(limit, max(quota, share)): what it may claim
	Victims []*Job        // preemptible, who leaves first at the front
	Gone    int           // how many of victims, from the front, hold nothing any more in this cycle
}

func newTree(queues []schedule.Queue) *tree {
	t := &tree{byID: map[core.ProjectID]int32{}}
	depth := map[core.ProjectID]int32{}
	index := map[core.ProjectID]*schedule.Queue{}
	for i := range queues {
		index[queues[i].ID] = &queues[i]
	}
	for i := range queues {
		d, q := int32(0), &queues[i]
		// A cycle, which control refuses, ends at a depth that no tree has.
		for p := index[q.Parent]; p != nil && int(d) <= len(queues); p = index[p.Parent] {
			d++
		}
		depth[q.ID] = d
	}
	order := slices.Clone(queues)
	slices.SortFunc(order, func(a, b schedule.Queue) int {
		return cmp.Or(cmp.Compare(depth[a.ID], depth[b.ID]), cmp.Compare(a.Age, b.Age), cmp.Compare(a.ID, b.ID))
	})
	for _, q := range order {
		n := queue{Queue: q, ParentIndex: -1, Depth: depth[q.ID]}
		if p, ok := t.byID[q.Parent]; ok && q.Parent != "" {
			n.ParentIndex = p
			t.List[p].Children = append(t.List[p].Children, int32(len(t.List)))
			n.StoppedBy = t.List[p].StoppedBy
			n.PreemptMin, n.ReclaimMin = inherit(q.PreemptMin, t.List[p].PreemptMin), inherit(q.ReclaimMin, t.List[p].ReclaimMin)
		}
		if q.Stopped && n.StoppedBy == "" {
			n.StoppedBy = q.ID
		}
		if n.ParentIndex < 0 {
			t.Top = append(t.Top, int32(len(t.List)))
		}
		t.byID[q.ID] = int32(len(t.List))
		t.List = append(t.List, n)
	}
	return t
}

func inherit(own, parent int64) int64 {
	if own < 0 {
		return parent
	}
	return own
}

func (t *tree) Find(id core.ProjectID) int32 {
	if i, ok := t.byID[id]; ok {
		return i
	}
	return -1
}

// Fork returns the children, of the lowest queue above both, that a and b
// belong to. One may be negative: the other is below it.
func (t *tree) Fork(a, b int32) (int32, int32) {
	for t.List[a].Depth > t.List[b].Depth && t.List[a].ParentIndex != b {
		a = t.List[a].ParentIndex
	}
	for t.List[b].Depth > t.List[a].Depth && t.List[b].ParentIndex != a {
		b = t.List[b].ParentIndex
	}
	for t.List[a].ParentIndex != t.List[b].ParentIndex {
		a, b = t.List[a].ParentIndex, t.List[b].ParentIndex
	}
	return a, b
}

// SetQueues replaces the queue tree.
func (st *State) SetQueues(queues []schedule.Queue) {
	st.Changes()
	st.Queues = newTree(queues)
	for _, p := range st.Pools {
		p.Q = make([]Account, len(st.Queues.List))
		st.settle(p)
	}
	jobs := st.Jobs
	st.Jobs = make(map[core.WorkloadID]*Job, len(jobs))
	st.JobClasses, st.ClassList, st.classOf, st.tour, st.fresh = map[jobClassKey]*JobClass{}, nil, map[classKey]*Class{}, nil, nil
	st.Running, st.Users = make([]int, len(st.Queues.List)), map[userKey]Held{}
	for _, id := range SortedIDs(jobs) {
		j := jobs[id]
		j.Leaf = st.Queues.Find(j.Queue)
		st.Jobs[id] = j
		clear(j.Active)
		j.Standing = 0
		copy(j.Active, narrow(j.Done))
		for _, h := range j.Holds {
			if !h.Leaving {
				st.count(h, 1)
			}
		}
		if j.Marked() {
			st.mark(j, 1)
		}
		st.enlist(j)
		if j.Pool != nil && j.Leaf >= 0 && j.Yields() {
			j.Pool.Q[j.Leaf].addVictim(j)
		}
	}
}

// settle gives each queue what it is entitled to in p.
func (st *State) settle(p *Pool) {
	p.unfair = true
	for i := range st.Queues.List {
		q := &st.Queues.List[i]
		own, ok := q.Shares[p.Name]
		if !ok {
			own = q.Default
		}
		p.Q[i].Quota = own
	}
	st.keep(p)
}

// shares computes the fair shares of p's queues.
func (st *State) shares(p *Pool) {
	for i := range p.Q {
		p.Q[i].request = p.Q[i].wanted
	}
	st.rows = slices.Grow(st.rows[:0], len(p.Q))[:len(p.Q)]
	in := st.rows
	for i := len(p.Q) - 1; i >= 0; i-- {
		q, a := &st.Queues.List[i], &p.Q[i]
		if len(q.Children) == 0 {
			a.request = a.request.Add(a.Alloc)
		}
		if q.ParentIndex >= 0 {
			p.Q[q.ParentIndex].request = p.Q[q.ParentIndex].request.Add(a.request)
		}
		in[i] = quota.Queue{Parent: int(q.ParentIndex), Priority: q.Priority, Age: q.Age, Quota: a.Quota.Quota, Limit: a.Limit, Keep: a.kept, Weight: a.Weight, Request: a.request, Usage: a.Usage}
	}
	st.quotas = st.divider.Share(p.Total, in, st.Cfg.K, st.quotas)
	out := st.quotas
	for i := range p.Q {
		a := &p.Q[i]
		a.Share = out[i]
		a.May = quota.Entitlement(a.Limit, a.Quota.Quota, a.Share)
	}
}

// plus is a + sign·b.
func plus(a, b quota.Amounts, sign int64) quota.Amounts {
	for r := range a {
		a[r] += sign * b[r]
	}
	return a
}

// firstPool is where a job class's demand counts: the first that it would try. Pools
// without nodes do not count.
func (st *State) firstPool(l *JobClass) *Pool {
	if names := st.PoolNames(); l.pools == nil && len(names) > 0 {
		return st.Pools[names[0]]
	}
	for _, name := range l.pools {
		if p := st.Pools[name]; p != nil && len(p.Sites) > 0 {
			return p
		}
	}
	return nil
}

// PoolNames are the pools that have nodes, in the order in which who names none
// tries them.
func (st *State) PoolNames() []string {
	if st.names != nil {
		return st.names
	}
	names := []string{}
	for _, name := range SortedKeys(st.Pools) {
		if len(st.Pools[name].Sites) > 0 {
			names = append(names, name)
		}
	}
	if i := slices.Index(names, "default"); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, "default")
	}
	st.names, st.tour = names, nil
	return names
}

// Before orders two queues of one parent by who is to be served next, given
// what each would get. Negative: a first.
func (st *State) Before(p *Pool, a, b int32, na, nb quota.Amounts) int {
	wa, wb := p.Q[a].Alloc.Add(na), p.Q[b].Alloc.Add(nb)
	x, y := st.Standing(p, a, &p.Q[a].Alloc, &wa, &wa), st.Standing(p, b, &p.Q[b].Alloc, &wb, &wb)
	return st.Compare(p, a, b, &x, &y)
}

// Standing is that of q for quota.Compare.
func (st *State) Standing(p *Pool, q int32, has, due, part *quota.Amounts) quota.Standing {
	a, n := &p.Q[q], &st.Queues.List[q]
	return quota.Standing{Priority: n.Priority, Age: n.Age, Quota: &a.Quota.Quota, Share: &a.Share, May: &a.May, Has: has, Due: due, Part: part}
}

// Compare orders two queues of one parent. No two are equal.
func (st *State) Compare(p *Pool, a, b int32, x, y *quota.Standing) int {
	c := 0
	if st.Cfg.NoQuota {
		c = cmp.Compare(x.Age, y.Age)
	} else {
		c = quota.Compare(x, y, p.Total)
	}
	return cmp.Or(c, cmp.Compare(a, b))
}

func Bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// JobOrder is the order in which jobs of one queue are served.
func (st *State) JobOrder(a, b *Job) int {
	c := 0
	if !st.Cfg.NoPriority {
		c = cmp.Compare(b.Priority, a.Priority)
	}
	if c == 0 && !st.Cfg.NoElastic {
		c = cmp.Compare(a.Level(), b.Level())
	}
	return cmp.Or(c, st.Earlier(a, b))
}

// VictimOrder is the order in which jobs of one queue are taken from: the
// reverse of the order in which they are served.
func VictimOrder(a, b *Job) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(b.Level(), a.Level()), Older(b, a))
}

// Level is 0 below the minimum, 1 at it, 2 above it.
func (j *Job) Level() int {
	over := false
	for g := range j.Shape.Groups {
		have, need := int(j.Active[g]), j.Shape.Groups[g].Min
		if have < need {
			return 0
		}
		over = over || have > need
	}
	if over {
		return 2
	}
	return 1
}

func (a *Account) addVictim(j *Job) {
	i := sort.Search(len(a.Victims), func(i int) bool { return VictimOrder(a.Victims[i], j) >= 0 })
	a.Victims = slices.Insert(a.Victims, i, j)
}

func (a *Account) dropVictim(j *Job) {
	i := sort.Search(len(a.Victims), func(i int) bool { return VictimOrder(a.Victims[i], j) >= 0 })
	for i < len(a.Victims) && a.Victims[i] != j {
		i++
	}
	if i == len(a.Victims) { // its level has changed since
		i = slices.Index(a.Victims, j)
	}
	if i >= 0 {
		a.Victims = slices.Delete(a.Victims, i, i+1)
	}
}
