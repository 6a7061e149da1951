package launch

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// SlurmBatchArg is the argument under which this program runs a batch script:
// it gives the script srun and scontrol.
const SlurmBatchArg = "__slurm-batch"

// nodeNames are what Slurm would call the nodes of a gang: by such a name its
// first must be reached, and all must differ, or srun could not tell them
// apart. Of several tasks on one machine only the first has its address.
func nodeNames(w *core.Workload, g gang) []string {
	names := make([]string, max(1, len(g.all)))
	names[0] = "127.0.0.1"
	seen := map[string]bool{}
	for i, e := range g.all {
		name := e.address
		if ip, err := netip.ParseAddr(name); seen[name] && err == nil && ip == netip.AddrFrom4([4]byte{127, 0, 0, 1}) && i < 254 {
			name = fmt.Sprintf("127.0.0.%d", i+1) // every one of them is this machine
		} else if seen[name] {
			name = fmt.Sprintf("%s-%d", w.Name, i)
		}
		seen[name] = true
		names[i] = name
	}
	return names
}

// slurmEnv is what Slurm gives a batch script (slurm.schedmd.com/sbatch.html,
// "Output environment variables"). A task is a node of the job.
func slurmEnv(m map[string]string, w *core.Workload, t *core.Task, g gang) {
	for _, name := range []string{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "NUM_NODES", "MASTER_ADDR", "MASTER_PORT"} {
		delete(m, name) // Slurm sets none of them, and libraries believe them before they look at its own
	}
	s, d := w.Spec.Slurm, w.Spec
	r := d.Needs(t.ID.Index)
	names := nodeNames(w, g)
	nodes, rank := len(names), 0
	if d.Gang() {
		rank = g.rank(t)
	}
	tasks := s.Tasks
	if tasks == 0 {
		tasks = nodes * max(s.TasksPerNode, 1)
	}
	job := strconv.FormatInt(w.Seq-d.SlurmJobs()+1+int64(arrayIndex(d, t)), 10)
	set := func(v string, names ...string) {
		for _, n := range names {
			m[n] = v
		}
	}
	num := strconv.Itoa
	set(job, "SLURM_JOB_ID", "SLURM_JOBID")
	set(cmp.Or(s.Name, w.Name), "SLURM_JOB_NAME")
	set(w.User, "SLURM_JOB_USER")
	if s.Environment == "" { // else it says so
		set(d.Workdir, "SLURM_SUBMIT_DIR")
	}
	set("BATCH", "ENVIRONMENT")
	set(cmp.Or(s.Partition, t.Pool, "default"), "SLURM_JOB_PARTITION")
	set("muster", "SLURM_CLUSTER_NAME")
	set(num(nodes), "SLURM_NNODES", "SLURM_JOB_NUM_NODES")
	set(strings.Join(names, ","), "SLURM_JOB_NODELIST", "SLURM_NODELIST")
	set(names[rank], "SLURMD_NODENAME", "SLURM_TOPOLOGY_ADDR")
	set(num(rank), "SLURM_NODEID")
	set("0", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_GTIDS")
	if s.Tasks > 0 || s.TasksPerNode > 0 { // libraries take it for a sign that srun starts them
		set(num(tasks), "SLURM_NTASKS", "SLURM_NPROCS")
	}
	cpus := roomFor(s, tasks, nodeCPUs(w, g, nodes))
	set(spec.SlurmPerNode(tasksOfNodes(s, tasks, cpus)), "SLURM_TASKS_PER_NODE")
	set(num(cpus[rank]), "SLURM_CPUS_ON_NODE")
	set(spec.SlurmPerNode(cpus), "SLURM_JOB_CPUS_PER_NODE")
	optional := func(n int64, names ...string) {
		if n > 0 {
			set(strconv.FormatInt(n, 10), names...)
		}
	}
	optional(int64(t.ID.Attempt+t.ID.Run), "SLURM_RESTART_COUNT")
	optional(int64(s.TasksPerNode), "SLURM_NTASKS_PER_NODE")
	optional(int64(s.CPUsPerTask), "SLURM_CPUS_PER_TASK") // and not SRUN_CPUS_PER_TASK, by which a script has srun take as many
	if s.Variables["SLURM_MEM_PER_CPU"] == "" && s.Variables["SLURM_MEM_PER_GPU"] == "" {
		optional(r.Memory.Units()>>20, "SLURM_MEM_PER_NODE")
	}
	optional(int64(r.GPU.Devices()), "SLURM_GPUS_ON_NODE") // SLURM_GPUS and its like are there where options say them
	for name, v := range map[string]string{"SLURM_JOB_ACCOUNT": s.Account, "MUSTER_SLURM_OUTPUT": s.Output, "MUSTER_SLURM_ERROR": s.Error, "MUSTER_SLURM_INPUT": s.Input, "MUSTER_SLURM_SIGNAL": s.Signal, "MUSTER_SLURM_OPEN_MODE": s.OpenMode} {
		if v != "" {
			set(v, name)
		}
	}
	if s.Export != "" && !strings.EqualFold(s.Export, "ALL") {
		set(s.Export, "SLURM_EXPORT_ENV")
	}
	maps.Copy(m, s.Variables)
	optional(int64(d.MaxDuration.Std().Seconds()), "MUSTER_SLURM_LIMIT")
	slurmArray(m, d, t, w.Seq)
}

// nodeCPUs are how many CPUs a job has of each of its nodes: what it asks for, and all of a node
// that is its own.
func nodeCPUs(w *core.Workload, g gang, nodes int) []int {
	all := make([]int, nodes)
	for i := range all {
		all[i] = int((w.Spec.Needs(i).CPU.Milli() + 999) / 1000)
		if i < len(g.whole) {
			all[i] = max(all[i], int(g.whole[i]/1000))
		}
	}
	return all
}

// roomFor raises CPUs where the workload was given fewer than its processes take, as with
// run --cpu 100m: its steps would find no room, and Slurm would not have started it.
func roomFor(s *spec.Slurm, tasks int, cpus []int) []int {
	each, sum := max(s.CPUsPerTask, 1), 0
	for _, n := range cpus {
		sum += n
	}
	if sum >= tasks*each || s.Variables["SLURM_OVERCOMMIT"] != "" {
		return cpus
	}
	for i, n := range spec.SlurmLayout(tasks, slices.Repeat([]int{tasks}, len(cpus))) {
		cpus[i] = max(cpus[i], n*each)
	}
	return cpus
}

// tasksOfNodes is SLURM_TASKS_PER_NODE: where nothing says how many there are, as many as
// there is room for.
func tasksOfNodes(s *spec.Slurm, tasks int, cpus []int) []int {
	room := make([]int, len(cpus))
	for i, n := range cpus {
		room[i] = max(n/max(s.CPUsPerTask, 1), 1)
	}
	switch {
	case s.TasksPerNode > 0: // it says so, also where there are fewer
		return slices.Repeat([]int{s.TasksPerNode}, len(cpus))
	case s.Tasks == 0:
		return room
	}
	if layout := spec.SlurmLayout(tasks, room); layout != nil {
		return layout
	}
	return spec.SlurmLayout(tasks, slices.Repeat([]int{tasks}, len(cpus)))
}

// arrayIndex is the place of t in its array.
func arrayIndex(d *spec.Document, t *core.Task) int {
	if d.Array == nil {
		return 0
	}
	return t.ID.Index
}

// slurmArray is what the tasks of an array know of it.
func slurmArray(m map[string]string, d *spec.Document, t *core.Task, seq int64) {
	array := strconv.FormatInt(seq, 10)
	if place, all, is := d.Slurm.ArrayPlace(); is { // those after it have the numbers above
		array = strconv.FormatInt(seq+int64(len(all)-1-place), 10)
		arrayVariables(m, d, all, place, array)
		return
	}
	if d.Array == nil {
		return
	}
	all := make([]int, d.Size())
	for i := range all {
		all[i] = i
	}
	if given, err := spec.ParseIndexes(d.Slurm.Indexes); d.Slurm.Indexes != "" && err == nil && len(given) == len(all) {
		all = given
	}
	arrayVariables(m, d, all, t.ID.Index, array)
}

// arrayVariables are those of the job at a place of an array.
func arrayVariables(m map[string]string, d *spec.Document, all []int, place int, array string) {
	m["SLURM_ARRAY_JOB_ID"], m["SLURM_ARRAY_TASK_ID"] = array, strconv.Itoa(all[place])
	m["SLURM_ARRAY_TASK_COUNT"] = strconv.Itoa(len(all))
	m["SLURM_ARRAY_TASK_MIN"], m["SLURM_ARRAY_TASK_MAX"] = strconv.Itoa(slices.Min(all)), strconv.Itoa(slices.Max(all))
	step := 1
	if _, each, stepped := strings.Cut(d.Slurm.Indexes, ":"); stepped { // of others Slurm says 1
		if n, err := strconv.Atoi(strings.TrimSpace(each)); err == nil {
			step = n
		}
	}
	m["SLURM_ARRAY_TASK_STEP"] = strconv.Itoa(step)
}

// slurm makes the assignment of a node of a batch script: the first runs the
// script, all others the agent by which srun reaches them.
func slurm(a *backend.Assignment, w *core.Workload, t *core.Task, g gang) {
	if a.Image != "" { // the program comes with us
		a.Mounts = append(a.Mounts, backend.Mount{Program: true, Source: g.self[0], Target: "/.muster/muster", ReadOnly: true})
		g.self = []string{"/.muster/muster"}
	}
	if w.Spec.Gang() && len(g.all) > 1 {
		a.Files = append(a.Files, backend.File{Name: "mpi-token", EnvVar: "MUSTER_MPI_TOKEN_FILE", Data: []byte(g.token)})
		if rank := g.rank(t); rank > 0 {
			at := g.all[rank]
			if at.own {
				at.address = "" // all of its own
			}
			a.Argv, a.Args = append(slices.Clone(g.self), MPIAgentArg), nil
			a.Env = append(a.Env, "MUSTER_MPI_LISTEN="+at.String())
			return
		}
		var where []string
		for i, name := range nodeNames(w, g) {
			where = append(where, name+"="+g.all[i].String())
		}
		a.Env = append(a.Env, "MUSTER_MPI_WORKERS="+strings.Join(where, " "))
	}
	if vars, err := spec.UnpackEnvironment(w.Spec.Slurm.Environment); err == nil && len(vars) > 0 {
		// In a file: names such as those of exported functions are none to every backend.
		a.Files = append(a.Files, backend.File{Name: "slurm-environment", EnvVar: "MUSTER_SLURM_ENVIRONMENT", Data: []byte(strings.Join(vars, "\x00"))})
	}
	if a.Image != "" {
		a.Env = append(a.Env, "MUSTER_SLURM_CONTAINER=1")
	}
	if len(a.Argv) > 0 {
		a.Env = append(a.Env, spec.SlurmToolVar+"="+g.self[0])
		a.Argv = append(append(slices.Clone(g.self), SlurmBatchArg), a.Argv...)
	}
}
