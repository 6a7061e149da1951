package launch

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// batchOf is a batch script of that document as the node of that index has it.
func batchOf(t *testing.T, text string, index int) (map[string]string, backend.Assignment) {
	t.Helper()
	doc, err := spec.Load([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	w := &core.Workload{ID: "w", Name: "fit", Seq: 7, Kind: doc.Kind, Spec: doc, Attempts: []core.Attempt{{}}}
	task := &core.Task{ID: core.TaskID{Workload: "w", Index: index}}
	g := gang{self: []string{"/m"}, token: "0123456789abcdef"}
	for i := range doc.Workers {
		g.all = append(g.all, endpoint{address: "127.0.0.1", port: 100 + i})
	}
	m := map[string]string{}
	for _, kv := range environment(w, task, g) {
		name, v, _ := strings.Cut(kv, "=")
		m[name] = v
	}
	a := backend.Assignment{Argv: doc.CommandOf(index)}
	slurm(&a, w, task, g)
	return m, a
}

func TestABatchScriptFindsWhatSlurmGivesIt(t *testing.T) {
	const gangOf3 = "kind: distributed\nworkers: 3\ncommand: [bash, -c, x]\nslurm: {tasks: 5, cpusPerTask: 2}\nresources: {gpu: 4, memory: 1Gi}\n"
	m, a := batchOf(t, gangOf3, 0)
	for name, want := range map[string]string{
		"SLURM_JOB_ID": "7", "SLURM_NNODES": "3", "SLURM_JOB_NODELIST": "127.0.0.1,127.0.0.2,127.0.0.3", "SLURM_NTASKS": "5", "SLURM_TASKS_PER_NODE": "2(x2),1",
		"SLURM_NODEID": "0", "SLURM_PROCID": "0", "SLURM_GPUS_ON_NODE": "4", "SLURM_GPUS": "", "SLURM_CPUS_PER_TASK": "2", "SLURM_MEM_PER_NODE": "1024", "RANK": "", "WORLD_SIZE": "", "MASTER_ADDR": "",
	} {
		if m[name] != want {
			t.Errorf("%s is %q, want %q", name, m[name], want)
		}
	}
	if got := strings.Join(a.Argv, " "); got != "/m "+SlurmBatchArg+" bash -c x" {
		t.Errorf("the first node runs %s", got)
	}
	if got := strings.Join(a.Env, " "); !strings.Contains(got, "127.0.0.1=127.0.0.1:100 127.0.0.2=127.0.0.1:101 127.0.0.3=127.0.0.1:102") {
		t.Errorf("srun finds %s", got)
	}
	m, a = batchOf(t, gangOf3, 2)
	if m["SLURMD_NODENAME"] != "127.0.0.3" || strings.Join(a.Argv, " ") != "/m "+MPIAgentArg {
		t.Errorf("the last node is %s and runs %v", m["SLURMD_NODENAME"], a.Argv)
	}
	m, _ = batchOf(t, "command: x\narray: {completions: 3}\nslurm: {indexes: '1-9:4'}\n", 1)
	if m["SLURM_JOB_ID"] != "6" || m["SLURM_ARRAY_JOB_ID"] != "7" || m["SLURM_ARRAY_TASK_ID"] != "5" || m["SLURM_ARRAY_TASK_COUNT"] != "3" || m["SLURM_ARRAY_TASK_MAX"] != "9" || m["SLURM_ARRAY_TASK_STEP"] != "4" || m["JOB_COMPLETION_INDEX"]+m["JOB_NAME"]+m["RUN_NAME"] != "" {
		t.Errorf("of an array: %v", m)
	}
}
