package replay

// Part is what a job holds of one node.
type Part struct{ Node, GPUs int }

// nodes is the free capacity of equal nodes, with what is needed to say at
// once whether a job fits.
type nodes struct {
	per   int   // GPUs of a node
	free  []int // of each node
	count []int // nodes by how many GPUs they have free
	total int   // free GPUs of all nodes
}

func newNodes(n, per int) nodes {
	s := nodes{per: per, free: make([]int, n), count: make([]int, per+1), total: n * per}
	for i := range s.free {
		s.free[i] = per
	}
	s.count[per] = n
	return s
}

// copyFrom makes s the same as o, reusing its memory.
func (s *nodes) copyFrom(o *nodes) {
	s.per, s.total = o.per, o.total
	s.free = append(s.free[:0], o.free...)
	s.count = append(s.count[:0], o.count...)
}

// fits says whether place would succeed.
func (s *nodes) fits(gpus int) bool {
	if gpus > s.total {
		return false
	}
	whole, rest := gpus/s.per, gpus%s.per
	if s.count[s.per] < whole {
		return false
	}
	if rest == 0 || s.count[s.per] > whole {
		return true
	}
	for f := rest; f < s.per; f++ {
		if s.count[f] > 0 {
			return true
		}
	}
	return false
}

// place finds room: whole empty nodes first, lowest index first, and the rest
// on the other node where it leaves the least. Nil: no room.
func (s *nodes) place(gpus int) []Part {
	if !s.fits(gpus) {
		return nil
	}
	whole, rest := gpus/s.per, gpus%s.per
	parts := make([]Part, 0, whole+1)
	best := -1
	for i, f := range s.free {
		if f == s.per && len(parts) < whole {
			parts = append(parts, Part{i, s.per})
			continue
		}
		if rest > 0 && f >= rest && (best < 0 || f < s.free[best]) {
			best = i
		}
	}
	if rest > 0 {
		parts = append(parts, Part{best, rest})
	}
	return parts
}

func (s *nodes) set(node, free int) {
	s.count[s.free[node]]--
	s.total += free - s.free[node]
	s.free[node] = free
	s.count[free]++
}

func (s *nodes) take(parts []Part) {
	for _, p := range parts {
		s.set(p.Node, s.free[p.Node]-p.GPUs)
	}
}

func (s *nodes) give(parts []Part) {
	for _, p := range parts {
		s.set(p.Node, s.free[p.Node]+p.GPUs)
	}
}
