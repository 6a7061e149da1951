package telemetry_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/telemetry"
	"github.com/musterhq/muster/internal/testing/controltest"
	"github.com/musterhq/muster/internal/testing/fakebackend"
	"github.com/musterhq/muster/internal/testing/memstore"
)

const patience = time.Minute

// place is a control plane over a fake backend, with a registry.
type place struct {
	t   *testing.T
	ctl *control.Control
	p   *fakebackend.Backend
	reg *prometheus.Registry
}

func open(t *testing.T, gpus int) *place {
	t.Helper()
	p := fakebackend.New("fake", time.Now, []core.Node{fakebackend.Node("n", 64000, 64<<30, gpus, "A100")})
	meter, begun := telemetry.NewMeter(), time.Now()
	ctl := controltest.Begin(t, control.Options{Deps: draft.Deps{
		Store: memstore.New(), Elapsed: func() time.Duration { return time.Since(begun) }, Images: true, Meter: meter,
	}, SampleEvery: 20 * time.Millisecond}, p)
	reg := prometheus.NewRegistry()
	reg.MustRegister(meter, telemetry.NewGauges(ctl))
	return &place{t, ctl, p, reg}
}

func (x *place) submit(doc string) *core.Workload {
	x.t.Helper()
	d, err := spec.Load([]byte(doc))
	if err != nil {
		x.t.Fatal(err)
	}
	made, err := control.Do(context.Background(), x.ctl, submission.Submit(submission.Submission{Doc: d, User: "u", Actor: "user:u"}))
	if err != nil {
		x.t.Fatal(err)
	}
	return made.Workload
}

func (x *place) await(what string, cond func() bool) {
	x.t.Helper()
	for deadline := time.Now().Add(patience); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			x.t.Fatalf("after %v still not: %s", patience, what)
		}
	}
}

func (x *place) phase(w *core.Workload) lifecycle.Phase {
	got, err := x.ctl.Store().Workload(context.Background(), w.ID)
	if err != nil {
		x.t.Fatal(err)
	}
	return got.Phase
}

// scrape is what Prometheus reads, through its own text format and back.
func (x *place) scrape() map[string]*dto.MetricFamily {
	x.t.Helper()
	all, err := x.reg.Gather()
	if err != nil {
		x.t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range all {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			x.t.Fatal(err)
		}
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	out, err := parser.TextToMetricFamilies(strings.NewReader(b.String()))
	if err != nil {
		x.t.Fatalf("%v in\n%s", err, b.String())
	}
	return out
}

// value is the sum of what has these labels, NAME=VALUE each; a histogram's is
// how often it observed. NaN: there is none.
func value(all map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	sum := math.NaN()
	for _, m := range all[name].GetMetric() {
		has := func(l string) bool {
			return slices.ContainsFunc(m.Label, func(p *dto.LabelPair) bool { return p.GetName()+"="+p.GetValue() == l })
		}
		if slices.ContainsFunc(labels, func(l string) bool { return !has(l) }) {
			continue
		}
		if math.IsNaN(sum) {
			sum = 0
		}
		sum += m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	return sum
}

func TestWhatHappensIsCounted(t *testing.T) {
	x := open(t, 4)
	done := x.submit(`{"name":"done","image":"img","command":["fake","init=Pulling/50ms","init=Init:0/50ms","run=30ms"],"resources":{"gpu":1}}`)
	bad := x.submit(`{"name":"bad","command":["fake","run=200ms","exit=1"],"resources":{"gpu":2},"retry":{"limit":0}}`)
	x.await("both have ended", func() bool { return x.phase(done) == lifecycle.Completed && x.phase(bad) == lifecycle.Failed })
	low := x.submit(`{"name":"low","priority":"low","command":["fake","run=forever"],"resources":{"gpu":4}}`)
	x.await("it runs", func() bool { return x.phase(low) == lifecycle.Running })
	high := x.submit(`{"name":"high","priority":"high","preemptible":false,"command":["fake","run=forever"],"resources":{"gpu":1}}`)
	x.await("the high one has the place of the low one", func() bool { return x.phase(high) == lifecycle.Running && x.phase(low) == lifecycle.Queued })
	x.p.Uses(backend.Reading{
		Tasks: []backend.Sample{{Task: core.TaskID{Workload: high.ID}, Busy: 0, CPU: 1, Memory: 1}},
		Devices: []backend.DeviceSample{
			{Node: "n", Device: "n-fake-0", Busy: 0, MemoryUsed: 1 << 30, MemoryTotal: 80 << 30, Power: 70, Temperature: 30},
			{Node: "n", Device: "n-fake-1", Busy: 0, MemoryUsed: 1 << 30, MemoryTotal: 80 << 30, Power: 70, Temperature: 30},
			{Node: "n", Device: "n-fake-2", Busy: 0, MemoryUsed: 1 << 30, MemoryTotal: 80 << 30, Power: 70, Temperature: 30},
			{Node: "n", Device: "n-fake-3", Busy: 0, MemoryUsed: 1 << 30, MemoryTotal: 80 << 30, Power: 70, Temperature: 30},
		},
		Nodes: []backend.NodeSample{{Node: "n", CPU: 5, Memory: 1 << 30}},
	})
	var all map[string]*dto.MetricFamily
	x.await("the idle GPU has been seen", func() bool {
		all = x.scrape()
		return value(all, "muster_gpus", "state=idle") == 1 && value(all, "muster_gpu_seconds_total", "kind=idle") > 0 && value(all, "muster_gpu_seconds_total", "kind=queued") > 0
	})
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"muster_runs_submitted_total", []string{"project=default"}, 4},
		{"muster_runs_finished_total", []string{"result=completed"}, 1},
		{"muster_runs_finished_total", []string{"result=failed", "reason=Error"}, 1},
		{"muster_run_attempts_total", []string{"reason=Preempted"}, 1},
		{"muster_preemptions_total", []string{"cause=preempt"}, 1},
		{"muster_preemptions_total", []string{"cause=person"}, 0},
		{"muster_runs", []string{"state=Running"}, 1},
		{"muster_runs", []string{"state=Queued"}, 1},
		{"muster_runs_unadmitted", nil, 1},
		{"muster_queue_gpus", []string{"project=default"}, 4},
		{"muster_gpus", []string{"state=free", "node_pool=default", "gpu_type=A100"}, 3},
		{"muster_gpus", nil, 4},
		{"muster_queue_wait_seconds", nil, 4},
		{"muster_start_phase_seconds", []string{"phase=pull"}, 1},
		{"muster_start_phase_seconds", []string{"phase=setup"}, 1},
		{"muster_node_cpu_cores_used", []string{"node=n"}, 5},
		{"DCGM_FI_DEV_FB_USED", []string{"run=high", "Hostname=n"}, 1024},
		{"DCGM_FI_DEV_FB_FREE", []string{"run=high"}, 79 * 1024},
		{"muster_project_gpus_allocated", []string{"project=default"}, 1},
	} {
		if got := value(all, c.name, c.labels...); got != c.want {
			t.Errorf("%s%v is %v, want %v", c.name, c.labels, got, c.want)
		}
	}
	if v := value(all, "muster_scheduler_cycle_seconds"); v < 4 {
		t.Errorf("%v plans were counted", v)
	}
	if v := value(all, "muster_project_fair_share_ratio", "project=default"); !(v > 0) {
		t.Errorf("the share of its due is %v", v)
	}
	// bad held two GPUs for 200 ms; low four, for as long as it ran.
	if v := value(all, "muster_gpu_seconds_total", "kind=lost"); v < 0.4 {
		t.Errorf("%v GPU-seconds are lost", v)
	}
}

func TestNamesFollowTheConventions(t *testing.T) {
	x := open(t, 1)
	x.submit(`{"name":"a","command":["fake","run=1ms"],"resources":{"gpu":1}}`)
	x.await("a census", func() bool {
		return x.ctl.Census() != nil && len(x.scrape()["muster_runs_submitted_total"].GetMetric()) > 0
	})
	all, err := x.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(all).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if !strings.HasPrefix(p.Metric, "DCGM_") { // others' names
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	for _, f := range all {
		if f.GetType() == dto.MetricType_HISTOGRAM && !strings.HasSuffix(f.GetName(), "_seconds") {
			t.Errorf("%s is a histogram without a unit", f.GetName())
		}
	}
}
