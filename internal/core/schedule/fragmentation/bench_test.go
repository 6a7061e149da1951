package fragmentation

import (
	"math/rand/v2"
	"testing"
)

// busy is tables of about the size that a real list of tasks gives.
func busy() (*Model, []int32) {
	r := rand.New(rand.NewPCG(1, 1))
	shapes := make([]Shape, 0, 90)
	for range 90 {
		shapes = append(shapes, Shape{CPU: 500 * (1 + r.Int64N(200)), Devices: 1, Milli: 10 * (1 + r.IntN(100)), Count: 1 + r.Int64N(500)})
	}
	shapes = append(shapes, Shape{CPU: 64000, Devices: 8, Milli: 1000, Count: 40}, Shape{CPU: 32000, Devices: 4, Milli: 1000, Count: 15})
	return New(shapes, nil), []int32{0, 190, 530, 1000, 1000, 340, 0, 680}
}

func TestCostsAllocateNothing(t *testing.T) {
	m, free := busy()
	pick := make([]int, 2)
	for name, fn := range map[string]func(){
		"cost":             func() { m.Cost(40000, free, 0) },
		"delta, shared":    func() { m.Delta(40000, free, 0, Ask{CPU: 8000, Devices: 1, Milli: 180}, pick) },
		"delta, two whole": func() { m.Delta(40000, free, 0, Ask{CPU: 8000, Devices: 2, Milli: 1000}, pick) },
		"delta, no GPU":    func() { m.Delta(40000, free, 0, Ask{CPU: 8000}, pick) },
	} {
		if n := testing.AllocsPerRun(100, fn); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkCost(b *testing.B) {
	m, free := busy()
	b.ReportAllocs()
	for b.Loop() {
		m.Cost(40000, free, 0)
	}
}

func BenchmarkDelta(b *testing.B) {
	m, free := busy()
	for _, c := range []struct {
		name string
		ask  Ask
	}{{"share", Ask{8000, 1, 180}}, {"whole", Ask{8000, 1, 1000}}, {"two", Ask{8000, 2, 1000}}, {"cpu", Ask{CPU: 8000}}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Delta(40000, free, 0, c.ask, nil)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	shapes := make([]Shape, 91)
	for i := range shapes {
		shapes[i] = Shape{CPU: 500 * (1 + r.Int64N(200)), Devices: 1, Milli: 10 * (1 + r.IntN(100)), Count: 10}
	}
	for b.Loop() {
		New(shapes, cluster)
	}
}
