package schedule

import (
	"cmp"
	"math"
	"slices"

	"github.com/musterhq/muster/internal/core/schedule/fragmentation"
)

// filler scores sites by how well the room that remains serves the usual work.
type filler struct {
	told  []fragmentation.Shape // of which the model was made
	model *fragmentation.Model
	kinds map[fragmentation.Stock]fragmentation.Product
}

// kindOf is what distinguishes a site that is empty from others.
func kindOf(s *site) fragmentation.Stock {
	return fragmentation.Stock{Model: s.product, Devices: len(s.node.Devices), CPU: s.node.CPU}
}

// SetWork says which shapes of tasks arrive, and how often, for pools whose
// strategy is Fill. Until then Fill packs as BinPack does.
func (st *State) SetWork(shapes []fragmentation.Shape) {
	stock, bare := map[fragmentation.Stock]int64{}, int64(0)
	for _, s := range st.sites {
		if len(s.node.Devices) == 0 {
			bare += s.node.CPU
			continue
		}
		stock[kindOf(s)] += int64(len(s.node.Devices))
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
	f := &filler{told: shapes, model: fragmentation.New(shapes, cluster), kinds: make(map[fragmentation.Stock]fragmentation.Product, len(stock))}
	for k := range stock {
		f.kinds[k] = f.model.Product(k)
	}
	st.fill = f
	for _, p := range st.pools {
		p.forget()
	}
}

// delta is by how much a's arrival on s spoils what is left.
func (f *filler) delta(s *site, a *ask) int64 {
	v := &s.soon
	d, ok := f.model.Delta(v.cpu, v.dev, f.kinds[kindOf(s)], f.ask(s, a), nil)
	if !ok {
		return math.MaxInt64
	}
	return d
}

func (f *filler) ask(s *site, a *ask) fragmentation.Ask {
	return fragmentation.Ask{CPU: a.need.CPU, Devices: a.need.Devices, Milli: int(s.milli(a))}
}

// choose is the device whose loss spoils least, if it may be taken now or a may
// wait for it.
func (f *filler) choose(s *site, a *ask, later bool) []int32 {
	pick := make([]int, a.need.Devices)
	if _, ok := f.model.Delta(s.soon.cpu, s.soon.dev, f.kinds[kindOf(s)], f.ask(s, a), pick); !ok {
		return nil
	}
	m := s.milli(a)
	out := make([]int32, len(pick))
	for i, d := range pick {
		if s.soon.dev[d] < m || !later && s.now.dev[d] < m || !s.is(d, a.need.Type) {
			return nil
		}
		out[i] = int32(d)
	}
	return out
}

// ShapeOf is a need in the words of fill, counted once.
func ShapeOf(n Need) fragmentation.Shape {
	s := fragmentation.Shape{CPU: n.CPU, Devices: n.Devices, Milli: n.Milli, Count: 1}
	if n.Type != "" {
		s.Models = []string{n.Type}
	}
	return s
}

// Work counts the shapes of all tasks that are known, running and waiting: what
// is usual where nothing else has been learnt.
func (st *State) Work() []fragmentation.Shape {
	counts := map[string]*fragmentation.Shape{}
	add := func(n Need, count int) {
		if n.Share > 0 || partitioned(n.MIG) || count == 0 {
			return
		}
		key := n.key()
		if counts[key] == nil {
			s := ShapeOf(n)
			s.Count = 0
			counts[key] = &s
		}
		counts[key].Count += int64(count)
	}
	for _, j := range st.jobs {
		for _, h := range j.holds {
			add(h.ask.need, 1)
		}
		for g := range j.Shape.Groups {
			for _, r := range j.Shape.Groups[g].Runs {
				add(r.Need, r.Count)
			}
		}
	}
	out := make([]fragmentation.Shape, 0, len(counts))
	for _, key := range sortedKeys(counts) {
		out = append(out, *counts[key])
	}
	slices.SortStableFunc(out, func(a, b fragmentation.Shape) int { return cmp.Compare(b.Count, a.Count) })
	return out
}
