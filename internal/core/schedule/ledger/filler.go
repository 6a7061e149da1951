package ledger

import (
	"cmp"
	"math"
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/fragmentation"
)

// kindOf is what distinguishes a site that is empty from others.
func kindOf(s *Site) fragmentation.Stock {
	return fragmentation.Stock{Model: s.product, Devices: len(s.Node.Devices), CPU: s.Node.CPU}
}

// SetWork says which shapes of tasks arrive, and how often, for pools whose
// strategy is Fill. Until then Fill packs as BinPack does.
func (n *Nodes) SetWork(shapes []fragmentation.Shape) {
	stock, bare := map[fragmentation.Stock]int64{}, int64(0)
	for _, s := range n.Sites {
		if len(s.Node.Devices) == 0 {
			bare += s.Node.CPU
			continue
		}
		stock[kindOf(s)] += int64(len(s.Node.Devices))
	}
	cluster := make([]fragmentation.Stock, 0, len(stock)+1)
	for k, n := range stock {
		k.GPUs = n
		cluster = append(cluster, k)
	}
	slices.SortFunc(cluster, func(a, b fragmentation.Stock) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Devices, b.Devices), cmp.Compare(a.CPU, b.CPU))
	})
	if bare > 0 {
		cluster = append(cluster, fragmentation.Stock{CPU: bare})
	}
	f := &Filler{Shapes: shapes, model: fragmentation.New(shapes, cluster), kinds: make(map[fragmentation.Stock]fragmentation.Product, len(stock))}
	for k := range stock {
		f.kinds[k] = f.model.Product(k)
	}
	n.Fill = f
	for _, p := range n.Pools {
		p.Forget()
	}
}

// delta is by how much a's arrival on s spoils what is left.
func (f *Filler) delta(s *Site, a *Ask) int64 {
	v := &s.Soon
	d, ok := f.model.Delta(v.Cpu, v.Dev, f.kinds[kindOf(s)], f.ask(s, a), nil)
	if !ok {
		return math.MaxInt64
	}
	return d
}

func (f *Filler) ask(s *Site, a *Ask) fragmentation.Ask {
	return fragmentation.Ask{CPU: a.Need.CPU, Devices: a.Need.Devices, Milli: int(s.Milli(a))}
}

// choose is the device whose loss spoils least, if it may be taken now or a may
// wait for it.
func (f *Filler) choose(s *Site, a *Ask, later bool) []int32 {
	pick := make([]int, a.Need.Devices)
	if _, ok := f.model.Delta(s.Soon.Cpu, s.Soon.Dev, f.kinds[kindOf(s)], f.ask(s, a), pick); !ok {
		return nil
	}
	m := s.Milli(a)
	out := make([]int32, len(pick))
	for i, d := range pick {
		if s.Soon.Dev[d] < m || !later && s.Now.Dev[d] < m || !s.Is(d, a.Need.Type) {
			return nil
		}
		out[i] = int32(d)
	}
	return out
}

// ShapeOf is a need in the words of fill, counted once.
func ShapeOf(n schedule.Need) fragmentation.Shape {
	s := fragmentation.Shape{CPU: n.CPU, Devices: n.Devices, Milli: n.Milli, Count: 1}
	if n.Type != "" {
		s.Models = []string{n.Type}
	}
	return s
}
