package packing

import (
	"fmt"
	"slices"
)

// Cluster is nodes with what is free of them: the harness' books, and the state
// of the simple policies.
type Cluster struct {
	Seats []Seat
	taken int64 // milli-GPUs
}

// Seat is what is free of one node.
type Seat struct {
	Node   *Node
	CPU    int64 // thousandths of cores
	Memory int64 // MiB
	Free   []int32
	total  int64 // of Free
	whole  int   // entries of Free that are 1000
	turn   uint32
}

// NewCluster returns the nodes with nothing on them.
func NewCluster(nodes []Node) *Cluster {
	c := &Cluster{Seats: make([]Seat, len(nodes))}
	for i := range nodes {
		n := &nodes[i]
		free := make([]int32, n.GPUs)
		for d := range free {
			free[d] = 1000
		}
		c.Seats[i] = Seat{Node: n, CPU: n.CPU, Memory: n.Memory, Free: free, total: 1000 * int64(n.GPUs), whole: n.GPUs, turn: 1}
	}
	return c
}

// Taken is the milli-GPUs in use.
func (c *Cluster) Taken() int64 { return c.taken }

// Fits reports whether t could be placed on the node now.
func (s *Seat) Fits(t *Task) bool {
	if s.CPU < t.CPU || s.Memory < t.Memory {
		return false
	}
	if t.GPUs == 0 {
		return true
	}
	if len(t.Models) > 0 && !slices.Contains(t.Models, s.Node.Model) {
		return false
	}
	if t.Milli == 1000 {
		return s.whole >= t.GPUs
	}
	n := 0
	for _, x := range s.Free {
		if x >= int32(t.Milli) {
			n++
		}
	}
	return n >= t.GPUs
}

// FitsSomewhere reports whether any node could take t now.
func (c *Cluster) FitsSomewhere(t *Task) bool {
	for i := range c.Seats {
		if c.Seats[i].Fits(t) {
			return true
		}
	}
	return false
}

// Take places t; the error says what of it is not free.
func (c *Cluster) Take(t *Task, node int, devices []int) error {
	if node < 0 || node >= len(c.Seats) {
		return fmt.Errorf("task %s was placed on node %d of %d", t.Name, node, len(c.Seats))
	}
	s := &c.Seats[node]
	switch {
	case s.CPU < t.CPU:
		return fmt.Errorf("task %s needs %d milli-cores; node %s has %d", t.Name, t.CPU, s.Node.Name, s.CPU)
	case s.Memory < t.Memory:
		return fmt.Errorf("task %s needs %d MiB; node %s has %d", t.Name, t.Memory, s.Node.Name, s.Memory)
	case len(devices) != t.GPUs:
		return fmt.Errorf("task %s needs %d GPUs and was given %d", t.Name, t.GPUs, len(devices))
	case t.GPUs > 0 && len(t.Models) > 0 && !slices.Contains(t.Models, s.Node.Model):
		return fmt.Errorf("task %s wants %v; node %s has %s", t.Name, t.Models, s.Node.Name, s.Node.Model)
	}
	for i, d := range devices {
		if d < 0 || d >= len(s.Free) || s.Free[d] < int32(t.Milli) || slices.Contains(devices[:i], d) {
			return fmt.Errorf("task %s needs %d milli of GPU %d of node %s, which are not free", t.Name, t.Milli, d, s.Node.Name)
		}
	}
	c.move(t, s, devices, -1)
	return nil
}

// Give takes back what Take gave.
func (c *Cluster) Give(t *Task, node int, devices []int) { c.move(t, &c.Seats[node], devices, 1) }

func (c *Cluster) move(t *Task, s *Seat, devices []int, sign int64) {
	s.CPU += sign * t.CPU
	s.Memory += sign * t.Memory
	for _, d := range devices {
		if s.Free[d] == 1000 {
			s.whole--
		}
		s.Free[d] += int32(sign) * int32(t.Milli)
		if s.Free[d] == 1000 {
			s.whole++
		}
	}
	s.total += sign * t.Load()
	c.taken -= sign * t.Load()
	s.turn++
}
