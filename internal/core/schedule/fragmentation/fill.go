// Package fragmentation says how badly a node's free capacity serves the work that is
// known to arrive, so that a scheduler can put each task where it spoils least.
//
// The cost of a node has two parts. Waste: for each shape of task, weighted by
// how often it arrives, the free GPU capacity that would remain if the node were
// filled with copies of it alone. Shortage: how far the node's free CPU falls
// short of what its free GPUs need on average, squared; it sees CPU and GPUs
// drift apart long before a shape ceases to fit, and decides most ties.
//
// Placing a task is charged with the growth of the cost and with two tolls. One
// is for the free GPUs that remain on the node, and where CPU is scarce for the
// free CPU: it keeps free capacity together, which matters once tasks leave
// again. Where tasks name models or only few
// nodes are large enough for them, the other keeps the rest off those.
//
// The package decides nothing by itself and finds no node: it gives integers to
// compare. It never fails: what is out of range is brought into it.
package fragmentation

import (
	"cmp"
	"slices"
)

// Shape is a kind of task and how many of them were seen.
type Shape struct {
	CPU     int64    // thousandths of cores
	Devices int      // GPUs; 0: it needs none
	Milli   int      // of each device, 1..1000
	Models  []string // exact names of the models that serve it; empty: any
	Count   int64

	fit    int64 // GPUs of the kinds of node that could hold it
	claims bool  // it can go to few kinds only, which others should leave to it
}

// Stock is how many GPUs the cluster has in nodes of one kind. Kinds of the same
// model add up.
type Stock struct {
	Model string
	GPUs  int64
	// What a node of the kind has when it is empty. Zero is unknown and counts as
	// enough for any shape. An entry with CPU and no GPUs stands for all nodes that
	// have none: its CPU is theirs together.
	Devices int
	CPU     int64 // thousandths of cores
}

// holds reports whether an empty node of the kind could take a task of s.
func (k *Stock) holds(s *Shape) bool {
	return s.serves(k.Model) && (k.Devices == 0 || k.Devices >= s.Devices) && (k.CPU == 0 || k.CPU >= s.CPU)
}

// amount is the GPUs of the kind, in range.
func (k *Stock) amount() int64 { return min(max(k.GPUs, 0), maxStock) }

// Product is a kind of node: i+1 for the i-th entry of the cluster given to New, 0
// for any that is not among them. It stays valid over every Model that was made
// with the same cluster.
type Product int32

// Ask is what one task needs of a node, as far as costs are concerned.
type Ask struct {
	CPU     int64 // thousandths of cores
	Devices int   // GPUs
	Milli   int   // of each device, 1..1000
}

// The weights of the policy, chosen for two ends: GPUs allocated when nothing
// ever leaves, and waits when tasks come and go. The first alone would have 300
// and 0, which differs by 0.05 points of the GPUs; but then free capacity
// scatters and large tasks wait although a fifth of all GPUs is free.
// The weights of the policy, chosen for two ends: GPUs allocated when nothing
// ever leaves, and waits when tasks come and go. The first alone would have no
// weight for what remains, which differs by 0.03 points of the GPUs; but then
// free capacity scatters and large tasks wait although a fifth of all GPUs is
// free.
//
// Where there is not CPU enough for all, lacking it cannot be avoided: spread
// evenly over all nodes, as its square would have it, it leaves none that serves
// a large task. So it weighs little then, and CPU counts in what remains.
const (
	shortageWeight = 600
	scarceWeight   = 20 // instead, where CPU is scarce
	remainWeight   = 3
	pressWeight    = 3000
	claimShare     = 4   // kinds with less than one in so many of the GPUs are few
	scarceFrom     = 900 // thousandths of the CPU that there is that all work needs
	scarceTo       = 1000
)

// What values are brought down to, so that no product exceeds 63 bits: counts
// are scaled to add up to about maxCount, the rest is cut off. maxNeed is
// two million cores on one node.
const (
	maxCount   = 1 << 20
	maxCPU     = 1 << 30
	maxDevices = 1 << 10
	maxTotal   = 1 << 23
	maxNeed    = 1 << 31
	maxPress   = 1 << 20
	maxStock   = 1 << 30
	maxSupply  = 1 << 50
	maxLevels  = 128
)

// Model holds what follows from the shapes: look-up tables. It is immutable and
// may be used from several goroutines.
type Model struct {
	cluster []Stock
	count   int64   // of all shapes together
	scarce  int64   // how scarce CPU is, in thousandths: 0 there is enough, 1000 not all work can have it
	supply  int64   // milli-cores per GPU that the cluster has, if it is scarce
	lack    int64   // what lacking CPU weighs
	ratio   int64   // milli-cores per GPU that the work needs on average
	levels  []int64 // CPU of the shapes with GPUs, ascending, distinct
	tables  []table
	group   []int32 // Product → tables; products that the same shapes name share one
}

// New returns the tables for shapes on a cluster. The order of shapes does not
// matter; that of cluster names the products. Without shapes every cost is 0.
func New(shapes []Shape, cluster []Stock) *Model {
	m := &Model{cluster: slices.Clone(cluster), lack: shortageWeight}
	work := m.tame(shapes)
	m.setLevels(work)
	m.setTables(work)
	return m
}

// Product returns the product of nodes of a kind, its GPUs aside: the same model,
// devices and CPU, else the first of the same model, else 0.
func (m *Model) Product(kind Stock) Product {
	of := 0
	for i := range m.cluster {
		k := &m.cluster[i]
		if k.Model != kind.Model {
			continue
		}
		if k.Devices == kind.Devices && k.CPU == kind.CPU {
			return Product(i + 1)
		}
		if of == 0 {
			of = i + 1
		}
	}
	return Product(of)
}

// Press returns how much the shapes with a claim on p want of its kind, per GPU,
// relative to what all shapes want of the whole cluster, in thousandths: 1000 is
// the same, 0 says that none has a claim. A shape has one if it names models, or
// if few nodes are large enough for it.
func (m *Model) Press(p Product) int64 { return m.table(p).press }

// tame returns the shapes with all values in range and duplicates left as they
// are, and sums up count and ratio.
func (m *Model) tame(shapes []Shape) []Shape {
	var sum int64
	for i := range shapes {
		sum += min(max(shapes[i].Count, 0), 1<<40)
	}
	work := make([]Shape, 0, len(shapes))
	var cpu, gpu, beside int64
	for _, s := range shapes {
		n := min(max(s.Count, 0), 1<<40)
		if n == 0 {
			continue
		}
		if sum > maxCount {
			n = max(n*maxCount/sum, 1)
		}
		s.Count = n
		s.CPU = min(max(s.CPU, 0), maxCPU)
		s.Devices = min(max(s.Devices, 0), maxDevices)
		s.Milli = min(max(s.Milli, 0), 1000)
		m.count += n
		if s.Devices == 0 || s.Milli == 0 {
			beside += n * s.CPU
			continue
		}
		cpu += n * s.CPU
		gpu += n * s.load()
		m.place(&s)
		work = append(work, s)
	}
	if gpu > 0 {
		m.ratio = min(1000*cpu/gpu, maxCPU)
		m.weigh(min(1000*(cpu+beside)/gpu, maxNeed))
	}
	return work
}

// weigh sets what follows from how much CPU all work needs, that without GPUs
// too, and how much there is, in milli-cores per GPU. A cluster whose CPU is not
// known has enough.
func (m *Model) weigh(need int64) {
	var cpu, gpus int64
	for i := range m.cluster {
		k := &m.cluster[i]
		switch {
		case k.amount() == 0: // nodes without GPUs
			cpu += min(max(k.CPU, 0), maxSupply)
		case k.Devices > 0:
			gpus += k.amount()
			cpu += k.amount() / int64(k.Devices) * clipCPU(k.CPU)
		}
	}
	if gpus == 0 || cpu == 0 {
		return
	}
	m.supply = max(cpu/gpus, 1)
	m.scarce = min(max((need*1000/m.supply-scarceFrom)*1000/(scarceTo-scarceFrom), 0), 1000)
	m.lack -= (shortageWeight - scarceWeight) * m.scarce / 1000
}

// load is the milli-GPUs one task of s takes.
func (s *Shape) load() int64 { return int64(s.Devices) * int64(s.Milli) }

// weight is how much the shape counts in the waste: each task once for each of
// its GPUs.
func (s *Shape) weight() int64 { return s.Count * int64(s.Devices) }

// place sets what follows from where tasks of s could go. Tasks that need the
// largest nodes are few; had they no claim on them, others would sit on all of
// these, and one GPU in use is enough to make such a node useless to them.
func (m *Model) place(s *Shape) {
	var all int64
	s.fit = 0
	for i := range m.cluster {
		k := &m.cluster[i]
		all += k.amount()
		if k.holds(s) {
			s.fit += k.amount()
		}
	}
	s.claims = len(s.Models) > 0 || s.Devices > 1 && s.fit < all/claimShare
}

// serves reports whether the shape can use GPUs of the model.
func (s *Shape) serves(model string) bool {
	return len(s.Models) == 0 || slices.Contains(s.Models, model)
}

// setLevels collects the distinct amounts of CPU. Beyond maxLevels only every
// so many is kept, and what lies between counts as the next one kept: tables
// stay small however varied the work is.
func (m *Model) setLevels(work []Shape) {
	all := make([]int64, 0, len(work))
	for i := range work {
		all = append(all, work[i].CPU)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if step := (len(all) + maxLevels - 1) / maxLevels; step > 1 {
		kept := make([]int64, 0, maxLevels)
		for i := len(all) - 1; i >= 0; i -= step {
			kept = append(kept, all[i])
		}
		slices.Reverse(kept)
		all = kept
	}
	m.levels = all
}

// level is how many of the levels fit into cpu.
func (m *Model) level(cpu int64) int {
	lo, hi := 0, len(m.levels)
	for lo < hi {
		if mid := (lo + hi) / 2; m.levels[mid] <= cpu {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// needs is the level from which on a shape fits: levels above its index have
// its CPU.
func (m *Model) needs(cpu int64) int {
	i, _ := slices.BinarySearchFunc(m.levels, cpu, cmp.Compare[int64])
	return i + 1
}
