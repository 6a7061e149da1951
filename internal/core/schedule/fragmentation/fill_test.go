package fragmentation

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var cluster = []Stock{{"A", 400, 8, 96000}, {"B", 100, 2, 104000}, {"C", 60, 8, 128000}, {"D", 7, 0, 0}}

// drawShapes are shapes at the granularity that look-ups keep exactly.
func drawShapes(r *rand.Rand) []Shape {
	all := make([]Shape, r.IntN(30))
	for i := range all {
		s := Shape{CPU: 1000 * r.Int64N(130), Devices: r.IntN(9), Milli: 10 * (1 + r.IntN(100)), Count: r.Int64N(500)}
		if s.Devices > 1 && r.IntN(3) > 0 {
			s.Milli = 1000
		}
		if r.IntN(4) == 0 {
			s.Models = [][]string{{"A"}, {"B", "C"}, {"D"}, {"elsewhere"}}[r.IntN(4)]
		}
		all[i] = s
	}
	return all
}

func drawNode(r *rand.Rand) (int64, []int32, Product) {
	free := make([]int32, r.IntN(20))
	for i := range free {
		switch r.IntN(3) {
		case 0:
			free[i] = 1000
		case 1:
			free[i] = 10 * r.Int32N(101)
		}
	}
	return r.Int64N(140_000), free, Product(r.IntN(len(cluster) + 1))
}

// plainScarce is how scarce CPU is, in thousandths, straight from the definition.
func plainScarce(shapes []Shape) (scarce, supply int64) {
	var cpu, load int64
	for _, s := range shapes {
		cpu += s.Count * s.CPU
		load += s.Count * int64(s.Devices*s.Milli)
	}
	var have, gpus int64
	for _, k := range cluster[:3] { // of the last nothing is known
		have += k.GPUs / int64(k.Devices) * k.CPU
		gpus += k.GPUs
	}
	supply = have / gpus
	return min(max((1000*cpu/max(load, 1)*1000/supply-900)*10, 0), 1000), supply
}

// plainCost is the cost straight from its definition.
func plainCost(shapes []Shape, cpu int64, free []int32, p Product) int64 {
	holds := func(k Stock, s Shape) bool {
		return (k.Devices == 0 || k.Devices >= s.Devices && k.CPU >= s.CPU) && (len(s.Models) == 0 || slices.Contains(s.Models, k.Model))
	}
	var tot, nf, n, cpuSum, gpuSum, waste int64
	for _, x := range free {
		tot += int64(x)
		if x == 1000 {
			nf++
		}
	}
	for _, s := range shapes {
		n += s.Count
		if s.Devices == 0 || s.Count == 0 {
			continue
		}
		cpuSum += s.Count * s.CPU
		gpuSum += s.Count * int64(s.Devices*s.Milli)
		fit, left := 0, int64(0)
		for _, x := range free {
			left += int64(x) % int64(s.Milli)
			if x >= int32(s.Milli) {
				fit++
			}
		}
		k := int64(s.Devices)
		switch {
		case cpu < s.CPU || fit < s.Devices || len(s.Models) > 0 && (p == 0 || !holds(cluster[p-1], s)):
			left = tot
		case s.Devices > 1 && s.Milli == 1000:
			left = tot - nf/k*k*1000
		}
		waste += s.Count * k * left
	}
	if gpuSum == 0 {
		return 0
	}
	need := tot * (1000 * cpuSum / gpuSum) / 1000
	lack := need - cpu
	if lack <= 0 {
		return waste
	}
	scarce, _ := plainScarce(shapes)
	return waste + n*(600-580*scarce/1000)*lack/need*lack/1000
}

func TestCostIsItsDefinition(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		shapes := drawShapes(r)
		m := New(shapes, cluster)
		for range 30 {
			cpu, free, p := drawNode(r)
			if got, want := m.Cost(cpu, free, p), plainCost(shapes, cpu, free, p); got != want {
				t.Fatalf("seed %d: cpu %d, free %v, product %d: cost %d, want %d\n%+v", seed, cpu, free, p, got, want, shapes)
			}
		}
	}
}

// TestDeltaIsTheLeastGrowth tries every choice of devices for a share of one
// GPU, and for whole ones checks the growth that the reported choice has.
func TestDeltaIsTheLeastGrowth(t *testing.T) {
	placed := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		shapes := drawShapes(r)
		m := New(shapes, cluster)
		scarce, supply := plainScarce(shapes)
		if len(shapes) == 0 || m.ratio == 0 {
			scarce = 0
		}
		for range 30 {
			cpu, free, p := drawNode(r)
			a := Ask{CPU: 1000 * r.Int64N(40), Devices: r.IntN(4), Milli: 10 * (1 + r.IntN(100))}
			if r.IntN(3) == 0 {
				a.Milli = 1000
			}
			pick := make([]int, a.Devices)
			got, ok := m.Delta(cpu, free, p, a, pick)
			fit := 0
			for _, x := range free {
				if x >= int32(a.Milli) {
					fit++
				}
			}
			if want := cpu >= a.CPU && fit >= a.Devices; ok != want {
				t.Fatalf("seed %d: %+v on cpu %d, free %v: ok %v, want %v", seed, a, cpu, free, ok, want)
			}
			if !ok {
				continue
			}
			placed++
			charge := func(devices []int) int64 {
				after, left := slices.Clone(free), int64(0)
				for _, d := range devices {
					after[d] -= int32(a.Milli)
				}
				for _, x := range after {
					left += int64(x)
				}
				left += (cpu - a.CPU) * scarce / supply
				toll := max(m.count, 1)*remainWeight*(left*left/1000)/1000 + m.table(p).bias*int64(a.Devices*a.Milli)/1000
				return m.Cost(cpu-a.CPU, after, p) - m.Cost(cpu, free, p) + toll
			}
			if want := charge(pick); got != want {
				t.Fatalf("seed %d: %+v on cpu %d, free %v: delta %d for devices %v, computed anew %d", seed, a, cpu, free, got, pick, want)
			}
			if !slices.IsSorted(pick) || len(slices.Compact(slices.Clone(pick))) != a.Devices {
				t.Fatalf("devices %v: want %d different ones, ascending", pick, a.Devices)
			}
			for d, x := range free {
				if a.Devices == 1 && x >= int32(a.Milli) && charge([]int{d}) < got {
					t.Fatalf("seed %d: %+v on cpu %d, free %v: device %d charges less than %v", seed, a, cpu, free, d, pick)
				}
			}
		}
	}
	if placed < 1000 {
		t.Fatalf("only %d tasks were placed: the test says nothing", placed)
	}
}

func TestOrderOfShapesDoesNotMatter(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 2))
		shapes := drawShapes(r)
		for i := range shapes { // beyond what is counted exactly
			shapes[i].Count *= 1 + r.Int64N(1<<40)
		}
		a := New(shapes, cluster)
		r.Shuffle(len(shapes), func(i, j int) { shapes[i], shapes[j] = shapes[j], shapes[i] })
		b := New(shapes, cluster)
		for range 20 {
			cpu, free, p := drawNode(r)
			if x, y := a.Cost(cpu, free, p), b.Cost(cpu, free, p); x != y {
				t.Fatalf("seed %d: costs %d and %d", seed, x, y)
			}
			if x, y := a.Press(p), b.Press(p); x != y {
				t.Fatalf("seed %d: press %d and %d", seed, x, y)
			}
		}
	}
}

func TestNothingFreeCostsNothing(t *testing.T) {
	m := New([]Shape{{CPU: 8000, Devices: 1, Milli: 470, Count: 10}, {CPU: 90000, Devices: 8, Milli: 1000, Count: 3}}, cluster)
	for _, free := range [][]int32{nil, {}, make([]int32, 8), {-5, -1000}} {
		for _, cpu := range []int64{math.MinInt64, -1, 0, 96000, math.MaxInt64} {
			if got := m.Cost(cpu, free, 1); got != 0 {
				t.Errorf("cost of free %v with CPU %d is %d", free, cpu, got)
			}
		}
	}
	if got := New(nil, nil).Cost(1000, []int32{1000, 500}, 0); got != 0 {
		t.Errorf("without shapes the cost is %d", got)
	}
}

func TestWithoutArrivalsTheFullestNodeWins(t *testing.T) {
	m := New(nil, cluster)
	a := Ask{CPU: 1000, Devices: 1, Milli: 300}
	full, ok1 := m.Delta(8000, []int32{400, 300}, 1, a, nil)
	empty, ok2 := m.Delta(8000, []int32{1000, 1000}, 1, a, nil)
	if !ok1 || !ok2 || full >= empty {
		t.Errorf("charges: %d on the fuller node, %d on the empty one (%v, %v)", full, empty, ok1, ok2)
	}
}

// TestExtremesDoNotOverflow: charges of the worst inputs stay in order: using up
// more is never rewarded by a wrapped sign.
func TestExtremesDoNotOverflow(t *testing.T) {
	big := math.MaxInt64
	shapes := []Shape{
		{CPU: math.MaxInt64, Devices: big, Milli: big, Models: []string{"A"}, Count: math.MaxInt64},
		{CPU: math.MaxInt64, Devices: 1, Milli: 1000, Count: math.MaxInt64},
		{CPU: math.MinInt64, Devices: -3, Milli: -1, Count: math.MinInt64},
		{CPU: 1, Devices: 3, Milli: 333, Count: math.MaxInt64},
	}
	m := New(shapes, []Stock{{Model: "A", GPUs: 1}, {Model: "B", GPUs: math.MaxInt64}, {Model: "C", GPUs: math.MinInt64}})
	free := make([]int32, 20_000)
	for i := range free {
		free[i] = math.MaxInt32
	}
	for _, cpu := range []int64{math.MinInt64, 0, 1 << 20, math.MaxInt64} {
		for p := Product(-1); p < 6; p++ {
			if c := m.Cost(cpu, free, p); c < 0 {
				t.Errorf("cost %d with CPU %d on product %d", c, cpu, p)
			}
			for _, a := range []Ask{{0, 1, 1}, {0, 1, 1000}, {0, 20, 1000}, {math.MaxInt64, 1, 500}, {-1, 1, 1}, {0, -1, 1}, {0, 1, 0}, {0, 1, 1001}} {
				if _, ok := m.Delta(cpu, free, p, a, nil); ok != (a.CPU >= 0 && a.CPU <= cpu && a.Devices >= 0 && a.Milli >= 1 && a.Milli <= 1000) {
					t.Errorf("%+v with CPU %d: ok is %v", a, cpu, ok)
				}
			}
		}
	}
	if p := m.Press(1); p < 1000 {
		t.Errorf("a model that is wanted more than all others has press %d", p)
	}
}

func TestWantedModelsAreSpared(t *testing.T) {
	shapes := []Shape{{CPU: 8000, Devices: 1, Milli: 1000, Count: 50}, {CPU: 8000, Devices: 1, Milli: 1000, Models: []string{"B"}, Count: 50}}
	m := New(shapes, []Stock{{Model: "A", GPUs: 90}, {Model: "B", GPUs: 10}})
	// Half of all load on a tenth of the GPUs: five times the mean.
	if p := m.Press(m.Product(Stock{Model: "B"})); p != 5000 {
		t.Errorf("press of the wanted model is %d, want 5000", p)
	}
	if p := m.Press(m.Product(Stock{Model: "A"})); p != 0 {
		t.Errorf("press of a model that nobody names is %d", p)
	}
	a, free := Ask{CPU: 8000, Devices: 1, Milli: 1000}, []int32{1000, 1000}
	plain, _ := m.Delta(16000, free, m.Product(Stock{Model: "A"}), a, nil)
	wanted, _ := m.Delta(16000, free, m.Product(Stock{Model: "B"}), a, nil)
	if wanted <= plain {
		t.Errorf("a task without a wish is charged %d on the wanted model and %d elsewhere", wanted, plain)
	}
}

// TestLargeNodesAreSparedForThoseWhoNeedThem: one task in a thousand needs a
// whole large node, and yet a small task does not go there.
func TestLargeNodesAreSparedForThoseWhoNeedThem(t *testing.T) {
	shapes := []Shape{{CPU: 12000, Devices: 1, Milli: 1000, Count: 995}, {CPU: 120000, Devices: 8, Milli: 1000, Count: 5}}
	m := New(shapes, []Stock{{"A", 4000, 8, 96000}, {"C", 160, 8, 128000}})
	free := []int32{1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000}
	a := Ask{CPU: 12000, Devices: 1, Milli: 1000}
	small, _ := m.Delta(96000, free, 1, a, nil)
	large, _ := m.Delta(128000, free, 2, a, nil)
	if large <= small {
		t.Errorf("charged %d on the large node and %d on the small one", large, small)
	}
	// The same once the node is of no use to large tasks any more, so that it can
	// become so again.
	free[0] = 0
	small, _ = m.Delta(84000, free, 1, a, nil)
	large, _ = m.Delta(116000, free, 2, a, nil)
	if large <= small || m.Press(2) == 0 || m.Press(1) != 0 {
		t.Errorf("charged %d on the large node and %d on the small one; press %d and %d", large, small, m.Press(2), m.Press(1))
	}
}

func TestProductsAreFoundByKindAndThenByModel(t *testing.T) {
	m := New(nil, []Stock{{"A", 8, 8, 96000}, {"A", 2, 2, 96000}, {"B", 2, 2, 1000}})
	for _, c := range []struct {
		kind Stock
		want Product
	}{{Stock{"A", 0, 2, 96000}, 2}, {Stock{"A", 0, 4, 1}, 1}, {Stock{"B", 99, 0, 0}, 3}, {Stock{Model: "C"}, 0}} {
		if got := m.Product(c.kind); got != c.want {
			t.Errorf("%+v is product %d, want %d", c.kind, got, c.want)
		}
	}
}

func TestCounterIsDueAtDoublesAndThenEvery512(t *testing.T) {
	var c Counter
	var due []int
	for i := 1; i <= 2100; i++ {
		if c.Add(Shape{CPU: int64(i % 7), Devices: 1, Milli: 500}) {
			due = append(due, i)
		}
	}
	if want := []int{32, 64, 128, 256, 512, 1024, 1536, 2048}; !slices.Equal(due, want) {
		t.Errorf("due after %v, want %v", due, want)
	}
}

func TestCounterFollowsWorkThatChanges(t *testing.T) {
	var c Counter
	before, after := Shape{CPU: 1, Devices: 1, Milli: 100, Models: []string{"B", "A", "A"}}, Shape{CPU: 2, Devices: 8, Milli: 1000}
	for range 100_000 {
		c.Add(before)
	}
	for range 1_000_000 {
		c.Add(after)
	}
	all := c.Shapes()
	if len(all) == 0 || all[len(all)-1].CPU != 2 || all[len(all)-1].Count < 30_000 {
		t.Fatalf("the new work is not what counts: %+v", all)
	}
	if len(all) == 2 && all[0].Count > 10 {
		t.Errorf("the old work still counts: %+v", all[0])
	}
	c.Add(Shape{CPU: 1, Devices: 1, Milli: 100, Models: []string{"A", "B"}})
	if n := len(c.Shapes()); n > 2 {
		t.Errorf("%d shapes: the order of models makes a difference", n)
	}
	for i := range int64(100_000) {
		c.Add(Shape{CPU: i, Devices: 1, Milli: 10})
	}
	if n := len(c.Shapes()); n > maxShapes {
		t.Errorf("%d shapes are held", n)
	}
}

// TestScarceCPU: free CPU is kept together where work wants more than there is,
// that without GPUs included, and nodes without GPUs help.
func TestScarceCPU(t *testing.T) {
	work := []Shape{{CPU: 8000, Devices: 1, Milli: 1000, Count: 100}, {CPU: 60000, Devices: 8, Milli: 1000, Count: 2}}
	alone := Shape{CPU: 4000, Count: 200}
	nodes := []Stock{{Model: "A", GPUs: 80, Devices: 8, CPU: 96000}}
	for _, c := range []struct {
		name   string
		shapes []Shape
		nodes  []Stock
		scarce bool
	}{
		{"enough", work, nodes, false},
		{"too much beside the GPUs", append(slices.Clone(work), alone), nodes, true},
		{"nodes without GPUs take that", append(slices.Clone(work), alone), append(slices.Clone(nodes), Stock{CPU: 400_000}), false},
		{"nobody knows", append(slices.Clone(work), alone), []Stock{{Model: "A", GPUs: 80, Devices: 8}}, false},
		{"no GPUs", append(slices.Clone(work), alone), []Stock{{CPU: 1000}}, false},
	} {
		m := New(c.shapes, c.nodes)
		if got := m.scarce == 1000; got != c.scarce || !got && m.scarce != 0 {
			t.Errorf("%s: scarce %d", c.name, m.scarce)
		}
		// One node has had a task already: a small one without GPUs keeps off the other.
		full := []int32{1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000}
		p := m.Product(nodes[0])
		begun, _ := m.Delta(70_000, full, p, Ask{CPU: 4000}, nil)
		fresh, _ := m.Delta(96_000, full, p, Ask{CPU: 4000}, nil)
		if c.scarce && begun >= fresh {
			t.Errorf("%s: %d on a node that is begun, %d on an empty one", c.name, begun, fresh)
		}
	}
}
