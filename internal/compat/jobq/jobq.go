// Package jobq is jobq's command line, below muster: submit, list, status, logs
// and stop. A job is a workload, its queue a project.
package jobq

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// dialect is in whose words states are.
const dialect = string(lifecycle.Jobq)

// words are jobq's for what muster advises.
var words = compat.Words{
	Commands: []compat.Saying{
		{Ours: "get", Theirs: "muster jobq list"}, {Ours: "describe", Theirs: "muster jobq status"}, {Ours: "why", Theirs: "muster jobq status"},
		{Ours: "logs", Theirs: "muster jobq logs"}, {Ours: "logs -f", Theirs: "muster jobq logs -f"}, {Ours: "stop", Theirs: "muster jobq stop"}, {Ours: "run", Theirs: "muster jobq submit"},
	},
	Flags: []compat.Saying{
		{Ours: "--task"}, {Ours: "--all-tasks"}, {Ours: "--first-error"}, {Ours: "--failed"}, {Ours: "--attempt"}, {Ours: "--run"}, {Ours: "--build"}, {Ours: "--exit-status"},
		{Ours: "--project"}, {Ours: "--all"}, {Ours: "--like"}, {Ours: "--secret"}, {Ours: "--dry-run"}, {Ours: "--kind"}, {Ours: "-it"}, {Ours: "-p"}, {Ours: "-A"}, {Ours: "-f"}, {Ours: "-o"},
	},
	None: []string{
		"access", "access-rule", "apply", "approvals", "approve", "attach", "audit", "auth", "budget", "check", "cluster", "compute", "config", "cp", "datasource", "datavolume", "delete", "department", "diff",
		"doctor", "environment", "events", "exec", "explain", "export", "hold", "import", "license", "lifecycle", "login", "logout", "metrics", "move", "node", "notifications", "policy", "pool", "port-forward",
		"preempt", "price", "project", "quota", "reject", "release", "report", "reservation", "restart", "role", "scale", "schedule", "secret", "server", "service-account", "share", "simulate", "ssh-config",
		"template", "token", "top", "ui", "update", "usage", "user", "user-limit", "util", "version", "wait",
	},
	Phase: compat.InDialect(lifecycle.Jobq),
}

// Command is jobq with its commands.
func Command() *compat.Command {
	return &compat.Command{
		Use: "jobq", Short: "jobq's commands: submit, list, status, logs, stop", Words: &words,
		Global: []compat.Flag{{Names: "verbose v", Void: "there is nothing more to tell: errors always come whole."}},
		Sub: []*compat.Command{
			{
				Use: "submit [--mode MODE] ENTRYPOINT.py", Short: "Submit the functions of a file that are marked with @job", Most: 1,
				Flags: []compat.Flag{{Names: "mode", Arg: "MODE", Does: "kueue (the default) or cluster: as a workload; docker: the same, on the server's machine; local: in this process"}},
				Run:   submit,
			},
			{
				Use: "list", Short: "List jobs", Flags: []compat.Flag{
					{Names: "limit", Arg: "N", Does: "at most so many, 100 by default"},
					{Names: "filter", Arg: "KEY=VALUE", Many: true, Does: "only those: name, type, status, queue, priority, user, or a label"},
				}, Run: list,
			},
			{Use: "status ID", Short: "Details of a job", Most: 1, Names: true, Run: status},
			{Use: "logs ID", Short: "Output of a job", Most: 1, Names: true, Flags: []compat.Flag{
				{Names: "follow f stream", Does: "go on until it has ended"}, {Names: "tail", Arg: "N", Does: "only the last lines; -1: all"},
			}, Run: logs},
			{Use: "stop ID", Short: "End a job", Most: 1, Names: true, Run: stop},
		},
	}
}

//go:embed submit.py
var program string

// submit has Python find the functions of the file, as only Python can: the
// package jobq of muster's SDK knows what is to become of them.
func submit(c *compat.Call) error {
	file, err := c.Need("a Python file")
	if err != nil {
		return err
	}
	mode := cmp.Or(c.Text("mode"), "kueue")
	switch mode {
	case "kueue", "cluster", "docker", "local":
	case "rayjob":
		return cli.Wrong("--mode rayjob: no Ray cluster is made for a job", "submit it with --mode kueue, and start Ray in it")
	default:
		return cli.Wrong(fmt.Sprintf("--mode: %q is not known", mode), "kueue, docker or local")
	}
	if _, err := os.Stat(file); err != nil {
		return cli.Missing(err.Error(), "muster jobq submit FILE.py")
	}
	conn, err := c.Connect(c.Context) // so that the server is there for whoever asks in Python
	if err != nil {
		return err
	}
	python := cmp.Or(c.Env("PYTHON"), "python3")
	cmd := exec.CommandContext(c.Context, python, "-c", program, mode, file)
	c.Lend(cmd)
	cmd.Env = append(os.Environ(), "MUSTER_SERVER="+conn.Address())
	switch err := cmd.Run(); {
	case errors.Is(err, exec.ErrNotFound):
		return cli.Wrong(python+" is not there", "install Python 3, or name one with PYTHON")
	case err != nil && cmd.ProcessState != nil:
		return cli.Exit(max(cmd.ProcessState.ExitCode(), 1))
	default:
		return err
	}
}

// word is the state of a job.
func word(w *api.Workload) string { return compat.Dash(w.Statuses[dialect].Status) }

// mode is what jobq calls the type of a job.
func mode(w *api.Workload) string {
	if cli.Document(w).Image == "" && w.Image == "" {
		return "docker"
	}
	return "kueue"
}

// marked is a name with what its past was: left once, or failed pods.
func marked(w *api.Workload) string {
	for _, a := range w.Attempts {
		if a.Reason == string(lifecycle.ReasonPreempted) || (a.ExitCode != nil && *a.ExitCode != 0) {
			return w.Name + " [!]"
		}
	}
	if w.Phase == string(lifecycle.Inadmissible) {
		return w.Name + " [!]"
	}
	return w.Name
}

func list(c *compat.Call) error {
	limit, err := c.Int("limit", 100)
	if err != nil {
		return err
	}
	if limit < 1 {
		return cli.Wrong(fmt.Sprintf("--limit: %d is not a number of jobs", limit), "1 or more")
	}
	var filters [][2]string
	for _, f := range c.All("filter") {
		k, v, ok := strings.Cut(f, "=")
		if !ok {
			return cli.Wrong(fmt.Sprintf("--filter: %q is not KEY=VALUE", f), "like status=Succeeded")
		}
		filters = append(filters, [2]string{k, v})
	}
	// Of all queues, whichever is the usual one: a job names its own.
	ws, err := c.Pages(c.Context, client.ListOptions{}, limit, func(w *api.Workload) bool {
		return !slices.ContainsFunc(filters, func(f [2]string) bool { return !matches(w, f[0], f[1]) })
	})
	if err != nil {
		return err
	}
	var rows [][]string
	for i := range ws {
		w := &ws[i]
		rows = append(rows,
			[]string{marked(w), mode(w), word(w), w.Project, spec.Priority(w.Priority).String(), compat.Dash(when(w.CreatedAt)), compat.Dash(ran(c, w))},
			[]string{"  " + w.ID, "", "", "↳ " + compat.Dash(pools(w)), "", "", ""})
	}
	return c.Table([]string{"Name", "Type", "Status", "Queue name", "Priority", "Submitted", "Execution time"}, rows)
}

func matches(w *api.Workload, key, value string) bool {
	switch key {
	case "name":
		return compat.Matches([]string{value}, w.Name)
	case "type", "mode":
		return strings.EqualFold(value, mode(w))
	case "status":
		return strings.EqualFold(value, word(w))
	case "queue", "queue_name":
		return value == w.Project
	case "priority":
		return strings.EqualFold(value, spec.Priority(w.Priority).String())
	case "user", "submitter":
		return value == w.User
	}
	d := cli.Document(w)
	return d.Labels[key] == value || d.Annotations["x-jobq.io/"+key] == value
}

// pools are where a job may run: what Kueue's cluster queue is.
func pools(w *api.Workload) string {
	if p := cli.Document(w).Pools; len(p) > 0 {
		return strings.Join(p, ",")
	}
	return "default"
}

func when(t api.Time) string { return time.Time(t).Local().Format("2006-01-02 15:04:05") }

// ran is how long a job has been executed since it was last admitted.
func ran(c *compat.Call, w *api.Workload) string {
	a := compat.Last(w)
	if a == nil || a.StartedAt == nil {
		return ""
	}
	end := c.Now()
	if a.EndedAt != nil {
		end = compat.At(a.EndedAt)
	}
	return cli.Age(end.Sub(compat.At(a.StartedAt)))
}

func status(c *compat.Call) error {
	id, err := c.Need("the id of a job")
	if err != nil {
		return err
	}
	w, err := c.Find(c.Context, "", id)
	if err != nil {
		return err
	}
	evicted, inadmissible, failed := false, false, false
	for _, t := range w.Transitions {
		evicted = evicted || t.Reason == string(lifecycle.ReasonPreempted)
		inadmissible = inadmissible || t.To == string(lifecycle.Inadmissible)
	}
	for _, a := range w.Attempts {
		failed = failed || slices.ContainsFunc(a.Tasks, func(t api.Task) bool { return t.State == "failed" })
	}
	rows := [][]string{
		{"Name", w.Name}, {"ID", w.ID}, {"Type", mode(w)}, {"Status", word(w)},
		{"Queue name", w.Project}, {"Cluster queue", pools(w)}, {"Priority", spec.Priority(w.Priority).String()},
		{"Submitted by", w.User}, {"Submitted", when(w.CreatedAt)},
		{"Last admitted", admitted(w)}, {"Terminated", ended(w)}, {"Execution time", compat.Dash(ran(c, w))},
		{"Was evicted", fmt.Sprint(evicted)}, {"Was inadmissible", fmt.Sprint(inadmissible)}, {"Has failed pods", fmt.Sprint(failed)},
	}
	if !cli.Ended(w) {
		rows = append(rows, []string{"Now", c.Situation(w)})
	}
	return c.Table(nil, rows)
}

func admitted(w *api.Workload) string {
	if a := compat.Last(w); a != nil && a.StartedAt != nil {
		return when(*a.StartedAt)
	}
	return "-"
}

func ended(w *api.Workload) string {
	if w.EndedAt == nil {
		return "-"
	}
	return when(*w.EndedAt)
}

func logs(c *compat.Call) error {
	id, err := c.Need("the id of a job")
	if err != nil {
		return err
	}
	w, err := c.Find(c.Context, "", id)
	if err != nil {
		return err
	}
	args := []string{"logs", w.ID, "--project", w.Project, "--all-tasks"}
	if c.Bool("follow") {
		args = append(args, "--follow")
	}
	n, err := c.Int("tail", -1)
	if err != nil {
		return err
	}
	if n < -1 {
		return cli.Wrong(fmt.Sprintf("--tail: %d is not a number of lines", n), "-1 is all")
	}
	if n >= 0 {
		args = append(args, "--tail", fmt.Sprint(n))
	}
	return c.Muster(c.Context, args...)
}

func stop(c *compat.Call) error {
	id, err := c.Need("the id of a job")
	if err != nil {
		return err
	}
	w, err := c.Find(c.Context, "", id)
	if err != nil {
		return err
	}
	conn, err := c.Connect(c.Context)
	if err != nil {
		return err
	}
	if w, err = conn.Stop(c.Context, w.Project, w.ID, api.StopOptions{Message: "stopped with jobq"}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Out(), "Stopping %s: %s\n", w.Name, word(w))
	return err
}
