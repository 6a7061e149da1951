package server_test

import (
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// device is what is told of a device; nil: nothing.
func device(h api.Holdings, node, id string) *api.DeviceHoldings {
	for _, n := range h.Nodes {
		for i := range n.Devices {
			if n.Name == node && n.Devices[i].ID == id {
				return &n.Devices[i]
			}
		}
	}
	return nil
}

func TestHoldingsTellWhoHasEachDevice(t *testing.T) {
	t.Parallel()
	w := newHall(t)
	var h api.Holdings
	w.call("GET", "/v1/holdings", "", &h)
	if len(h.Workloads) != 0 || len(h.Nodes) != 0 {
		t.Errorf("nothing runs, and it is held: %+v", h)
	}
	w.hold("n1", 3)
	w.submit(`{"name":"half","command":["fake","run=forever"],"resources":{"gpu":0.5,"cpu":1},"nodeSelector":{"kubernetes.io/hostname":"n2"}}`)
	half := w.await("half", "Running").Attempts[0].Tasks[0]
	var r backend.Reading
	r.Devices = []backend.DeviceSample{{Node: core.NodeID(half.Node), Device: half.Devices[0], Busy: 0.25}}
	w.backend.Uses(r)
	await(t, "a measurement", func() bool {
		h = api.Holdings{}
		w.call("GET", "/v1/holdings", "", &h)
		d := device(h, "n2", half.Devices[0])
		return d != nil && d.Utilization != nil
	})
	d := device(h, "n2", half.Devices[0])
	if *d.Utilization != 0.25 || len(d.Held) != 1 || d.Held[0].Part != 500 || h.Workloads[d.Held[0].Workload].Name != "half" {
		t.Errorf("%+v of %+v", d, h.Workloads)
	}
	if x := h.Workloads[d.Held[0].Workload]; x.Likely != nil || x.GPU != 500 || x.Phase != "Running" || x.Project != "default" {
		t.Errorf("half has no end: %+v", x)
	}
	for _, x := range h.Workloads {
		if x.Name != "hold-n1-3" {
			continue
		}
		if x.GPU != 3000 || x.Likely == nil || time.Until(time.Time(*x.Likely)) > 2*time.Hour || x.Late == nil {
			t.Errorf("%+v", x)
		}
		held := 0
		for _, n := range h.Nodes {
			for _, d := range n.Devices {
				for _, p := range d.Held {
					if h.Workloads[p.Workload].ID == x.ID && n.Name == "n1" && p.Part == 1000 {
						held++
					}
				}
			}
		}
		if held != 3 {
			t.Errorf("%d devices of n1 are held by %s: %+v", held, x.Name, h.Nodes)
		}
		return
	}
	t.Errorf("hold-n1-3 is missing: %+v", h.Workloads)
}

// Of what waits it is told where it would be once those have ended who are in
// its way.
func TestWhyTellsWhereItWouldBe(t *testing.T) {
	t.Parallel()
	w := newHall(t)
	for _, n := range []string{"n0", "n1", "n2", "n3"} {
		w.hold(n, 4)
	}
	w.submit(`{"name":"wide","command":["fake"],"resources":{"gpu":4,"cpu":1},"nodeSelector":{"rack":"r1"}}`)
	y := w.why("wide")
	if len(y.Places) != 1 || y.Places[0].Node != "n2" && y.Places[0].Node != "n3" || len(y.Places[0].Devices) != 4 {
		t.Errorf("it would be at %+v", y.Places)
	}
}

// spansOf are those of a workload, and whether it is named.
func spansOf(h api.HoldingsCourse, name string) (out []api.SpanOfUse) {
	for _, n := range h.Nodes {
		for _, d := range n.Devices {
			for _, x := range d.Spans {
				if h.Workloads[x.Workload].Name == name {
					out = append(out, x)
				}
			}
		}
	}
	return out
}

// What has ended is told as it was, what runs with its likely end, and what waits for
// it with when it is likely to come.
func TestHoldingsHaveACourse(t *testing.T) {
	t.Parallel()
	w := newHall(t)
	w.submit(`{"name":"short","command":["fake","run=10ms"],"resources":{"gpu":2,"cpu":1}}`)
	w.await("short", "Completed")
	for _, n := range []string{"n0", "n1", "n2", "n3"} {
		w.hold(n, 4)
	}
	w.submit(`{"name":"next","command":["fake"],"resources":{"gpu":4,"cpu":1},"maxDuration":"1h"}`)
	w.await("next", "Queued")
	before := time.Now()
	var h api.HoldingsCourse
	w.call("GET", "/v1/holdings/course", "", &h)
	short, runs, next := spansOf(h, "short"), spansOf(h, "hold-n1-4"), spansOf(h, "next")
	if len(short) != 2 || short[0].Likely || short[0].Part != 1000 || short[0].To < short[0].From || time.UnixMilli(short[0].To).After(before) {
		t.Errorf("short: %+v", short)
	}
	if len(runs) != 4 || runs[0].Likely || runs[0].To <= before.UnixMilli() {
		t.Errorf("hold-n1-4 runs until some time: %+v", runs)
	}
	if len(next) != 4 || !next[0].Likely || next[0].From < before.UnixMilli() || next[0].Task != -1 {
		t.Errorf("next: %+v", next)
	}
	for _, n := range h.Nodes {
		for _, d := range n.Devices {
			for i, x := range d.Spans {
				if i > 0 && (d.Spans[i-1].To == 0 || d.Spans[i-1].To > x.From+1) { // of two at a time each has its millisecond
					t.Errorf("%s %s has two at a time: %+v", n.Name, d.ID, d.Spans)
				}
			}
		}
	}
	h = api.HoldingsCourse{}
	w.call("GET", "/v1/holdings/course?to="+before.Add(-time.Hour).UTC().Format(time.RFC3339), "", &h)
	if len(h.Nodes)+len(h.Workloads) != 0 {
		t.Errorf("an hour ago there was nothing: %+v", h)
	}
	w.refused("GET", "/v1/holdings/course?from=2999-01-01T00:00:00Z", "", 422, "invalid")
}

// How well nodes were is told beside who held what, as far as somebody looked.
func TestHoldingsTellHowNodesWere(t *testing.T) {
	t.Parallel()
	w := newHall(t)
	course := func(fits func(h api.HoldingsCourse, n0 []api.HealthSpan) bool) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			var h api.HoldingsCourse
			w.call("GET", "/v1/holdings/course", "", &h)
			var n0 []api.HealthSpan
			for _, n := range h.Nodes {
				if n.Name == "n0" {
					n0 = n.Health
				} else if len(n.Health) > 0 {
					t.Errorf("nothing was wrong with %s: %+v", n.Name, n.Health)
				}
			}
			if fits(h, n0) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%+v, looked %+v", n0, h.Looked)
			}
		}
	}
	before := time.Now().UnixMilli()
	course(func(h api.HoldingsCourse, n0 []api.HealthSpan) bool { return len(h.Looked) > 0 && len(n0) == 0 })
	w.call("POST", "/v1/nodes/n0/cordon", `{"note":"fan"}`, nil)
	course(func(h api.HoldingsCourse, n0 []api.HealthSpan) bool {
		return len(n0) == 1 && n0[0].Cordoned && !n0[0].NotReady && n0[0].To == 0 && n0[0].From >= before
	})
	w.call("POST", "/v1/nodes/n0/uncordon", `{}`, nil)
	course(func(h api.HoldingsCourse, n0 []api.HealthSpan) bool {
		last := h.Looked[len(h.Looked)-1]
		return len(n0) == 1 && n0[0].To > n0[0].From && last.To >= n0[0].To && last.From <= n0[0].From
	})
}
