package engine_test

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/store"
)

// TestPartitionsCountForTheirSlicesEverywhere: what is asked, held, charged and
// counted in pools of partitions is what quotas count: one device for each
// compute slice.
func TestPartitionsCountForTheirSlicesEverywhere(t *testing.T) {
	d := newDock(t, 1)
	d.nodes[0].MIG, d.nodes[0].MIGStrategy = map[string]int{"1g.10gb": 3, "2g.20gb": 2}, "mixed"
	d.do(engine.Inventory("p", d.nodes))
	if err := d.submit("m", `"resources":{"gpu":{"mig":{"1g.10gb":1,"2g.20gb":1}}}`); err != nil {
		t.Fatal(err)
	}
	d.says("m", 0, core.TaskRunning)
	d.now = d.now.Add(10 * time.Second)
	w := d.phase("m", lifecycle.Running)
	if held := w.Attempts[0].GPUMilli; held != 3000 || w.AskedMilli() != held {
		t.Errorf("it asks for %d/1000 devices and holds %d, want 3000", w.AskedMilli(), held)
	}
	for _, p := range ask(d, report.Cluster()).Pools {
		if p.Used[core.GPU] != 3 || p.Total[core.GPU] != 4+3+4 {
			t.Errorf("of pool %s %v of %v GPUs are used, want 3 of 11: 4 devices and 7 slices", p.Name, p.Used[core.GPU], p.Total[core.GPU])
		}
	}
	for _, s := range ask(d, report.Standings()) {
		if s.Project.ID == core.DefaultProject && s.Used[core.GPU] != 3 {
			t.Errorf("the project uses %v GPUs, want 3", s.Used[core.GPU])
		}
	}
	d.says("m", 0, core.TaskSucceeded)
	w = d.phase("m", lifecycle.Completed)
	if w.GPUSeconds < 30 || w.Attempts[0].GPUMilli != 0 {
		t.Errorf("it was charged %v GPU seconds, want 3 times its 10 seconds; it holds %d", w.GPUSeconds, w.Attempts[0].GPUMilli)
	}
	sum := 0.0
	if err := d.st.Uses(t.Context(), store.UseQuery{Now: d.now}, func(u core.Use) bool { sum += u.GPUSeconds; return true }); err != nil || sum != w.GPUSeconds {
		t.Errorf("its use is %v GPU seconds, %v; it says %v", sum, err, w.GPUSeconds)
	}
	d.check()
}
