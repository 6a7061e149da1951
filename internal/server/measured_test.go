package server_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/fakebackend"
)

// TestMetricsOfAGang has four ranks, of which one does half of what the others do.
func TestMetricsOfAGang(t *testing.T) {
	w := newWorldOf(t, fakebackend.Node("node-1", 8000, 8<<30, 2, "A100"), fakebackend.Node("node-2", 8000, 8<<30, 2, "A100"))
	w.submit(`{"name":"gang","kind":"distributed","workers":4,"command":["fake","run=forever"],"resources":{"gpu":1,"cpu":1}}`)
	got := w.await("gang", "Running")
	var r backend.Reading
	slow := 2
	for _, k := range got.Attempts[0].Tasks {
		id := core.TaskID{Workload: core.WorkloadID(got.ID), Index: k.Index}
		busy := 0.96
		if k.Index == slow {
			busy = 0.4
		}
		r.Tasks = append(r.Tasks, backend.Sample{Task: id, Busy: busy, CPU: 1 + float64(k.Index), Memory: 1e9, Network: backend.Unknown})
		for _, d := range k.Devices {
			r.Devices = append(r.Devices, backend.DeviceSample{Node: core.NodeID(k.Node), Device: d, Busy: busy, MemoryUsed: 1e10, MemoryTotal: 8e10, Power: 300, Temperature: 55})
		}
	}
	r.Nodes = []backend.NodeSample{{Node: "node-1", CPU: 3, Memory: 4e9}}
	r.Missing = []string{"the moon was not seen"}
	w.backend.Uses(r)
	var m api.Metrics
	if len(got.Attempts[0].Tasks) != 4 {
		t.Fatalf("%d tasks: %+v", len(got.Attempts[0].Tasks), got.Attempts[0].Tasks)
	}
	await(t, "all series of the gang", func() bool {
		m = api.Metrics{}
		w.call("GET", "/v1/projects/default/workloads/gang/metrics?since=10m&step=10s", "", &m)
		return len(m.Series) == 4*2+4*5
	})
	if m.Step != 10 || len(m.Missing) != 1 {
		t.Errorf("step %v, missing %q", m.Step, m.Missing)
	}
	s := m.Slowest
	if s == nil || s.Task != slow || !s.Behind || s.Value != 0.4 || s.Median != 0.96 || !strings.Contains(s.Message, fmt.Sprintf("worker %d on %s are at 40 %%, the median at 96 %%", slow, s.Node)) && !strings.Contains(s.Message, "40 %") {
		t.Errorf("the slowest is %+v", s)
	}
	for _, x := range m.Series {
		if x.Task == nil || x.Node == "" || x.Last == nil || len(x.Values) < 60 || len(x.Values) > 62 {
			t.Fatalf("series %+v", x)
		}
		if want := 1 + float64(*x.Task); x.Metric == "cpu_cores" && *x.Mean != want {
			t.Errorf("cores of task %d: %v, want %v", *x.Task, *x.Mean, want)
		}
		if x.Values[0] != nil {
			t.Errorf("%s is known of a time before the task began", x.Metric)
		}
	}
	var one api.Metrics
	w.call("GET", "/v1/projects/default/workloads/gang/metrics?task=1", "", &one)
	if len(one.Series) != 7 || *one.Series[0].Task != 1 || one.Slowest == nil {
		t.Errorf("task 1 has %d series", len(one.Series))
	}
	var some api.Metrics
	w.call("GET", "/v1/metrics?step=10s&workload=gone,"+got.ID, "", &some)
	if len(some.Series) != 1 || some.Series[0].ID != got.ID || some.Series[0].Metric != "gpu_utilization_ratio" || math.Abs(*some.Series[0].Last-(3*0.96+0.4)/4) > 1e-9 {
		t.Errorf("how busy it is in the mean: %+v", some.Series)
	}
	var node api.Metrics
	w.call("GET", "/v1/nodes/node-1/metrics", "", &node)
	if len(node.Series) != 2+2*5 || *node.Series[0].Last != 3 {
		t.Errorf("node-1 has %d series", len(node.Series))
	}
	var all api.Metrics
	await(t, "the cluster's series", func() bool {
		all = api.Metrics{}
		w.call("GET", "/v1/metrics", "", &all)
		for _, x := range all.Series {
			if x.Metric == "gpus_busy" && x.Project == "" && *x.Last == 4 {
				return true
			}
		}
		return false
	})
	w.call("POST", "/v1/projects/default/workloads/gang:stop", "", nil)
	w.await("gang", "Stopped")
	var after api.Metrics
	w.call("GET", "/v1/projects/default/workloads/gang/metrics?since=10m", "", &after)
	if len(after.Series) != 28 || after.Slowest != nil {
		t.Errorf("once it has ended there are %d series; slowest %+v", len(after.Series), after.Slowest)
	}
}

func TestMetricsRefuseNonsense(t *testing.T) {
	w := newWorld(t)
	w.submit(`{"name":"a","command":["fake"]}`)
	for query, field := range map[string]string{
		"since=soon": "since", "since=-1h": "since", "until=now": "until", "step=0s": "step", "step=fast": "step",
		"since=2030-01-01T00:00:00Z&until=2029-01-01T00:00:00Z": "since",
	} {
		p := w.refused("GET", "/v1/metrics?"+query, "", 422, "invalid")
		if len(p.Errors) != 1 || p.Errors[0].Path != field {
			t.Errorf("%s: %+v", query, p)
		}
	}
	w.refused("GET", "/v1/projects/default/workloads/nobody/metrics", "", 404, "not_found")
	w.refused("GET", "/v1/projects/default/workloads/a/metrics?attempt=7", "", 404, "not_found")
	w.refused("GET", "/v1/nodes/nowhere/metrics", "", 404, "not_found")
	var m api.Metrics
	w.call("GET", "/v1/metrics?since=2020-01-01T00:00:00Z&step=1s", "", &m)
	for _, x := range m.Series {
		if len(x.Values) > 2000 {
			t.Errorf("%d values of %s", len(x.Values), x.Metric)
		}
	}
}

func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v still not: %s", patience, what)
		}
	}
}

func TestMetricsOfLongAgoAreNone(t *testing.T) {
	w := newWorld(t)
	var m api.Metrics
	until := time.Now().Add(-48 * time.Hour).UTC().Format(time.RFC3339)
	w.ok("GET", "/v1/metrics?since=1h&until="+until, "", 200, &m)
	if len(m.Series) != 0 || m.Step <= 0 {
		t.Errorf("%+v", m)
	}
}
