// Package runai is the command line of Run:ai, of both ages: runai submit,
// list jobs, describe job, … and the nouns of the second, workspace, training,
// inference, … A job is a workload and a pod one of its tasks.
package runai

import (
	"slices"

	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// shared are sentences that several commands answer with.
const (
	noLogin     = "there is nothing to log in to: the server of this machine knows its user, and MUSTER_SERVER with MUSTER_TOKEN name another one."
	noReport    = "command lines are not reported to anybody."
	noKube      = "no kubeconfig is needed: everything goes through the server, which has its own."
	noUpgrade   = "the command line is part of muster and is upgraded with it."
	noWorkTypes = "kinds are fixed: training, distributed, workspace and inference."
)

// global are flags of every command.
var global = []compat.Flag{
	{Names: "project p", Arg: "NAME", Does: "the project; default: that of runai config project"},
	{Names: "loglevel", Arg: "LEVEL", Void: "there is no log of the command line: errors always come whole."},
	{Names: "config-path", Arg: "DIR", Void: "settings are muster's own: MUSTER_CONFIG names their file."},
	{Names: "config-file", Arg: "FILE", Void: "settings are muster's own: MUSTER_CONFIG names their file."},
	{Names: "debug d", Void: "there is no log of the command line: errors always come whole."},
	{Names: "quiet q", Does: "say only what was asked for"},
	{Names: "verbose", Void: "there is nothing more to tell."},
}

// words are runai's for what muster advises.
var words = compat.Words{
	Commands: []compat.Saying{
		{Ours: "get", Theirs: "runai list jobs"}, {Ours: "get nodes", Theirs: "runai list nodes"},
		{Ours: "describe", Theirs: "runai describe job"}, {Ours: "events", Theirs: "runai describe job"}, {Ours: "why", Theirs: "runai describe job"},
		{Ours: "logs", Theirs: "runai logs"}, {Ours: "logs -f", Theirs: "runai logs -f"}, {Ours: "attach", Theirs: "runai attach"}, {Ours: "exec", Theirs: "runai exec"}, {Ours: "port-forward", Theirs: "runai port-forward"},
		{Ours: "run", Theirs: "runai submit"}, {Ours: "stop", Theirs: "runai suspend"}, {Ours: "restart", Theirs: "runai resume"}, {Ours: "delete", Theirs: "runai delete job"}, {Ours: "top", Theirs: "runai top jobs"},
		{Ours: "project list", Theirs: "runai list projects"}, {Ours: "project create", Theirs: "runai project create"}, {Ours: "department list", Theirs: "runai department list"},
		{Ours: "pool list", Theirs: "runai nodepool list"}, {Ours: "node list", Theirs: "runai list nodes"}, {Ours: "node describe", Theirs: "runai describe node"}, {Ours: "cluster list", Theirs: "runai list clusters"},
		{Ours: "template list", Theirs: "runai template list"}, {Ours: "environment list", Theirs: "runai environment list"}, {Ours: "compute list", Theirs: "runai compute list"}, {Ours: "datasource list", Theirs: "runai datasource list"},
		{Ours: "secret create", Theirs: "runai my-credential create"}, {Ours: "secret list", Theirs: "runai my-credential list"}, {Ours: "secret delete", Theirs: "runai my-credential delete"},
		{Ours: "version", Theirs: "runai version"},
	},
	Flags: []compat.Saying{
		{Ours: "--task", Theirs: "--pod"}, {Ours: "--gpus", Theirs: "--gpu"},
		{Ours: "--all-tasks"}, {Ours: "--first-error"}, {Ours: "--failed"}, {Ours: "--attempt"}, {Ours: "--run"}, {Ours: "--build"}, {Ours: "--exit-status"},
		{Ours: "--all"}, {Ours: "--like"}, {Ours: "--secret"}, {Ours: "--dry-run"}, {Ours: "--kind"}, {Ours: "-it"}, {Ours: "--parent", Theirs: "--department"},
	},
	None: []string{
		"access", "access-rule", "apply", "approvals", "approve", "audit", "auth", "budget", "check", "config", "cp", "datavolume", "diff", "doctor", "explain", "export", "hold", "import", "license",
		"lifecycle", "login", "logout", "metrics", "move", "notifications", "policy", "preempt", "price", "quota", "reject", "release", "report", "reservation", "role", "scale", "schedule", "server",
		"service-account", "share", "simulate", "ssh-config", "token", "ui", "update", "usage", "user", "user-limit", "util", "wait",
	},
	Phase: compat.InDialect(lifecycle.RunaiJob),
}

// Tool is runai with all its commands.
func Tool() *compat.Command {
	return &compat.Command{
		Use: "runai", Short: "Run:ai's command line, on Muster", Global: global, Words: &words,
		Sub: slices.Concat(firstAge(), secondAge(), []*compat.Command{
			login(), void("logout", "", noLogin, true), whoami(),
			{Use: "version", Short: "Print the version", Flags: []compat.Flag{{Names: "short", Does: "only the number"}, {Names: "wide", Void: "the version is one number."}}, Run: version},
			void("upgrade", "", noUpgrade, true), void("update", "", noUpgrade, true),
			config(),
		}),
	}
}

// void is a command with no meaning here.
func void(use, also, why string, harmless bool) *compat.Command {
	return &compat.Command{Use: use, Also: also, Void: why, Harmless: harmless}
}

// firstAge are the commands that begin with a verb.
func firstAge() []*compat.Command {
	return []*compat.Command{
		submit("submit [flags] -- [COMMAND]", "Submit a job", nil),
		{Use: "submit-dist", Also: "submit-distributed", Short: "Submit a job of several pods", Sub: []*compat.Command{
			submit("mpi [flags] -- [COMMAND]", "With MPI", []string{"submit-dist", "mpi"}), submit("pytorch [flags] -- [COMMAND]", "With PyTorch", []string{"submit-dist", "pytorch"}),
			submit("tf [flags] -- [COMMAND]", "With TensorFlow", []string{"submit-dist", "tf"}), submit("xgboost [flags] -- [COMMAND]", "With XGBoost", []string{"submit-dist", "xgboost"}),
		}},
		// The oldest name of submit-dist mpi.
		hidden(submit("submit-mpi [flags] -- [COMMAND]", "With MPI", []string{"submit-dist", "mpi"})),
		{Use: "list", Also: "ls", Short: "List jobs, projects, nodes, …", Flags: listFlags(false), Run: func(c *compat.Call) error { return list(c, family{}, jobColumns) }, Sub: []*compat.Command{
			{Use: "jobs", Also: "job workloads", Short: "List jobs", Flags: listFlags(false), Run: func(c *compat.Call) error { return list(c, family{}, jobColumns) }},
			listProjects("projects"), listNodes("nodes"), listClusters("clusters"),
			{Use: "templates", Also: "template", Short: "List templates", Flags: formatFlags, Run: listAssets(templates)},
		}},
		{Use: "describe", Short: "Everything about a job or a node", Sub: []*compat.Command{
			describe("job NAME", "jobs workload", family{}, oldWords),
			{Use: "node [NAME]", Also: "nodes", Short: "A node and its GPUs", Most: 1, Run: describeNodes},
			describeAsset("template NAME", templates),
		}},
		{Use: "top", Short: "What nodes and jobs use", Sub: []*compat.Command{
			{Use: "nodes", Also: "node", Short: "What nodes hold", Flags: []compat.Flag{{Names: "details d", Does: "with each GPU"}}, Run: topNodes},
			{Use: "jobs", Also: "job", Short: "What jobs hold and have used", Flags: []compat.Flag{allFlag}, Run: topJobs},
		}},
		logs(family{}), bash(family{}), exec(family{}), attach(family{}), portForward(family{}),
		remove("delete [job] NAME…", family{}), suspend(family{}), resume(family{}),
		assets(templates),
	}
}

func hidden(c *compat.Command) *compat.Command { c.Hidden = true; return c }

// family is the workloads that a noun is about: all, of one kind, or of a
// framework.
type family struct {
	noun      string // workspace, training, …
	kinds     []string
	framework string
	path      []string // words before the verb, as written for submit
}

// secondAge are the commands that begin with a noun.
func secondAge() []*compat.Command {
	frameworks := func(words ...string) []*compat.Command {
		var out []*compat.Command
		for _, f := range []string{"pytorch", "tensorflow", "mpi", "xgboost", "jax"} {
			out = append(out, noun(family{noun: f, kinds: []string{"distributed"}, framework: f, path: append(slices.Clone(words), f)}, frameworkAlso[f], verbs))
		}
		return out
	}
	training := noun(family{noun: "training", kinds: []string{"training", "distributed"}, path: []string{"training"}}, "train", verbs)
	training.Sub = append(training.Sub, noun(family{noun: "standard", kinds: []string{"training"}, path: []string{"training", "standard"}}, "", verbs))
	training.Sub = append(training.Sub, frameworks("training")...)
	inference := noun(family{noun: "inference", kinds: []string{"inference"}, path: []string{"inference"}}, "", serviceVerbs)
	inference.Sub = append(inference.Sub,
		noun(family{noun: "standard", kinds: []string{"inference"}, path: []string{"inference", "standard"}}, "", serviceVerbs),
		void("distributed", "", "a replica is one task here: a service whose replicas are gangs is not there.", false),
		void("nim", "", "there is no operator for NVIDIA NIM: submit its image with runai inference submit -i IMAGE.", false))
	all := []*compat.Command{
		noun(family{noun: "workload", path: []string{"workload"}}, "workloads", []string{"submit", "list", "describe", "logs", "exec", "delete"}),
		noun(family{noun: "workspace", kinds: []string{"workspace"}, path: []string{"workspace"}}, "workspaces", verbs),
		training, inference,
	}
	distributed := noun(family{noun: "distributed", kinds: []string{"distributed"}, path: []string{"training", "pytorch"}}, "dist", verbs)
	all = append(all, frameworks("training")...)
	return append(all, hidden(distributed),
		&compat.Command{Use: "project", Also: "projects", Short: "Projects", Sub: []*compat.Command{
			listProjects("list"), {Use: "set NAME", Short: "Make a project the default one", Most: 1, Run: setProject},
			{Use: "create NAME", Short: "Make a project", Most: 1, Flags: projectFlags, Run: createProject},
		}},
		&compat.Command{Use: "department", Also: "departments", Short: "Departments", Sub: []*compat.Command{listDepartments()}},
		&compat.Command{Use: "node", Also: "nodes", Short: "Nodes", Sub: []*compat.Command{listNodes("list"), {Use: "describe [NAME]", Short: "A node and its GPUs", Most: 1, Run: describeNodes}}},
		&compat.Command{Use: "nodepool", Also: "nodepools node-pool", Short: "Node pools", Sub: []*compat.Command{listPools()}},
		&compat.Command{Use: "cluster", Also: "clusters", Short: "Clusters", Sub: []*compat.Command{listClusters("list"), void("set", "", "a workload may go to any cluster that its project may use; its document names one with clusters.", true)}},
		&compat.Command{Use: "pvc", Short: "Volumes", Sub: []*compat.Command{void("list", "", "claims are the cluster's own and are named in a document (volumes.claim): kubectl get pvc -n NAMESPACE lists them.", false)}},
		assets(computes), assets(dataSources), assets(environments),
		&compat.Command{Use: "my-credential", Also: "my-credentials", Short: "Secrets", Sub: credentials()},
		&compat.Command{Use: "workload-type", Also: "workload-types", Short: "Kinds of workloads", Sub: []*compat.Command{void("list", "", noWorkTypes, true)}},
		&compat.Command{Use: "auth", Short: "Tokens", Sub: []*compat.Command{{Use: "get", Short: "Tokens", Sub: []*compat.Command{void("token", "", noLogin, false)}}}},
		&compat.Command{Use: "kubeconfig", Short: "Kubernetes configuration", Sub: []*compat.Command{void("set", "", noKube, true)}},
		&compat.Command{Use: "report", Short: "Reports", Sub: []*compat.Command{{Use: "metrics", Short: "Reports", Sub: []*compat.Command{
			void("config", "", noReport, true), void("output", "", noReport, true), void("clear", "", noReport, true),
		}}}},
		&compat.Command{Use: "diagnostics", Short: "Diagnostics", Sub: []*compat.Command{void("collect-logs", "", "the server writes one log, server.log in its data directory: muster server status says where that is.", false)}},
	)
}

var frameworkAlso = map[string]string{"tensorflow": "tf"}

var (
	verbs        = []string{"submit", "list", "describe", "logs", "bash", "exec", "attach", "port-forward", "suspend", "resume", "delete"}
	serviceVerbs = []string{"submit", "list", "describe", "logs", "bash", "exec", "port-forward", "suspend", "resume", "delete", "update", "scale"}
)

// noun is a family with its verbs.
func noun(f family, also string, verbs []string) *compat.Command {
	cmd := &compat.Command{Use: f.noun, Also: also, Short: "Workloads of the sort " + f.noun}
	for _, v := range verbs {
		var sub *compat.Command
		switch v {
		case "submit":
			sub = submit("submit [NAME] [flags] -- [COMMAND]", "Submit one", append(slices.Clone(f.path), "submit"))
			if f.noun == "workload" {
				sub = submitManifest()
			}
		case "list":
			sub = &compat.Command{Use: "list", Also: "ls", Short: "List them", Flags: listFlags(true), Run: func(c *compat.Call) error { return list(c, f, workloadColumns) }}
		case "describe":
			sub = describe("describe NAME", "", f, newWords)
		case "logs":
			sub = logs(f)
		case "bash":
			sub = bash(f)
		case "exec":
			sub = exec(f)
		case "attach":
			sub = attach(f)
		case "port-forward":
			sub = portForward(f)
		case "suspend":
			sub = suspend(f)
		case "resume":
			sub = resume(f)
		case "delete":
			sub = remove("delete NAME…", f)
		case "update":
			sub = updateService(f)
		case "scale":
			sub = scale(f)
		}
		cmd.Sub = append(cmd.Sub, sub)
	}
	return cmd
}
