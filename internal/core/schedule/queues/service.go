package queues

import (
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// Service is the order in which those of several queues would be served, each
// queue's in the order of its own line. It goes by what queues held when it was
// made, and by what those were given who were served since.
type Service struct {
	qs   *Queues
	pool *ledger.Pool
	root counter
}

// counter is one queue, or group of queues, of a service: at each level the first
// to be served is on top of a heap.
type counter struct {
	q      int32 // -1: what is above all
	up     *counter
	heap   []*counter      // those below that have somebody left
	needs  []quota.Amounts // of a queue with work of its own: what those of its line ask for
	next   int             // of these
	has    quota.Amounts   // what it held at the beginning
	gained quota.Amounts   // what those have who were served
}

// Serve begins the service of some queues in a pool, by what those of their lines
// ask for, first come first.
func (qs *Queues) Serve(p *ledger.Pool, lines map[int32][]quota.Amounts) *Service {
	s := &Service{qs: qs, pool: p, root: counter{q: -1}}
	made := map[int32]*counter{-1: &s.root}
	all := []*counter{&s.root} // parents before their children
	var of func(q int32) *counter
	of = func(q int32) *counter {
		c := made[q]
		if c == nil {
			c = &counter{q: q, up: of(qs.List[q].ParentIndex), has: p.Q[q].Alloc}
			made[q] = c
			c.up.heap = append(c.up.heap, c)
			all = append(all, c)
		}
		return c
	}
	for _, q := range slices.Sorted(maps.Keys(lines)) {
		if len(lines[q]) > 0 {
			of(q).needs = lines[q]
		}
	}
	for _, c := range slices.Backward(all) {
		for i := len(c.heap)/2 - 1; i >= 0; i-- {
			s.sink(c, i)
		}
	}
	return s
}

// First says whose turn it is: of which queue, and which of its line. Negative:
// nobody is left.
func (s *Service) First() (queue int32, at int) {
	c := s.root.first()
	return c.q, c.next
}

// Served takes whoever was the first, and who has so much from now on.
func (s *Service) Served(gained quota.Amounts) {
	c := s.root.first()
	c.next++
	for ; c.up != nil; c = c.up {
		c.gained = c.gained.Add(gained)
		if c.next == len(c.needs) && len(c.heap) == 0 {
			end := len(c.up.heap) - 1
			c.up.heap[0] = c.up.heap[end]
			c.up.heap = c.up.heap[:end]
		}
		s.sink(c.up, 0) // c was on top
	}
}

// first is the queue below c whose turn it is.
func (c *counter) first() *counter {
	for len(c.heap) > 0 {
		c = c.heap[0]
	}
	return c
}

// sink puts the i-th of c's heap in its place.
func (s *Service) sink(c *counter, i int) {
	for h := c.heap; ; {
		k := 2*i + 1
		if k >= len(h) {
			return
		}
		if k+1 < len(h) && s.before(h[k+1], h[k]) {
			k++
		}
		if !s.before(h[k], h[i]) {
			return
		}
		h[i], h[k] = h[k], h[i]
		i = k
	}
}

// before reports whether of two counters of one parent a is served before b.
func (s *Service) before(a, b *counter) bool {
	wa, wb := a.has.Add(a.asks()), b.has.Add(b.asks())
	x, y := s.qs.Standing(s.pool, a.q, &a.has, &wa, &wa), s.qs.Standing(s.pool, b.q, &b.has, &wb, &wb)
	return s.qs.Compare(s.pool, a.q, b.q, &x, &y) < 0
}

// asks is what c would have gained once its first is served.
func (c *counter) asks() quota.Amounts {
	f := c.first()
	return c.gained.Add(f.needs[f.next])
}
