package schedule_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/state"
	"github.com/musterhq/muster/internal/heap"
)

var (
	hugeFlag    = flag.Bool("schedule.huge", false, "measure 100,000 nodes, too")
	reserveFlag = flag.Int("schedule.reserve", 4, "gangs that get a time to start, in BenchmarkServer")
)

// processor is the processor time that this program has had.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// busy is a cluster as a server configures it: nodes of 8 GPUs that are full,
// 100 queues with an equal part each, four priorities, half of the ends known,
// and ten times as many workloads of 1, 2, 4 and 8 GPUs waiting as there are
// nodes.
type busy struct {
	*rand.Rand
	st       *state.State
	now      int64
	order    int64
	live     []core.WorkloadID
	promised map[core.WorkloadID]bool
	lost     int
}

const busyQueues = 100

func newBusy(n, reserve int) *busy {
	c := &busy{Rand: rand.New(rand.NewPCG(1, 2)), st: state.NewState(Default()), now: 1_000_000_000}
	c.st.SetPools([]schedule.Pool{{Name: "default", GPU: schedule.Fill, CPU: schedule.Fill, Reserve: reserve}})
	var queues []schedule.Queue
	for q := range busyQueues {
		x := plainQueue(fmt.Sprintf("q%03d", q), int64(q), int64(n)*8000/busyQueues)
		x.PreemptMin, x.ReclaimMin = -1, -1
		queues = append(queues, x)
	}
	c.st.SetQueues(queues)
	for _, nd := range nodes(n, 8) {
		c.st.PutNode(nd)
	}
	for i := range n {
		for g := range 8 {
			j := c.job(1)
			j.Started = c.now - c.Int64N(86_400_000)
			if c.order%2 == 0 {
				j.EndsBy = c.now + c.Int64N(86_400_000)
			}
			c.st.PutJob(run(j, schedule.Place{Node: core.NodeID(fmt.Sprintf("n%05d", i)), CPU: 1000, Memory: 1 << 30, Devices: []core.Share{{Device: fmt.Sprintf("gpu-%d", g), Index: g, Milli: 1000}}}))
		}
	}
	for i := range n * 2 {
		j := c.job(0)
		j.Started = c.now - 1000
		c.st.PutJob(run(j, schedule.Place{Node: core.NodeID(fmt.Sprintf("n%05d", i%n)), CPU: 1000, Memory: 1 << 30}))
	}
	for range n * 10 {
		c.arrive()
	}
	c.st.SetWork(c.st.Work())
	return c
}

// job is a new one with so many GPUs.
func (c *busy) job(each int) schedule.Job {
	c.order++
	j := gpuJob(fmt.Sprintf("j%08d", c.order), fmt.Sprintf("q%03d", c.order%busyQueues), c.order, 1, each)
	j.Priority = []int{50, 75, 40, 60}[c.order/busyQueues%4]
	return j
}

func (c *busy) arrive() {
	j := c.job(1 << c.IntN(4))
	j.Queue = core.ProjectID(fmt.Sprintf("q%03d", c.IntN(busyQueues)))
	j.Priority = []int{50, 75, 40, 60}[c.IntN(4)]
	j.Due = c.now + 12*3_600_000
	c.st.PutJob(j)
}

// apply lets a plan take effect; who was told to leave is gone at once, and
// waits again.
func (c *busy) apply(p *schedule.Plan) {
	st, was := c.st, c.promised
	c.promised = map[core.WorkloadID]bool{}
	for i, x := range p.Promises {
		c.promised[x.ID] = true
		if j := st.Jobs[x.ID].Job; len(j.Held) == 0 {
			j.Promised, j.Rank, j.Owed = true, i+1, len(x.Tasks)
			st.PutJob(j)
		}
	}
	for id := range was {
		if j := st.Jobs[id]; j != nil && !c.promised[id] && len(j.Held) == 0 {
			d := j.Job
			d.Promised, d.Rank, d.Owed = false, 0, 0
			st.PutJob(d)
		}
	}
	for _, e := range p.Evictions {
		j := st.Jobs[e.ID].Job
		h, n := j.Held[0], len(j.Held)
		j.Held, j.Started, j.EndsBy, j.Due, j.Attained = nil, 0, 0, c.now+96*3_600_000, j.Attained+3_600_000
		j.Shape = schedule.Flat(schedule.Group{Name: "tasks", Min: n, Runs: []schedule.Run{{Need: h.Need, Count: n}}})
		st.PutJob(j)
		c.lost++
	}
	for _, pl := range p.Placements {
		j := st.Jobs[pl.ID].Job
		var places []schedule.Place
		for _, x := range pl.Tasks {
			places = append(places, x.Place)
		}
		j.Started, j.Promised, j.Rank, j.Owed = c.now, false, 0, 0
		st.PutJob(run(j, places...))
		c.live = append(c.live, pl.ID)
	}
}

// settle lets plans take effect until there is none.
func (c *busy) settle() {
	for range 100 {
		p := cycle.Run(c.st, c.now)
		if len(p.Placements)+len(p.Evictions)+len(p.Promises) == 0 {
			break
		}
		c.apply(p)
	}
	c.live = c.live[:0]
	for _, id := range ledger.SortedIDs(c.st.Jobs) {
		if len(c.st.Jobs[id].Held) > 0 {
			c.live = append(c.live, id)
		}
	}
}

// step ends one and lets another come.
func (c *busy) step() {
	c.now += 1000
	for {
		k := c.IntN(len(c.live))
		j := c.st.Jobs[c.live[k]]
		c.live[k] = c.live[len(c.live)-1]
		c.live = c.live[:len(c.live)-1]
		if j != nil && len(j.Held) > 0 { // else it was displaced
			c.st.DropJob(j.ID)
			break
		}
	}
	c.arrive()
}

// heap is the memory in use.
func liveHeap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkServer is one cycle after one job has ended and another has come, in
// a cluster as a server configures it, in processor time: the median and the
// 99th of a hundred, for cycles with nobody promised anything and for the others.
func BenchmarkServer(b *testing.B) {
	heap.Bound(heap.Server)
	sizes := []int{100, 300, 1000, 3000, 10_000}
	if *hugeFlag {
		sizes = append(sizes, 30_000, 100_000)
	}
	for _, n := range sizes {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			before := liveHeap()
			c := newBusy(n, *reserveFlag)
			began := processor()
			c.apply(cycle.Run(c.st, c.now))
			first := processor() - began
			c.settle()
			held := liveHeap() - before
			var free, open []time.Duration
			var bytes uint64
			c.lost = 0
			var was, is runtime.MemStats
			for b.Loop() {
				b.StopTimer()
				c.step()
				promised := len(c.promised) > 0
				runtime.ReadMemStats(&was)
				began := processor()
				b.StartTimer()
				p := cycle.Run(c.st, c.now)
				b.StopTimer()
				took := processor() - began
				runtime.ReadMemStats(&is)
				bytes += is.TotalAlloc - was.TotalAlloc
				if promised {
					open = append(open, took)
				} else {
					free = append(free, took)
				}
				c.apply(p)
				b.StartTimer()
			}
			all := slices.Concat(free, open)
			b.ReportMetric(at(all, .5), "p50-ms")
			b.ReportMetric(at(all, .99), "p99-ms")
			b.ReportMetric(at(open, .5), "promised-p50-ms")
			b.ReportMetric(first.Seconds(), "first-s")
			b.ReportMetric(float64(bytes)/float64(len(all)), "B/cycle")
			b.ReportMetric(float64(held)/(1<<20), "MiB")
			b.ReportMetric(float64(is.Sys-is.HeapReleased)/(1<<20), "process-MiB")
		})
	}
}

// at is a quantile in ms; 0 of none.
func at(all []time.Duration, part float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return float64(all[int(part*float64(len(all)-1))].Microseconds()) / 1000
}

// BenchmarkOnePoolOfMany is a cycle after one job has come to a pool, of so many
// of one node each, in each of which three queues wait that name no other.
func BenchmarkOnePoolOfMany(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("pools=%d", n), func(b *testing.B) {
			s := &schedule.Snapshot{Nodes: nodes(n, 8)}
			for i := range n {
				pool := fmt.Sprintf("p%04d", i)
				s.Pools = append(s.Pools, schedule.Pool{Name: pool, GPU: schedule.Fill, CPU: schedule.Fill, Reserve: *reserveFlag})
				s.Nodes[i].Pool = pool
				for k := range 3 {
					id := fmt.Sprintf("%s-%d", pool, k)
					s.Queues = append(s.Queues, plainQueue(id, int64(i), 8))
					j := gpuJob(id, id, int64(i), 1, 8)
					j.Pools = []string{pool}
					s.Jobs = append(s.Jobs, j)
				}
			}
			st := state.Load(s, Default())
			st.SetWork(st.Work())
			applyAll(st, cycle.Run(st, 1_000_000))
			cycle.Run(st, 2_000_000) // which counts what they want
			k, all := 0, []time.Duration{}
			for b.Loop() {
				k++
				j := gpuJob(fmt.Sprintf("x%06d", k), "p0000-0", int64(100_000+k), 1, 8)
				j.Pools = []string{"p0000"}
				st.PutJob(j)
				began := processor()
				if p := cycle.Run(st, int64(2_000_000+k)); len(p.Placements) > 0 {
					b.Fatal(len(p.Placements))
				}
				all = append(all, processor()-began)
			}
			b.ReportMetric(at(all, .5), "p50-ms")
			b.ReportMetric(at(all, .99), "p99-ms")
		})
	}
}

// BenchmarkOneQueueOfMany is a cycle after one job has come to a queue, of so
// many in each of which jobs of three kinds wait for a full cluster.
func BenchmarkOneQueueOfMany(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000, 30_000} {
		b.Run(fmt.Sprintf("queues=%d", n), func(b *testing.B) {
			s := &schedule.Snapshot{Nodes: nodes(1000, 8), Pools: []schedule.Pool{{Name: "default", GPU: schedule.Fill, CPU: schedule.Fill, Reserve: *reserveFlag}}}
			for q := range n {
				x := plainQueue(fmt.Sprintf("q%05d", q), int64(q), 8_000_000/int64(n))
				x.PreemptMin, x.ReclaimMin = -1, -1
				s.Queues = append(s.Queues, x)
			}
			for i := range 8000 {
				s.Jobs = append(s.Jobs, gpuJob(fmt.Sprintf("j%05d", i), fmt.Sprintf("q%05d", i%n), int64(i), 1, 1))
			}
			st := state.Load(s, Default())
			applyAll(st, cycle.Run(st, 0))
			for i := range 3 * n {
				st.PutJob(gpuJob(fmt.Sprintf("w%06d", i), fmt.Sprintf("q%05d", i%n), int64(10_000+i), 1, 1<<(i/n)))
			}
			st.SetWork(st.Work())
			cycle.Run(st, 2_000_000) // which counts what they want
			k, all := 0, []time.Duration{}
			for b.Loop() {
				k++
				st.PutJob(gpuJob(fmt.Sprintf("x%06d", k), "q00000", int64(1_000_000+k), 1, 8))
				began := processor()
				cycle.Run(st, int64(2_000_000+k))
				all = append(all, processor()-began)
			}
			b.ReportMetric(at(all, .5), "p50-ms")
			b.ReportMetric(at(all, .99), "p99-ms")
		})
	}
}
