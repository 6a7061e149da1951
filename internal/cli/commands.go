package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/client"
)

// command is one below muster: its name, then its other names.
type command struct {
	group, names string
	make         func(*session) *cobra.Command
}

// commands are all of them, in the order in which they are listed.
func commands(hooks Hooks) []command {
	return []command{
		{"submit", "run submit", newRun},
		{"submit", "stop cancel", newStop},
		{"submit", "restart rerun", newRestart},
		{"submit", "delete rm", newDelete},
		{"submit", "scale", newScale},
		{"submit", "update", newUpdate},
		{"submit", "import", newImport},
		{"submit", "export", newExport},
		{"look", "get list ls ps", newGet},
		{"look", "describe show status", newDescribe},
		{"look", "logs log", newLogs},
		{"look", "diff", newDiff},
		{"look", "metrics", newMetrics},
		{"look", "top", newTop},
		{"look", "why", newWhy},
		{"look", "ui", newUI},
		{"look", "wait", newWait},
		{"look", "events history transitions", newEvents},
		{"look", "lifecycle", newLifecycle},
		{"look", "explain", newExplain},
		{"enter", "exec connect", newExec},
		{"enter", "attach", newAttach},
		{"enter", "port-forward forward", newPortForward},
		{"enter", "cp", newCp},
		{"enter", "ssh-config", newSSHConfig},
		{"enter", "ssh-proxy", newSSHProxy},
		{"decide", "approve", newApprove},
		{"decide", "reject", newReject},
		{"decide", "preempt", newPreempt},
		{"decide", "move", newMove},
		{"decide", "hold", newHold},
		{"decide", "release", newRelease},
		{"run", "util utilization", newUtil},
		{"run", "quota quotas", newQuota},
		{"run", "usage", newUsage},
		{"run", "apply", newApply},
		{"run", "project projects queue", func(s *session) *cobra.Command { return newProjects(s, projectWord) }},
		{"run", "department departments", func(s *session) *cobra.Command { return newProjects(s, departmentWord) }},
		{"run", "pool pools", newPool},
		{"run", "reservation reservations resv", newReservation},
		{"run", "license licenses licence licences", newLicense},
		{"run", "node nodes", newNode},
		{"run", "cluster clusters", newCluster},
		{"run", "secret secrets", newSecret},
		{"run", "template templates", func(s *session) *cobra.Command { return newTemplates(s, client.KindTemplate) }},
		{"run", "environment environments", func(s *session) *cobra.Command { return newTemplates(s, client.KindEnvironment) }},
		{"run", "compute computes compute-resource", func(s *session) *cobra.Command { return newTemplates(s, client.KindCompute) }},
		{"run", "datasource datasources data-source", func(s *session) *cobra.Command { return newTemplates(s, client.KindDataSource) }},
		{"run", "datavolume datavolumes data-volume", func(s *session) *cobra.Command { return newTemplates(s, client.KindDataVolume) }},
		{"run", "notifications notification", newNotifications},
		{"run", "simulate sim", newSimulate},
		{"run", "server", func(s *session) *cobra.Command { return newServer(s, hooks) }},
		{"run", "config", newConfig},
		{"run", "version", newVersion},
	}
}

// valued are the flags before a command that take the next word as their value.
var valued = []string{"--server", "--data-dir", "--output", "-o"}

// commandOf is the first word of a command line, if that is one of ours, or "" where
// it is none, or where what stands before it is not plain enough to tell.
func commandOf(args []string) string {
	if len(args) > 2 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		args = args[1 : len(args)-1] // the last is what is being typed
	}
	for i := 0; i < len(args); i++ {
		switch word := args[i]; {
		case slices.Contains(valued, word):
			i++
		case word == "--no-autostart", word == "--no-color":
		case strings.HasPrefix(word, "-"):
			if name, _, has := strings.Cut(word, "="); !has || !slices.Contains(valued, name) {
				return ""
			}
		case slices.ContainsFunc(commands(Hooks{}), func(c command) bool { return slices.Contains(strings.Fields(c.names), word) }):
			return word
		default:
			return ""
		}
	}
	return ""
}
