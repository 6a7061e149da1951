package launch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Server is what tasks are given by the server that starts them.
type Server struct {
	Nodes map[core.NodeID]core.Node
	// Address is where the other tasks of its attempt reach a task of a backend;
	// nil or empty: at its node's address.
	Address func(backendName string, id core.TaskID) string
	// Others are the tasks of a workload of a project that goes by a name; nil:
	// nobody knows.
	Others func(project core.ProjectID, name string) *workload.Tasks
	// Self is how tasks start this program; nil: by its name.
	Self func() []string
	// Reach is how tasks of a backend reach this server to report; nil: they
	// cannot.
	Reach func(backendName string, image bool) Way
	// Secrets makes the tokens of tasks; nil: they have none.
	Secrets Keyring
	// TaskEnv is what tasks are given beside what their document says; nil:
	// nothing.
	TaskEnv func(w *core.Workload) []string
	// Models is where, on the node, models that containers write are kept.
	Models string
}

// Assignment is everything a backend needs to run t, one of the tasks of w, but
// for secrets.
func (from *Server) Assignment(w *core.Workload, t *core.Task, tasks *workload.Tasks) backend.Assignment {
	s, g := w.Spec, from.gangOf(w, tasks)
	g.whole = from.wholeOf(w, t, tasks)
	r := s.Needs(t.ID.Index)
	var given []string
	if from.TaskEnv != nil {
		given = from.TaskEnv(w)
	}
	a := backend.Assignment{
		ID: t.ID, Node: t.Node, Devices: t.Devices, Image: s.ImageOf(t.ID.Index, workload.ImageOf(w)), Pull: backend.PullPolicy(s.PullPolicy),
		Prelude: prelude(w),
		Argv:    s.CommandOf(t.ID.Index),
		Workdir: s.Workdir,
		Env:     append(given, environment(w, t, g)...), // the document has the last word
		CPU:     r.CPU.Milli(), Memory: r.Memory.Units(), SHM: r.SHM.Units(),
		TTY: s.TTY, Stdin: s.Stdin, Grace: s.GracePeriod.Std(), As: w.As,
		About: backend.About{
			Project: w.Project, Name: w.Name, Kind: w.Kind, Role: t.Role, User: w.User,
			Labels: s.Labels, Annotations: s.Annotations, Tolerations: s.Tolerations,
		},
	}
	if s.Gang() {
		a.Gang = len(g.ranks)
		if g.ranks == nil {
			a.Gang = s.Size()
		}
		a.Peers = len(g.all) > 0
	}
	for _, p := range s.Ports {
		a.Ports = append(a.Ports, p.Port)
	}
	if a.Image != "" && len(s.Command.Argv) == 0 && (t.ID.Index > 0 || s.Master == nil || len(s.Master.Command.Argv) == 0) {
		a.Argv, a.Args = nil, a.Argv // the image's own command, with other arguments
	}
	if a.Image != "" {
		a.Hosts = from.hostsOf(w, t, tasks)
	}
	a.Ready = readyOf(w, t)
	a.MIG, a.Extended = r.GPU.MIG, r.Extended
	if p, ok := from.partOf(t, r.GPU); ok {
		a.GPULimit, a.GPUMemory = p.limit, p.memoryLimit
		a.Env = append(p.environment(), a.Env...)
	}
	if s.Retry.Pull != nil {
		a.PullRetries = *s.Retry.Pull
	}
	for _, step := range s.Init {
		a.Init = append(a.Init, backend.Init{Argv: step.Command.Argv, Retries: step.Retries})
	}
	if u := s.RunAs; u != nil {
		a.UID, a.GID = id32(u.User), id32(u.Group)
	}
	if p := s.ParametersOf(t.ID.Index); len(p) > 0 {
		path := ""
		if a.Image != "" {
			path = "/mnt/config/parameters.yaml" // where mcli's users look for it
		}
		a.Files = append(a.Files, backend.File{Name: "parameters.yaml", EnvVar: "PARAMETERS", Path: path, Data: p.YAML()})
	}
	from.reach(&a, w, t)
	volumes(&a, s)
	modelMount(&a, w, from.Models)
	switch {
	case s.Framework == "mpi":
		mpi(&a, w, t, g)
	case s.Slurm != nil:
		slurm(&a, w, t, g)
	}
	return a
}

// readyOf is when a replica takes requests, as its document says; nil: it is none,
// or its document names no port that it listens on.
func readyOf(w *core.Workload, t *core.Task) *backend.Probe {
	s := w.Spec
	if !w.Kind.Replicated() || len(s.Ports) == 0 && (s.Probe == nil || s.Probe.Port == 0) {
		return nil
	}
	p := s.Readiness()
	port := cmp.Or(t.Port, p.Port)
	if port == 0 {
		port = s.Ports[0].Port
	}
	return &backend.Probe{
		Path: p.Path, Port: port, Period: p.Period.Std(), Timeout: p.Timeout.Std(), Failures: p.Failures,
	}
}

func id32(n *int) *uint32 {
	if n == nil {
		return nil
	}
	u := uint32(*n)
	return &u
}

// volumes puts what a document mounts into an assignment.
func volumes(a *backend.Assignment, s *spec.Document) {
	for i, v := range s.Volumes {
		switch {
		case v.HostPath != "":
			a.Mounts = append(a.Mounts, backend.Mount{Source: v.HostPath, Target: v.Path, ReadOnly: v.ReadOnly, Create: v.Create})
		case v.Claim != "":
			a.Mounts = append(a.Mounts, backend.Mount{Claim: v.Claim, Target: v.Path, ReadOnly: v.ReadOnly})
		case v.Temporary != nil:
			a.Mounts = append(a.Mounts, backend.Mount{Temporary: true, Disk: v.Temporary.Disk, Target: v.Path, Size: v.Temporary.Size.Units(), ReadOnly: v.ReadOnly})
		case len(v.Config) > 0:
			for _, name := range slices.Sorted(maps.Keys(v.Config)) {
				a.Files = append(a.Files, backend.File{Name: fmt.Sprintf("config-%d-%s", i, name), Path: strings.TrimSuffix(v.Path, "/") + "/" + name, Data: []byte(v.Config[name])})
			}
		}
	}
}

// ModelDir is the directory on the node whose content a workload publishes. A
// process has it where its document says. What a container writes is gone with
// it, so a directory of the machine, below base, is mounted there.
func ModelDir(w *core.Workload, base string) string {
	model := w.Spec.Publish.Model
	if workload.ImageOf(w) == "" {
		if filepath.IsAbs(model) {
			return filepath.Clean(model)
		}
		return filepath.Join(w.Spec.Workdir, model)
	}
	for _, v := range w.Spec.Volumes { // unless it is on the machine anyway
		if rest, ok := strings.CutPrefix(inImage(w, model)+"/", strings.TrimSuffix(v.Path, "/")+"/"); ok && v.HostPath != "" {
			return filepath.Join(v.HostPath, rest)
		}
	}
	return filepath.Join(base, "by-workload", fmt.Sprintf("%s.%d", w.ID, w.Attempt))
}

// inImage is the model's path in the container.
func inImage(w *core.Workload, model string) string {
	if path.IsAbs(model) {
		return path.Clean(model)
	}
	return path.Join("/", w.Spec.Workdir, model)
}

// modelMount is what keeps the model of a container.
func modelMount(a *backend.Assignment, w *core.Workload, base string) {
	if w.Spec.Publish == nil || a.Image == "" || base == "" {
		return
	}
	dir := ModelDir(w, base)
	if strings.HasPrefix(dir, base) {
		a.Mounts = append(a.Mounts, backend.Mount{Source: dir, Target: inImage(w, w.Spec.Publish.Model), Create: true, Own: true})
	}
}

// environment is the union of what the platforms that Muster speaks for put
// into a task: mcli's (docs.mosaicml.com, "Environment variables"), torchrun's,
// Run:ai's JOB_NAME, JOB_UUID, POD_INDEX, POD_UUID, and our own. The author's
// own variables win.
func environment(w *core.Workload, t *core.Task, g gang) []string {
	n, rank := w.Spec.Size(), strconv.Itoa(g.rank(t))
	if g.ranks != nil {
		n = len(g.ranks)
	}
	gpus := w.Spec.Needs(t.ID.Index).GPU.Devices()
	index, attempt := strconv.Itoa(t.ID.Index), strconv.Itoa(t.ID.Attempt)
	m := map[string]string{
		"MUSTER_WORKLOAD":    w.Name,
		"MUSTER_WORKLOAD_ID": string(w.ID),
		"MUSTER_PROJECT":     string(w.Project),
		"MUSTER_ATTEMPT":     attempt,
		"MUSTER_TASK_INDEX":  index,
		"MUSTER_TASK_RUN":    strconv.Itoa(t.ID.Run),
		"MUSTER_TASK_COUNT":  strconv.Itoa(n),
		"MUSTER_TASK_ROLE":   t.Role,
		"MUSTER_NODE":        string(t.Node),

		"JOB_NAME": w.Name, "JOB_UUID": string(w.ID),
		"POD_INDEX": index, "POD_UUID": t.ID.String(),
		"RUNAI_JOB_NAME": w.Name, "RUNAI_PROJECT": string(w.Project),

		"RUN_NAME": w.Name, "COMPOSER_RUN_NAME": w.Name,
		"RESUMPTION_INDEX": attempt, "MOSAICML_PLATFORM": "true",
		"LOCAL_WORLD_SIZE": strconv.Itoa(max(gpus, 1)),

		"PYTHONUNBUFFERED": "1",
	}
	if w.Kind.Ranked() {
		m["MASTER_ADDR"], m["MASTER_PORT"] = g.at.address, strconv.Itoa(g.at.port)
		m["NODE_RANK"], m["NUM_NODES"] = rank, strconv.Itoa(n)
		m["RANK"], m["WORLD_SIZE"] = rank, strconv.Itoa(n)
		m["LOCAL_RANK"] = "0"
		if segment, size, ok := workload.SegmentOf(w, t.ID.Index); ok {
			m["MUSTER_SEGMENT"], m["MUSTER_SEGMENT_SIZE"] = strconv.Itoa(segment), strconv.Itoa(size)
		}
		if len(g.all) > 0 && wantsAddresses(w.Spec, len(g.all)) {
			m["MUSTER_TASK_ADDRESSES"] = addresses(g)
		}
		frameworkEnv(m, w, t, g)
	} else {
		m["NODE_RANK"], m["NUM_NODES"] = "0", "1"
	}
	if c := w.Checkpoint; c != nil {
		m["MUSTER_RESUME_FROM"], m["MUSTER_RESUME_STEP"] = c.Path, strconv.FormatInt(c.Step, 10)
	}
	m["MUSTER_GRACE_SECONDS"] = strconv.FormatFloat(w.Spec.GracePeriod.Std().Seconds(), 'f', -1, 64)
	if w.Spec.Array != nil || w.Kind.Ranked() { // as Indexed Jobs of Kubernetes have it
		m["JOB_COMPLETION_INDEX"] = index
	}
	if w.Spec.Slurm != nil {
		slurmEnv(m, w, t, g)
	}
	if t.Port > 0 && w.Kind.Replicated() {
		m["PORT"] = strconv.Itoa(t.Port)
	}
	trackerEnv(m, w)
	maps.Copy(m, w.Spec.Array.Variables(t.ID.Index))
	maps.Copy(m, w.Spec.EnvOf(t.ID.Index))
	out := make([]string, 0, len(m))
	for k, v := range m {
		out = append(out, k+"="+v)
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(a, b) })
	return out
}

// mostAddresses is up to how many tasks of a gang are told, unasked, where all
// others are. The list grows with the gang, and every task has one: in a
// cluster a gang of 512 would be 13 MB of pods.
const mostAddresses = 64

// wantsAddresses is whether the tasks of a gang of n are told where all are.
func wantsAddresses(d *spec.Document, n int) bool {
	return n <= mostAddresses || d.Mentions("MUSTER_TASK_ADDRESSES")
}

// addresses are where all tasks of a gang are, by rank, with blanks between.
func addresses(g gang) string {
	all := make([]string, len(g.all))
	for i, e := range g.all {
		all[i] = e.address
	}
	return strings.Join(all, " ")
}

// frameworkEnv adds what the ranks of one framework look for, as Kubeflow's
// training operator sets it.
func frameworkEnv(m map[string]string, w *core.Workload, t *core.Task, g gang) {
	n, rank := len(g.all), strconv.Itoa(g.rank(t))
	switch w.Spec.Framework {
	case "pytorch": // read by torchrun in place of its flags
		m["PET_NNODES"], m["PET_NODE_RANK"] = strconv.Itoa(n), rank
		m["PET_NPROC_PER_NODE"] = strconv.Itoa(w.Spec.SlotsOf())
		m["PET_MASTER_ADDR"], m["PET_MASTER_PORT"] = m["MASTER_ADDR"], m["MASTER_PORT"]
	case "tensorflow":
		m["TF_CONFIG"] = tfConfig(t, g)
	case "xgboost":
		m["WORKER_PORT"] = strconv.Itoa(g.at.port)
		var workers []string
		for _, e := range g.all[min(1, n):] {
			workers = append(workers, e.address)
		}
		m["WORKER_ADDRS"] = strings.Join(workers, ",")
		m["DMLC_TRACKER_URI"], m["DMLC_TRACKER_PORT"] = m["MASTER_ADDR"], m["MASTER_PORT"]
		m["DMLC_NUM_WORKER"], m["DMLC_TASK_ID"] = strconv.Itoa(n), rank
	case "jax":
		m["COORDINATOR_ADDRESS"], m["COORDINATOR_PORT"] = m["MASTER_ADDR"], m["MASTER_PORT"]
		m["NUM_PROCESSES"], m["PROCESS_ID"] = strconv.Itoa(n), rank
		m["JAX_COORDINATOR_ADDRESS"] = g.at.String()
		m["JAX_NUM_PROCESSES"], m["JAX_PROCESS_ID"] = strconv.Itoa(n), rank
	}
}

// tfConfig is TF_CONFIG of a cluster with one chief: every task has an address
// of its own (tensorflow.org, "Distributed training with TensorFlow").
func tfConfig(t *core.Task, g gang) string {
	type task struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
	}
	c := struct {
		Cluster map[string][]string `json:"cluster"`
		Task    task                `json:"task"`
	}{Cluster: map[string][]string{}, Task: task{"chief", 0}}
	for i, e := range g.all {
		role := "worker"
		if i == 0 {
			role = "chief"
		}
		c.Cluster[role] = append(c.Cluster[role], e.String())
	}
	if rank := g.rank(t); rank > 0 {
		c.Task = task{"worker", rank - 1}
	}
	data, err := json.Marshal(c)
	if err != nil {
		return ""
	}
	return string(data)
}

// The arguments under which this program is the ends of the agent that
// carries an mpi launcher's commands to its workers, instead of ssh, and the step
// of the launcher that waits for them.
const (
	MPIAgentArg = "__mpi-agent"
	MPIShellArg = "__mpi-rsh"
	MPIWaitArg  = "__mpi-wait"
)

// mpi makes the assignment of a launcher or worker: workers run the agent, the
// launcher finds them in its host file and reaches them through its end of it
// (open-mpi.org: plm_rsh_agent, orte_default_hostfile).
func mpi(a *backend.Assignment, w *core.Workload, t *core.Task, g gang) {
	if a.Image != "" { // the agent comes with us
		a.Mounts = append(a.Mounts, backend.Mount{Program: true, Source: g.self[0], Target: "/.muster/muster", ReadOnly: true})
		g.self = []string{"/.muster/muster"}
	}
	a.Env = append(a.Env, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	a.Files = append(a.Files, backend.File{Name: "mpi-token", EnvVar: "MUSTER_MPI_TOKEN_FILE", Data: []byte(g.token)})
	if t.ID.Index > 0 {
		a.Argv = append(slices.Clone(g.self), MPIAgentArg)
		at := g.all[g.rank(t)]
		if at.own {
			at.address = "" // all of its own
		}
		a.Env = append(a.Env, "MUSTER_MPI_LISTEN="+at.String())
		return
	}
	var hosts, where strings.Builder
	for i := 1; i < len(g.all); i++ {
		name := fmt.Sprintf("%s-worker-%d", w.Name, i-1)
		fmt.Fprintf(&hosts, "%s slots=%d\n", name, w.Spec.SlotsOf())
		fmt.Fprintf(&where, "%s=%s ", name, g.all[i])
	}
	a.Files = append(a.Files, backend.File{Name: "hostfile", EnvVar: "MUSTER_MPI_HOSTFILE", Data: []byte(hosts.String())})
	a.Env = append(a.Env, "MUSTER_MPI_WORKERS="+strings.TrimSpace(where.String()))
	a.Prelude = append(a.Prelude, mpiPrelude(g.self)...)
	// Last of its steps: the workers do theirs meanwhile.
	a.Init = append(a.Init, backend.Init{Argv: append(slices.Clone(g.self), MPIWaitArg)})
}

// mpiPrelude points Open MPI's launcher at the host file and the agent, whose
// paths only the backend knows.
func mpiPrelude(self []string) []byte {
	agent := spec.ShellWords(strings.Join(append(slices.Clone(self), MPIShellArg), " ")) // Open MPI splits it at blanks
	return []byte("export OMPI_MCA_orte_default_hostfile=\"$MUSTER_MPI_HOSTFILE\" PRTE_MCA_prte_default_hostfile=\"$MUSTER_MPI_HOSTFILE\"\n" +
		"export OMPI_MCA_plm_rsh_agent=" + agent + " PRTE_MCA_plm_ssh_agent=" + agent + "\n" +
		"export OMPI_MCA_orte_keep_fqdn_hostnames=t OMPI_MCA_plm_rsh_no_tree_spawn=1\n")
}

// Bound is the assignment of a member.
func Bound(w *core.Workload, t *core.Task, tasks *workload.Tasks) backend.Assignment {
	a := backend.Assignment{
		ID: t.ID, Node: t.Node, Devices: t.Devices, Claim: t.Claim, Grace: w.Spec.GracePeriod.Std(),
		About: backend.About{Project: w.Project, Name: w.Name, Kind: w.Kind, Role: t.Role, User: w.User},
	}
	if w.Spec.MinWorkers < 2 {
		return a
	}
	for _, other := range tasks.All() {
		a.Gang += core.Bit(other.State == core.TaskStarting && other.PlacedAt.Equal(t.PlacedAt))
	}
	return a
}
