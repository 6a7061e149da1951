package schedule

import (
	"fmt"
	"testing"

	"github.com/musterhq/muster/internal/core"
)

// machines are n nodes of 8 GPUs, of which that many are held on each.
func machines(n, held int) []Node {
	all := make([]Node, n)
	for i := range all {
		all[i] = occupied(node(fmt.Sprintf("n%04d", i), 8, 128000, 1024*gib, "NVIDIA H100"), held, int64(held)*1000, 0)
	}
	return all
}

func jobs(n int, from int64) []Waiter {
	all := make([]Waiter, n)
	for i := range all {
		all[i] = Waiter{ID: core.WorkloadID(fmt.Sprintf("w%d", from+int64(i))), Order: from + int64(i)}
	}
	return all
}

// BenchmarkNothingNew: 100,000 wait in 20 classes for 1,000 full nodes.
func BenchmarkNothingNew(b *testing.B) {
	s := &Snapshot{Nodes: machines(1000, 8)}
	for i := range 20 {
		c := class(fmt.Sprintf("q%d", i%5), i%3, single(gpu(1+i%8)))
		c.Jobs = jobs(5000, int64(i)*5000)
		s.Waiting = append(s.Waiting, c)
	}
	for b.Loop() {
		if plan := Cycle(s, Config{}); len(plan.Placements) > 0 {
			b.Fatal(where(plan))
		}
	}
}

// BenchmarkFill: 8,000 one-GPU jobs fill 1,000 empty nodes of 8.
func BenchmarkFill(b *testing.B) {
	for _, placement := range []Strategy{BinPack, Spread} {
		b.Run("placement="+string(placement), func(b *testing.B) {
			c := class("q", 0, single(gpu(1)))
			c.Jobs = jobs(8000, 1)
			s := &Snapshot{Nodes: machines(1000, 0), Waiting: []Class{c}}
			for b.Loop() {
				if plan := Cycle(s, Config{Placement: placement}); len(plan.Placements) != 8000 {
					b.Fatalf("%d were placed", len(plan.Placements))
				}
			}
			b.ReportMetric(8000*float64(b.N)/b.Elapsed().Seconds(), "placements/s")
		})
	}
}

// BenchmarkFillMixed: the same by 20 classes whose jobs alternate.
func BenchmarkFillMixed(b *testing.B) {
	s := &Snapshot{Nodes: machines(1000, 0)}
	for i := range 20 {
		n := gpu(1)
		n.Memory = int64(i) * gib
		c := class("q", 0, single(n))
		for k := range 400 {
			c.Jobs = append(c.Jobs, Waiter{ID: core.WorkloadID(fmt.Sprintf("w%d-%d", i, k)), Order: int64(k*20 + i)})
		}
		s.Waiting = append(s.Waiting, c)
	}
	for b.Loop() {
		if plan := Cycle(s, Config{}); len(plan.Placements) != 8000 {
			b.Fatalf("%d were placed", len(plan.Placements))
		}
	}
	b.ReportMetric(8000*float64(b.N)/b.Elapsed().Seconds(), "placements/s")
}

// BenchmarkGang: one gang of 512 tasks of a whole node each, on 1,000 nodes.
func BenchmarkGang(b *testing.B) {
	s := &Snapshot{Nodes: machines(1000, 0), Waiting: []Class{class("q", 0, gang(512, gpu(8)), 1)}}
	for b.Loop() {
		if plan := Cycle(s, Config{}); len(plan.Placements) != 1 {
			b.Fatal("it was not placed")
		}
	}
}

// BenchmarkHopelessGang: a gang that fits 1,000 empty nodes and not these.
func BenchmarkHopelessGang(b *testing.B) {
	s := &Snapshot{Nodes: machines(1000, 1), Waiting: []Class{class("q", 0, gang(512, gpu(8)), 1)}}
	for b.Loop() {
		if plan := Cycle(s, Config{}); len(plan.Placements) != 0 || plan.Verdicts[0] == nil {
			b.Fatal("it was placed, or nobody says why not")
		}
	}
}

// BenchmarkExplain: one explanation among 100,000 waiting and 8,000 running
// whose ends are known.
func BenchmarkExplain(b *testing.B) {
	s := &Snapshot{Nodes: machines(1000, 8)}
	c := class("q", 0, gang(512, gpu(8)))
	c.Jobs = jobs(100_000, 1)
	s.Waiting = []Class{c}
	for i := range 8000 {
		n := s.Nodes[i%1000]
		s.Running = append(s.Running, Job{
			ID: core.WorkloadID(fmt.Sprintf("r%d", i)), EndsBy: int64(1 + i),
			Places: []Place{{Node: n.ID, CPU: 1000, Devices: []core.Share{{Device: n.Devices[i/1000].ID, Milli: 1000}}}},
		})
	}
	plan := Cycle(s, Config{})
	for b.Loop() {
		if ex, ok := Explain(s, plan, Config{}, "w50000"); !ok || ex.EarliestStart == 0 {
			b.Fatalf("%+v", ex)
		}
	}
}
