package server_test

import (
	"math"
	"net/http"
	"testing"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/fakebackend"
)

func TestUsageTellsWhatWasIdleAndLost(t *testing.T) {
	w := newWorldOf(t, fakebackend.Node("node-1", 8000, 8<<30, 2, "A100"))
	w.submit(`{"name":"bad","command":["fake","run=200ms","exit=3"],"resources":{"gpu":1,"cpu":1}}`)
	w.await("bad", "Failed")
	w.submit(`{"name":"good","command":["fake","run=200ms"],"resources":{"gpu":1,"cpu":1}}`)
	w.await("good", "Completed")
	w.submit(`{"name":"lazy","command":["fake","run=forever"],"resources":{"gpu":1,"cpu":1}}`)
	got := w.await("lazy", "Running")
	k := got.Attempts[0].Tasks[0]
	w.backend.Uses(backend.Reading{
		Tasks:   []backend.Sample{{Task: core.TaskID{Workload: core.WorkloadID(got.ID)}}},
		Devices: []backend.DeviceSample{{Node: core.NodeID(k.Node), Device: k.Devices[0], MemoryTotal: 8e10}},
	})
	by := map[string]api.Usage{}
	await(t, "the idle GPU to be seen", func() bool {
		var l api.UsageList
		w.call("GET", "/v1/usage?by=workload&waste=true", "", &l)
		for _, u := range l.Items {
			by[u.Workload] = u
		}
		return by["lazy"].Idle > 0 && l.Idle >= by["lazy"].Idle && l.Lost == by["bad"].Lost
	})
	if u := by["bad"]; u.Lost <= 0 || u.Lost > u.GPUSeconds+1e-6 {
		t.Errorf("of bad %v of %v is lost", u.Lost, u.GPUSeconds)
	}
	var bad, cut api.Workload
	w.call("GET", "/v1/projects/default/workloads/bad", "", &bad)
	if l := bad.Attempts[0].Lost; l == nil || math.Abs(l.GPUSeconds-by["bad"].Lost) > 0.001 {
		t.Errorf("the attempt says that it lost %+v, usage %v", l, by["bad"].Lost)
	}
	var list api.WorkloadList
	w.call("GET", "/v1/projects/default/workloads?view=summary", "", &list)
	for _, x := range list.Items {
		if x.Attempts[0].Lost != nil {
			t.Errorf("without the tasks of %s it says %+v", x.Name, x.Attempts[0].Lost)
		}
	}
	w.ok("POST", "/v1/projects/default/workloads/lazy:stop", "", http.StatusOK, nil)
	w.await("lazy", "Stopped")
	if w.call("GET", "/v1/projects/default/workloads/lazy", "", &cut); cut.Attempts[0].Lost != nil {
		t.Errorf("what was stopped says %+v", cut.Attempts[0].Lost)
	}
	if u := by["good"]; u.Lost != 0 {
		t.Errorf("of good %v is lost", u.Lost)
	}
	if u := by["lazy"]; u.Lost != 0 || u.Idle > u.GPUSeconds+1e-6 {
		t.Errorf("lazy: %+v", u)
	}
	var plain api.UsageList
	w.call("GET", "/v1/usage?by=workload", "", &plain)
	if plain.Idle != 0 || plain.Lost != 0 || plain.Missing != nil {
		t.Errorf("nobody asked for %+v", plain)
	}
}
