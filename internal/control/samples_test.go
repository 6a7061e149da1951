package control_test

import (
	"io"
	"log/slog"
	"math/rand"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/naming"
	"github.com/musterhq/muster/internal/testing/controltest"
	"github.com/musterhq/muster/internal/testing/fakebackend"
	"github.com/musterhq/muster/internal/testing/memstore"
	"github.com/musterhq/muster/internal/timeseries"
)

// counted notes what a meter is told.
type counted struct {
	mu        sync.Mutex
	beats     int
	span      time.Duration
	changes   []draft.Change
	plans     int
	estimates []time.Duration
}

func (c *counted) Committed(all []draft.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes = append(c.changes, all...)
}
func (c *counted) Planned(time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plans++
}
func (c *counted) Displaced(lifecycle.Cause) {}
func (c *counted) Counted(n *report.Census, span time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.beats, c.span = c.beats+1, span
}
func (c *counted) Estimated(off time.Duration) { c.estimates = append(c.estimates, off) }

func TestWhatIsUsedIsMeasured(t *testing.T) {
	p := fakebackend.New("fake", time.Now, []core.Node{fakebackend.Node("n", 4000, 8<<30, 2, "A100")})
	m := &counted{}
	c := controltest.Begin(t, control.Options{Deps: draft.Deps{Store: memstore.New(), Meter: m}, SampleEvery: 20 * time.Millisecond}, p)
	w, err := submit(t, c, `{"name":"a","command":["fake","run=forever"],"resources":{"gpu":2}}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "c"} {
		if _, err := submit(t, c, `{"name":"`+name+`","command":["fake"],"resources":{"gpu":2}}`); err != nil {
			t.Fatal(err)
		}
	}
	task := core.TaskID{Workload: w.ID}
	p.Uses(backend.Reading{
		Tasks: []backend.Sample{{Task: task, Busy: 0.9, CPU: 1.5, Memory: 1 << 30}},
		Devices: []backend.DeviceSample{
			{Node: "n", Device: "n-fake-0", Busy: 0.9, MemoryUsed: 1 << 30, MemoryTotal: 80 << 30, Power: 300, Temperature: 60},
			{Node: "n", Device: "n-fake-1", Busy: 0, MemoryUsed: backend.Unknown, MemoryTotal: 80 << 30, Power: 70, Temperature: backend.Unknown},
		},
		Nodes:   []backend.NodeSample{{Node: "n", CPU: 2, Memory: 2 << 30}},
		Missing: []string{"nobody knows the weather"},
	})
	last := func(of, metric string) float64 {
		v, ok := c.Series().Last(timeseries.Key{Of: of, Metric: metric}, time.Now().Add(-time.Minute))
		if !ok {
			return -1
		}
		return v
	}
	for deadline := time.Now().Add(time.Minute); last(control.SeriesOfCluster, control.GPUsIdle) != 1 || last(control.SeriesOfProject("default"), control.GPUsAllocated) != 2; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the idle GPU was not seen: %v idle, %v busy", last(control.SeriesOfCluster, control.GPUsIdle), last(control.SeriesOfCluster, control.GPUsBusy))
		}
	}
	for _, x := range []struct {
		of, metric string
		want       float64
	}{
		{control.SeriesOfTask(task), control.CPUCores, 1.5},
		{control.SeriesOfTask(task), control.MemoryBytes, 1 << 30},
		{control.SeriesOfDevice("n", "n-fake-0"), control.GPUBusy, 0.9},
		{control.SeriesOfDevice("n", "n-fake-0"), control.GPUPower, 300},
		{control.SeriesOfDevice("n", "n-fake-1"), control.GPUTemperature, -1},
		{control.SeriesOfNode("n"), control.CPUCores, 2},
		{control.SeriesOfCluster, control.GPUs, 2},
		{control.SeriesOfCluster, control.GPUsAllocated, 2},
		{control.SeriesOfCluster, control.GPUsBusy, 1},
		{control.SeriesOfCluster, control.GPUsWanted, 4},
		{control.SeriesOfProject("default"), control.Waiting, 2},
	} {
		if got := last(x.of, x.metric); got != x.want {
			t.Errorf("%s of %s is %v, want %v", x.metric, x.of, got, x.want)
		}
	}
	if m := c.Missing(); !slices.Equal(m, []string{"nobody knows the weather"}) {
		t.Errorf("missing %q", m)
	}
	m.mu.Lock()
	if m.beats == 0 || m.span <= 0 || m.span > 120*time.Millisecond || m.plans == 0 || len(m.changes) == 0 {
		t.Errorf("the meter was told of %d beats of %v, %d plans, %d changes", m.beats, m.span, m.plans, len(m.changes))
	}
	m.mu.Unlock()
	n := c.Census()
	if n == nil || len(n.Holdings) != 2 || n.Projects[0].States[lifecycle.Running] != 1 || n.Projects[0].Waiting != 2 || len(n.Nodes) != 1 ||
		!slices.Equal(n.Unadmitted, []report.Unadmitted{{Project: "default", User: "u", Reason: "WaitingForCapacity", Count: 2}}) {
		t.Errorf("census %+v", n)
	}
	hours, since := c.Waited().Hours(time.Now().Add(-time.Hour), time.Now().Add(time.Hour), func(project, user string) bool { return project == "default" && user == "u" })
	if hours["WaitingForCapacity"] <= 0 || since.IsZero() {
		t.Errorf("what waited is %v since %v", hours, since)
	}
}

// BenchmarkCensus is what a beat costs the writer with 10,000 workloads waiting.
func BenchmarkCensus(b *testing.B) {
	random := rand.New(rand.NewSource(1))
	e, err := engine.Open(b.Context(), draft.Deps{
		Store: memstore.New(), Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Elapsed: func() time.Duration { return 0 },
		NewID: naming.NewID(random), NewName: naming.NewName(random), Port: func() int { return 29500 },
	}, nil)
	if err != nil {
		b.Fatal(err)
	}
	var nodes []core.Node
	for i := range 128 {
		nodes = append(nodes, fakebackend.Node(core.NodeID("n"+string(rune('a'+i/26%26))+string(rune('a'+i%26))), 64000, 512<<30, 8, "A100"))
		nodes[i].Backend, nodes[i].Ready = "p", true
	}
	now := time.Now()
	e.Do(b.Context(), now, []draft.Work{engine.Inventory("p", nodes)})
	var all []draft.Work
	for range 10000 {
		all = append(all, submission.Submit(submission.Submission{Doc: loaded(b, `{"command":["fake","run=forever"],"resources":{"gpu":4}}`), User: "u", Actor: "user:u"}))
	}
	e.Do(b.Context(), now, all)
	for b.Loop() {
		now = now.Add(10 * time.Second)
		if failed := e.Do(b.Context(), now, []draft.Work{report.TakeCensus()}); failed[0] != nil {
			b.Fatal(failed[0])
		}
	}
}

func loaded(t testing.TB, text string) *spec.Document {
	t.Helper()
	d, err := spec.Load([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}
