package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/access"
	"github.com/musterhq/muster/internal/cli/admin"
	"github.com/musterhq/muster/internal/cli/enter"
	"github.com/musterhq/muster/internal/cli/inspect"
	"github.com/musterhq/muster/internal/cli/limits"
	"github.com/musterhq/muster/internal/cli/logs"
	"github.com/musterhq/muster/internal/cli/reports"
	"github.com/musterhq/muster/internal/cli/review"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/cli/simulate"
	"github.com/musterhq/muster/internal/cli/submit"
	"github.com/musterhq/muster/internal/cli/top"
)

// command is one below muster: its name, then its other names.
type command struct {
	group, names string
	make         func(*session.Session) *cobra.Command
}

// commands are all of them, in the order in which they are listed.
func commands(hooks Hooks) []command {
	return []command{
		{"submit", "run submit", submit.NewRun},
		{"submit", "stop cancel", submit.NewStop},
		{"submit", "restart rerun", submit.NewRestart},
		{"submit", "delete rm", submit.NewDelete},
		{"submit", "scale", submit.NewScale},
		{"submit", "update", submit.NewUpdate},
		{"submit", "schedule schedules cron", submit.NewSchedule},
		{"submit", "import", submit.NewImport},
		{"submit", "export", submit.NewExport},
		{"look", "get list ls ps", inspect.NewGet},
		{"look", "describe show status", inspect.NewDescribe},
		{"look", "logs log", logs.NewLogs},
		{"look", "diff", inspect.NewDiff},
		{"look", "metrics", inspect.NewMetrics},
		{"look", "top", top.NewTop},
		{"look", "why", inspect.NewWhy},
		{"look", "ui", newUI},
		{"look", "share", inspect.NewShare},
		{"look", "wait", inspect.NewWait},
		{"look", "events history transitions", inspect.NewEvents},
		{"look", "lifecycle", inspect.NewLifecycle},
		{"look", "explain", inspect.NewExplain},
		{"enter", "exec connect", enter.NewExec},
		{"enter", "attach", enter.NewAttach},
		{"enter", "port-forward forward", enter.NewPortForward},
		{"enter", "cp", enter.NewCp},
		{"enter", "ssh-config", enter.NewSSHConfig},
		{"enter", "ssh-proxy", enter.NewSSHProxy},
		{"decide", "approve", submit.NewApprove},
		{"decide", "reject", submit.NewReject},
		{"decide", "approvals approval", review.NewApprovals},
		{"decide", "preempt", submit.NewPreempt},
		{"decide", "move", submit.NewMove},
		{"decide", "hold", submit.NewHold},
		{"decide", "release", submit.NewRelease},
		{"run", "util utilization", admin.NewUtil},
		{"run", "quota quotas", admin.NewQuota},
		{"run", "usage", admin.NewUsage},
		{"run", "report", reports.NewReport},
		{"run", "budget budgets", admin.NewBudget},
		{"run", "price prices", admin.NewPrice},
		{"run", "user-limit user-limits", limits.NewUserLimit},
		{"run", "apply", submit.NewApply},
		{"run", "project projects queue", func(s *session.Session) *cobra.Command { return admin.NewProjects(s, session.ProjectWord) }},
		{"run", "department departments", func(s *session.Session) *cobra.Command { return admin.NewProjects(s, session.DepartmentWord) }},
		{"run", "pool pools", admin.NewPool},
		{"run", "reservation reservations resv", admin.NewReservation},
		{"run", "license licenses licence licences", admin.NewLicense},
		{"run", "policy policies", admin.NewPolicy},
		{"run", "check checks", review.NewCheck},
		{"run", "node nodes", admin.NewNode},
		{"run", "cluster clusters", admin.NewCluster},
		{"run", "secret secrets", admin.NewSecret},
		{"run", "template templates", func(s *session.Session) *cobra.Command { return admin.NewTemplates(s, client.KindTemplate) }},
		{"run", "environment environments", func(s *session.Session) *cobra.Command { return admin.NewTemplates(s, client.KindEnvironment) }},
		{"run", "compute computes compute-resource", func(s *session.Session) *cobra.Command { return admin.NewTemplates(s, client.KindCompute) }},
		{"run", "datasource datasources data-source", func(s *session.Session) *cobra.Command { return admin.NewTemplates(s, client.KindDataSource) }},
		{"run", "datavolume datavolumes data-volume", func(s *session.Session) *cobra.Command { return admin.NewTemplates(s, client.KindDataVolume) }},
		{"run", "notifications notification", admin.NewNotifications},
		{"access", "login", access.NewLogin},
		{"access", "logout", access.NewLogout},
		{"access", "auth", access.NewAuth},
		{"access", "access", access.NewControl},
		{"access", "access-rule access-rules", access.NewRule},
		{"access", "role roles", access.NewRole},
		{"access", "user users", func(s *session.Session) *cobra.Command { return access.NewUsers(s, client.KindUser) }},
		{"access", "service-account service-accounts sa", func(s *session.Session) *cobra.Command { return access.NewUsers(s, client.KindServiceAccount) }},
		{"access", "token tokens", access.NewToken},
		{"access", "audit", access.NewAudit},
		{"run", "simulate sim", simulate.NewSimulate},
		{"run", "server", func(s *session.Session) *cobra.Command { return newServer(s, hooks) }},
		{"run", "doctor", func(s *session.Session) *cobra.Command { return newDoctor(s, hooks.Examine) }},
		{"run", "config", admin.NewConfig},
		{"run", "version", newVersion},
	}
}

// valued are the flags before a command that take the next word as their value.
var valued = []string{"--server", "--data-dir", "--output", "-o"}

// commandOf is the first word of a command line, if that is one of ours, or "" where
// it is none, or where what stands before it is not plain enough to tell.
func commandOf(args []string) string {
	if len(args) > 2 && completing(args) {
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
