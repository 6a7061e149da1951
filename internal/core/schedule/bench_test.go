package schedule_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/place"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

func gpus(n int, product string) []core.Device {
	out := make([]core.Device, n)
	for i := range out {
		out[i] = core.Device{ID: fmt.Sprintf("gpu-%d", i), Index: i, Product: product, Memory: 80 << 30, Healthy: true}
	}
	return out
}

func nodes(n, per int) []schedule.Node {
	out := make([]schedule.Node, n)
	for i := range out {
		out[i] = schedule.Node{Node: core.Node{
			ID: core.NodeID(fmt.Sprintf("n%05d", i)), Pool: "default", Ready: true, CPU: 128_000, Memory: 1 << 40, Devices: gpus(per, "H100"),
			Labels: map[string]string{"block": fmt.Sprintf("b%d", i/64), "rack": fmt.Sprintf("r%d", i/16)},
		}}
	}
	return out
}

func plainQueue(id string, age int64, gpu int64) schedule.Queue {
	q := schedule.Unlimited()
	q.Quota[quota.GPU] = gpu
	return schedule.Queue{ID: core.ProjectID(id), Age: age, Priority: 100, Default: q}
}

func gpuJob(id, queue string, order int64, tasks, each int) schedule.Job {
	need := schedule.Need{Devices: each, Milli: 1000, CPU: 1000, Memory: 1 << 30}
	return schedule.Job{
		ID: core.WorkloadID(id), Queue: core.ProjectID(queue), Priority: 50, Preemptible: true, Order: order,
		Shape: schedule.Flat(schedule.Group{Name: "tasks", Min: tasks, Runs: []schedule.Run{{Need: need, Count: tasks}}}),
	}
}

// run returns the job as it is once it holds these places.
func run(j schedule.Job, places ...schedule.Place) schedule.Job {
	first := j.Shape.Groups[0].Runs[0]
	for i, p := range places {
		j.Held = append(j.Held, schedule.Held{Task: i, Need: first.Need, Rule: first.Rule, Place: p})
	}
	j.Shape = schedule.Flat(schedule.Group{Name: "tasks", Min: j.Shape.Groups[0].Min})
	return j
}

// apply puts the plan's placements into effect.
func applyAll(st *state.State, plan *schedule.Plan) {
	for _, p := range plan.Placements {
		j := st.Jobs[p.ID].Job
		var places []schedule.Place
		for _, t := range p.Tasks {
			places = append(places, t.Place)
		}
		st.PutJob(run(j, places...))
	}
}

func BenchmarkFill(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			s := &schedule.Snapshot{Nodes: nodes(n, 8), Queues: []schedule.Queue{plainQueue("a", 1, quota.Unlimited), plainQueue("b", 2, quota.Unlimited)}}
			for i := range n * 8 {
				s.Jobs = append(s.Jobs, gpuJob(fmt.Sprintf("j%07d", i), []string{"a", "b"}[i%2], int64(i), 1, 1))
			}
			st := state.Load(s, schedule.Config{})
			b.ReportAllocs()
			for b.Loop() {
				if p := cycle.Run(st, 0); len(p.Placements) != n*8 {
					b.Fatal(len(p.Placements))
				}
			}
		})
	}
}

// loaded is a cluster of n nodes × 8 GPUs, full of one-GPU jobs in 100 queues
// and with as many waiting, and a fifth more running that use no GPU.
func loaded(n int) *state.State {
	s := &schedule.Snapshot{Nodes: nodes(n, 8)}
	for q := range 100 {
		s.Queues = append(s.Queues, plainQueue(fmt.Sprintf("q%02d", q), int64(q), int64(n)*80))
	}
	for i := range n * 8 {
		s.Jobs = append(s.Jobs, gpuJob(fmt.Sprintf("j%07d", i), fmt.Sprintf("q%02d", i%100), int64(i), 1, 1))
	}
	for i := range n * 2 {
		j := gpuJob(fmt.Sprintf("c%07d", i), fmt.Sprintf("q%02d", i%100), int64(n*8+i), 1, 0)
		s.Jobs = append(s.Jobs, j)
	}
	st := state.Load(s, schedule.Config{})
	applyAll(st, cycle.Run(st, 0))
	for i := range n * 10 {
		st.PutJob(gpuJob(fmt.Sprintf("w%07d", i), fmt.Sprintf("q%02d", i%100), int64(n*10+i), 1, 1<<(i%4)))
	}
	return st
}

// BenchmarkManyPools is a cycle over so many pools of one full node each, in each
// of which three queues wait that name no other.
func BenchmarkManyPools(b *testing.B) {
	for _, n := range []int{10, 100, 300} {
		b.Run(fmt.Sprintf("pools=%d", n), func(b *testing.B) {
			s := &schedule.Snapshot{Nodes: nodes(n, 8)}
			for i := range n {
				pool := fmt.Sprintf("p%03d", i)
				s.Pools = append(s.Pools, schedule.Pool{Name: pool})
				s.Nodes[i].Pool = pool
				for k := range 3 {
					id := fmt.Sprintf("%s-%d", pool, k)
					s.Queues = append(s.Queues, plainQueue(id, int64(i), 8))
					j := gpuJob(id, id, int64(i), 1, 8)
					j.Pools = []string{pool}
					s.Jobs = append(s.Jobs, j)
				}
			}
			st := state.Load(s, schedule.Config{})
			for b.Loop() {
				if p := cycle.Run(st, 0); len(p.Placements) != n {
					b.Fatal(len(p.Placements))
				}
			}
		})
	}
}

func BenchmarkNothingNew(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			st := loaded(n)
			b.ReportAllocs()
			for b.Loop() {
				st.Changes() // as if something had changed
				if p := cycle.Run(st, 0); len(p.Placements)+len(p.Promises) > 0 {
					b.Fatal(len(p.Placements), len(p.Promises))
				}
			}
		})
	}
}

// BenchmarkQuiet is a cycle after one in which nothing happened, with nothing
// changed in between.
func BenchmarkQuiet(b *testing.B) {
	st := loaded(10000)
	b.ReportAllocs()
	for b.Loop() {
		if p := cycle.Run(st, 0); len(p.Placements)+len(p.Promises) > 0 {
			b.Fatal(len(p.Placements), len(p.Promises))
		}
	}
}

// BenchmarkOneEnds is a cycle in which one job has ended and another has come:
// one of those who wait is placed.
func BenchmarkOneEnds(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			st := loaded(n)
			b.ReportAllocs()
			ended := 0
			for b.Loop() {
				st.DropJob(core.WorkloadID(fmt.Sprintf("j%07d", ended)))
				ended = (ended + 1) % (n * 8)
				st.PutJob(gpuJob(fmt.Sprintf("x%07d", ended), fmt.Sprintf("q%02d", ended%100), int64(1_000_000+ended), 1, 1))
				p := cycle.Run(st, 0)
				if len(p.Placements) > 1 {
					b.Fatal(len(p.Placements))
				}
				applyAll(st, p)
			}
		})
	}
}

// waitingGang is an empty cluster of blocks of 512 GPUs, and one job that wants all
// its tasks in one of them.
func waitingGang(tasks int) *state.State {
	s := &schedule.Snapshot{Nodes: nodes(1000, 8), Queues: []schedule.Queue{plainQueue("a", 1, quota.Unlimited)}}
	j := gpuJob("gang", "a", 1, tasks, 1)
	j.Shape.Sets[0].Topology = &schedule.Topology{Levels: []string{"block", "rack"}, Required: "block", Preferred: "rack"}
	j.Shape = schedule.NewShape(j.Shape.Sets, j.Shape.Groups)
	s.Jobs = append(s.Jobs, j)
	return state.Load(s, schedule.Config{})
}

// BenchmarkHopelessGang is a gang of 512 tasks that fits by its sums, but in no
// domain: placed for nothing, and explained.
func BenchmarkHopelessGang(b *testing.B) {
	st := waitingGang(520)
	b.ReportAllocs()
	for b.Loop() {
		st.Changes()
		if p := cycle.Run(st, 0); len(p.Placements) != 0 {
			b.Fatal(len(p.Placements))
		}
		if ex, ok := explain.Explain(st, 0, "gang"); !ok || ex.Reasons[0].Token != schedule.NeverFits {
			b.Fatal(ex)
		}
	}
}

// BenchmarkManyQueues is a cycle with 10,000 queues, each with jobs of three
// kinds that wait, on a full cluster, one of whose jobs has ended.
func BenchmarkManyQueues(b *testing.B) {
	s := &schedule.Snapshot{Nodes: nodes(1000, 8)}
	for q := range 10_000 {
		s.Queues = append(s.Queues, plainQueue(fmt.Sprintf("q%05d", q), int64(q), 800))
	}
	for i := range 8000 {
		s.Jobs = append(s.Jobs, gpuJob(fmt.Sprintf("j%07d", i), fmt.Sprintf("q%05d", i), int64(i), 1, 1))
	}
	st := state.Load(s, schedule.Config{})
	applyAll(st, cycle.Run(st, 0))
	for i := range 90_000 {
		st.PutJob(gpuJob(fmt.Sprintf("w%07d", i), fmt.Sprintf("q%05d", i%10_000), int64(10_000+i), 1, 1+i/10_000%3))
	}
	b.ReportAllocs()
	ended := 0
	for b.Loop() {
		st.DropJob(core.WorkloadID(fmt.Sprintf("j%07d", ended)))
		ended = (ended + 1) % 8000
		applyAll(st, cycle.Run(st, 0))
	}
}

// BenchmarkWaiting reports what a million jobs that wait in 10,000 queues take.
func BenchmarkWaiting(b *testing.B) {
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		st := state.NewState(schedule.Config{})
		var queues []schedule.Queue
		for q := range 10_000 {
			queues = append(queues, plainQueue(fmt.Sprintf("q%04d", q), int64(q), 800))
		}
		st.SetQueues(queues)
		for _, n := range nodes(1000, 8) {
			st.PutNode(n)
		}
		for i := range 1_000_000 {
			st.PutJob(gpuJob(fmt.Sprintf("w%07d", i), fmt.Sprintf("q%04d", i%10_000), int64(i), 1, 1+i%3))
		}
		if p := cycle.Run(st, 0); len(p.Placements) == 0 {
			b.Fatal("nothing is placed")
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		mib := float64(after.HeapAlloc-before.HeapAlloc) / (1 << 20)
		b.ReportMetric(mib, "MiB")
		if mib > 1024 {
			b.Fatalf("%.0f MiB", mib)
		}
		runtime.KeepAlive(st)
	}
}

// full is n nodes full of one-GPU jobs of queue a, and a queue b that has a
// claim to all.
func full(n int, claim int64) *state.State {
	s := &schedule.Snapshot{Nodes: nodes(n, 8), Queues: []schedule.Queue{plainQueue("a", 1, 0), plainQueue("b", 2, claim)}}
	for i := range n * 8 {
		s.Jobs = append(s.Jobs, gpuJob(fmt.Sprintf("j%07d", i), "a", int64(i), 1, 1))
	}
	st := state.Load(s, schedule.Config{})
	applyAll(st, cycle.Run(st, 0))
	return st
}

func BenchmarkReclaimMany(b *testing.B) {
	st := full(500, 4_000_000)
	for i := range 4000 {
		st.PutJob(gpuJob(fmt.Sprintf("w%07d", i), "b", int64(100_000+i), 1, 1))
	}
	b.ReportAllocs()
	for b.Loop() {
		if p := cycle.Run(st, 0); len(p.Promises) != 4000 || len(p.Evictions) != 4000 {
			b.Fatal(len(p.Promises), len(p.Evictions))
		}
	}
}

func BenchmarkReclaimGang(b *testing.B) {
	for _, each := range []int{1, 8} {
		b.Run(fmt.Sprintf("gpusPerTask=%d", each), func(b *testing.B) {
			st := full(1000, 8_000_000)
			st.PutJob(gpuJob("gang", "b", 100_000, 800/each, each))
			b.ReportAllocs()
			for b.Loop() {
				if p := cycle.Run(st, 0); len(p.Promises) != 1 || len(p.Evictions) != 800 {
					b.Fatal(len(p.Promises), len(p.Evictions))
				}
			}
		})
	}
}

func BenchmarkReclaimFails(b *testing.B) {
	st := full(100, 800_000)
	j := gpuJob("huge", "b", 100_000, 1, 1)
	j.Shape.Groups[0].Runs[0].Need.CPU = 129_000
	j.Shape = schedule.Flat(j.Shape.Groups...)
	st.PutJob(j)
	b.ReportAllocs()
	for b.Loop() {
		st.Changes()
		if p := cycle.Run(st, 0); len(p.Promises) != 0 {
			b.Fatal(len(p.Promises), len(p.Evictions))
		}
	}
}

func BenchmarkTopologyGang(b *testing.B) {
	st := waitingGang(512)
	b.ReportAllocs()
	for b.Loop() {
		st.Changes()
		if p := cycle.Run(st, 0); len(p.Placements) != 1 || len(p.Placements[0].Tasks) != 512 {
			b.Fatal(len(p.Placements))
		}
	}
}

// BenchmarkSegmentedGang is 64 segments of eight, each in one rack, all in one
// block; hopeless is five of a hundred, of which each block has room for four.
func BenchmarkSegmentedGang(b *testing.B) {
	for name, c := range map[string]struct{ size, tasks int }{"fits": {8, 512}, "hopeless": {100, 500}} {
		b.Run(name, func(b *testing.B) {
			s := &schedule.Snapshot{Nodes: nodes(1000, 8), Queues: []schedule.Queue{plainQueue("a", 1, quota.Unlimited)}}
			j := gpuJob("gang", "a", 1, c.tasks, 1)
			levels := []string{"block", "rack"}
			j.Shape = schedule.NewShape([]schedule.Set{{Parent: -1, Topology: &schedule.Topology{Levels: levels, Required: "block"}}},
				place.Segments(c.size, &schedule.Topology{Levels: levels, Required: "rack"}, j.Shape.Groups[0].Runs))
			s.Jobs = append(s.Jobs, j)
			st := state.Load(s, schedule.Config{})
			b.ReportAllocs()
			for b.Loop() {
				st.Changes()
				if p := cycle.Run(st, 0); (len(p.Placements) == 1) != (name == "fits") {
					b.Fatal(len(p.Placements))
				}
				if name == "fits" {
					continue
				}
				if ex, ok := explain.Explain(st, 0, "gang"); !ok || ex.Reasons[0].Token != schedule.NeverFits {
					b.Fatal(ex)
				}
			}
		})
	}
}
