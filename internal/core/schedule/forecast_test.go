package schedule_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// floor is a cluster of nodes with four GPUs each, two to a rack, and one queue.
func floor(nodes int) *schedule.Snapshot {
	s := &schedule.Snapshot{Now: clock, Queues: []schedule.Queue{{ID: "q", Default: schedule.Unlimited()}}}
	for i := range nodes {
		n := schedule.Node{Node: core.Node{
			ID: core.NodeID(fmt.Sprintf("n%d", i)), Pool: "default", Ready: true, CPU: 32_000, Memory: 64 << 30,
			Labels: map[string]string{"rack": fmt.Sprintf("r%d", i/2)},
		}}
		for d := range 4 {
			n.Devices = append(n.Devices, core.Device{ID: fmt.Sprint(d), Index: d, Product: "H100", Healthy: true})
		}
		s.Nodes = append(s.Nodes, n)
	}
	return s
}

// wide is a job that waits for tasks with so many GPUs each.
func wide(id string, order int64, tasks, gpus int) schedule.Job {
	return schedule.Job{
		ID: core.WorkloadID(id), Queue: "q", User: "u", Preemptible: true, Order: order,
		Shape: schedule.Flat(schedule.Group{Min: tasks, Runs: []schedule.Run{{Need: schedule.Need{Devices: gpus, Milli: 1000, CPU: 1000}, Count: tasks}}}),
	}
}

// runs is a job that has run for a while with all of so many GPUs of a node.
func runs(id string, order int64, node string, devices ...int) schedule.Job {
	j := wide(id, order, 1, len(devices))
	need := j.Shape.Groups[0].Runs[0].Need
	p := schedule.Place{Node: core.NodeID(node), CPU: 1000}
	for _, d := range devices {
		p.Devices = append(p.Devices, core.Share{Device: fmt.Sprint(d), Index: d, Milli: 1000})
	}
	j.Shape = schedule.Flat(schedule.Group{Min: 1})
	j.Held, j.Started = []schedule.Held{{Task: 1, Need: need, Place: p}}, clock-1000
	return j
}

func ends(early, likely, late int64) forecast.Span {
	return forecast.Span{Early: clock + early, Likely: clock + likely, Late: clock + late}
}

func TestAForecastIsARangeWithItsCauses(t *testing.T) {
	t.Parallel()
	s := floor(2)
	s.Jobs = []schedule.Job{runs("a", 1, "n0", 0, 1, 2, 3), runs("b", 2, "n1", 0, 1, 2, 3), wide("first", 3, 1, 4), wide("mine", 4, 1, 4)}
	spans := map[core.WorkloadID]forecast.Span{
		"a": ends(60_000, 100_000, 200_000), "b": ends(300_000, 400_000, 900_000),
		"first": {Early: 50_000, Likely: 100_000, Late: 1_000_000},
	}
	f := forecast.Of(state.Load(s, schedule.Config{}).Copy(clock, nil), "mine", spans)
	// Quickly: a's place is first's from 60 s on, and mine's from 110 s on. As
	// usual: at 200 s. Slowly: b's end at 900 s comes before first's.
	if want := (forecast.Span{Early: clock + 110_000, Likely: clock + 200_000, Late: clock + 900_000}); f.Span != want {
		t.Errorf("%+v, want %+v", f.Span, want)
	}
	if want := map[core.WorkloadID]int64{"first": clock + 100_000, "mine": clock + 200_000}; !reflect.DeepEqual(f.Starts, want) {
		t.Errorf("starts %v, want %v", f.Starts, want)
	}
	if want := []forecast.Freed{{ID: "a", At: clock + 100_000}, {ID: "first", At: clock + 200_000}}; !slices.Equal(f.Frees, want) {
		t.Errorf("frees %v, want %v", f.Frees, want)
	}
	if f.Until != 0 || f.Simple {
		t.Errorf("%+v", f)
	}
	if len(f.Places) == 0 || f.Places[0].Place.Node != "n0" {
		t.Errorf("it starts at %+v", f.Places)
	}
}

func TestAForecastSaysWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	s := floor(1)
	s.Jobs = []schedule.Job{runs("a", 1, "n0", 0, 1, 2, 3), wide("mine", 2, 1, 1)}
	c := state.Load(s, schedule.Config{}).Copy(clock, nil)
	if f := forecast.Of(c, "mine", nil); f.Span != (forecast.Span{}) {
		t.Errorf("of a job without an end: %+v", f)
	}
	if f := forecast.Of(c, "mine", map[core.WorkloadID]forecast.Span{"a": {Early: clock + 1, Likely: clock + 5000}}); f.Early != clock+1 || f.Likely != clock+5000 || f.Late != 0 {
		t.Errorf("of one that may run for ever: %+v", f)
	}
	s.Queues[0].Stopped = true
	if f := forecast.Of(state.Load(s, schedule.Config{}).Copy(clock, nil), "mine", map[core.WorkloadID]forecast.Span{"a": ends(1, 2, 3)}); f.Span != (forecast.Span{}) {
		t.Errorf("in a stopped queue: %+v", f)
	}
}

// A forecast follows evictions: who is displaced waits again, and comes back.
func TestAForecastFollowsEvictions(t *testing.T) {
	t.Parallel()
	s := floor(1)
	victim, high := runs("victim", 1, "n0", 0, 1, 2, 3), wide("high", 2, 1, 4)
	high.Priority = 10
	s.Jobs = []schedule.Job{victim, high, wide("mine", 3, 1, 4)}
	f := forecast.Of(state.Load(s, schedule.Config{}).Copy(clock, nil), "mine", map[core.WorkloadID]forecast.Span{
		"victim": ends(9_000, 9_000, 9_000), "high": {Early: 100_000, Likely: 100_000, Late: 100_000},
	})
	// high runs at once, until 100 s; then the victim, which is older, for the 10
	// s that it takes from its start.
	if want := clock + 110_000; f.Likely != want || f.Starts["high"] != clock || f.Starts["victim"] != clock+100_000 {
		t.Errorf("%+v, want the start at %d", f, want)
	}
}

func TestACopyIsIndependent(t *testing.T) {
	t.Parallel()
	search(t, 120, func(w *world) string {
		st := state.Load(&w.Snap, w.Cfg)
		cycle.Run(st, clock)
		before := said(st)
		c := st.Copy(w.Snap.Now, nil)
		other := c.State()
		if got := brief(cycle.Run(state.Load(&schedule.Snapshot{Now: c.Now, Nodes: c.Nodes, Pools: c.Pools, Queues: c.Queues, Jobs: c.Jobs}, w.Cfg), clock)); got != brief(cycle.Run(st, clock)) {
			return "its plan is another: " + got
		}
		spans := map[core.WorkloadID]forecast.Span{}
		for i, j := range w.Snap.Jobs {
			at := int64(1000 * (i + 1))
			spans[j.ID] = forecast.Span{Early: at, Likely: at * 2, Late: at * 4}
			if len(j.Held) > 0 {
				spans[j.ID] = forecast.Span{Early: clock + at, Likely: clock + at*2, Late: clock + at*4}
			}
		}
		for _, j := range w.Snap.Jobs {
			f := forecast.Of(c, j.ID, spans)
			if again := forecast.Of(c, j.ID, spans); !reflect.DeepEqual(f, again) {
				return fmt.Sprintf("%s: %+v, and asked again %+v", j.ID, f, again)
			}
			if f.Late != 0 && f.Late < f.Likely || f.Likely != 0 && f.Likely < f.Early || f.Early != 0 && f.Early < clock {
				return fmt.Sprintf("%s: out of order: %+v", j.ID, f)
			}
			explain.Turn(other, clock, j)
			explain.Explain(other, clock, j.ID)
		}
		if after := said(st); after != before {
			return "the state changed:\n" + after
		}
		return ""
	})
}

func TestATurnAsksTheWholeCycle(t *testing.T) {
	t.Parallel()
	s := floor(1)
	s.Jobs = []schedule.Job{runs("a", 1, "n0", 0, 1, 2), wide("older", 2, 1, 1)}
	st := state.Load(s, schedule.Config{})
	if tr := explain.Turn(st, clock, wide("mine", 3, 1, 1)); tr.Starts() || len(tr.Reasons) == 0 {
		t.Errorf("it takes the place of who is older: %+v", tr)
	}
	if tr := explain.Try(st, clock, wide("mine", 3, 1, 1)); !tr.Now {
		t.Errorf("alone it would fit: %+v", tr)
	}
	high := wide("mine", 3, 1, 4)
	high.Priority = 5
	tr := explain.Turn(st, clock, high)
	if !tr.Later || tr.Now || len(tr.Victims) != 1 || tr.Victims[0].ID != "a" || tr.Victims[0].Cause != schedule.Preempt || tr.Pool != "default" || len(tr.Tasks) != 1 {
		t.Errorf("%+v", tr)
	}
	fresh := state.Load(s, schedule.Config{})
	cycle.Run(fresh, clock)
	if said(fresh) != said(st) {
		t.Errorf("a turn changed the state:\n%s", said(st))
	}
}

func TestFewerFindsTheMostThatFit(t *testing.T) {
	t.Parallel()
	s := floor(3)
	s.Jobs = []schedule.Job{runs("a", 1, "n0", 0, 1, 2), wide("mine", 2, 8, 2)}
	st := state.Load(s, schedule.Config{})
	n, tr := explain.Fewer(st, clock, s.Jobs[1])
	if n != 4 || !tr.Now || len(tr.Tasks) != 4 { // two nodes are free, with two such tasks each
		t.Errorf("%d, %+v", n, tr)
	}
	if n, _ := explain.Fewer(st, clock, wide("wide", 3, 3, 8)); n != 0 {
		t.Errorf("of what fits nowhere %d fit", n)
	}
	j, ok := explain.Halved(wide("big", 4, 2, 4))
	if need := j.Shape.Groups[0].Runs[0].Need; !ok || need.Devices != 2 {
		t.Errorf("%+v", need)
	}
	if _, ok := explain.Halved(wide("small", 4, 2, 1)); ok {
		t.Error("one GPU was halved")
	}
}

// BenchmarkForecast is of 1,000 nodes full of work of 2 to 8 GPUs, with as much
// again waiting in 20 queues.
func BenchmarkForecast(b *testing.B) {
	s := &schedule.Snapshot{Now: clock}
	spans := map[core.WorkloadID]forecast.Span{}
	order := int64(0)
	for q := range 20 {
		s.Queues = append(s.Queues, schedule.Queue{ID: core.ProjectID(fmt.Sprint("q", q)), Age: int64(q), Default: schedule.Unlimited()})
	}
	for i := range 1000 {
		n := node(fmt.Sprintf("n%04d", i), 8, 64_000, 512<<30, "H100")
		s.Nodes = append(s.Nodes, n)
		for d := 0; d < 8; d += 2 {
			order++
			j := runs(fmt.Sprintf("r%05d", order), order, string(n.ID), d, d+1)
			for k := range j.Held[0].Place.Devices {
				j.Held[0].Place.Devices[k].Device = n.Devices[d+k].ID
			}
			j.Queue = s.Queues[order%20].ID
			s.Jobs = append(s.Jobs, j)
			at := 60_000 * (order * 7919 % 1440)
			spans[j.ID] = forecast.Span{Early: clock + at/2, Likely: clock + at, Late: clock + at*2}
		}
	}
	for range 2000 {
		order++
		j := wide(fmt.Sprintf("w%05d", order), order, 1+int(order%3), 2<<(order%3))
		j.Queue = s.Queues[order%20].ID
		s.Jobs = append(s.Jobs, j)
		at := 60_000 * (1 + order*104729%720)
		spans[j.ID] = forecast.Span{Early: at / 2, Likely: at, Late: at * 2}
	}
	st := state.Load(s, schedule.NewPolicy().Config)
	b.Run("copy", func(b *testing.B) {
		for b.Loop() {
			st.Copy(clock, nil)
		}
	})
	c := st.Copy(clock, nil)
	b.Run("turn", func(b *testing.B) {
		own, high := c.State(), s.Jobs[len(s.Jobs)-1]
		high.Priority = 10
		for b.Loop() {
			explain.Turn(own, clock, high)
		}
	})
	b.Run("fewer", func(b *testing.B) {
		own, many := c.State(), wide("many", 9_000, 64, 8)
		many.Queue = "q0"
		for b.Loop() {
			explain.Fewer(own, clock, many)
		}
	})
	for _, id := range []core.WorkloadID{"w04010", core.WorkloadID(fmt.Sprintf("w%05d", order))} {
		b.Run(string(id), func(b *testing.B) {
			for b.Loop() {
				f := forecast.Of(c, id, spans)
				b.ReportMetric(float64(f.Likely-clock)/60_000, "likely-min")
			}
		})
	}
}

func TestAForecastKnowsThatOthersGiveWayInTheEnd(t *testing.T) {
	t.Parallel()
	s := floor(1)
	mine := wide("mine", 2, 1, 4)
	mine.Due = clock + 3_600_000
	s.Jobs = []schedule.Job{runs("a", 1, "n0", 0, 1, 2, 3), mine}
	f := forecast.Of(state.Load(s, schedule.Config{Quantum: 60_000}).Copy(clock, nil), "mine", nil)
	if want := (forecast.Span{Late: mine.Due + forecast.LeaveTime}); !f.Relieved || f.Span != want {
		t.Errorf("%+v, want %+v", f, want)
	}
	// A known end before that is better than that.
	f = forecast.Of(state.Load(s, schedule.Config{Quantum: 60_000}).Copy(clock, nil), "mine", map[core.WorkloadID]forecast.Span{"a": ends(1000, 2000, 9_000_000)})
	if f.Relieved || f.Early != clock+1000 || f.Likely != clock+2000 || f.Late != mine.Due+forecast.LeaveTime {
		t.Errorf("%+v", f)
	}
}
