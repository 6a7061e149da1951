package scenario

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestWhatIsWrongIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, new, want string }{
		{`"index": 7`, `"index": 7, "colour": "red"`, "x.json[1]: colour: no such field; there are actions, config,"},
		{`"state": "running", "node": "a"`, `"state": "running", "node": "a", "gpu": 1`, "x.json[1]: jobs[0].tasks[0].gpu: no such field"},
		{`"index": 7`, `"Index": 7`, "x.json[1]: Index: no such field"},
		{`"index": 7`, `"index": "7"`, `x.json[1]: index is "7", want a whole number`},
		{`"index": 7`, `"index": 7.5`, "x.json[1]: index is 7.5, want a whole number"},
		{`"gpus": 2`, `"gpus": null`, "x.json[1]: nodes[0].gpus is null"},
		{`"nodes": [`, `"features": "gang", "nodes": [`, `x.json[1]: features is "gang", want a list`},
		{`"nodes": [`, `"config": [], "nodes": [`, "x.json[1]: config is [], want an object"},
		{`"name": "small"`, `"name": 5`, "x.json[1]: name is 5, want a string"},
		{`"parent": ""`, `"parent": "", "implicit": 1`, "x.json[1]: queues[0].implicit is 1, want true or false"},
		{`"single_pass"`, `"twice"`, `x.json[1]: mode is "twice", want one of single_pass, rounds`},
		{`["allocate"]`, `["allocate", "preempt"]`, "x.json[1]: actions has 2 entries"},
		{`["allocate"]`, `["relocate"]`, `x.json[1]: actions[0] is "relocate", want one of allocate, consolidation,`},
		{`"node": "a"`, `"node": "z"`, `x.json[1]: jobs[0].tasks[0].node "z" does not exist; there are a, b`},
		{`"running", "node": "a"`, `"running"`, "x.json[1]: jobs[0].tasks[0] (run-0) is running without a node"},
		{`"state": "running"`, `"state": "walking"`, `x.json[1]: jobs[0].tasks[0].state is "walking", want one of pending,`},
		{`"run", "queue": "q"`, `"run", "queue": "p"`, `x.json[1]: jobs[0].queue "p" does not exist; there are q`},
		{`"parent": ""`, `"parent": "r"`, `x.json[1]: queues[0].parent "r" does not exist`},
		{`"parent": ""`, `"parent": "q"`, `x.json[1]: queues[0].parent "q": queue q is above itself`},
		{`{"name": "q", "parent": ""}`, `{"name": "q", "parent": "r"}, {"name": "r", "parent": "q"}`, `x.json[1]: queues[1].parent "q": queue r is above itself`},
		{`"parent": ""`, `"parent": "", "gpu": {"quota": -1}`, "x.json[1]: queues[0] (q) has a negative quota"},
		{`"name": "b", "gpus"`, `"name": "a", "gpus"`, `x.json[1]: nodes[1].name "a" is empty or used twice`},
		{`"wait-1"`, `"wait-0"`, `x.json[1]: jobs[1].tasks[1].name "wait-0" is empty or used twice`},
		{`"name": "wait"`, `"name": "run"`, `x.json[1]: jobs[1].name "run" is empty or used twice`},
		{`"gpu_fraction_per_task": 0.5`, `"gpu_fraction_per_task": 0.5, "gpus_per_task": 1`, "x.json[1]: jobs[3] (half) asks for devices in 2 ways"},
		{`"gpu_fraction_per_task": 0.5`, `"gpu_fraction_per_task": 1.5`, "x.json[1]: jobs[3] (half) asks for less than nothing, or for more"},
		{`"gpus": 2`, `"gpus": -2`, "x.json[1]: nodes[0] (a) has less than nothing: gpus -2"},
		{`"gpus": 2`, `"gpus": 2, "mig": {"strategy": "odd"}`, `x.json[1]: nodes[0].mig.strategy is "odd", want one of mixed, single`},
		{`"run", "queue": "q"`, `"run", "queue": "q", "topology_constraint": {"topology": "t", "required": "zone"}`, `x.json[1]: jobs[0].topology_constraint.topology "t" does not exist`},
		{`"nodes": [`, `"topologies": [{"name": "t", "levels": ["rack"]}], "nodes": [`, ""},
		{`"run", "queue": "q"`, `"run", "queue": "q", "groups": [{"name": "g", "min_available": 1}]`, "x.json[1]: jobs[0].tasks[0] (run-0) is in no group; want one of g"},
		{`"run", "queue": "q"`, `"run", "queue": "q", "groups": [{"name": "g", "min_groups": 2, "groups": [{"name": "h"}]}]`, "x.json[1]: jobs[0].groups[0].min_groups is 2 of 1 groups"},
		{`"nodes": [`, `"device_claims": {"slices": [{"node": "c"}]}, "nodes": [`, `x.json[1]: device_claims.slices[0].node "c" does not exist`},
		{`"expected": {`, `"expected": {"jobs": {"nobody": {"status": "running"}}`, `x.json[1]: expected.jobs "nobody" does not exist; there are gone, half, run, wait`},
		{`"expected": {`, `"expected": {"tasks": {"nobody": {"status": "running", "vacuous_upstream": true}}`, ""},
		{`"expected": {`, `"expected": {"tasks": {"run-0": {"status": "well"}}`, `x.json[1]: expected.tasks.run-0.status is "well"`},
		{`"expected": {`, `"expected": {"tasks": {"run-0": {"status": "running", "node": "z"}}`, `x.json[1]: expected.tasks.run-0.node "z" does not exist`},
		{`"expected": {`, `"expected": {"nodes": {"z": {}}`, `x.json[1]: expected.nodes "z" does not exist`},
		{`"expected": {`, `"expected": {"rounds_after_match": -1`, "x.json[1]: expected: rounds_until_match 0, rounds_after_match -1"},
		{`"expected": {`, `"expected": {"rounds_until_match": 1000000000`, "rounds_after_match 0; want 0 to 1000"},
		{`"gpu_fraction_per_task": 0.5`, `"gpu_fraction_per_task": 0.5, "devices_per_task": 100000`, "x.json[1]: jobs[3] (half) asks for less than nothing, or for more"},
		{`"mode"`, `"mode" "mode"`, "x.json: want a list of cases:"},
		{small, `[]`, "x.json[1]: the case is [], want an object"},
		{small, small, ""},
	} {
		text := strings.Replace(small, c.old, c.new, 1)
		_, err := Load(fstest.MapFS{"x.json": {Data: []byte("[" + small + "," + text + "]")}})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("with %s: %v", c.new, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("with %s the error is %v, want %q", c.new, err, c.want)
		case err != nil && !strings.HasPrefix(err.Error(), "x.json"):
			t.Errorf("the error does not begin with the file: %v", err)
		}
	}
}

// What newer cases have is known, whether or not those here use it.
func TestNewFieldsAreKnown(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer(
		`"parent": ""`, `"parent": "", "reclaim_min_runtime_seconds": 1.5`,
		`"run", "queue": "q"`, `"run", "queue": "q", "min_groups": 1, "stale_grace_seconds": -1, "preemption_delay_seconds": 3`,
		`"gpu_fraction_per_task": 0.5`, `"gpu_fraction_per_task": 0.5, "devices_per_task": 2`,
		`"state": "pending"`, `"state": "succeeded"`,
		`"state": "releasing"`, `"state": "stuckinreleasing"`,
	).Replace(small)
	set, err := Load(fstest.MapFS{"y.json": {Data: []byte("[" + text + "]")}})
	if err != nil {
		t.Fatal(err)
	}
	j := set.Cases[0].Jobs
	if *j[0].MinGroups != 1 || *j[0].StaleGraceSeconds != -1 || *j[0].PreemptionDelaySeconds != 3 || j[3].Shares() != 2 || set.Cases[0].Queues[0].MinRuntime != 1.5 {
		t.Errorf("the new fields are read as %+v", j)
	}
	if j[0].Min() != 1 || j[1].Min() != 2 {
		t.Errorf("without min_available %d and %d tasks are needed at once", j[0].Min(), j[1].Min())
	}
}

func TestAllThatIsWrongIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	bad := strings.NewReplacer(`"node": "a"`, `"node": "z"`, `"single_pass"`, `"twice"`).Replace(small)
	_, err := Load(fstest.MapFS{"one.json": {Data: []byte("[" + bad + "]")}, "two.json": {Data: []byte("[" + bad + "," + bad + "]")},
		"fairshare.json": {Data: []byte(`[{"name": "s", "queues": [{"id": "a", "parent": "b"}], "expected_share": {"c": {}}}]`)}, "notes.txt": {Data: []byte("not JSON")}})
	if err == nil {
		t.Fatal("nothing is said")
	}
	lines := strings.Split(err.Error(), "\n")
	want := []string{"fairshare.json[0]: queues[0].parent", "fairshare.json[0]: expected_share", "one.json[0]: mode", "one.json[0]: jobs[0]", "two.json[0]: mode", "two.json[0]: jobs[0]", "two.json[1]: mode", "two.json[1]: jobs[0]"}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d: %v", len(lines), len(want), err)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("line %d is %q, want %q first", i, line, want[i])
		}
	}
	if _, err := Load(fstest.MapFS{}); err == nil || !strings.Contains(err.Error(), "no *.json") {
		t.Errorf("of an empty folder the error is %v", err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("[" + small + "]")
	f.Add(`[{"jobs": [null]}]`)
	f.Add(`{"queues": 1}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"x.json", "fairshare.json"} {
			set, err := Load(fstest.MapFS{name: {Data: []byte(text)}})
			if err == nil { // what is valid can be run
				set.Run(&double{}, Options{})
			}
		}
	})
}
