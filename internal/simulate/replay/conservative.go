package replay

import (
	"cmp"
	"slices"
)

// conservative promises each job a start when it arrives: the earliest at
// which it fits beside all promises made before, by durations known in
// advance. Promises are never changed.
type conservative struct {
	plans []profile // by node
	parts [][]Part  // by job, until its start
	least nodes
	edges []edge
}

func (p *conservative) Begin(e *Engine) {
	p.plans = make([]profile, e.Cluster.Nodes)
	for i := range p.plans {
		p.plans[i] = profile{{from: 0, free: e.Cluster.GPUsPerNode}}
	}
	p.parts = make([][]Part, len(e.Jobs))
	p.least = newNodes(e.Cluster.Nodes, e.Cluster.GPUsPerNode)
}

func (p *conservative) Pass(*Engine) {}

func (p *conservative) Alarm(e *Engine, id int) {
	e.StartOn(id, p.parts[id])
	p.parts[id] = nil
}

func (p *conservative) Arrive(e *Engine, id int) {
	for i := range p.plans {
		p.plans[i].forget(e.Now())
	}
	j := e.Jobs[id]
	at := p.earliest(e, j.GPUs, j.Duration)
	for i := range p.plans {
		p.least.set(i, p.plans[i].least(at, at+j.Duration))
	}
	parts := p.least.place(j.GPUs)
	for _, part := range parts {
		p.plans[part.Node].take(at, at+j.Duration, part.GPUs)
	}
	if at == e.Now() {
		e.StartOn(id, parts)
		return
	}
	p.parts[id] = parts
	e.SetAlarm(id, at)
}

// earliest returns the first instant from which a job of so many GPUs fits for
// so many seconds.
func (p *conservative) earliest(e *Engine, gpus int, seconds int64) int64 {
	whole, rest := gpus/e.Cluster.GPUsPerNode, gpus%e.Cluster.GPUsPerNode
	if whole == 0 || whole == 1 && rest == 0 {
		return p.earliestOnOne(e.Now(), gpus, seconds)
	}
	return p.earliestOnMany(e, whole, rest, seconds)
}

func (p *conservative) earliestOnOne(now int64, gpus int, seconds int64) int64 {
	best := int64(-1)
	for _, plan := range p.plans {
		for from, to := range plan.gaps(now, gpus) {
			if best >= 0 && from >= best {
				break
			}
			if to < 0 || to-from >= seconds {
				best = from
				break
			}
		}
	}
	return best
}

// edge is an instant from which one node more (or less) could begin the job's
// whole run: as an empty node, or as the one that takes the rest.
type edge struct {
	at          int64
	empty, rest int
}

func (p *conservative) earliestOnMany(e *Engine, whole, rest int, seconds int64) int64 {
	p.edges = p.edges[:0]
	for _, plan := range p.plans {
		for from, to := range plan.gaps(e.Now(), e.Cluster.GPUsPerNode) {
			p.addEdges(from, to, seconds, 1, 0)
		}
		if rest == 0 {
			continue
		}
		for from, to := range plan.gaps(e.Now(), rest) {
			p.addEdges(from, to, seconds, 0, 1)
		}
	}
	slices.SortFunc(p.edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	needRest := 0
	if rest > 0 {
		needRest = whole + 1 // an empty node could take the rest too
	}
	empty, some := 0, 0
	for i, d := range p.edges {
		empty, some = empty+d.empty, some+d.rest
		if i+1 < len(p.edges) && p.edges[i+1].at == d.at {
			continue
		}
		if empty >= whole && some >= needRest {
			return d.at
		}
	}
	return -1 // not reached: in the end every node is empty for ever
}

func (p *conservative) addEdges(from, to, seconds int64, empty, rest int) {
	if to >= 0 && to-from < seconds {
		return
	}
	p.edges = append(p.edges, edge{from, empty, rest})
	if to >= 0 {
		p.edges = append(p.edges, edge{to - seconds + 1, -empty, -rest})
	}
}
