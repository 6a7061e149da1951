package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
)

const gib = 1 << 30

// node is a ready node of one pool, with whole devices of one product.
func node(id string, gpus int, cpu, memory int64, product string) Node {
	n := Node{Node: core.Node{ID: core.NodeID(id), Pool: "default", Ready: true, CPU: cpu, Memory: memory}, UsedMilli: make([]int, gpus)}
	for i := range gpus {
		n.Devices = append(n.Devices, core.Device{ID: fmt.Sprintf("%s-%d", id, i), Index: i, Product: product, Healthy: true})
	}
	return n
}

// taken is n with that much of it held.
func occupied(n Node, gpus int, cpu, memory int64) Node {
	n.UsedMilli = slices.Clone(n.UsedMilli)
	for i := range gpus {
		n.UsedMilli[i] = 1000
	}
	n.UsedCPU, n.UsedMemory = cpu, memory
	return n
}

func gpu(count int) Need { return Need{Devices: count, Milli: 1000, CPU: 1000} }

func single(n Need) *Shape { return gang(1, n) }

func gang(size int, n Need) *Shape {
	return NewShape([]Group{{Name: "tasks", Count: size, Min: size, Need: n}}, nil)
}

func array(count, least int, n Need) *Shape {
	return NewShape([]Group{{Name: "tasks", Count: count, Min: least, Need: n}}, nil)
}

// class is jobs of one shape, named by it and their order.
func class(queue string, priority int, shape *Shape, orders ...int64) Class {
	c := Class{Queue: core.ProjectID(queue), Priority: priority, Shape: shape}
	for _, o := range orders {
		c.Jobs = append(c.Jobs, Waiter{ID: core.WorkloadID(fmt.Sprintf("j%d", o)), Order: o})
	}
	return c
}

// where lists a plan's placements: job:node×tasks.
func where(p *Plan) string {
	var all []string
	for _, pl := range p.Placements {
		var nodes []string
		for _, t := range pl.Tasks {
			nodes = append(nodes, string(t.Node))
		}
		all = append(all, string(pl.ID)+":"+strings.Join(nodes, "+"))
	}
	return strings.Join(all, " ")
}

// random makes a cluster in use and jobs that wait for it.
func random(r *rand.Rand) *Snapshot {
	s := &Snapshot{Now: 1_000_000}
	for i := range 1 + r.IntN(8) {
		n := node(fmt.Sprintf("n%d", i), []int{0, 2, 4, 8}[r.IntN(4)], int64(1000*(1+r.IntN(32))), int64(1+r.IntN(64))*gib, []string{"NVIDIA H100", "NVIDIA A100"}[r.IntN(2)])
		n.Pool = []string{"east", "west"}[r.IntN(2)]
		n.Ready, n.Cordon = r.IntN(8) > 0, r.IntN(10) == 0
		for d := range n.Devices {
			n.Devices[d].Healthy = r.IntN(12) > 0
			n.UsedMilli[d] = []int{0, 0, 500, 1000}[r.IntN(4)]
		}
		n.UsedCPU, n.UsedMemory = r.Int64N(n.CPU+1), r.Int64N(n.Memory+1)
		if r.IntN(2) == 0 {
			n.UsedCPU, n.UsedMemory = 0, 0
		}
		s.Nodes = append(s.Nodes, n)
	}
	s.Queues = []Queue{{ID: "a"}, {ID: "b", Stopped: r.IntN(4) == 0}}
	order := int64(0)
	for range r.IntN(8) {
		c := Class{Queue: []core.ProjectID{"a", "b"}[r.IntN(2)], Priority: r.IntN(3), Shape: randomShape(r)}
		for range 1 + r.IntN(4) {
			order += 1 + r.Int64N(3)
			c.Jobs = append(c.Jobs, Waiter{ID: core.WorkloadID(fmt.Sprintf("j%d", order)), Order: order})
		}
		s.Waiting = append(s.Waiting, c)
	}
	return s
}

func randomShape(r *rand.Rand) *Shape {
	n := Need{CPU: int64(500 * (1 + r.IntN(8))), Memory: int64(r.IntN(8)) * gib}
	if r.IntN(4) > 0 {
		n.Devices, n.Milli = 1+r.IntN(4), []int{1000, 1000, 500, 250}[r.IntN(4)]
		n.Type = []string{"", "", "h100", "A100"}[r.IntN(4)]
	}
	var groups []Group
	for i := range 1 + r.IntN(2) {
		g := Group{Name: fmt.Sprintf("g%d", i), Count: 1 + r.IntN(5), Need: n}
		g.Min = g.Count
		if r.IntN(3) == 0 {
			g.Min = r.IntN(g.Count + 1)
		}
		groups = append(groups, g)
		n.Devices, n.Milli, n.Type = 0, 0, ""
	}
	var pools []string
	if r.IntN(3) == 0 {
		pools = []string{"west", "east"}[:1+r.IntN(2)]
	}
	return NewShape(groups, pools)
}

// applied is s after p: what was placed runs, what is left waits.
func applied(s *Snapshot, p *Plan) *Snapshot {
	next := &Snapshot{Now: s.Now, Queues: s.Queues, Nodes: slices.Clone(s.Nodes)}
	at := map[core.NodeID]*Node{}
	for i := range next.Nodes {
		n := &next.Nodes[i]
		n.UsedMilli = slices.Clone(n.UsedMilli)
		at[n.ID] = n
	}
	placed := map[core.WorkloadID]Placement{}
	for _, pl := range p.Placements {
		placed[pl.ID] = pl
		for _, t := range pl.Tasks {
			n := at[t.Node]
			n.UsedCPU += t.CPU
			n.UsedMemory += t.Memory
			for _, sh := range t.Devices {
				n.UsedMilli[slices.IndexFunc(n.Devices, func(d core.Device) bool { return d.ID == sh.Device })] += sh.Milli
			}
		}
	}
	for _, c := range s.Waiting {
		left := c
		left.Jobs = nil
		for _, j := range c.Jobs {
			pl, ok := placed[j.ID]
			switch rest := remaining(c.Shape, pl); {
			case !ok:
				left.Jobs = append(left.Jobs, j)
			case rest != nil:
				next.Waiting = append(next.Waiting, Class{Queue: c.Queue, Priority: c.Priority, Shape: rest, Jobs: []Waiter{j}})
			}
		}
		if len(left.Jobs) > 0 {
			next.Waiting = append(next.Waiting, left)
		}
	}
	return next
}

// remaining is what a placed job could still use, in the pool where it is.
func remaining(shape *Shape, pl Placement) *Shape {
	if len(pl.Tasks) == 0 {
		return nil
	}
	var rest []Group
	for _, g := range shape.Groups {
		for _, t := range pl.Tasks {
			if t.Group == g.Name {
				g.Count--
			}
		}
		if g.Count > 0 {
			rest = append(rest, Group{Name: g.Name, Count: g.Count, Need: g.Need})
		}
	}
	if len(rest) == 0 {
		return nil
	}
	return &Shape{Key: shape.Key + " rest " + string(pl.ID), Groups: rest, Pools: shape.Pools}
}
