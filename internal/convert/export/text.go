package export

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/convert/mcli"
	"github.com/musterhq/muster/internal/convert/slurm"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

func refusal(path, problem, hint string) codec.Errors {
	return codec.Errors{{Path: path, Problem: problem, Hint: hint}}
}

// toSbatch writes a script that does what doc does: a document that was made of
// one keeps its text, under directives that say what it is now.
func toSbatch(doc *spec.Document, over string) ([]byte, codec.Errors) {
	g := doc.Resources.GPU
	switch {
	case !doc.Kind.Batch():
		return nil, refusal("kind", fmt.Sprintf("a %s is no batch job", doc.Kind), "export it as kubernetes")
	case doc.Framework == "mpi":
		return nil, refusal("framework", "mpi has a launcher beside its workers, which Slurm has not", "export it as kubernetes")
	case doc.Array != nil && doc.Array.Grid != nil:
		return nil, refusal("array.grid", "gives each task parameters of its own, which Slurm does not", "submit one workload for each combination")
	case g.Kind() != spec.NoGPU && g.Kind() != spec.WholeGPU:
		return nil, refusal("resources.gpu", "asks for parts of GPUs, which Slurm does not share", "ask for whole ones")
	case doc.Master != nil:
		return nil, refusal("master", "differs from the other tasks, and Slurm's nodes are all the same", "export it as kubernetes")
	}
	var b strings.Builder
	interpreter, body := scriptOf(doc)
	b.WriteString(interpreter + "\n")
	directive := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "#SBATCH --%s=%s\n", name, directiveText(value))
		}
	}
	name := doc.NamePrefix
	if name == "" {
		name = doc.Name
	}
	if doc.Slurm != nil && doc.Slurm.Name != "" {
		name = doc.Slurm.Name
	}
	directive("job-name", name)
	if doc.Slurm != nil {
		directive("account", doc.Slurm.Account)
		directive("output", doc.Slurm.Output)
		directive("error", doc.Slurm.Error)
		directive("input", doc.Slurm.Input)
		directive("open-mode", doc.Slurm.OpenMode)
		directive("export", doc.Slurm.Export)
		directive("signal", doc.Slurm.Signal)
	} else if doc.Project != "default" {
		directive("account", doc.Project)
	}
	directive("partition", strings.Join(doc.Pools, ","))
	nodes := doc.Size()
	if doc.Array != nil {
		nodes = 1
	}
	if nodes > 1 {
		directive("nodes", fmt.Sprint(nodes))
	}
	tasksOf(doc, nodes, directive)
	if g.Count > 0 {
		text := fmt.Sprint(g.Count)
		if g.Type != "" {
			text = g.Type + ":" + text
		}
		directive("gpus-per-node", text)
	}
	if m := doc.Resources.Memory.Units(); m > 0 {
		directive("mem", fmt.Sprintf("%dK", (m+1023)>>10))
	}
	if t := int64(doc.MaxDuration.Std().Seconds()); t > 0 {
		directive("time", fmt.Sprintf("%d-%02d:%02d:%02d", t/86400, t/3600%24, t/60%60, t%60))
	}
	if a := doc.Array; a != nil {
		indexes := fmt.Sprintf("0-%d", max(a.Completions, 1)-1)
		if doc.Slurm != nil && doc.Slurm.Indexes != "" {
			indexes = doc.Slurm.Indexes
		}
		if a.Parallelism > 0 {
			indexes += fmt.Sprintf("%%%d", a.Parallelism)
		}
		directive("array", indexes)
	}
	directive("container-image", doc.Image)
	directive("chdir", doc.Workdir)
	if over != "" {
		b.WriteString(slurm.OverlayMark + over + "\n")
	}
	b.WriteString(body)
	return []byte(b.String()), nil
}

// directiveText quotes a value where it needs it.
func directiveText(s string) string {
	if strings.ContainsAny(s, " \t'\"#\\") {
		return spec.ShellWords(s)
	}
	return s
}

// tasksOf writes how many processes there are, and their CPUs.
func tasksOf(doc *spec.Document, nodes int, directive func(name, value string)) {
	cores := int((doc.Resources.CPU.Milli() + 999) / 1000)
	s := doc.Slurm
	if s == nil {
		if nodes > 1 {
			directive("ntasks-per-node", "1")
		}
		if cores > 0 {
			directive("cpus-per-task", fmt.Sprint(cores))
		}
		return
	}
	if s.Tasks > 0 {
		directive("ntasks", fmt.Sprint(s.Tasks))
	}
	if s.TasksPerNode > 0 {
		directive("ntasks-per-node", fmt.Sprint(s.TasksPerNode))
	}
	if s.CPUsPerTask > 0 {
		directive("cpus-per-task", fmt.Sprint(s.CPUsPerTask))
	}
}

// scriptOf is the first line of a script and what follows its directives.
func scriptOf(doc *spec.Document) (interpreter, body string) {
	if doc.Slurm != nil {
		for _, a := range doc.Command.Argv {
			if strings.HasPrefix(a, "#!") {
				return withoutDirectives(a)
			}
		}
	}
	var b strings.Builder
	env := pairTree(doc.Env)
	for i, name := range env.Names {
		fmt.Fprintf(&b, "export %s=%s\n", name, spec.ShellWords(env.Items[i].Text))
	}
	command := spec.ShellWords(append(append([]string{}, doc.Command.Argv...), doc.Args...)...)
	if len(doc.Command.Argv)+len(doc.Args) == 0 {
		command = "true"
	}
	if doc.Kind.Ranked() {
		b.WriteString("export MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1) MASTER_PORT=${MASTER_PORT:-29500}\n")
		b.WriteString("export WORLD_SIZE=$SLURM_NNODES NUM_NODES=$SLURM_NNODES\n")
		fmt.Fprintf(&b, "srun --ntasks-per-node=1 sh -c %s\n", spec.ShellWords("RANK=$SLURM_NODEID NODE_RANK=$SLURM_NODEID exec "+command))
		return "#!/bin/bash", b.String()
	}
	b.WriteString(command + "\n")
	return "#!/bin/bash", b.String()
}

// withoutDirectives takes the directives out of a script, which others follow.
func withoutDirectives(text string) (first, body string) {
	first, rest, _ := strings.Cut(text, "\n")
	var b strings.Builder
	commands := false
	for line := range strings.Lines(rest) {
		if trimmed := strings.TrimSpace(line); trimmed != "" && trimmed[0] != '#' {
			commands = true
		}
		if commands || !strings.HasPrefix(line, "#SBATCH") {
			b.WriteString(line)
		}
	}
	return first, b.String()
}

// toMcli writes the YAML of a run, or of a deployment.
func toMcli(doc *spec.Document, over string) ([]byte, codec.Errors) {
	g := doc.Resources.GPU
	switch {
	case doc.Image == "":
		return nil, refusal("image", "is missing: runs are containers", "write an image")
	case !doc.Kind.Batch() && (!doc.Kind.Replicated() || doc.Replicas == nil):
		return nil, refusal("kind", fmt.Sprintf("this %s is neither a run nor a deployment with a number of replicas", doc.Kind), "export it as kubernetes")
	case doc.Framework == "mpi" || doc.Master != nil:
		return nil, refusal("master", "differs from the other tasks, and the nodes of a run are all the same", "export it as kubernetes")
	case doc.Array != nil || doc.Slurm != nil:
		return nil, refusal("array", "runs have no arrays and are no scripts of Slurm", "export it as sbatch or kubernetes")
	case g.Kind() != spec.NoGPU && g.Kind() != spec.WholeGPU:
		return nil, refusal("resources.gpu", "asks for parts of GPUs, which runs do not share", "ask for whole ones")
	}
	nodes := doc.Size()
	if !doc.Kind.Batch() {
		nodes = 1 // of each replica
	}
	t := codec.Map()
	name := doc.NamePrefix
	if name == "" {
		name = doc.Name
	}
	if len(name) > mcli.MaxPrefix {
		name = strings.TrimRight(name[:mcli.MaxPrefix], "-")
	}
	t.Put("name", codec.Text(name))
	t.Put("image", codec.Text(doc.Image))
	t.Put("command", codec.Text(mcliCommand(doc)))
	c := of("gpus", g.Count*nodes)
	if nodes > 1 {
		c.Put("nodes", numberTree(nodes))
	}
	if g.Count > 0 {
		c.Put("gpu_type", codec.Text(g.Type))
	}
	if cpus := int(doc.Resources.CPU.Milli()/1000) * nodes; cpus > 0 {
		c.Put("cpus", numberTree(cpus))
	}
	t.Put("compute", c)
	if doc.Kind.Batch() {
		t.Put("scheduling", mcliScheduling(doc))
	} else {
		t.Put("replicas", numberTree(*doc.Replicas))
	}
	t.Put("integrations", mcliIntegrations(doc))
	t.Put("env_variables", pairTree(doc.Env))
	if p, ok := codec.TreeOf(map[string]any(doc.Parameters)); ok {
		t.Put("parameters", p)
	}
	metadata := pairTree(doc.Annotations)
	metadata.Put(source.OverlayName, codec.Text(over))
	t.Put("metadata", metadata)
	return t.YAML(), nil
}

// mcliCommand is the command as a text for bash.
func mcliCommand(doc *spec.Document) string {
	argv := doc.Command.Argv
	if len(argv) == 4 && len(doc.Args) == 0 && slices.Equal(argv[:3], []string{"/bin/sh", "-c", mcli.BashWhereThere}) {
		return argv[3]
	}
	if len(argv) == 3 && (argv[0] == "sh" || argv[0] == "/bin/bash" || argv[0] == "bash") && argv[1] == "-c" && len(doc.Args) == 0 {
		return argv[2]
	}
	return spec.ShellWords(append(append([]string{}, argv...), doc.Args...)...)
}

func mcliScheduling(doc *spec.Document) codec.Tree {
	s := codec.Map()
	for _, name := range []string{"lowest", "low", "high", "highest"} {
		if mcli.Priorities[name] == doc.Priority {
			s.Put("priority", codec.Text(name))
		}
	}
	if doc.Preemptible == nil || *doc.Preemptible {
		s.Put("preemptible", truthTree(true))
	}
	if doc.Retry.Limit > 0 {
		s.Put("max_retries", numberTree(doc.Retry.Limit))
	}
	if doc.Retry.System == nil || *doc.Retry.System > 0 {
		s.Put("retry_on_system_failure", truthTree(true))
	}
	if d := doc.MaxDuration.Std(); d > 0 {
		s.Put("max_duration", codec.Tree{Kind: codec.TreeNumber, Text: strconv.FormatFloat(d.Hours(), 'f', -1, 64)})
	}
	return s
}

func mcliIntegrations(doc *spec.Document) codec.Tree {
	all := list()
	for _, in := range doc.Integrations {
		switch {
		case in.Git != nil:
			t := of("integration_type", "git_repo", "git_repo", in.Git.Repo, "git_branch", in.Git.Branch, "git_commit", in.Git.Commit, "path", in.Git.Path, "pip_install", in.Git.Pip, "host", in.Git.Host)
			if in.Git.SSH != nil {
				t.Put("ssh_clone", truthTree(*in.Git.SSH))
			}
			all.Items = append(all.Items, t)
		case in.Pip != nil:
			all.Items = append(all.Items, of("integration_type", "pip_packages", "packages", texts(in.Pip.Packages), "upgrade", in.Pip.Upgrade))
		case in.Apt != nil:
			all.Items = append(all.Items, of("integration_type", "apt_packages", "packages", texts(in.Apt.Packages)))
		case in.Wandb != nil:
			all.Items = append(all.Items, of("integration_type", "wandb", "project", in.Wandb.Project, "entity", in.Wandb.Entity, "group", in.Wandb.Group, "job_type", in.Wandb.JobType, "tags", texts(in.Wandb.Tags)))
		case in.Comet != nil:
			all.Items = append(all.Items, of("integration_type", "comet_ml", "project", in.Comet.Project, "workspace", in.Comet.Workspace))
		case in.Mlflow != nil:
			all.Items = append(all.Items, of("integration_type", "mlflow", "experiment_name", in.Mlflow.Experiment, "tracking_uri", in.Mlflow.TrackingURI))
		}
	}
	return all
}
