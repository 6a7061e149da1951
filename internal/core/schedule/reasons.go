package schedule

import (
	"cmp"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/quota"
)

// why returns what keeps j from starting, the gravest first. It is true of the
// state as it is.
func (st *State) why(j *job) []Reason {
	if j.leaf < 0 {
		return []Reason{*st.gate(j)}
	}
	all := st.gates(j)
	below, tries := st.next(j)
	switch {
	case len(tries) == 0 && below:
		return append(all, Reason{Token: NotYetEvaluated, Note: "its tasks are fewer than its minimum"})
	case len(tries) == 0:
		return all
	case len(st.sites) == 0:
		return graver(append(all, Reason{Token: NoNodes, Note: "the cluster has no nodes"}))
	}
	if r, ok := st.bare().Fits(j.Job); !ok {
		return graver(append(all, r))
	}
	if j.pass.only < 0 {
		return graver(all) // it has no node yet, whatever is free
	}
	return graver(append(all, st.whyPools(j, tries)...))
}

// graver sorts reasons, the gravest first.
func graver(all []Reason) []Reason {
	order := Tokens()
	slices.SortStableFunc(all, func(a, b Reason) int { return slices.Index(order, a.Token) - slices.Index(order, b.Token) })
	return all
}

// whyPools is what keeps j out of each of its pools.
func (st *State) whyPools(j *job, tries []try) []Reason {
	var all []Reason
	pools := slices.DeleteFunc(st.poolsOf(j), func(p *pool) bool { return len(p.sites) == 0 })
	for i, p := range pools {
		rs := st.whyIn(p, j, tries)
		if i > 0 && len(all) > 0 && len(rs) > 0 && len(pools) > 1 && !sameTokens(all, rs) {
			rs = rs[:1]
		}
		if len(pools) > 1 {
			for k := range rs {
				rs[k].Pool = p.Name
			}
		}
		all = append(all, rs...)
		if len(all) > 8 {
			break
		}
	}
	return all
}

func sameTokens(a, b []Reason) bool {
	return slices.EqualFunc(a, b, func(x, y Reason) bool { return x.Token == y.Token })
}

// bare is the same cluster with nothing on it, kept until its nodes change.
func (st *State) bare() *State {
	if st.empty == nil {
		st.empty = NewState(Config{NoQuota: true})
		for _, name := range st.poolNames() {
			for _, s := range st.pools[name].sites {
				st.empty.PutBare(*s.node)
			}
		}
	}
	return st.empty
}

func (st *State) whyIn(p *pool, j *job, tries []try) []Reason {
	ready := 0
	for _, s := range p.sites {
		if s.fit {
			ready++
		}
	}
	if ready == 0 {
		return []Reason{{Token: NoNodes, OfNodes: len(p.sites), Note: "all are down or cordoned"}}
	}
	need := st.cost(j, p, tries)
	rs := st.whyQuota(p, j, need)
	room := st.whyRoom(p, j, tries)
	if len(room) > 0 {
		if kept := st.keptAway(p, j, tries); len(kept) > 0 {
			rs = append(rs, kept...)
			room = slices.DeleteFunc(room, func(r Reason) bool { return r.OfNodes == 0 }) // all nodes are kept
		}
	}
	rs = append(rs, room...)
	if len(room) > 0 && !st.cfg.NoQuota {
		rs = append(rs, st.whyShare(p, j, need)...)
	}
	return rs
}

// whyQuota are the limits and quotas that j would exceed.
func (st *State) whyQuota(p *pool, j *job, need quota.Amounts) []Reason {
	var rs []Reason
	if st.cfg.NoQuota {
		return nil
	}
	whole, need := need, j.beyond(p, need)
	if r := st.overUser(j, need); r != nil {
		rs = append(rs, *r)
	}
	for q := j.leaf; q >= 0; q = st.queues.list[q].parent {
		a := &p.q[q]
		for r := range quota.Resources {
			if l := a.Limit[r]; l >= 0 && a.alloc[r]+need[r] > l && need[r] > 0 {
				rs = append(rs, Reason{Token: OverLimit, Resource: resourceNames[r], Queue: st.queues.list[q].ID, Requested: need[r], Allocated: a.alloc[r], Reserved: st.reserved(j, p, q, r), Limit: l})
			}
			if d := a.Quota.Quota[r]; !j.Preemptible && d >= 0 && a.fixed[r]+need[r] > d && need[r] > 0 {
				rs = append(rs, Reason{Token: NonPreemptibleOverQuota, Resource: resourceNames[r], Queue: st.queues.list[q].ID, Requested: need[r], Allocated: a.fixed[r], Quota: d})
			}
		}
	}
	if len(p.supervisors) > 0 {
		if r := st.unlent(j, p, whole); r != nil {
			rs = append(rs, *r)
		}
	}
	return rs
}

// reserved is how much of what a queue has in p is reserved for others than j,
// which wait for their checks and hold nothing yet.
func (st *State) reserved(j *job, p *pool, q int32, r quota.Resource) int64 {
	n := p.q[q].marked[r]
	if j.marked() && j.Earmark.Pool == p.Name {
		n -= j.Earmark.Amounts[r]
	}
	return max(n, 0)
}

// whyShare says that j's queue has its due already, so that it can take nothing
// from others.
func (st *State) whyShare(p *pool, j *job, need quota.Amounts) []Reason {
	a, need := &p.q[j.leaf], j.beyond(p, need)
	for r := range quota.Resources {
		if need[r] > 0 && a.alloc[r]+need[r] > a.share[r] && a.Quota.Quota[r] >= 0 {
			return []Reason{{Token: WaitingForQuota, Resource: resourceNames[r], Queue: st.queues.list[j.leaf].ID, Requested: need[r], Allocated: a.alloc[r], Quota: a.Quota.Quota[r], Share: a.share[r]}}
		}
	}
	return nil
}

// whyRoom says what is short; empty: it has room.
func (st *State) whyRoom(p *pool, j *job, tries []try) []Reason {
	mark := len(st.log)
	fits := st.placeIn(p, j, tries)
	later := false
	for _, h := range j.holds {
		later = later || h.fresh && h.later
	}
	st.undo(mark)
	if fits {
		if later {
			return []Reason{{Token: WaitingForPreemption, Tasks: int64(total(tries))}}
		}
		return nil
	}
	var rs []Reason
	for _, x := range st.wanted(j, tries) {
		a, n := x.ask, x.count
		for r := range quota.Resources {
			if x, short := p.short(st, a, n, r, nil); short {
				rs = append(rs, x)
			}
		}
		rs = append(rs, p.shortCounted(st, a, n, nil)...)
		rs = append(rs, p.whyAlone(st, a, n)...)
	}
	if len(rs) == 0 {
		rs = st.elsewhere(p, j, tries)
	}
	if len(rs) == 0 {
		rs = append(rs, st.scattered(p, j, tries))
	}
	slices.SortStableFunc(rs, func(a, b Reason) int {
		return slices.Index(resourceNames[:], a.Resource) - slices.Index(resourceNames[:], b.Resource)
	})
	return rs
}

// short reports whether all sites together have less of a resource free than n
// tasks of a need, or none has room for one. Where among is given only such
// sites count.
func (p *pool) short(st *State, a *ask, n int, res quota.Resource, among func(*site) bool) (r Reason, lacks bool) {
	one := a.amountOf(res)
	if one == 0 {
		return Reason{}, false
	}
	r = Reason{Token: WaitingForCapacity, Resource: resourceNames[res], Requested: one, Needed: one * int64(n), Tasks: int64(n), OfNodes: len(p.sites)}
	if res == quota.GPU {
		r.Type = a.need.Type
		defer func() { st.countParts(p, a, &r, among) }()
	}
	for _, s := range p.sites {
		if !st.allowed(s, a) {
			r.exclude(s, a)
		}
		if among != nil && !among(s) || !st.allowed(s, a) {
			r.OfNodes--
			continue
		}
		free, whole := s.amount(res, a)
		r.Total += whole
		if !s.fit || !s.now.guests.admits(a.alone()) {
			free = 0
		}
		if a.alone() == "" && len(s.now.guests.alone) > 0 {
			r.Taken++
		}
		r.Free += free
		r.Largest = max(r.Largest, free)
		if free < one {
			r.Nodes++
		}
	}
	return r, r.Free < r.Needed || r.Nodes == r.OfNodes && r.Total > 0
}

// exclude counts a site that a may not go to at all.
func (r *Reason) exclude(s *site, a *ask) {
	if !s.admits(a.pass) {
		return // it suits, at another time
	}
	if r.Excluded++; onlyWhole(s, a) {
		r.Whole++
	}
}

// amountOf is what one task asks for, devices whole.
func (a *ask) amountOf(r quota.Resource) int64 {
	switch r {
	case quota.GPU:
		return int64(a.need.Devices)
	case quota.CPU:
		return a.need.CPU
	default:
		return a.need.Memory
	}
}

// amount is what of a resource is free and in all on s; of devices those that
// would serve a.
func (s *site) amount(res quota.Resource, a *ask) (free, whole int64) {
	switch res {
	case quota.CPU:
		return max(s.now.cpu, 0), s.node.CPU
	case quota.Memory:
		return max(s.now.mem, 0), s.node.Memory
	}
	m := s.milli(a)
	for d := range s.now.dev {
		if s.is(d, a.need.Type) {
			whole++
			if min(s.now.dev[d], s.soon.dev[d]) >= m {
				free++
			}
		}
	}
	return free, whole
}

// elsewhere finds what is free, but not on the nodes that have the GPUs, or not
// on those that have all else.
func (st *State) elsewhere(p *pool, j *job, tries []try) []Reason {
	var rs []Reason
	for _, x := range st.wanted(j, tries) {
		a, n := x.ask, x.count
		unnamed := *a
		unnamed.migs = nil
		if a.migs != nil {
			for _, r := range p.shortCounted(st, a, n, func(s *site) bool { return s.fits(&unnamed, false) }) {
				if r.Nodes > 0 && r.Nodes == r.OfNodes {
					r.Note = "on nodes where all else is free"
					rs = append(rs, r)
				}
			}
		}
		if a.need.Devices == 0 || len(rs) > 0 {
			continue
		}
		bare := *a
		bare.need.CPU, bare.need.Memory = 0, 0
		for _, res := range []quota.Resource{quota.CPU, quota.Memory} {
			r, _ := p.short(st, a, n, res, func(s *site) bool { return s.fits(&bare, false) })
			if r.Nodes > 0 && r.Nodes == r.OfNodes {
				r.Note = "on nodes with " + Reason{Resource: "gpu", Type: a.need.Type}.amount(int64(a.need.Devices)) + " free"
				rs = append(rs, r)
			}
		}
	}
	return rs
}

// scattered describes a gang that fits by its sums but not node by node, or not
// in one domain of the network.
func (st *State) scattered(p *pool, j *job, tries []try) Reason {
	var first *ask
	for _, t := range tries {
		if first = st.nextRun(j, t.group, j.placed[t.group]); first != nil {
			break
		}
	}
	res := quota.CPU
	if first.need.Devices > 0 {
		res = quota.GPU
	}
	r, _ := p.short(st, first, total(tries), res, nil)
	r.Token, r.Tasks = Fragmented, int64(total(tries))
	for _, x := range st.wanted(j, tries) {
		a, n := x.ask, x.count
		most := 0
		for _, part := range p.partsFor(j) {
			most = max(most, st.roomFor(part, a, n))
		}
		r.Fitting += int64(most)
	}
	if seg, ok := st.whySegments(p, j, tries); ok {
		seg.Token, seg.Resource, seg.Requested, seg.Needed, seg.Free, seg.Largest, seg.Total = TopologyUnsatisfied, r.Resource, r.Requested, r.Needed, r.Free, r.Largest, r.Total
		seg.Type, seg.Nodes, seg.OfNodes, seg.Excluded, seg.Whole = r.Type, r.Nodes, r.OfNodes, r.Excluded, r.Whole
		return seg
	}
	if t, level := j.required(); t != nil && r.Fitting >= r.Tasks {
		r.Token, r.Domain = TopologyUnsatisfied, t.Required
		r.Blocks = st.blocks(p, j, tries, t, level)
		r.Fitting = 0
		for _, b := range r.Blocks {
			r.Fitting = max(r.Fitting, b.Fitting)
		}
		r.Blocks = r.Blocks[:min(len(r.Blocks), blocksShown)]
	}
	return r
}

// blocksShown is how many domains a reason names.
const blocksShown = 3

// blocks are the domains of a level with what of them is free, the roomiest
// first.
func (st *State) blocks(p *pool, j *job, tries []try, t *Topology, level int) []Block {
	d := p.domainsOf(t.Levels)
	all := st.wanted(j, tries)
	res := quota.CPU
	if all[0].ask.need.Devices > 0 {
		res = quota.GPU
	}
	var out []Block
	for path, sites := range d.sites[level] {
		b := Block{Name: strings.ReplaceAll(path, "\x00", "/")}
		for _, s := range sites {
			if s.fit && st.allowed(s, all[0].ask) {
				free, _ := s.amount(res, all[0].ask)
				b.Free += free
			}
		}
		sub := &subset{pool: p, sites: sites}
		for _, x := range all {
			b.Fitting += int64(st.roomFor(sub, x.ask, x.count))
		}
		out = append(out, b)
	}
	slices.SortFunc(out, func(a, b Block) int {
		return cmp.Or(cmp.Compare(b.Fitting, a.Fitting), cmp.Compare(b.Free, a.Free), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// required is the topology that all of j must keep to, and its level.
func (j *job) required() (*Topology, int) {
	for i := range j.Shape.Sets {
		if t := j.Shape.Sets[i].Topology; t != nil && t.Required != "" {
			if l := slices.Index(t.Levels, t.Required); l >= 0 {
				return t, l
			}
		}
	}
	for i := range j.Shape.Groups {
		if t := j.Shape.Groups[i].Topology; t != nil && t.Required != "" && j.Shape.Groups[i].Segment == 0 {
			if l := slices.Index(t.Levels, t.Required); l >= 0 {
				return t, l
			}
		}
	}
	return nil, 0
}
