package schedule

import (
	"cmp"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
)

// board is the scratch copy of the nodes on which a plan is tried out: the only
// mutable thing here. What a failed try took goes back through the undo log.
type board struct {
	seats []seat // sorted by node ID
	log   []taken
	pack  bool
	ranks map[wish]*ranking // seats by how well they serve a need
	bare  *board            // the same nodes with nothing on them; made when asked for
}

type seat struct {
	node  *Node
	cpu   int64
	mem   int64
	free  []int // per device, thousandths
	sum   int   // of free
	whole int   // healthy devices that are wholly free
	fit   bool  // ready and not cordoned
	turn  int   // grows with every change
}

type taken struct {
	seat  int
	place Place
}

func newBoard(nodes []Node, cfg Config) *board {
	b := &board{seats: make([]seat, 0, len(nodes)), pack: cfg.Placement == BinPack, ranks: map[wish]*ranking{}}
	for i := range nodes {
		n := &nodes[i]
		s := seat{node: n, cpu: n.CPU - n.UsedCPU, mem: n.Memory - n.UsedMemory, free: make([]int, len(n.Devices)), fit: n.Ready && !n.Cordon}
		for d := range n.Devices {
			if !n.Devices[d].Healthy {
				continue
			}
			s.free[d] = 1000
			if d < len(n.UsedMilli) {
				s.free[d] -= n.UsedMilli[d]
			}
			if s.free[d] >= 1000 {
				s.whole++
			}
			s.sum += s.free[d]
		}
		b.seats = append(b.seats, s)
	}
	slices.SortFunc(b.seats, func(a, c seat) int { return cmp.Compare(a.node.ID, c.node.ID) })
	return b
}

// empty returns the board as it is when nothing runs, every node counted that
// could come back: what can ever fit.
func emptyBoard(nodes []Node) *board {
	bare := slices.Clone(nodes)
	for i := range bare {
		bare[i].UsedCPU, bare[i].UsedMemory, bare[i].UsedMilli = 0, 0, nil
		bare[i].Ready, bare[i].Cordon = true, false
		bare[i].Devices = slices.Clone(bare[i].Devices)
		for d := range bare[i].Devices {
			bare[i].Devices[d].Healthy = true
		}
	}
	return newBoard(bare, Config{})
}

// typed reports whether a device's product is of the wanted type.
func typed(product, want string) bool {
	return want == "" || strings.Contains(strings.ToLower(product), strings.ToLower(want))
}

// devices returns which devices of s would serve n, lowest index first, or
// false. Shared devices come before fresh ones when packing.
func (s *seat) devices(n Need, pack bool) ([]core.Share, bool) {
	if n.Devices == 0 {
		return nil, true
	}
	if n.Milli >= 1000 && s.whole < n.Devices {
		return nil, false
	}
	var fit []int
	for d := range s.free {
		if s.node.Devices[d].Healthy && s.free[d] >= n.Milli && typed(s.node.Devices[d].Product, n.Type) {
			fit = append(fit, d)
		}
	}
	if len(fit) < n.Devices {
		return nil, false
	}
	if n.Milli < 1000 {
		slices.SortStableFunc(fit, func(x, y int) int {
			if pack {
				return cmp.Compare(s.free[x], s.free[y])
			}
			return cmp.Compare(s.free[y], s.free[x])
		})
	}
	shares := make([]core.Share, n.Devices)
	for i, d := range fit[:n.Devices] {
		shares[i] = core.Share{Device: s.node.Devices[d].ID, Index: s.node.Devices[d].Index, Milli: n.Milli}
	}
	return shares, true
}

// holds reports whether one task of n fits. It is asked for every node, and so
// makes no list of devices.
func (s *seat) holds(n Need) bool {
	switch {
	case !s.fit || s.cpu < n.CPU || s.mem < n.Memory:
		return false
	case n.Devices == 0:
		return true
	case n.Milli >= 1000 && (s.whole < n.Devices || n.Type == ""):
		return s.whole >= n.Devices
	}
	fit := 0
	for d := range s.free {
		if s.node.Devices[d].Healthy && s.free[d] >= n.Milli && typed(s.node.Devices[d].Product, n.Type) {
			fit++
		}
	}
	return fit >= n.Devices
}

// put places one task in pool, or reports that it fits nowhere there.
func (b *board) put(g Group, pool string) (Place, bool) {
	best := b.find(g.Need, pool)
	if best < 0 {
		return Place{}, false
	}
	shares, _ := b.seats[best].devices(g.Need, b.pack)
	p := Place{Group: g.Name, Node: b.seats[best].node.ID, Devices: shares, CPU: g.Need.CPU, Memory: g.Need.Memory}
	b.take(best, p)
	return p, true
}

func (b *board) take(i int, p Place) {
	b.apply(i, p, -1)
	b.log = append(b.log, taken{i, p})
}

func (b *board) apply(i int, p Place, sign int) {
	s := &b.seats[i]
	s.turn++
	s.cpu += int64(sign) * p.CPU
	s.mem += int64(sign) * p.Memory
	for _, sh := range p.Devices {
		for d := range s.node.Devices {
			if s.node.Devices[d].ID != sh.Device {
				continue
			}
			was := s.free[d] >= 1000
			s.free[d] += sign * sh.Milli
			s.sum += sign * sh.Milli
			if now := s.free[d] >= 1000; now != was {
				s.whole += sign
			}
		}
	}
}

// add frees what a task holds as if it had ended (sign 1), or takes it for good
// (sign -1).
func (b *board) add(p Place, sign int) {
	if i, ok := slices.BinarySearchFunc(b.seats, p.Node, func(s seat, id core.NodeID) int { return cmp.Compare(s.node.ID, id) }); ok {
		b.apply(i, p, sign)
		clear(b.ranks)
	}
}

func (b *board) undo(mark int) {
	if len(b.log) > mark {
		clear(b.ranks)
	}
	for len(b.log) > mark {
		last := b.log[len(b.log)-1]
		b.apply(last.seat, last.place, 1)
		b.log = b.log[:len(b.log)-1]
	}
}

// minimum places everything of shape that must start together, in the first
// pool that takes it whole, or nothing.
func (b *board) minimum(shape *Shape) (places []Place, pool string, ok bool) {
	for _, pool := range b.pools(shape) {
		mark := len(b.log)
		places, n := b.fill(shape, pool)
		if n == shape.must() {
			return places, pool, true
		}
		b.undo(mark)
	}
	return nil, "", false
}

// fill places as much of the minimum as fits in one pool and says how much.
func (b *board) fill(shape *Shape, pool string) ([]Place, int) {
	var places []Place
	for _, g := range shape.Groups {
		for range g.Min {
			p, ok := b.put(g, pool)
			if !ok {
				return places, len(places)
			}
			places = append(places, p)
		}
	}
	return places, len(places)
}

// pools lists the pools that shape may use, in order.
func (b *board) pools(shape *Shape) []string {
	if len(shape.Pools) > 0 {
		return shape.Pools
	}
	var all []string
	for i := range b.seats {
		if p := b.seats[i].node.Pool; !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	slices.Sort(all)
	return all
}

// uses reports whether shape may go to nodes of that pool.
func (s *Shape) uses(pool string) bool { return len(s.Pools) == 0 || slices.Contains(s.Pools, pool) }

// must is how many tasks start together.
func (s *Shape) must() int {
	n := 0
	for _, g := range s.Groups {
		n += g.Min
	}
	return n
}
