package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/place"
)

// drawnSegments is a small world in which one gang with segments waits.
func drawnSegments(seed uint64) *world {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 11)), w: &world{Snap: schedule.Snapshot{Now: clock}}}
	m.w.Cfg = schedule.Config{Actions: []schedule.Action{schedule.Allocate}, NoQuota: true}
	for i := range 2 + m.IntN(6) {
		n := schedule.Node{Node: core.Node{
			ID: core.NodeID(fmt.Sprintf("n%d", i)), Pool: "default", Ready: !m.one(20), CPU: int64(1000 * (1 + m.IntN(6))), Memory: 16 << 30,
			Labels: map[string]string{"block": fmt.Sprint(m.IntN(2)), "rack": fmt.Sprint(m.IntN(3))},
		}}
		if m.one(10) {
			delete(n.Labels, "rack")
		}
		for d := range m.IntN(5) {
			n.Devices = append(n.Devices, core.Device{ID: fmt.Sprintf("n%d-%d", i, d), Index: d, Product: "NVIDIA H100", Memory: 40 << 30, Healthy: true})
			n.OtherMilli = append(n.OtherMilli, []int{0, 0, 0, 500, 700, 1000}[m.IntN(6)])
		}
		m.w.Snap.Nodes = append(m.w.Snap.Nodes, n)
	}
	m.w.Snap.Queues = []schedule.Queue{{ID: "q", Priority: 100, Default: schedule.Unlimited(), PreemptMin: -1, ReclaimMin: -1}}
	m.w.Snap.Jobs = []schedule.Job{m.segmented()}
	return m.w
}

func (m *maker) segmented() schedule.Job {
	levels := []string{"block", "rack"}
	var whole *schedule.Topology
	if m.one(2) {
		whole = &schedule.Topology{Levels: levels, Required: "block"}
	}
	t := &schedule.Topology{Levels: levels, Required: []string{"rack", "rack", "rack", "block"}[m.IntN(4)]}
	if m.one(3) {
		t.Required, t.Preferred = "block", "rack"
	}
	need := schedule.Need{CPU: int64(m.IntN(3)) * 500}
	switch m.IntN(4) {
	case 0:
		need.Devices, need.Milli = 1, []int{250, 300, 500}[m.IntN(3)]
	case 1:
		need.Devices, need.Milli = 1+m.IntN(2), 500
	default:
		need.Devices, need.Milli = 1+m.IntN(2), 1000
	}
	runs := []schedule.Run{{Need: need, Count: 1 + m.IntN(7)}}
	if m.one(3) { // the first of it needs something else
		first := schedule.Need{CPU: int64(1+m.IntN(3)) * 1000}
		if m.one(2) {
			first.Devices, first.Milli = 2, 1000
		}
		runs = append([]schedule.Run{{Need: first, Count: 1}}, runs...)
	}
	groups := place.Segments(2+m.IntN(3), t, runs)
	if m.one(5) { // and one that is in no segment
		groups = append([]schedule.Group{{Name: "launcher", Min: 1, Runs: []schedule.Run{{Need: schedule.Need{CPU: 1000}, Count: 1}}}}, groups...)
	}
	return schedule.Job{ID: "j", Queue: "q", User: "u", Order: 1, Preemptible: true, Shape: schedule.NewShape([]schedule.Set{{Parent: -1, Topology: whole}}, groups)}
}

// TestSegmentsAreFoundWhereThereAreAny compares with a search through every way
// to place them, in both directions.
func TestSegmentsAreFoundWhereThereAreAny(t *testing.T) {
	t.Parallel()
	cases := uint64(11_000)
	if testing.Short() {
		cases = 300
	}
	if *casesFlag > 0 {
		cases = *casesFlag
	}
	started, segments := 0, 0
	for seed := uint64(1); seed <= cases; seed++ {
		w := drawnSegments(seed)
		j := &w.Snap.Jobs[0]
		plan := cycle.Cycle(&w.Snap, w.Cfg)
		f := &finder{book: newBook(&w.Snap), job: j, budget: 3_000_000}
		found := f.whole([]string{"default"})
		if f.spent {
			continue
		}
		if fault := strings.Join(judged(w, plan), "; "); fault != "" {
			t.Fatalf("seed %d: %s\n%s", seed, fault, w.text())
		}
		if (len(plan.Placements) > 0) != (found != nil) {
			t.Fatalf("seed %d: placed %+v; a search finds %+v\n%s", seed, plan.Placements, found, w.text())
		}
		if found != nil {
			started++
			for _, g := range j.Shape.Groups {
				segments += ledger.Bit(g.Segment > 0)
			}
		}
	}
	t.Logf("%d of %d started, of %d segments", started, cases, segments)
	if started < int(cases)/10 || segments < started*3/2 {
		t.Errorf("only %d of %d started, of %d segments: the search proves little", started, cases, segments)
	}
}

// TestManySegmentsFitByArithmetic is of gangs too large for a search. Equal
// tasks fit if, in some block, the whole segments of its racks are enough.
func TestManySegmentsFitByArithmetic(t *testing.T) {
	t.Parallel()
	yes, cases := 0, 400
	for seed := range uint64(cases) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := schedule.Snapshot{Now: clock, Queues: []schedule.Queue{{ID: "q", Priority: 100, Default: schedule.Unlimited(), PreemptMin: -1, ReclaimMin: -1}}}
		size, count := 3+r.IntN(6), 70+r.IntN(60)
		fits := false
		for b := range 3 {
			racks, spare := 0, false
			for k := range 4 + r.IntN(4) {
				free := 0
				for i := range 3 {
					used := r.IntN(9)
					n := schedule.Node{Node: core.Node{ID: core.NodeID(fmt.Sprintf("n%d-%d-%d", b, k, i)), Pool: "default", Ready: true, CPU: 64000, Memory: 64 << 30,
						Labels: map[string]string{"block": fmt.Sprint(b), "rack": fmt.Sprint(k)}}}
					for d := range 8 {
						n.Devices = append(n.Devices, core.Device{ID: fmt.Sprintf("%s-%d", n.ID, d), Index: d, Product: "NVIDIA H100", Memory: 40 << 30, Healthy: true})
						n.OtherMilli = append(n.OtherMilli, 1000*ledger.Bit(d < used))
					}
					free += 8 - used
					s.Nodes = append(s.Nodes, n)
				}
				racks += free / size
				spare = spare || free%size >= count%size
			}
			want := count / size
			fits = fits || racks > want || racks == want && spare
		}
		groups := place.Segments(size, &schedule.Topology{Levels: []string{"block", "rack"}, Required: "rack"}, []schedule.Run{{Need: schedule.Need{Devices: 1, Milli: 1000}, Count: count}})
		s.Jobs = []schedule.Job{{ID: "j", Queue: "q", Order: 1, Preemptible: true, Shape: schedule.NewShape([]schedule.Set{{Parent: -1, Topology: &schedule.Topology{Levels: []string{"block", "rack"}, Required: "block"}}}, groups)}}
		plan := cycle.Cycle(&s, schedule.Config{NoQuota: true})
		if got := len(plan.Placements) > 0; got != fits {
			t.Fatalf("seed %d: %d tasks in segments of %d: placed %v, want %v", seed, count, size, got, fits)
		}
		if fault := strings.Join(judged(&world{Snap: s, Cfg: schedule.Config{NoQuota: true}}, plan), "; "); fault != "" {
			t.Fatalf("seed %d: %s", seed, fault)
		}
		yes += ledger.Bit(fits)
	}
	if yes < cases/10 || yes > cases*9/10 {
		t.Errorf("%d of %d fit: the draw proves little", yes, cases)
	}
}

// TestPlansWithSegmentsAreSound puts gangs with segments among all that others
// hold and want, so that room is made for them.
func TestPlansWithSegmentsAreSound(t *testing.T) {
	t.Parallel()
	placed, evicted := 0, 0
	for seed := uint64(1); seed <= 2000; seed++ {
		w := drawn(seed)
		m := &maker{Rand: rand.New(rand.NewPCG(seed, 13)), w: w}
		mine := map[core.WorkloadID]bool{}
		for i := range w.Snap.Jobs {
			if j := &w.Snap.Jobs[i]; len(j.Held) == 0 {
				j.Shape, mine[j.ID] = m.segmented().Shape, true
			}
		}
		plan := cycle.Cycle(&w.Snap, w.Cfg)
		if fault := strings.Join(judged(w, plan), "; "); fault != "" {
			t.Fatalf("seed %d: %s\n%s", seed, fault, w.text())
		}
		for _, p := range plan.Placements {
			placed += ledger.Bit(mine[p.ID])
		}
		for _, e := range plan.Evictions {
			evicted += ledger.Bit(mine[e.For])
		}
	}
	if placed < 300 || evicted < 30 {
		t.Errorf("%d gangs were placed and made %d leave: the draw proves little", placed, evicted)
	}
}

// rackOf is a node with so many free GPUs in a rack of a block.
func rackOf(block, rack string, free int) schedule.Node {
	n := schedule.Node{Node: core.Node{
		ID: core.NodeID(block + rack), Pool: "default", Ready: true, CPU: 32_000, Memory: 64 << 30, Labels: map[string]string{"block": block, "rack": rack},
	}}
	for d := range free {
		n.Devices = append(n.Devices, core.Device{ID: fmt.Sprint(d), Index: d, Product: "H100", Healthy: true})
	}
	return n
}

// gangOf is a gang in segments of four, all in one block.
func gangOf(tasks int, t *schedule.Topology) schedule.Job {
	j := wide("gang", 9, tasks, 1)
	j.Shape = schedule.NewShape([]schedule.Set{{Parent: -1, Topology: &schedule.Topology{Levels: t.Levels, Required: "block"}}}, place.Segments(4, t, j.Shape.Groups[0].Runs))
	return j
}

// TestPreferredSegmentsChooseTheirBlock: the fullest block has room for all of
// it, but for no segment; as long as another has, that one is taken.
func TestPreferredSegmentsChooseTheirBlock(t *testing.T) {
	t.Parallel()
	levels := []string{"block", "rack"}
	full := []schedule.Node{rackOf("a", "0", 3), rackOf("a", "1", 3), rackOf("a", "2", 3)}
	clean := []schedule.Node{rackOf("b", "0", 4), rackOf("b", "1", 4), rackOf("b", "2", 4)}
	for name, c := range map[string]struct {
		nodes []schedule.Node
		t     schedule.Topology
		want  string // the block; empty: it waits
	}{
		"preferred":              {append(full, clean...), schedule.Topology{Levels: levels, Preferred: "rack"}, "b"},
		"preferred, but nowhere": {full, schedule.Topology{Levels: levels, Preferred: "rack"}, "a"},
		"required":               {append(full, clean...), schedule.Topology{Levels: levels, Required: "rack"}, "b"},
		"required, but nowhere":  {full, schedule.Topology{Levels: levels, Required: "rack"}, ""},
	} {
		s := &schedule.Snapshot{Now: clock, Queues: []schedule.Queue{{ID: "q", Default: schedule.Unlimited()}}, Nodes: c.nodes, Jobs: []schedule.Job{gangOf(8, &c.t)}}
		plan := cycle.Cycle(s, schedule.Config{})
		var at []string
		for _, p := range plan.Placements {
			for _, x := range p.Tasks {
				at = append(at, string(x.Place.Node))
			}
		}
		got := strings.Join(at, " ")
		racks := map[string]bool{}
		for i := 0; i+4 <= len(at); i += 4 {
			for _, node := range at[i : i+4] {
				racks[fmt.Sprint(i, node)] = true
			}
		}
		switch {
		case (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want):
			t.Errorf("%s: on %q", name, got)
		case c.want == "b" && (len(at) != 8 || len(racks) != 2):
			t.Errorf("%s: on %q", name, got)
		}
	}
}

// TestAnOddFirstSegmentTriesEveryRack: the fullest rack has room for the first
// segment, but then none is left for the second; too many tasks for a search.
func TestAnOddFirstSegmentTriesEveryRack(t *testing.T) {
	t.Parallel()
	first, last := rackOf("b", "y", 6), rackOf("b", "y", 29)
	first.CPU, last.ID, last.CPU = 1000, "by2", 100_000
	x := rackOf("b", "x", 34)
	x.CPU = 100_000
	levels := []string{"block", "rack"}
	groups := place.Segments(30, &schedule.Topology{Levels: levels, Required: "rack"}, []schedule.Run{
		{Need: schedule.Need{Devices: 4, Milli: 1000, CPU: 1000}, Count: 1}, {Need: schedule.Need{Devices: 1, Milli: 1000, CPU: 2000}, Count: 59},
	})
	j := schedule.Job{ID: "gang", Queue: "q", Preemptible: true, Order: 1, Shape: schedule.NewShape([]schedule.Set{{Parent: -1, Topology: &schedule.Topology{Levels: levels, Required: "block"}}}, groups)}
	s := &schedule.Snapshot{Now: clock, Queues: []schedule.Queue{{ID: "q", Default: schedule.Unlimited()}}, Nodes: []schedule.Node{first, last, x}, Jobs: []schedule.Job{j}}
	plan := cycle.Cycle(s, schedule.Config{})
	if len(plan.Placements) != 1 || len(plan.Placements[0].Tasks) != 60 {
		t.Fatalf("%+v", plan.Placements)
	}
	for _, p := range plan.Placements[0].Tasks {
		if (p.Place.Node == "bx") != (p.Group == 1) {
			t.Errorf("a task of segment %d is on %s", p.Group, p.Place.Node)
		}
	}
}

func TestSegmentsDivideTasksInTheirOrder(t *testing.T) {
	t.Parallel()
	top := &schedule.Topology{Levels: []string{"rack"}, Required: "rack"}
	a, b := schedule.Need{CPU: 1}, schedule.Need{CPU: 2}
	got := place.Segments(4, top, []schedule.Run{{Need: a, Count: 1}, {Need: b, Count: 9}})
	var lines []string
	for _, g := range got {
		line := fmt.Sprintf("%d of %d:", g.Min, g.Segment)
		for _, r := range g.Runs {
			line += fmt.Sprintf(" %d×%d", r.Count, r.Need.CPU)
		}
		if g.Topology != top {
			t.Error("another topology")
		}
		lines = append(lines, line)
	}
	if s := strings.Join(lines, ", "); s != "4 of 4: 1×1 3×2, 4 of 4: 4×2, 2 of 4: 2×2" {
		t.Error(s)
	}
	if place.Segments(4, top, nil) != nil {
		t.Error("segments of nothing")
	}
}
