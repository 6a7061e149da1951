package scenario

import (
	"os"
	"strings"
	"testing"
)

// TestCoreOnTheScenarios holds the program's own scheduler to every case. CASE=file#index
// runs those whose name begins so.
func TestCoreOnTheScenarios(t *testing.T) {
	set, err := Load(os.DirFS("testdata/kai"))
	if set == nil {
		t.Fatal(err)
	}
	passed, skipped := 0, 0
	for _, c := range set.Cases {
		if only := os.Getenv("CASE"); only != "" && !strings.HasPrefix(c.ID(), only) {
			continue
		}
		o := Run(c, Core{}, Defaults())
		switch {
		case o.Skipped != "":
			skipped++
		case o.Passed():
			passed++
		default:
			t.Error(o.Line())
		}
	}
	t.Logf("%d passed, %d skipped", passed, skipped)
}

// play runs one allocation of a case with one node of one device, and returns
// where its tasks stand afterwards.
func play(t *testing.T, jobs string) []TaskState {
	t.Helper()
	c := &Case{File: "played"}
	if err := decode([]byte(`{"name": "played", "mode": "single_pass", "actions": ["allocate"],
		"nodes": [{"name": "a", "gpus": 1, "gpu_mem_mib": 100}], "queues": [{"name": "q", "parent": "",
		"gpu": {"quota": null, "limit": null}, "cpu_millis": {"quota": null, "limit": null}, "mem_bytes": {"quota": null, "limit": null}}],
		"jobs": [`+jobs+`], "expected": {}}`), c); err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	d, err := Core{}.Cycle(c, c.Start())
	if err == nil {
		err = c.consistent(c.Start(), d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d.Tasks
}

// TestWhatIsPromisedAtFirst: a case may begin with a promise. Its room is nobody
// else's, whoever is older.
func TestWhatIsPromisedAtFirst(t *testing.T) {
	for name, form := range map[string]string{"share": `"gpu_fraction_per_task": 0.6`, "whole": `"gpus_per_task": 1`} {
		for _, labels := range []string{`"gpu_groups": ["x"]`, `"gpu_groups": []`, `"gpu_groups": ["y"]`} {
			leaving := strings.Replace(labels, "y", "x", 1)
			got := play(t, `{"name": "older", "queue": "q", "created_order": 0, `+form+`, "tasks": [{"name": "older-0", "state": "pending"}]},
				{"name": "gone", "queue": "q", "created_order": 1, `+form+`, "tasks": [{"name": "gone-0", "state": "releasing", "node": "a", `+leaving+`}]},
				{"name": "next", "queue": "q", "created_order": 2, `+form+`, "tasks": [{"name": "next-0", "state": "pipelined", "node": "a", `+labels+`}]}`)
			want := []Status{Pending, Releasing, Pipelined}
			for i := range want {
				if got[i].Status != want[i] || i == 2 && got[i].Node != "a" {
					t.Errorf("%s, %s: %s is %s on %q, want %s", name, labels, got[i].Name, got[i].Status, got[i].Node, want[i])
				}
			}
		}
	}
}

// TestPartitionsByTheirResourceNames: cases name partitions as a cluster does.
func TestPartitionsByTheirResourceNames(t *testing.T) {
	c := Case{Nodes: []Node{{Name: "a", GPUs: 1, MIG: &MIG{Strategy: "mixed", Instances: map[string]int{"nvidia.com/mig-2g.10gb": 2, "mig-1g.5gb": 1, "1g.10gb": 1}}}}}
	got := node(&c.Nodes[0]).MIG
	for _, name := range []string{"2g.10gb", "mig-1g.5gb", "1g.10gb"} {
		if got[name] == 0 {
			t.Errorf("%s is not there: %v", name, got)
		}
	}
}
