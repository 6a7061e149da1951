package slurm

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
)

// stepFlags are options of srun that a batch script does not have: they are
// about the processes that it starts.
var stepFlags = []compat.Flag{
	{Names: "label l", Does: "before each line the number of its process"},
	{Names: "unbuffered u", Void: "output is shown as it comes."},
	{Names: "pty", Bare: "true", Arg: "FD", Does: "a terminal of its own, connected to this one"},
	{Names: "kill-on-bad-exit K", Arg: "0|1", Bare: "1", Void: "a process that fails always ends the others."},
	{Names: "mpi", Arg: "TYPE", Void: "ranks find one another by the variables that mpi4py, PyTorch and PMI over the environment read."},
	{Names: "overlap", Void: "outside of a job there is nothing to overlap with."},
	{Names: "exact", Void: "a job has exactly what it asks for."},
	{Names: "immediate I", Arg: "SECONDS", Bare: "5", Void: "a job waits for its turn; scancel ends the waiting."},
	{Names: "jobid", Arg: "JOB", Void: "a job cannot be entered with srun from outside: muster exec JOB -- COMMAND runs a command in it.", Refused: true},
	{Names: "multi-prog", Void: "each process runs the same command: let it choose by $SLURM_PROCID.", Refused: true},
	{Names: "preserve-env E", Void: "the number of tasks is as the options say."},
	{Names: "prolog", Arg: "PROGRAM", Void: "write what is to be run before into a script.", Refused: true},
	{Names: "epilog", Arg: "PROGRAM", Void: "write what is to be run after into a script.", Refused: true},
	{Names: "task-prolog", Arg: "PROGRAM", Void: "write what is to be run before into a script.", Refused: true},
	{Names: "task-epilog", Arg: "PROGRAM", Void: "write what is to be run after into a script.", Refused: true},
	{Names: "quit-on-interrupt", Void: "Ctrl-C always ends the job."},
	{Names: "disable-status X", Void: "Ctrl-C always ends the job."},
	{Names: "slurmd-debug", Arg: "LEVEL", Void: "there is nothing more to tell."},
	{Names: "msg-timeout", Arg: "SECONDS", Void: "commands wait as long as the server needs."},
	{Names: "max-exit-timeout", Arg: "SECONDS", Void: "a process that ends first does not end the others, unless it fails."},
	{Names: "relative r", Arg: "N", Void: "outside of a job nodes have no order.", Refused: true},
	{Names: "bcast", Arg: "DEST", Bare: "true", Void: "files are where the nodes see them.", Refused: true},
}

// stepLetters are letters that mean something else in srun than in sbatch.
var stepLetters = []string{"l", "u", "K", "I", "E", "X", "r"}

// StepOptions are all options of srun.
func StepOptions() []compat.Flag {
	out := slices.Clone(stepFlags)
	for _, f := range Options() {
		switch {
		case slices.ContainsFunc(stepFlags, func(s compat.Flag) bool { return s.Name() == f.Name() }), slices.Contains([]string{"parsable", "test-only", "wrap", "array", "batch"}, f.Name()):
			continue
		case f.Name() == "wait":
			f = compat.Flag{Names: "wait W", Arg: "SECONDS", Void: "a process that ends first does not end the others, unless it fails."}
		}
		names := strings.Fields(f.Names)
		names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(stepLetters, n) })
		f.Names = strings.Join(names, " ")
		out = append(out, f)
	}
	return out
}

// Srun is srun outside of a job: it submits one, shows what it writes and ends
// as it does.
func Srun() *compat.Command {
	return &compat.Command{
		Use: "srun [OPTIONS] COMMAND [ARGUMENTS…]", Words: &terms.Words, Fault: fault, Short: "Run a command as a job and see it through", Stop: 1, Loose: true, Flags: StepOptions(),
		Run: srun,
	}
}

func srun(c *compat.Call) error {
	if done, err := terms.Asked(c); done {
		return err
	}
	words := append(slices.Clone(c.Args), c.After...)
	if len(words) == 0 {
		return cli.Wrong("there is no command", "srun -n 4 python3 train.py")
	}
	body := terms.DirectOne
	if several(c) {
		body = terms.DirectSeveral
		if c.Bool("label") {
			body = terms.DirectLabel
		}
	}
	doc, err := batch(c, words[0], []byte(body), options(c, "SLURM_"), words)
	if err != nil {
		return err
	}
	pty := c.Given("pty")
	fed := !pty && fed(c)
	doc.TTY, doc.Stdin = pty, pty || fed
	w, err := c.Submit(c.Context, doc, false)
	if err != nil {
		return err
	}
	warn(c, "srun", w)
	if pty {
		return c.Interact(c.Context, w)
	}
	if !c.Bool("quiet") {
		c.Say("srun: job %d submitted: %s", w.Number, c.Situation(w))
	}
	err = follow(c, w, fed)
	if c.Context.Err() != nil {
		return cancel(c, w)
	}
	if code := cli.CodeOf(err); code >= 10 && code <= 13 && w.Kind != "" { // how it ended, where no task says it
		return cli.Exit(1)
	}
	return err
}

// fed reports whether there is something to read: a file or a pipe. What the
// first task reads comes from there, as of every program in a pipeline.
func fed(c *compat.Call) bool {
	if c.Given("input") {
		return false // the job opens it itself, or has none
	}
	f, ok := c.In().(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

// follow shows what a job writes, and ends as its first task does.
func follow(c *compat.Call, w *api.Workload, fed bool) error {
	if fed { // what has ended by then reads nothing
		now, err := c.Until(c.Context, w, func(w *api.Workload) bool { return cli.Ended(w) || w.Tasks.Running > 0 })
		if err != nil {
			return err
		}
		if !cli.Ended(now) {
			return c.Interact(c.Context, w)
		}
	}
	return c.Muster(c.Context, "logs", w.ID, "--project", w.Project, "--follow", "--task", "0", "--exit-status", "task")
}

// several reports whether the command runs more than once.
func several(c *compat.Call) bool {
	for _, f := range []string{"ntasks", "nodes", "ntasks-per-node"} {
		if v := c.Text(f); c.Given(f) && v != "1" {
			return true
		}
	}
	return c.Bool("label")
}

// cancelLimit is how long a job may take to hear that it is to end.
const cancelLimit = 10 * time.Second

// cancel ends a job whose srun was interrupted.
func cancel(c *compat.Call, w *api.Workload) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(c.Context), cancelLimit)
	defer stop()
	conn, err := c.Connect(ctx)
	if err != nil {
		return err
	}
	if _, err := conn.Stop(ctx, w.Project, w.ID, api.StopOptions{Message: "srun was interrupted"}); err != nil {
		return err
	}
	c.Say("srun: job %d is being ended", w.Number)
	return cli.Exit(130)
}
