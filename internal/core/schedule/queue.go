package schedule

import (
	"cmp"
	"slices"
	"sort"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
)

// tree is the queues, parents before their children.
type tree struct {
	list []queue
	top  []int32 // those without a parent
	byID map[core.ProjectID]int32
}

type queue struct {
	Queue
	parent   int32 // negative: top level
	depth    int32
	children []int32
	lanes    []*lane
	stopped  core.ProjectID // itself or the ancestor that is stopped; empty: none
}

// account is what one queue has in one pool.
type account struct {
	Quota
	alloc   quota.Amounts // held, without what leaves, or marked
	fixed   quota.Amounts // of that, by jobs that are never displaced
	marked  quota.Amounts // of alloc, what is reserved for jobs that hold nothing yet
	wanted  quota.Amounts // by those who wait, where it is first for them
	request quota.Amounts // held and wanted
	share   quota.Amounts // fair share
	kept    quota.Amounts // of Quota, what others never get; of those below it too
	may     quota.Amounts // min(limit, max(quota, share)): what it may claim
	victims []*job        // preemptible, who leaves first at the front
	gone    int           // how many of victims, from the front, hold nothing any more in this cycle
}

func newTree(queues []Queue) *tree {
	t := &tree{byID: map[core.ProjectID]int32{}}
	depth := map[core.ProjectID]int32{}
	index := map[core.ProjectID]*Queue{}
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
	slices.SortFunc(order, func(a, b Queue) int {
		return cmp.Or(cmp.Compare(depth[a.ID], depth[b.ID]), cmp.Compare(a.Age, b.Age), cmp.Compare(a.ID, b.ID))
	})
	for _, q := range order {
		n := queue{Queue: q, parent: -1, depth: depth[q.ID]}
		if p, ok := t.byID[q.Parent]; ok && q.Parent != "" {
			n.parent = p
			t.list[p].children = append(t.list[p].children, int32(len(t.list)))
			n.stopped = t.list[p].stopped
			n.PreemptMin, n.ReclaimMin = inherit(q.PreemptMin, t.list[p].PreemptMin), inherit(q.ReclaimMin, t.list[p].ReclaimMin)
		}
		if q.Stopped && n.stopped == "" {
			n.stopped = q.ID
		}
		if n.parent < 0 {
			t.top = append(t.top, int32(len(t.list)))
		}
		t.byID[q.ID] = int32(len(t.list))
		t.list = append(t.list, n)
	}
	return t
}

func inherit(own, parent int64) int64 {
	if own < 0 {
		return parent
	}
	return own
}

func (t *tree) find(id core.ProjectID) int32 {
	if i, ok := t.byID[id]; ok {
		return i
	}
	return -1
}

// fork returns the children, of the lowest queue above both, that a and b
// belong to. One may be negative: the other is below it.
func (t *tree) fork(a, b int32) (int32, int32) {
	for t.list[a].depth > t.list[b].depth && t.list[a].parent != b {
		a = t.list[a].parent
	}
	for t.list[b].depth > t.list[a].depth && t.list[b].parent != a {
		b = t.list[b].parent
	}
	for t.list[a].parent != t.list[b].parent {
		a, b = t.list[a].parent, t.list[b].parent
	}
	return a, b
}

// SetQueues replaces the queue tree.
func (st *State) SetQueues(queues []Queue) {
	st.changes()
	st.queues = newTree(queues)
	for _, p := range st.pools {
		p.q = make([]account, len(st.queues.list))
		st.settle(p)
	}
	jobs := st.jobs
	st.jobs = make(map[core.WorkloadID]*job, len(jobs))
	st.lanes, st.classes, st.classOf, st.tour, st.fresh = map[laneKey]*lane{}, nil, map[classKey]*class{}, nil, nil
	st.running, st.users = make([]int, len(st.queues.list)), map[userKey]held{}
	for _, id := range sortedIDs(jobs) {
		j := jobs[id]
		j.leaf = st.queues.find(j.Queue)
		st.jobs[id] = j
		clear(j.active)
		j.standing = 0
		copy(j.active, narrow(j.Done))
		for _, h := range j.holds {
			if !h.leaving {
				st.count(h, 1)
			}
		}
		if j.marked() {
			st.mark(j, 1)
		}
		st.enlist(j)
		if j.pool != nil && j.leaf >= 0 && j.yields() {
			j.pool.q[j.leaf].addVictim(j)
		}
	}
}

// settle gives each queue what it is entitled to in p.
func (st *State) settle(p *pool) {
	p.unfair = true
	for i := range st.queues.list {
		q := &st.queues.list[i]
		own, ok := q.Shares[p.Name]
		if !ok {
			own = q.Default
		}
		p.q[i].Quota = own
	}
	st.keep(p)
}

// shares computes the fair shares of p's queues.
func (st *State) shares(p *pool) {
	for i := range p.q {
		p.q[i].request = p.q[i].wanted
	}
	st.rows = slices.Grow(st.rows[:0], len(p.q))[:len(p.q)]
	in := st.rows
	for i := len(p.q) - 1; i >= 0; i-- {
		q, a := &st.queues.list[i], &p.q[i]
		if len(q.children) == 0 {
			a.request = a.request.Add(a.alloc)
		}
		if q.parent >= 0 {
			p.q[q.parent].request = p.q[q.parent].request.Add(a.request)
		}
		in[i] = quota.Queue{Parent: int(q.parent), Priority: q.Priority, Age: q.Age, Quota: a.Quota.Quota, Limit: a.Limit, Keep: a.kept, Weight: a.Weight, Request: a.request, Usage: a.Usage}
	}
	st.quotas = st.divider.Share(p.total, in, st.cfg.K, st.quotas)
	out := st.quotas
	for i := range p.q {
		a := &p.q[i]
		a.share = out[i]
		a.may = quota.Entitlement(a.Limit, a.Quota.Quota, a.share)
	}
}

// plus is a + sign·b.
func plus(a, b quota.Amounts, sign int64) quota.Amounts {
	for r := range a {
		a[r] += sign * b[r]
	}
	return a
}

// firstPool is where a lane's demand counts: the first that it would try. Pools
// without nodes do not count.
func (st *State) firstPool(l *lane) *pool {
	if names := st.poolNames(); l.pools == nil && len(names) > 0 {
		return st.pools[names[0]]
	}
	for _, name := range l.pools {
		if p := st.pools[name]; p != nil && len(p.sites) > 0 {
			return p
		}
	}
	return nil
}

// poolNames are the pools that have nodes, in the order in which who names none
// tries them.
func (st *State) poolNames() []string {
	if st.names != nil {
		return st.names
	}
	names := []string{}
	for _, name := range sortedKeys(st.pools) {
		if len(st.pools[name].sites) > 0 {
			names = append(names, name)
		}
	}
	if i := slices.Index(names, "default"); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, "default")
	}
	st.names, st.tour = names, nil
	return names
}

// before orders two queues of one parent by who is to be served next, given
// what each would get. Negative: a first.
func (st *State) before(p *pool, a, b int32, na, nb quota.Amounts) int {
	wa, wb := p.q[a].alloc.Add(na), p.q[b].alloc.Add(nb)
	x, y := st.standing(p, a, &p.q[a].alloc, &wa, &wa), st.standing(p, b, &p.q[b].alloc, &wb, &wb)
	return st.compare(p, a, b, &x, &y)
}

// standing is that of q for quota.Compare.
func (st *State) standing(p *pool, q int32, has, due, part *quota.Amounts) quota.Standing {
	a, n := &p.q[q], &st.queues.list[q]
	return quota.Standing{Priority: n.Priority, Age: n.Age, Quota: &a.Quota.Quota, Share: &a.share, May: &a.may, Has: has, Due: due, Part: part}
}

// compare orders two queues of one parent. No two are equal.
func (st *State) compare(p *pool, a, b int32, x, y *quota.Standing) int {
	c := 0
	if st.cfg.NoQuota {
		c = cmp.Compare(x.Age, y.Age)
	} else {
		c = quota.Compare(x, y, p.total)
	}
	return cmp.Or(c, cmp.Compare(a, b))
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// jobOrder is the order in which jobs of one queue are served.
func (st *State) jobOrder(a, b *job) int {
	c := 0
	if !st.cfg.NoPriority {
		c = cmp.Compare(b.Priority, a.Priority)
	}
	if c == 0 && !st.cfg.NoElastic {
		c = cmp.Compare(a.level(), b.level())
	}
	return cmp.Or(c, st.earlier(a, b))
}

// victimOrder is the order in which jobs of one queue are taken from: the
// reverse of the order in which they are served.
func victimOrder(a, b *job) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(b.level(), a.level()), older(b, a))
}

// level is 0 below the minimum, 1 at it, 2 above it.
func (j *job) level() int {
	over := false
	for g := range j.Shape.Groups {
		have, need := int(j.active[g]), j.Shape.Groups[g].Min
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

func (a *account) addVictim(j *job) {
	i := sort.Search(len(a.victims), func(i int) bool { return victimOrder(a.victims[i], j) >= 0 })
	a.victims = slices.Insert(a.victims, i, j)
}

func (a *account) dropVictim(j *job) {
	i := sort.Search(len(a.victims), func(i int) bool { return victimOrder(a.victims[i], j) >= 0 })
	for i < len(a.victims) && a.victims[i] != j {
		i++
	}
	if i == len(a.victims) { // its level has changed since
		i = slices.Index(a.victims, j)
	}
	if i >= 0 {
		a.victims = slices.Delete(a.victims, i, i+1)
	}
}
