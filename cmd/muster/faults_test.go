package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// What is kept of a fault is enough to plan the same again, and no more than a
// few are kept.
func TestFaultsAreKept(t *testing.T) {
	how := schedule.NewPolicy(schedule.Trapped(&schedule.Trap{Look: func(schedule.Action, core.WorkloadID) { panic("out of order") }}))
	n := schedule.Node{Node: core.Node{ID: "n", Pool: "default", Ready: true, CPU: 4000, Memory: 1 << 30, Devices: []core.Device{{ID: "g", Healthy: true}}}}
	j := schedule.Job{ID: "j", Queue: "q", Order: 1, Preemptible: true, Shape: schedule.Flat(schedule.Group{Name: "tasks", Min: 1, Runs: []schedule.Run{{Need: schedule.Need{Devices: 1, Milli: 1000}, Count: 1}}})}
	any := schedule.Unlimited()
	st := state.Load(&schedule.Snapshot{Nodes: []schedule.Node{n}, Queues: []schedule.Queue{{ID: "q", Default: any}}, Jobs: []schedule.Job{j}}, how.Config)
	st.SetWork(nil)
	fault := st.Safely(func() { cycle.Run(st, 1000) })
	if fault == nil {
		t.Fatal("it has not failed")
	}
	k := newFaults(filepath.Join(t.TempDir(), "faults"), time.Now, slog.New(slog.NewTextHandler(io.Discard, nil)))
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range 2 * faultsKept {
		file, err := k.write(fault, at.Add(time.Duration(i)*time.Second))
		if err != nil || (file != "") != (i < faultsKept) {
			t.Fatalf("number %d: %q %v", i, file, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(k.dir, "20260102T030405.000Z.json"))
	if err != nil {
		t.Fatal(err)
	}
	var kept schedule.Fault
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	plan, again := explain.Again(&kept)
	if again != nil || len(plan.Placements) != 1 || plan.Placements[0].Tasks[0].Place.Devices[0].Device != "g" || kept.Record.Queues[0].Default.Quota[quota.GPU] != any.Quota[quota.GPU] {
		t.Errorf("%+v %+v", plan, again)
	}
}
