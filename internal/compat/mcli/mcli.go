// Package mcli is the command line of the MosaicML platform. A run is a
// workload, a node of a run one of its tasks, a resumption one of its attempts,
// and a deployment a workload of the kind inference.
package mcli

import (
	"fmt"

	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// words are mcli's for what muster advises.
var words = compat.Words{
	Commands: []compat.Saying{
		{Ours: "get", Theirs: "mcli get runs"}, {Ours: "get --all", Theirs: "mcli get runs --all-users"}, {Ours: "get nodes", Theirs: "mcli describe cluster"},
		{Ours: "describe", Theirs: "mcli describe run"}, {Ours: "events", Theirs: "mcli describe run"}, {Ours: "logs", Theirs: "mcli logs"}, {Ours: "logs -f", Theirs: "mcli logs --follow"},
		{Ours: "run", Theirs: "mcli run"}, {Ours: "run --like", Theirs: "mcli run --clone"}, {Ours: "restart", Theirs: "mcli run -r"}, {Ours: "stop", Theirs: "mcli stop run"},
		{Ours: "delete", Theirs: "mcli delete run"}, {Ours: "diff", Theirs: "mcli diff"}, {Ours: "attach", Theirs: "mcli connect"},
		{Ours: "exec WORKLOAD -- COMMAND", Theirs: "mcli connect RUN --command COMMAND"},
		{Ours: "util", Theirs: "mcli util"}, {Ours: "node list", Theirs: "mcli describe cluster"}, {Ours: "cluster list", Theirs: "mcli get clusters"}, {Ours: "cluster describe", Theirs: "mcli describe cluster"},
		{Ours: "secret create", Theirs: "mcli create secret"}, {Ours: "secret list", Theirs: "mcli get secrets"}, {Ours: "secret delete", Theirs: "mcli delete secrets"},
		{Ours: "version", Theirs: "mcli version"}, {Ours: "config view", Theirs: "mcli config"},
	},
	Flags: []compat.Saying{
		{Ours: "--task", Theirs: "--node-rank"}, {Ours: "--first-error", Theirs: "--first-exception"}, {Ours: "--attempt", Theirs: "--resumption"}, {Ours: "--previous", Theirs: "--prev"},
		{Ours: "--all-tasks"}, {Ours: "--run"}, {Ours: "--build"}, {Ours: "--exit-status"}, {Ours: "--project"}, {Ours: "--secret"}, {Ours: "--dry-run"}, {Ours: "--kind"}, {Ours: "-it"}, {Ours: "-p"}, {Ours: "-A"},
	},
	None: []string{
		"access", "access-rule", "apply", "approvals", "approve", "audit", "auth", "budget", "check", "compute", "cp", "datasource", "datavolume", "department", "doctor", "environment", "explain", "export",
		"hold", "import", "license", "lifecycle", "login", "logout", "metrics", "move", "notifications", "policy", "pool", "port-forward", "preempt", "price", "project", "quota", "reject", "release", "report",
		"reservation", "role", "scale", "schedule", "server", "service-account", "share", "simulate", "ssh-config", "template", "token", "top", "ui", "update", "usage", "user", "user-limit", "wait", "why",
	},
	Phase: func(p lifecycle.Phase) string { return compat.Upper(compat.InDialect(lifecycle.Mcli)(p)) },
}

// Tool is mcli with all its commands.
func Tool() *compat.Command {
	return &compat.Command{
		Use: "mcli", Short: "Runs of the MosaicML platform, on Muster", Loose: true, Words: &words,
		Global: []compat.Flag{
			{Names: "verbose v", Void: "there is nothing more to tell: errors always come whole."},
		},
		Flags: []compat.Flag{{Names: "version", Does: "print the version"}},
		Run:   version,
		Sub: []*compat.Command{
			run(), interactive(), connect(), logs(),
			{Use: "get", Also: "g", Short: "List runs, deployments, clusters, users or secrets", Sub: []*compat.Command{
				getRuns(), getDeployments(), getClusters(), getSecrets(), getUsers(),
			}},
			{Use: "describe", Also: "d desc", Short: "Everything about a run, a deployment or a cluster", Sub: []*compat.Command{
				describeRun(), describeDeployment(), describeCluster(),
			}},
			{Use: "stop", Short: "End runs or deployments", Sub: []*compat.Command{stopRuns(), stopDeployments()}},
			{Use: "delete", Also: "del", Short: "Delete runs, deployments or secrets", Sub: []*compat.Command{deleteRuns(), deleteDeployments(), deleteSecrets()}},
			{Use: "update", Short: "Change a run or a deployment", Sub: []*compat.Command{updateRun(), updateDeployment()}},
			{Use: "create", Also: "cr", Short: "Store a secret", Sub: []*compat.Command{createSecret()}},
			util(), watchdog(), diff(), deploy(), ping(), predict(),
			{Use: "version", Short: "Print the version", Run: version},
			{Use: "init", Also: "i", Flags: []compat.Flag{{Names: "no-input", Void: "nothing is ever asked here."}}, Harmless: true,
				Void: "there is nothing to set up: the server of this machine knows its user, and MUSTER_SERVER with MUSTER_TOKEN name another one."},
			{Use: "config", Also: "c", Short: "Print which server is used", Run: config},
			{Use: "set", Short: "Settings that have no meaning here", Sub: []*compat.Command{
				{Use: "api-key", Harmless: true, Void: "there are no API keys: the server of this machine knows its user by the socket, and MUSTER_TOKEN opens another one."},
				{Use: "feature", Harmless: true, Void: "there are no feature flags: everything is on."},
			}},
			{Use: "unset", Short: "Settings that have no meaning here", Sub: []*compat.Command{
				{Use: "api-key", Harmless: true, Void: "there are no API keys to forget; unset MUSTER_TOKEN leaves another server."},
				{Use: "feature", Harmless: true, Void: "there are no feature flags: everything is on."},
			}},
			{Use: "kube", Short: "What is for administrators of that platform", Sub: []*compat.Command{
				{Use: "get-config", Void: "clusters are the server's, not the user's: muster cluster list shows them, and whoever runs the server gives it their kubeconfig with --cluster NAME=FILE."},
				{Use: "merge-config", Void: "clusters are the server's, not the user's: muster cluster list shows them, and whoever runs the server gives it their kubeconfig with --cluster NAME=FILE."},
			}},
			{Use: "train", Void: "there is no managed training service with models and recipes of its own: write the training as a run and submit it with mcli run -f FILE."},
			{Use: "finetune", Void: "there is no managed fine-tuning service with models and recipes of its own: write it as a run and submit it with mcli run -f FILE."},
		},
	}
}

func version(c *compat.Call) error {
	_, err := fmt.Fprintf(c.Out(), "mcli (Muster %s)\n", c.Version().Version)
	return err
}

func config(c *compat.Call) error {
	client, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	return c.Table([]string{"SETTING", "VALUE"}, [][]string{{"server", client.Address()}, {"user", compat.Dash(c.Me())}, {"project", compat.Dash(c.Setting("MUSTER_PROJECT"))}})
}
