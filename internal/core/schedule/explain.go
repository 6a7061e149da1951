package schedule

import (
	"cmp"
	"slices"
	"sort"

	"github.com/musterhq/muster/internal/core"
)

// aheadShown is how many of those ahead an explanation names.
const aheadShown = 5

// why returns the reasons for which shape does not fit on the board as it is.
func (b *board) why(nodes []Node, shape *Shape) []Reason {
	if len(nodes) == 0 {
		return []Reason{{Token: NoNodes, Note: "the cluster has no nodes"}}
	}
	if b.bare == nil {
		b.bare = emptyBoard(nodes)
	}
	if r, ok := b.bare.everFits(shape); !ok {
		return []Reason{r}
	}
	ready := 0
	for i := range b.seats {
		if b.seats[i].fit {
			ready++
		}
	}
	if ready == 0 {
		return []Reason{{Token: NoNodes, OfNodes: len(nodes), Note: "all are down or cordoned"}}
	}
	var reasons []Reason
	for _, g := range shape.Groups {
		for _, res := range []string{"gpu", "cpu", "memory"} {
			if r, short := b.short(shape, g, res, nil); short {
				reasons = append(reasons, r)
			}
		}
	}
	if len(reasons) == 0 {
		reasons = b.elsewhere(shape)
	}
	if len(reasons) == 0 {
		reasons = append(reasons, b.fragmented(shape))
	}
	return reasons
}

// elsewhere finds what is free, but not on the nodes that have the GPUs.
func (b *board) elsewhere(shape *Shape) []Reason {
	var reasons []Reason
	for _, g := range shape.Groups {
		if g.Need.Devices == 0 {
			continue
		}
		gpus := Need{Devices: g.Need.Devices, Milli: g.Need.Milli, Type: g.Need.Type}
		for _, res := range []string{"cpu", "memory"} {
			r, _ := b.short(shape, g, res, func(s *seat) bool { return s.holds(gpus) })
			if r.Nodes > 0 && r.Nodes == r.OfNodes {
				r.Note = "on nodes with " + Reason{Resource: "gpu", Type: gpus.Type}.amount(int64(gpus.Devices)) + " free"
				reasons = append(reasons, r)
			}
		}
	}
	return reasons
}

// short reports whether all nodes together have less of res free than the
// minimum of g needs. Where among is given only such nodes count.
func (b *board) short(shape *Shape, g Group, res string, among func(*seat) bool) (Reason, bool) {
	one := g.Need.of(res)
	if one == 0 || g.Min == 0 && g.Count == 0 {
		return Reason{}, false
	}
	tasks := int64(max(g.Min, 1))
	r := Reason{Token: WaitingForCapacity, Resource: res, Requested: one, Needed: one * tasks, Tasks: tasks, OfNodes: len(b.seats)}
	if res == "gpu" {
		r.Type = g.Need.Type
	}
	for i := range b.seats {
		s := &b.seats[i]
		if !shape.uses(s.node.Pool) || among != nil && !among(s) {
			r.OfNodes--
			continue
		}
		free, total := s.amount(res, g.Need)
		r.Total += total
		if !s.fit {
			free = 0
		}
		r.Free += free
		r.Largest = max(r.Largest, free)
		if free < one {
			r.Nodes++
		}
	}
	// Nobody has room for one task: it is this resource, even if the sum over
	// nodes would do. Otherwise the sum decides.
	return r, r.Free < r.Needed || r.Nodes == r.OfNodes && r.Total > 0
}

// fragmented describes a shape that fits by its sums but not node by node.
func (b *board) fragmented(shape *Shape) Reason {
	g := shape.Groups[0]
	res := "cpu"
	if g.Need.Devices > 0 {
		res = "gpu"
	}
	r, _ := b.short(shape, g, res, nil)
	r.Token, r.Tasks = Fragmented, int64(shape.must())
	for _, pool := range b.pools(shape) {
		mark := len(b.log)
		_, n := b.fill(shape, pool)
		b.undo(mark)
		r.Fitting = max(r.Fitting, int64(n))
	}
	return r
}

// amount returns what of res is free and in all on s, for a need's GPU type.
func (s *seat) amount(res string, n Need) (free, total int64) {
	switch res {
	case "cpu":
		return max(s.cpu, 0), s.node.CPU
	case "memory":
		return max(s.mem, 0), s.node.Memory
	default:
		for d := range s.free {
			if !typed(s.node.Devices[d].Product, n.Type) {
				continue
			}
			total++
			if s.free[d] >= n.Milli && s.node.Devices[d].Healthy {
				free++
			}
		}
		return free, total
	}
}

func (n Need) of(res string) int64 {
	switch res {
	case "cpu":
		return n.CPU
	case "memory":
		return n.Memory
	default:
		return int64(n.Devices)
	}
}

// EverFits reports whether shape would fit if nothing ran and every node were
// fit; otherwise the reason says what is too much.
func EverFits(nodes []Node, shape *Shape) (Reason, bool) {
	return emptyBoard(nodes).everFits(shape)
}

// everFits leaves the board as it was.
func (b *board) everFits(shape *Shape) (Reason, bool) {
	if b.roomForOne(shape) {
		return Reason{}, true
	}
	mark := len(b.log)
	_, _, ok := b.minimum(shape)
	b.undo(mark)
	if ok {
		return Reason{}, true
	}
	eligible := 0
	for i := range b.seats {
		if shape.uses(b.seats[i].node.Pool) {
			eligible++
		}
	}
	for _, g := range shape.Groups {
		for _, res := range []string{"gpu", "cpu", "memory"} {
			one := g.Need.of(res)
			r := Reason{Token: NeverFits, Resource: res, Requested: one, OfNodes: eligible}
			if res == "gpu" {
				r.Type = g.Need.Type
			}
			for i := range b.seats {
				if shape.uses(b.seats[i].node.Pool) {
					_, total := b.seats[i].amount(res, g.Need)
					r.Largest = max(r.Largest, total)
				}
			}
			if r.Largest < one {
				return r, false
			}
		}
	}
	r := Reason{Token: NeverFits, Resource: "tasks", Tasks: int64(shape.must()), OfNodes: eligible}
	for _, pool := range b.pools(shape) {
		mark := len(b.log)
		_, n := b.fill(shape, pool)
		b.undo(mark)
		r.Fitting = max(r.Fitting, int64(n))
	}
	return r, false
}

// roomForOne reports whether shape begins with a single task and some node has
// room for it: most shapes, told without ranking every node.
func (b *board) roomForOne(shape *Shape) bool {
	if shape.must() != 1 || len(shape.Groups) != 1 {
		return false
	}
	return slices.ContainsFunc(b.seats, func(s seat) bool { return shape.uses(s.node.Pool) && s.holds(shape.Groups[0].Need) })
}

// Explain says why job id waits under plan, which came from s.
func Explain(s *Snapshot, plan *Plan, cfg Config, id core.WorkloadID) (Explanation, bool) {
	ci, ji := find(s, id)
	if ci < 0 {
		return Explanation{}, false
	}
	c := &s.Waiting[ci]
	ex := Explanation{}
	if v := plan.Verdicts[ci]; v != nil {
		ex.Reasons = v.Reasons
	} else {
		ex.Reasons = []Reason{{Token: NotYetEvaluated}}
	}
	ahead := before(s, c, c.Jobs[ji].Order)
	ex.Position = 1
	var first []Waiter
	for i, n := range ahead {
		ex.Position += n
		first = append(first, s.Waiting[i].Jobs[:min(n, aheadShown)]...)
	}
	for i := range s.Waiting {
		if s.Waiting[i].Queue == c.Queue && s.Waiting[i].Shape.must() > 0 {
			ex.Waiting += len(s.Waiting[i].Jobs)
		}
	}
	prio := map[core.WorkloadID]int{}
	for i := range ahead {
		for _, w := range s.Waiting[i].Jobs[:min(ahead[i], aheadShown)] {
			prio[w.ID] = s.Waiting[i].Priority
		}
	}
	slices.SortFunc(first, func(x, y Waiter) int {
		return cmp.Or(cmp.Compare(prio[y.ID], prio[x.ID]), cmp.Compare(x.Order, y.Order))
	})
	for _, w := range first[:min(len(first), aheadShown)] {
		ex.Ahead = append(ex.Ahead, w.ID)
	}
	ex.EarliestStart = earliest(s, plan, cfg, c.Shape)
	return ex, true
}

func find(s *Snapshot, id core.WorkloadID) (class, job int) {
	for i := range s.Waiting {
		for j := range s.Waiting[i].Jobs {
			if s.Waiting[i].Jobs[j].ID == id {
				return i, j
			}
		}
	}
	return -1, -1
}

// before returns, by class of the same queue, how many jobs go before one of
// class c with that order.
func before(s *Snapshot, c *Class, order int64) map[int]int {
	m := map[int]int{}
	for i := range s.Waiting {
		o := &s.Waiting[i]
		switch {
		case o.Queue != c.Queue || o.Priority < c.Priority || o.Shape.must() == 0: // who runs already does not wait to start
		case o.Priority > c.Priority:
			m[i] = len(o.Jobs)
		default:
			if n := sort.Search(len(o.Jobs), func(k int) bool { return o.Jobs[k].Order >= order }); n > 0 {
				m[i] = n
			}
		}
	}
	return m
}

// earliest finds the first known end of what runs after which shape fits. What
// fits goes on to fit as more ends, so it need not try every one.
func earliest(s *Snapshot, plan *Plan, cfg Config, shape *Shape) int64 {
	ends := make([]*Job, 0, len(s.Running))
	for i := range s.Running {
		if s.Running[i].EndsBy > 0 {
			ends = append(ends, &s.Running[i])
		}
	}
	slices.SortFunc(ends, func(x, y *Job) int { return cmp.Or(cmp.Compare(x.EndsBy, y.EndsBy), cmp.Compare(x.ID, y.ID)) })
	n := sort.Search(len(ends), func(n int) bool {
		b := newBoard(s.Nodes, cfg)
		for _, p := range plan.Placements {
			for _, t := range p.Tasks {
				b.add(t, -1)
			}
		}
		for _, j := range ends[:n+1] {
			for _, p := range j.Places {
				b.add(p, 1)
			}
		}
		_, _, ok := b.minimum(shape)
		return ok
	})
	if n == len(ends) {
		return 0
	}
	return max(ends[n].EndsBy, s.Now)
}
