// Package sky is the command line of SkyPilot. A cluster there is a name here, under
// which jobs are submitted: machines are the server's, and hold nothing for a cluster
// that runs no job. A managed job is a workload without such a name.
package sky

import (
	"fmt"

	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// word is SkyPilot's for a phase (docs.skypilot.co, sky.JobStatus).
func word(p lifecycle.Phase) string {
	switch p {
	case lifecycle.Submitted, lifecycle.Reviewing, lifecycle.Building, lifecycle.Inadmissible, lifecycle.Queued, lifecycle.Reserved:
		return "PENDING"
	case lifecycle.Starting:
		return "SETTING_UP"
	case lifecycle.Backoff, lifecycle.Restarting:
		return "RECOVERING"
	case lifecycle.Completed:
		return "SUCCEEDED"
	case lifecycle.Stopped, lifecycle.Canceled, lifecycle.Preempted, lifecycle.Deleting, lifecycle.Deleted:
		return "CANCELLED"
	case lifecycle.Failed, lifecycle.TimedOut, lifecycle.Lost:
		return "FAILED"
	}
	return "RUNNING"
}

const (
	noCloud    = "the server's nodes are what there is: muster node list shows them."
	noIdle     = "a cluster that runs no job holds nothing, so there is nothing to stop by itself."
	noBuckets  = "buckets are not made or mounted: mount them on the nodes and write volumes."
	noPrice    = "nodes have no price."
	noServer   = "the server of this machine is found, or started, by itself; MUSTER_SERVER names another one."
	noMachines = "machines are the server's: muster node list shows them."
)

// yes is accepted by all that ask.
var yes = compat.Flag{Names: "yes y", Does: "do not ask"}

// taskFlags are what stands over a task's file, and what has no meaning here.
var taskFlags = []compat.Flag{
	{Names: "name n", Arg: "NAME", Does: "the task's name"},
	{Names: "workdir", Arg: "DIR", Does: "where it runs"},
	{Names: "num-nodes", Arg: "N", Does: "number of nodes"},
	{Names: "gpus", Arg: "TYPE:N", Does: "GPUs of each node"},
	{Names: "cpus", Arg: "N", Does: "CPUs of each node"},
	{Names: "memory", Arg: "GB", Does: "memory of each node"},
	{Names: "image-id", Arg: "IMAGE", Does: "its image: docker:IMAGE"},
	{Names: "ports", Arg: "PORT", Many: true, Does: "a port that it listens on"},
	{Names: "env", Arg: "NAME[=VALUE]", Many: true, Does: "a variable; without a value it is one's own"},
	{Names: "env-file", Arg: "FILE", Does: "variables, one on each line"},
	{Names: "secret", Arg: "NAME[=VALUE]", Many: true, Does: "the same as --env, and kept as a secret: muster secret create makes it"},
	{Names: "use-spot", Does: "it may be taken away for others"},
	{Names: "no-use-spot", Does: "it may not"},
	{Names: "detach-run d async", Does: "return as soon as it is submitted"},
	{Names: "dryrun", Does: "submit nothing; say whether it would be accepted"},
	{Names: "infra", Arg: "PLACE", Void: noCloud},
	{Names: "cloud", Arg: "NAME", Void: noCloud},
	{Names: "region", Arg: "NAME", Void: noCloud},
	{Names: "zone", Arg: "NAME", Void: noCloud},
	{Names: "instance-type t", Arg: "TYPE", Void: "write --gpus, --cpus and --memory: " + noMachines},
	{Names: "disk-size", Arg: "GB", Void: "disk is neither counted nor limited."},
	{Names: "disk-tier", Arg: "TIER", Void: "disk is neither counted nor limited."},
	{Names: "network-tier", Arg: "TIER", Void: "the network is the nodes'."},
	{Names: "config", Arg: "FILE", Void: "the server's own configuration counts."},
	{Names: "no-setup", Does: "leave the task's setup out"},
	yes,
}

// launchFlags are of clusters.
var launchFlags = []compat.Flag{
	{Names: "cluster c", Arg: "NAME", Does: "the cluster; default: a name that is made"},
	{Names: "retry-until-up r", Void: "a job waits until there is room for it."},
	{Names: "idle-minutes-to-autostop i", Arg: "MINUTES", Void: noIdle},
	{Names: "wait-for", Arg: "WHAT", Void: noIdle},
	{Names: "down", Void: noIdle},
	{Names: "fast", Void: "there is nothing to set up but what the task says."},
	{Names: "detach-setup s", Void: "setup is a part of the job: --detach-run returns at once."},
	{Names: "clone-disk-from", Arg: "NAME", Void: "clusters have no disks of their own.", Refused: true},
	{Names: "docker", Void: "write --image-id docker:IMAGE."},
	{Names: "backend-name", Arg: "NAME", Void: "there is one way to run tasks."},
	{Names: "git-url", Arg: "URL", Void: "write workdir: {url: …} in the file.", Refused: true},
	{Names: "git-ref", Arg: "REF", Void: "write workdir: {ref: …} in the file.", Refused: true},
}

// Tool is sky with all its commands.
func Tool() *compat.Command {
	void := func(use, why string, harmless bool) *compat.Command {
		return &compat.Command{Use: use, Short: why, Void: why, Harmless: harmless}
	}
	return &compat.Command{
		Use: "sky", Short: "Clusters, jobs and services of SkyPilot, on Muster", Words: compat.Ours(word),
		Flags: []compat.Flag{{Names: "version v", Does: "print the version"}}, Run: version,
		Sub: []*compat.Command{
			{
				Use: "launch [-c CLUSTER] [FILE | COMMAND…]", Short: "Submit a task as a job of a cluster, and follow it", Most: compat.All, Flags: append(append([]compat.Flag{}, launchFlags...), taskFlags...), Run: launch,
				Long: `Submits a task, from a file or a command line, as a job of a cluster and shows what
it writes. A cluster is the name under which jobs are kept: what sky exec runs in it
has what it was launched with. Exit codes are those of sky: 0 where the job has
succeeded, 100 where it has failed, 103 where it was cancelled.`,
			},
			{Use: "exec CLUSTER [FILE | COMMAND…]", Short: "Submit another job of a cluster, without its setup", Most: compat.All, Flags: append([]compat.Flag{{Names: "cluster c", Arg: "NAME", Does: "the cluster, instead of the first word"}}, taskFlags...), Run: execute},
			{
				Use: "status [CLUSTER…]", Short: "List clusters", Most: compat.All,
				Flags: []compat.Flag{
					{Names: "all a verbose v", Void: "there is nothing more to tell."}, {Names: "refresh r", Void: "what is listed is always current."}, {Names: "all-users u", Does: "those of everybody"},
					{Names: "ip", Does: "print the address of the first node alone"}, {Names: "endpoints", Does: "print the ports alone"}, {Names: "endpoint", Arg: "PORT", Does: "print the address of one port alone"},
					{Names: "show-managed-jobs", Does: "managed jobs below them, which is the default"}, {Names: "no-show-managed-jobs", Does: "leave managed jobs out"},
					{Names: "show-services", Void: "sky serve status lists services."}, {Names: "no-show-services", Void: "sky serve status lists services."}, {Names: "show-pools", Void: "there are no pools of workers."}, {Names: "no-show-pools", Void: "there are no pools of workers."},
					{Names: "kubernetes k8s", Void: "muster cluster list shows clusters of Kubernetes."},
				}, Run: status,
			},
			{
				Use: "queue [CLUSTER…]", Short: "List the jobs of clusters", Most: compat.All,
				Flags: []compat.Flag{{Names: "skip-finished s", Does: "only those that have not ended"}, {Names: "all-users a u", Does: "those of everybody"}}, Run: queue,
			},
			{
				Use: "logs CLUSTER [JOB]", Short: "Output of a job of a cluster, by default the latest", Most: 2,
				Flags: []compat.Flag{
					{Names: "follow", Does: "go on until it has ended, which is the default"}, {Names: "no-follow", Does: "only what there is"}, {Names: "tail", Arg: "N", Does: "only the last lines; 0: all"},
					{Names: "status", Does: "print how the job stands, and nothing else"}, {Names: "sync-down s", Void: "muster logs --all-tasks shows what each node wrote.", Refused: true}, {Names: "provision", Void: "muster events shows how a job was placed.", Refused: true},
					{Names: "worker", Arg: "N", Void: "muster logs --task shows another node's.", Refused: true}, {Names: "autostop", Void: noIdle, Refused: true},
				}, Run: logs,
			},
			{Use: "cancel CLUSTER [JOB…]", Short: "End jobs of a cluster, by default all that have not ended", Most: compat.All, Flags: []compat.Flag{yes, {Names: "all a", Does: "all of them"}, {Names: "all-users u", Does: "those of everybody"}, {Names: "async", Does: "do not wait"}}, Run: cancel},
			{Use: "stop [CLUSTER…]", Short: "End the jobs of clusters, which stay listed", Most: compat.All, Flags: overFlags, Run: stop},
			void("start", "a cluster that was stopped takes jobs as before: sky exec submits one.", true),
			{Use: "down [CLUSTER…]", Short: "End the jobs of clusters and forget them", Most: compat.All, Flags: append([]compat.Flag{{Names: "purge p", Void: "there is nothing outside of the server to forget."}, {Names: "graceful", Void: "what is ended has its grace period."}}, overFlags...), Run: down},
			void("autostop", noIdle, true),
			{Use: "check [PLACE…]", Short: "Say where jobs can run", Most: compat.All, Flags: []compat.Flag{{Names: "verbose v", Void: "there is nothing more to tell."}, {Names: "workspace w", Arg: "NAME", Void: "there are projects instead: muster project list."}}, Run: check},
			{Use: "show-gpus [TYPE]", Short: "List GPUs", Most: 1, Flags: gpuFlags, Run: gpus},
			{Use: "gpus", Short: "List GPUs", Sub: []*compat.Command{{Use: "list [TYPE]", Short: "List GPUs", Most: 1, Flags: gpuFlags, Run: gpus}}},
			jobs(), serve(),
			{Use: "api", Short: "The server", Sub: []*compat.Command{
				{Use: "info", Short: "Print which server is used", Flags: []compat.Flag{{Names: "output o", Arg: "FORMAT", Void: "it is printed as a table."}}, Run: info}, {Use: "status", Short: "Print which server is used", Most: compat.All, Run: info},
				void("start", noServer, true), void("stop", "muster server stop ends it.", true), void("login", "MUSTER_SERVER with MUSTER_TOKEN name another server.", true), void("logout", "unset MUSTER_TOKEN leaves a server.", true), void("logs", "commands wait for what they ask: there is nothing left to look at.", true), void("cancel", "commands wait for what they ask: there is nothing left to cancel.", true),
			}},
			void("cost-report", noPrice, true), void("dashboard", "muster ui opens the pages.", false), void("storage", noBuckets, false), void("volumes", "muster datavolume list shows volumes.", false), void("local", noMachines, false), void("ssh", noMachines, false),
			void("bench", "there is one sort of machines to choose from at a time.", false), void("optimize", noPrice, false), void("users", "users are names: muster get -A shows who has submitted what.", false), void("workspaces", "there are projects instead: muster project list.", false), void("recipes", "muster template list shows templates.", false),
		},
	}
}

func version(c *compat.Call) error {
	if !c.Bool("version") {
		c.Say("sky --help lists the commands")
		return nil
	}
	_, err := fmt.Fprintf(c.Out(), "skypilot, version %s (Muster)\n", c.Version().Version)
	return err
}

func info(c *compat.Call) error {
	client, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Out(), "SkyPilot API server: %s\n├── Status: healthy (Muster %s)\n└── User: %s\n", client.Address(), c.Version().Version, compat.Dash(c.Me()))
	return err
}
