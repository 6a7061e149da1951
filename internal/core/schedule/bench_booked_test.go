package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// BenchmarkBooked is a cycle as a server has it, one having ended and one having
// come since the last: a full cluster of one-GPU jobs, of half of which the end
// is known, and ten times as many that wait as there are nodes; without bookings
// and with.
func BenchmarkBooked(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		for _, reserve := range []int{0, 4} {
			b.Run(fmt.Sprintf("nodes=%d/reserve=%d", n, reserve), func(b *testing.B) { benchBooked(b, n, reserve) })
		}
	}
}

func benchBooked(b *testing.B, n, reserve int) {
	r := rand.New(rand.NewPCG(1, 2))
	st := state.NewState(Default())
	st.SetPools([]schedule.Pool{{Name: "default", GPU: schedule.Fill, CPU: schedule.Fill, Reserve: reserve}})
	var queues []schedule.Queue
	for q := range 100 {
		queues = append(queues, plainQueue(fmt.Sprintf("q%02d", q), int64(q), int64(n)*80))
	}
	st.SetQueues(queues)
	for _, x := range nodes(n, 8) {
		st.PutNode(x)
	}
	now, order := int64(1_000_000_000), int64(0)
	var live []core.WorkloadID
	next := func(size int) schedule.Job {
		order++
		return gpuJob(fmt.Sprintf("j%08d", order), fmt.Sprintf("q%02d", order%100), order, 1, size)
	}
	begin := func(j schedule.Job, p schedule.Place) {
		j.Started = now - int64(r.IntN(86_400_000))
		if order%2 == 0 {
			j.EndsBy = now + int64(r.IntN(86_400_000))
		}
		st.PutJob(run(j, p))
		live = append(live, j.ID)
	}
	for i := range n {
		for g := range 8 {
			begin(next(1), schedule.Place{Node: core.NodeID(fmt.Sprintf("n%05d", i)), CPU: 1000, Memory: 1 << 30, Devices: []core.Share{{Device: fmt.Sprintf("gpu-%d", g), Index: g, Milli: 1000}}})
		}
	}
	arrive := func() {
		j := next(1 << (r.IntN(4)))
		j.Due = now + 12*hour
		st.PutJob(j)
	}
	for range n * 10 {
		arrive()
	}
	st.SetWork(st.Work())
	tellAll(st, cycle.Run(st, now))
	b.ReportAllocs()
	placed := 0
	for b.Loop() {
		b.StopTimer()
		now += 1000
		k := r.IntN(len(live))
		st.DropJob(live[k])
		live[k] = live[len(live)-1]
		live = live[:len(live)-1]
		arrive()
		b.StartTimer()
		p := cycle.Run(st, now)
		b.StopTimer()
		for _, pl := range p.Placements {
			begin(st.Jobs[pl.ID].Job, pl.Tasks[0].Place)
			placed++
		}
		tellAll(st, p)
		b.StartTimer()
	}
	b.ReportMetric(float64(placed)/float64(b.N), "placed/op")
	b.ReportMetric(float64(len(st.Announced)), "told")
}
