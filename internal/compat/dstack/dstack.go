// Package dstack is the command line of dstack. A run is a workload, a job of a run one
// of its tasks; fleets are the nodes that the server has.
package dstack

import (
	"fmt"

	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// word is dstack's for a phase (its RunStatus).
func word(p lifecycle.Phase) string {
	switch p {
	case lifecycle.Submitted, lifecycle.Reviewing, lifecycle.Building:
		return "submitted"
	case lifecycle.Inadmissible, lifecycle.Queued, lifecycle.Reserved, lifecycle.Backoff, lifecycle.Restarting:
		return "pending"
	case lifecycle.Starting:
		return "provisioning"
	case lifecycle.Terminating, lifecycle.Deleting:
		return "terminating"
	case lifecycle.Completed:
		return "done"
	case lifecycle.Stopped, lifecycle.Canceled, lifecycle.Preempted, lifecycle.Deleted:
		return "terminated"
	case lifecycle.Failed, lifecycle.TimedOut, lifecycle.Lost:
		return "failed"
	}
	return "running"
}

const (
	noFleet   = "fleets are the nodes that the server has: muster node list shows them."
	noCloud   = "the server's nodes are what there is: muster node list shows them."
	noPrice   = "nodes have no price."
	noServer  = "the server of this machine is found, or started, by itself; MUSTER_SERVER names another one."
	noRepo    = "code is not copied: runs work in the directory where they are applied, and clone what repos name."
	noGateway = "the server leads requests to services: muster port-forward, or its pages."
	noSSH     = "there is no ssh: muster exec enters a run, muster ssh-config writes what editors need."
)

// global are of all commands.
var global = []compat.Flag{{Names: "project", Arg: "NAME", Does: "the project; default: MUSTER_PROJECT"}}

var yes = compat.Flag{Names: "yes y", Does: "do not ask"}

// applyFlags stand over what the file says.
var applyFlags = []compat.Flag{
	{Names: "file f", Arg: "FILE", Does: "the configuration; default: .dstack.yml; - is standard input"},
	yes,
	{Names: "detach d", Does: "return as soon as it is submitted"},
	{Names: "force", Void: "a run of that name is always replaced as a whole."},
	{Names: "name n", Arg: "NAME", Does: "the run's name"},
	{Names: "env e", Arg: "NAME[=VALUE]", Many: true, Does: "a variable; without a value it is one's own"},
	{Names: "gpu", Arg: "SPEC", Does: "GPUs of each node, as resources.gpu"},
	{Names: "cpu", Arg: "SPEC", Does: "CPUs of each node"},
	{Names: "memory", Arg: "SPEC", Does: "memory of each node"},
	{Names: "disk", Arg: "SPEC", Void: "disk is neither counted nor limited."},
	{Names: "max-duration", Arg: "TIME", Does: "how long it may run"},
	{Names: "priority", Arg: "N", Does: "0 to 100"},
	{Names: "port p", Arg: "PORT", Many: true, Does: "a port that it listens on"},
	{Names: "profile", Arg: "NAME", Void: "there are no profiles: muster template list shows templates."},
	{Names: "max-offers", Arg: "N", Void: noPrice}, {Names: "max-price", Arg: "PRICE", Void: noPrice},
	{Names: "backend b", Arg: "NAME", Many: true, Void: noCloud}, {Names: "region r", Arg: "NAME", Many: true, Void: noCloud}, {Names: "instance-type", Arg: "NAME", Many: true, Void: noCloud},
	{Names: "fleet", Arg: "NAME", Many: true, Void: noFleet}, {Names: "reuse R", Void: noFleet}, {Names: "dont-destroy", Void: noFleet}, {Names: "idle-duration", Arg: "TIME", Void: noFleet}, {Names: "creation-policy", Arg: "WAY", Void: noFleet}, {Names: "instance", Arg: "NAME", Void: noFleet},
	{Names: "spot", Does: "it may be taken away for others"}, {Names: "on-demand", Does: "it may not"}, {Names: "spot-auto", Void: "whether it may be taken away its priority and quota say."}, {Names: "spot-policy", Arg: "POLICY", Void: "write --spot or --on-demand."},
	{Names: "retry", Void: "write retry in the file."}, {Names: "no-retry", Void: "write retry in the file."}, {Names: "retry-duration", Arg: "TIME", Void: "write retry in the file."},
	{Names: "repo P", Arg: "DIR", Void: noRepo}, {Names: "no-repo", Void: noRepo}, {Names: "repo-branch", Arg: "NAME", Void: noRepo, Refused: true}, {Names: "repo-hash", Arg: "HASH", Void: noRepo, Refused: true}, {Names: "local", Void: noRepo},
	{Names: "ssh-identity", Arg: "FILE", Void: noSSH}, {Names: "git-identity", Arg: "FILE", Void: "muster secret create makes a secret of type git-ssh."}, {Names: "token", Arg: "TOKEN", Void: "muster secret create makes a secret for git."}, {Names: "host", Arg: "HOST", Void: "muster port-forward opens ports."},
	{Names: "verbose v", Void: "there is nothing more to tell."},
}

// Tool is dstack with all its commands.
func Tool() *compat.Command {
	void := func(use, why string, harmless bool) *compat.Command {
		return &compat.Command{Use: use, Short: why, Void: why, Harmless: harmless}
	}
	return &compat.Command{
		Use: "dstack", Short: "Runs of dstack, on Muster", Words: compat.Ours(word), Global: global,
		Flags: []compat.Flag{{Names: "version v", Does: "print the version"}}, Run: version,
		Sub: []*compat.Command{
			{
				Use: "apply [-f FILE]", Short: "Submit a configuration, and follow its run", Most: compat.All, Flags: applyFlags, Run: apply,
				Long: `Submits the task, dev environment or service of a file, after a look at what it asks
for, and shows what it writes. A run of that name that is there is replaced. The exit
code is 1 where the run fails.`,
			},
			{
				Use: "ps [RUN]", Short: "List runs: those that have not ended, or else the latest", Most: 1,
				Flags: []compat.Flag{{Names: "all a", Does: "those that have ended too"}, {Names: "verbose v", Does: "each job of a run"}, {Names: "watch w", Does: "list again and again"}, {Names: "last n", Arg: "N", Does: "the latest N, ended or not"}, {Names: "json", Does: "as JSON"}, {Names: "format", Arg: "FORMAT", Does: "plain or json"}},
				Run:   ps,
			},
			{
				Use: "logs RUN", Short: "Output of a run", Most: 1,
				Flags: []compat.Flag{{Names: "diagnose d", Void: "muster events and muster why say how a run was placed.", Refused: true}, {Names: "attach a", Does: "go on until it has ended"}, {Names: "replica", Arg: "N", Does: "of this replica"}, {Names: "job", Arg: "N", Does: "of this node"}, {Names: "since", Arg: "AGE", Does: "only what was written since"}, {Names: "ssh-identity", Arg: "FILE", Void: noSSH}},
				Run:   logs,
			},
			{
				Use: "attach RUN", Short: "Follow a run", Most: 1,
				Flags: []compat.Flag{{Names: "logs", Does: "show its output, which is the default"}, {Names: "replica", Arg: "N", Does: "of this replica"}, {Names: "job", Arg: "N", Does: "of this node"}, {Names: "port p", Arg: "PORT", Many: true, Void: "muster port-forward opens ports."}, {Names: "ssh-identity", Arg: "FILE", Void: noSSH}, {Names: "host", Arg: "HOST", Void: "muster port-forward opens ports."}},
				Run:   attach,
			},
			{Use: "stop RUN", Short: "End a run", Most: 1, Flags: []compat.Flag{yes, {Names: "abort x", Does: "without waiting for it"}}, Run: stop},
			{Use: "delete [-f FILE]", Short: "End the run of a configuration and forget it", Most: compat.All, Flags: []compat.Flag{{Names: "file f", Arg: "FILE", Does: "the configuration; default: .dstack.yml"}, yes}, Run: remove},
			{Use: "offer", Short: "List nodes, with what they have", Flags: offerFlags, Run: offer},
			{Use: "metrics RUN", Also: "stats", Short: "What a run uses", Most: 1, Flags: []compat.Flag{{Names: "watch w", Void: "it is always watched: Ctrl-C ends it."}}, Run: metrics},
			void("init", noRepo, true), void("config", noServer, true), void("server", noServer, true),
			{Use: "project", Short: "Projects", Sub: []*compat.Command{
				{Use: "list", Short: "List projects", Flags: []compat.Flag{{Names: "verbose v", Void: "there is nothing more to tell."}}, Run: func(c *compat.Call) error { return c.Muster(c.Context, "project", "list") }},
				{Use: "set-default NAME", Short: "Keep the project that is used where none is named", Most: 1, Run: setDefault},
				void("add", noServer, true), void("delete", "muster project delete removes a project.", false),
			}},
			{Use: "secret", Also: "secrets", Short: "Secrets", Sub: []*compat.Command{
				{Use: "list", Short: "List secrets", Run: func(c *compat.Call) error { return c.Muster(c.Context, "secret", "list") }},
				void("set", "muster secret create env NAME=- reads its value from standard input.", false), void("get", "values of secrets are never shown.", false), void("delete", "muster secret delete NAME removes one.", false),
			}},
			{Use: "fleet", Short: "Nodes", Flags: []compat.Flag{{Names: "verbose v", Void: "there is nothing more to tell."}}, Run: fleets, Sub: []*compat.Command{
				{Use: "list", Short: "List nodes", Flags: []compat.Flag{{Names: "verbose v", Void: "there is nothing more to tell."}, {Names: "watch w", Void: "muster node list --watch lists them again and again."}}, Run: fleets}, void("delete", noFleet, false), void("get", noFleet, false),
			}},
			void("volume", "muster datavolume list shows volumes.", false), void("gateway", noGateway, false), void("event", "muster events RUN shows what happened to a run.", false), void("run", "dstack apply -f FILE submits a run.", false), void("login", noServer, true),
		},
	}
}

func version(c *compat.Call) error {
	if !c.Bool("version") {
		c.Say("dstack --help lists the commands")
		return nil
	}
	_, err := fmt.Fprintf(c.Out(), "%s (Muster)\n", c.Version().Version)
	return err
}
