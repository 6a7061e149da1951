package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/place"
	"github.com/musterhq/muster/internal/core/schedule/queues"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Why returns what keeps j from starting, the gravest first. It is true of the
// state as it is.
func Why(st *state.State, j *ledger.Job) []schedule.Reason {
	if j.Leaf < 0 {
		return []schedule.Reason{*st.Gate(j)}
	}
	all := st.Gates(j)
	below, tries := j.Next()
	switch {
	case len(tries) == 0 && below:
		return append(all, schedule.Reason{Token: schedule.NotYetEvaluated, Note: "its tasks are fewer than its minimum"})
	case len(tries) == 0:
		return all
	case len(st.Sites) == 0:
		return graver(append(all, schedule.Reason{Token: schedule.NoNodes, Note: "the cluster has no nodes"}))
	}
	if r, ok := Fits(bare(st), j.Job); !ok {
		return graver(append(all, r))
	}
	if j.Pass.Only < 0 {
		return graver(all) // it has no node yet, whatever is free
	}
	return graver(append(all, whyPools(st, j, tries)...))
}

// graver sorts reasons, the gravest first.
func graver(all []schedule.Reason) []schedule.Reason {
	order := schedule.Tokens()
	slices.SortStableFunc(all, func(a, b schedule.Reason) int { return slices.Index(order, a.Token) - slices.Index(order, b.Token) })
	return all
}

// whyPools is what keeps j out of each of its pools.
func whyPools(st *state.State, j *ledger.Job, tries []ledger.Try) []schedule.Reason {
	var all []schedule.Reason
	pools := slices.DeleteFunc(st.PoolsOf(j), func(p *ledger.Pool) bool { return len(p.Sites) == 0 })
	for i, p := range pools {
		rs := whyIn(st, p, j, tries)
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

func sameTokens(a, b []schedule.Reason) bool {
	return slices.EqualFunc(a, b, func(x, y schedule.Reason) bool { return x.Token == y.Token })
}

// bare is the same cluster with nothing on it, kept until its nodes change.
func bare(st *state.State) *state.State {
	if st.Empty == nil {
		st.Empty = state.NewState(schedule.Config{NoQuota: true})
		for _, name := range st.PoolNames() {
			for _, s := range st.Pools[name].Sites {
				PutBare(st.Empty, *s.Node)
			}
		}
	}
	return st.Empty
}

func whyIn(st *state.State, p *ledger.Pool, j *ledger.Job, tries []ledger.Try) []schedule.Reason {
	ready := 0
	for _, s := range p.Sites {
		if s.Fit {
			ready++
		}
	}
	if ready == 0 {
		return []schedule.Reason{{Token: schedule.NoNodes, OfNodes: len(p.Sites), Note: "all are down or cordoned"}}
	}
	need := st.Cost(j, p, tries)
	rs := whyQuota(st, p, j, need)
	room := whyRoom(st, p, j, tries)
	if len(room) > 0 {
		if kept := st.KeptAway(p, j, tries); len(kept) > 0 {
			rs = append(rs, kept...)
			room = slices.DeleteFunc(room, func(r schedule.Reason) bool { return r.OfNodes == 0 }) // all nodes are kept
		}
	}
	rs = append(rs, room...)
	if len(room) > 0 && !st.Cfg.NoQuota {
		rs = append(rs, whyShare(st, p, j, need)...)
	}
	return rs
}

// whyQuota are the limits and quotas that j would exceed.
func whyQuota(st *state.State, p *ledger.Pool, j *ledger.Job, need quota.Amounts) []schedule.Reason {
	var rs []schedule.Reason
	if st.Cfg.NoQuota {
		return nil
	}
	whole, need := need, j.Beyond(p, need)
	if r := st.OverUser(j, need); r != nil {
		rs = append(rs, *r)
	}
	if r := st.OverBound(j, need); r != nil {
		rs = append(rs, *r)
	}
	for q := j.Leaf; q >= 0; q = st.Queues.List[q].ParentIndex {
		a := &p.Q[q]
		for r := range quota.Resources {
			if l := a.Limit[r]; l >= 0 && a.Alloc[r]+need[r] > l && need[r] > 0 {
				rs = append(rs, schedule.Reason{Token: schedule.OverLimit, Resource: queues.ResourceNames[r], Queue: st.Queues.List[q].ID, Requested: need[r], Allocated: a.Alloc[r], Reserved: reserved(st, j, p, q, r), Limit: l})
			}
			if d := a.Quota.Quota[r]; !j.Preemptible && d >= 0 && a.Fixed[r]+need[r] > d && need[r] > 0 {
				rs = append(rs, schedule.Reason{Token: schedule.NonPreemptibleOverQuota, Resource: queues.ResourceNames[r], Queue: st.Queues.List[q].ID, Requested: need[r], Allocated: a.Fixed[r], Quota: d})
			} else if d >= 0 && a.Alloc[r]+need[r] > d && need[r] > 0 && !st.MayBorrow(j, q) {
				rs = append(rs, schedule.Reason{Token: schedule.BorrowingTimeLimit, Resource: queues.ResourceNames[r], Queue: st.Queues.List[q].ID, Requested: need[r], Allocated: a.Alloc[r], Quota: d, Limit: st.Queues.List[q].BorrowMax})
			}
		}
	}
	if len(p.Withholders) > 0 {
		if r := st.Unlent(j, p, whole); r != nil {
			rs = append(rs, *r)
		}
	}
	return rs
}

// reserved is how much of what a queue has in p is reserved for others than j,
// which wait for their checks and hold nothing yet.
func reserved(st *state.State, j *ledger.Job, p *ledger.Pool, q int32, r quota.Resource) int64 {
	n := p.Q[q].Marked[r]
	if j.Marked() && j.Earmark.Pool == p.Name {
		n -= j.Earmark.Amounts[r]
	}
	return max(n, 0)
}

// whyShare says that j's queue has its due already, so that it can take nothing
// from others.
func whyShare(st *state.State, p *ledger.Pool, j *ledger.Job, need quota.Amounts) []schedule.Reason {
	a, need := &p.Q[j.Leaf], j.Beyond(p, need)
	for r := range quota.Resources {
		if need[r] > 0 && a.Alloc[r]+need[r] > a.Share[r] && a.Quota.Quota[r] >= 0 {
			return []schedule.Reason{{Token: schedule.WaitingForQuota, Resource: queues.ResourceNames[r], Queue: st.Queues.List[j.Leaf].ID, Requested: need[r], Allocated: a.Alloc[r], Quota: a.Quota.Quota[r], Share: a.Share[r]}}
		}
	}
	return nil
}

// whyRoom says what is short; empty: it has room.
func whyRoom(st *state.State, p *ledger.Pool, j *ledger.Job, tries []ledger.Try) []schedule.Reason {
	mark := len(st.Log)
	fits := place.PlaceIn(st, p, j, tries)
	later := false
	for _, h := range j.Holds {
		later = later || h.Fresh && h.Later
	}
	st.Undo(mark)
	if fits {
		if later {
			return []schedule.Reason{{Token: schedule.WaitingForPreemption, Tasks: int64(ledger.Total(tries))}}
		}
		return nil
	}
	var rs []schedule.Reason
	for _, x := range st.Wanted(j, tries) {
		a, n := x.Ask, x.Count
		for r := range quota.Resources {
			if x, short := shortOf(p, st, a, n, r, nil); short {
				rs = append(rs, x)
			}
		}
		rs = append(rs, shortCounted(p, st, a, n, nil)...)
		rs = append(rs, whyAlone(p, st, a, n)...)
	}
	if len(rs) == 0 {
		rs = elsewhere(st, p, j, tries)
	}
	if len(rs) == 0 {
		rs = append(rs, scattered(st, p, j, tries))
	}
	slices.SortStableFunc(rs, func(a, b schedule.Reason) int {
		return slices.Index(queues.ResourceNames[:], a.Resource) - slices.Index(queues.ResourceNames[:], b.Resource)
	})
	return rs
}

// shortOf reports whether all sites together have less of a resource free than n
// tasks of a need, or none has room for one. Where among is given only such
// sites count.
func shortOf(p *ledger.Pool, st *state.State, a *ledger.Ask, n int, res quota.Resource, among func(*ledger.Site) bool) (r schedule.Reason, lacks bool) {
	one := amountOf(a, res)
	if one == 0 {
		return schedule.Reason{}, false
	}
	r = schedule.Reason{Token: schedule.WaitingForCapacity, Resource: queues.ResourceNames[res], Requested: one, Needed: one * int64(n), Tasks: int64(n), OfNodes: len(p.Sites)}
	if res == quota.GPU {
		r.Type = a.Need.Type
		defer func() { countParts(st, p, a, &r, among) }()
	}
	for _, s := range p.Sites {
		if !st.Allowed(s, a) {
			exclude(&r, s, a)
		}
		if among != nil && !among(s) || !st.Allowed(s, a) {
			r.OfNodes--
			continue
		}
		free, whole := amount(s, res, a)
		r.Total += whole
		if !s.Fit || !s.Now.Guests.Admits(a.Alone()) {
			free = 0
		}
		if a.Alone() == "" && len(s.Now.Guests.Alone) > 0 {
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
func exclude(r *schedule.Reason, s *ledger.Site, a *ledger.Ask) {
	if !s.Admits(a.Pass) {
		return // it suits, at another time
	}
	if r.Excluded++; ledger.OnlyWhole(s, a) {
		r.Whole++
	}
}

// amountOf is what one task asks for, devices whole.
func amountOf(a *ledger.Ask, r quota.Resource) int64 {
	switch r {
	case quota.GPU:
		return int64(a.Need.Devices)
	case quota.CPU:
		return a.Need.CPU
	default:
		return a.Need.Memory
	}
}

// amount is what of a resource is free and in all on s; of devices those that
// would serve a.
func amount(s *ledger.Site, res quota.Resource, a *ledger.Ask) (free, whole int64) {
	switch res {
	case quota.CPU:
		return max(s.Now.Cpu, 0), s.Node.CPU
	case quota.Memory:
		return max(s.Now.Mem, 0), s.Node.Memory
	}
	m := s.Milli(a)
	for d := range s.Now.Dev {
		if s.Is(d, a.Need.Type) {
			whole++
			if min(s.Now.Dev[d], s.Soon.Dev[d]) >= m {
				free++
			}
		}
	}
	return free, whole
}

// elsewhere finds what is free, but not on the nodes that have the GPUs, or not
// on those that have all else.
func elsewhere(st *state.State, p *ledger.Pool, j *ledger.Job, tries []ledger.Try) []schedule.Reason {
	var rs []schedule.Reason
	for _, x := range st.Wanted(j, tries) {
		a, n := x.Ask, x.Count
		unnamed := *a
		unnamed.Migs = nil
		if a.Migs != nil {
			for _, r := range shortCounted(p, st, a, n, func(s *ledger.Site) bool { return s.Fits(&unnamed, false) }) {
				if r.Nodes > 0 && r.Nodes == r.OfNodes {
					r.Note = "on nodes where all else is free"
					rs = append(rs, r)
				}
			}
		}
		if a.Need.Devices == 0 || len(rs) > 0 {
			continue
		}
		bare := *a
		bare.Need.CPU, bare.Need.Memory = 0, 0
		for _, res := range []quota.Resource{quota.CPU, quota.Memory} {
			r, _ := shortOf(p, st, a, n, res, func(s *ledger.Site) bool { return s.Fits(&bare, false) })
			if r.Nodes > 0 && r.Nodes == r.OfNodes {
				r.Note = "on nodes with " + schedule.Reason{Resource: "gpu", Type: a.Need.Type}.Amount(int64(a.Need.Devices)) + " free"
				rs = append(rs, r)
			}
		}
	}
	return rs
}

// scattered describes a gang that fits by its sums but not node by node, or not
// in one domain of the network.
func scattered(st *state.State, p *ledger.Pool, j *ledger.Job, tries []ledger.Try) schedule.Reason {
	var first *ledger.Ask
	for _, t := range tries {
		if first = st.NextRun(j, t.Group, j.Placed[t.Group]); first != nil {
			break
		}
	}
	res := quota.CPU
	if first.Need.Devices > 0 {
		res = quota.GPU
	}
	r, _ := shortOf(p, st, first, ledger.Total(tries), res, nil)
	r.Token, r.Tasks = schedule.Fragmented, int64(ledger.Total(tries))
	for _, x := range st.Wanted(j, tries) {
		a, n := x.Ask, x.Count
		most := 0
		for _, part := range p.PartsFor(j) {
			most = max(most, place.RoomFor(st, part, a, n))
		}
		r.Fitting += int64(most)
	}
	if seg, ok := whySegments(st, p, j, tries); ok {
		seg.Token, seg.Resource, seg.Requested, seg.Needed, seg.Free, seg.Largest, seg.Total = schedule.TopologyUnsatisfied, r.Resource, r.Requested, r.Needed, r.Free, r.Largest, r.Total
		seg.Type, seg.Nodes, seg.OfNodes, seg.Excluded, seg.Whole = r.Type, r.Nodes, r.OfNodes, r.Excluded, r.Whole
		return seg
	}
	if t, level := required(j); t != nil && r.Fitting >= r.Tasks {
		r.Token, r.Domain = schedule.TopologyUnsatisfied, t.Required
		r.Blocks = blocks(st, p, j, tries, t, level)
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
func blocks(st *state.State, p *ledger.Pool, j *ledger.Job, tries []ledger.Try, t *schedule.Topology, level int) []schedule.Block {
	d := place.DomainsOf(p, t.Levels)
	all := st.Wanted(j, tries)
	res := quota.CPU
	if all[0].Ask.Need.Devices > 0 {
		res = quota.GPU
	}
	var out []schedule.Block
	for path, sites := range d.Sites[level] {
		b := schedule.Block{Name: strings.ReplaceAll(path, "\x00", "/")}
		for _, s := range sites {
			if s.Fit && st.Allowed(s, all[0].Ask) {
				free, _ := amount(s, res, all[0].Ask)
				b.Free += free
			}
		}
		sub := &ledger.Subset{Pool: p, Sites: sites}
		for _, x := range all {
			b.Fitting += int64(place.RoomFor(st, sub, x.Ask, x.Count))
		}
		out = append(out, b)
	}
	slices.SortFunc(out, func(a, b schedule.Block) int {
		return cmp.Or(cmp.Compare(b.Fitting, a.Fitting), cmp.Compare(b.Free, a.Free), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// required is the topology that all of j must keep to, and its level.
func required(j *ledger.Job) (*schedule.Topology, int) {
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
