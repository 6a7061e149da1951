package slurm

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// sendable are the signals that scancel sends, with their numbers on Linux.
var sendable = map[string]string{
	"1": "HUP", "2": "INT", "3": "QUIT", "9": "KILL", "10": "USR1", "12": "USR2", "14": "ALRM", "15": "TERM", "18": "CONT", "19": "STOP",
}

// signalNamed is what --signal says, without SIG; empty: nothing.
func signalNamed(c *compat.Call) (string, error) {
	text := strings.TrimPrefix(strings.ToUpper(c.Text("signal")), "SIG")
	if name, is := sendable[text]; is {
		return name, nil
	}
	for _, name := range sendable {
		if text == name || text == "" {
			return text, nil
		}
	}
	var all []string
	for _, name := range sendable {
		all = append(all, name)
	}
	slices.Sort(all)
	return "", cli.Wrong(fmt.Sprintf("--signal: %s cannot be sent", text), "write one of "+strings.Join(all, ", "))
}

// aimOf is to whom a signal goes: a step, the script (batch), all of a job's
// processes (full), what srun has started (steps); empty: it ends the job.
func aimOf(c *compat.Call, sig, step string) string {
	switch {
	case step == "batch":
		return "full"
	case step != "":
		return step
	case c.Bool("batch"):
		return "batch"
	case c.Bool("full") && sig != "":
		return "full"
	case sig == "" || sig == "TERM" || sig == "INT" || sig == "KILL":
		return ""
	}
	return "steps"
}

// send has a job's script hand a signal on.
func send(c *compat.Call, conn *client.Client, w victim, which, sig string) error {
	if sig == "" {
		sig = "TERM"
	}
	d := cli.Document(w.Workload)
	if d.Slurm == nil {
		return cli.Wrong(fmt.Sprintf("%s cannot be sent to a job that is no batch script", sig), "muster exec "+w.Name+" -- kill -"+sig+" PID sends it in a task")
	}
	var tasks []int
	if a := compat.Last(w.Workload); a != nil {
		for _, t := range a.Tasks {
			if t.State == string(core.TaskRunning) && (w.tasks == nil || slices.Contains(w.tasks, t.Index)) && (d.Array != nil || t.Index == 0) {
				tasks = append(tasks, t.Index)
			}
		}
	}
	if len(tasks) == 0 {
		return cli.Wrong("Job is pending execution", "scancel without --signal takes it out of the queue")
	}
	var failed []error
	for _, task := range tasks {
		var stderr bytes.Buffer
		code, err := conn.Exec(c.Context, w.Project, w.ID, client.EnterOptions{
			Task: task, Command: []string{"sh", "-c", `exec "$` + spec.SlurmToolVar + `" ` + spec.SlurmCancelArg + ` "$0" "$1"`, which, sig}, Stdout: &stderr, Stderr: &stderr,
		})
		switch {
		case err != nil:
			failed = append(failed, err)
		case code == spec.SlurmNoStep:
			failed = append(failed, cli.Missing("Invalid job step "+strconv.FormatInt(w.Number, 10)+"."+which+": it does not run", "steps are numbered from 0 in the order in which srun starts them"))
		case code == spec.SlurmNoScript:
			failed = append(failed, errors.New("its script does not run yet, or not any more"))
		case code != 0:
			failed = append(failed, fmt.Errorf("the signal was not sent: %s", strings.TrimSpace(stderr.String())))
		}
	}
	return errors.Join(failed...)
}
