package engine_test

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/testing/memstore"
)

func TestStandingsAddUpBelowDepartments(t *testing.T) {
	o := newOffice(t, memstore.New())
	quota := 1.5
	o.do(organisation.Organise([]organisation.Edit{
		{What: organisation.RecordPool, Name: "gpu", Pool: gpuPool},
		{What: organisation.RecordDepartment, Name: "lab", Project: func(p *core.Project) error {
			p.Pools = map[string]core.PoolQuota{"gpu": {GPU: core.ResourceQuota{Quota: &quota}}}
			return nil
		}},
		{What: organisation.RecordProject, Name: "vision", Project: below("lab")},
		{What: organisation.RecordProject, Name: "nlp", Project: func(p *core.Project) error { p.Parent, p.PoolOrder = "lab", []string{"gpu"}; return nil }},
	}, false))
	o.do(organisation.LabelNode("n1", map[string]string{"pool": "gpu"}, nil))
	first := ask(o, o.submit(`{"name":"a","project":"vision","command":["fake"],"preemptible":false,"resources":{"gpu":1,"cpu":2,"memory":"1Gi"}}`))
	o.do(o.submit(`{"name":"b","project":"nlp","command":["fake"],"resources":{"gpu":1}}`))
	rows := map[string]report.Standing{}
	for _, s := range ask(o, report.Standings()) {
		rows[string(s.Project.ID)+"/"+s.Pool] = s
	}
	for _, name := range []string{"vision/gpu", "lab/gpu"} {
		s := rows[name]
		if s.Used[core.GPU] != 1 || s.Used[core.CPU] != 2 || s.Used[core.Memory] != 1<<30 || s.Fixed[core.GPU] != 1 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := rows["lab/gpu"]; s.Queued != 1 || s.QueuedGPUs != 1 || *s.Quota.GPU.Quota != 1.5 {
		t.Errorf("lab: %+v", s)
	}
	if s := rows["nlp/gpu"]; s.Queued != 1 || s.Used[core.GPU] != 0 || s.Quota.GPU.Quota != nil {
		t.Errorf("nlp: %+v", s)
	}
	if _, ok := rows["default/default"]; !ok || len(rows) != 4 {
		t.Errorf("%d rows; want those of everybody: %+v", len(rows), rows)
	}

	// Devices that do nothing are counted as idle after a while.
	task := core.TaskID{Workload: first.Workload.ID}
	o.at(opens, engine.Observe(engine.Observations{Backend: "p", Seen: []backend.Observation{{ID: task, State: core.TaskRunning, At: opens}}}))
	o.at(opens, engine.Activity([]backend.Sample{{Task: task}}))
	for after, want := range map[time.Duration]float64{report.IdleLong - time.Second: 0, report.IdleLong: 1} {
		for _, p := range askAt(o, opens.Add(after), report.Cluster()).Pools {
			switch {
			case p.Name == "gpu" && (p.Idle != want || p.Used[core.GPU] != 1 || p.Total[core.GPU] != 1 || p.Nodes != 1 || p.Shut != 0):
				t.Errorf("after %v: %+v, want %v idle", after, p, want)
			case p.Name == "default" && (p.Nodes != 1 || p.Total[core.CPU] != 4):
				t.Errorf("default: %+v", p)
			}
		}
	}
	o.do(organisation.CordonNode("n1", true, ""))
	for _, p := range ask(o, report.Cluster()).Pools {
		if want := map[string]float64{"gpu": 1}[p.Name]; p.Shut != want {
			t.Errorf("pool %s has %v devices shut, want %v", p.Name, p.Shut, want)
		}
	}
}
