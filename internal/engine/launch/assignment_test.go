package launch

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// variables are those of one task of a document, as a map.
func variables(t *testing.T, doc string, index int) map[string]string {
	t.Helper()
	d, err := spec.Load([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	w := &core.Workload{ID: "01", Name: "job", Project: "p", Kind: d.Kind, Spec: d, Attempts: []core.Attempt{{Port: 29500}}}
	g := gang{at: endpoint{address: "10.0.0.1", port: 29500}}
	for i := range d.Size() {
		g.all = append(g.all, endpoint{address: fmt.Sprintf("10.0.0.%d", i+1), port: 30000 + i})
	}
	m := map[string]string{}
	for _, e := range environment(w, &core.Task{ID: core.TaskID{Workload: "01", Index: index}, Role: d.Role(index), Node: "n"}, g) {
		k, v, _ := strings.Cut(e, "=")
		m[k] = v
	}
	return m
}

func TestEnvironmentOfFrameworks(t *testing.T) {
	gangOf := func(framework string) string {
		return `{kind: distributed, framework: ` + framework + `, workers: 3, command: ["true"], resources: {gpu: 2}, env: {OWN: mine}}`
	}
	for framework, want := range map[string]map[string]string{
		"env":     {"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500", "RANK": "2", "WORLD_SIZE": "3", "NODE_RANK": "2", "LOCAL_WORLD_SIZE": "2", "OWN": "mine"},
		"pytorch": {"PET_NNODES": "3", "PET_NODE_RANK": "2", "PET_NPROC_PER_NODE": "2", "PET_MASTER_ADDR": "10.0.0.1", "PET_MASTER_PORT": "29500"},
		"xgboost": {"WORKER_ADDRS": "10.0.0.2,10.0.0.3", "WORKER_PORT": "29500", "DMLC_TRACKER_URI": "10.0.0.1", "DMLC_NUM_WORKER": "3", "DMLC_TASK_ID": "2"},
		"jax":     {"COORDINATOR_ADDRESS": "10.0.0.1", "COORDINATOR_PORT": "29500", "NUM_PROCESSES": "3", "PROCESS_ID": "2", "JAX_COORDINATOR_ADDRESS": "10.0.0.1:29500"},
	} {
		got := variables(t, gangOf(framework), 2)
		for k, v := range want {
			if got[k] != v {
				t.Errorf("%s: %s is %q, want %q", framework, k, got[k], v)
			}
		}
	}
	for index, role := range []string{"chief 0", "worker 0", "worker 1"} {
		var c struct {
			Cluster map[string][]string
			Task    struct {
				Type  string
				Index int
			}
		}
		if err := json.Unmarshal([]byte(variables(t, gangOf("tensorflow"), index)["TF_CONFIG"]), &c); err != nil {
			t.Fatal(err)
		}
		want := map[string][]string{"chief": {"10.0.0.1:30000"}, "worker": {"10.0.0.2:30001", "10.0.0.3:30002"}}
		if !reflect.DeepEqual(c.Cluster, want) || fmt.Sprint(c.Task.Type, " ", c.Task.Index) != role {
			t.Errorf("TF_CONFIG of task %d: %+v, want %s in %v", index, c, role, want)
		}
	}
}

func TestEnvironmentOfAGrid(t *testing.T) {
	got := variables(t, `{command: ["true"], array: {grid: {lr: [0.1, 0.01], opt-name: [adam, sgd]}}}`, 2)
	if got["LR"] != "0.01" || got["OPT_NAME"] != "adam" || got["POD_INDEX"] != "2" {
		t.Errorf("LR %q, OPT_NAME %q, POD_INDEX %q; want 0.01, adam, 2", got["LR"], got["OPT_NAME"], got["POD_INDEX"])
	}
}

func TestRanksOfAnElasticGangHaveNoGaps(t *testing.T) {
	d, err := spec.Load([]byte(`{kind: distributed, framework: pytorch, workers: 8, minWorkers: 2, command: ["true"]}`))
	if err != nil {
		t.Fatal(err)
	}
	w := &core.Workload{ID: "01", Kind: d.Kind, Spec: d, Attempts: []core.Attempt{{}}}
	g := gang{at: endpoint{address: "10.0.0.1", port: 29500}, ranks: map[int]int{0: 0, 5: 1, 9: 2}, all: make([]endpoint, 3)}
	env := environment(w, &core.Task{ID: core.TaskID{Workload: "01", Index: 9}}, g)
	for _, want := range []string{"RANK=2", "WORLD_SIZE=3", "NUM_NODES=3", "PET_NODE_RANK=2", "PET_NNODES=3", "MUSTER_TASK_COUNT=3", "POD_INDEX=9"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is not in %q", want, env)
		}
	}
}

// A list of all addresses in every task grows with the square of the gang, so
// big gangs have it where their documents ask for it.
func TestAddressesOfABigGangAreToldWhereTheyAreWanted(t *testing.T) {
	for _, c := range []struct {
		workers int
		command string
		want    int
	}{{64, "train", 64}, {65, "train", 0}, {65, "train $MUSTER_TASK_ADDRESSES", 65}} {
		doc := fmt.Sprintf(`{kind: distributed, workers: %d, command: %q}`, c.workers, c.command)
		d, err := spec.Load([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		w := &core.Workload{Kind: d.Kind, Spec: d}
		all := make([]endpoint, c.workers)
		for i := range all {
			all[i].address = fmt.Sprintf("10.0.0.%d", i+1)
		}
		var got string
		for _, e := range environment(w, &core.Task{}, gang{all: all}) {
			if k, v, _ := strings.Cut(e, "="); k == "MUSTER_TASK_ADDRESSES" {
				got = v
			}
		}
		if n := len(strings.Fields(got)); n != c.want {
			t.Errorf("%s: a task is told %d addresses, want %d", doc, n, c.want)
		}
	}
}

// The page of variables speaks of each that a task may have.
func TestThePageOfTheEnvironmentSpeaksOfAll(t *testing.T) {
	page, err := os.ReadFile("../../../docs/environment.md")
	if err != nil {
		t.Fatal(err)
	}
	docs := []string{
		`{command: x, array: {completions: 2}}`, `{kind: inference, command: x, ports: [{port: 80}]}`,
		`{command: x, integrations: [{wandb: {project: p, entity: e, group: g, jobType: j, tags: [t]}}, {comet: {project: p, workspace: w}}, {mlflow: {experiment: e}}]}`,
	}
	for _, framework := range []string{"env", "pytorch", "tensorflow", "xgboost", "jax"} {
		docs = append(docs, `{kind: distributed, command: x, workers: 4, topology: {segment: {size: 2, required: rack}}, framework: `+framework+`}`)
	}
	for _, doc := range docs {
		for name := range variables(t, doc, 1) {
			if !strings.Contains(string(page), "`"+name+"`") && !(strings.HasPrefix(name, "JAX_") && strings.Contains(string(page), "`"+strings.TrimPrefix(name, "JAX_")+"`")) {
				t.Errorf("%s of %s is not there", name, doc)
			}
		}
	}
}
