package slurm

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
)

// allocFlags are options of salloc that a batch script does not have.
var allocFlags = []compat.Flag{
	{Names: "bell", Void: "a line says that it has begun."},
	{Names: "no-bell", Void: "a line says that it has begun."},
	{Names: "no-shell", Void: "a job here is what runs in it: sbatch --wrap 'sleep infinity' holds nodes, and muster exec JOB -- COMMAND runs in them.", Refused: true},
	{Names: "kill-command K", Arg: "SIGNAL", Bare: "TERM", Void: "the command always ends with its job."},
	{Names: "immediate I", Arg: "SECONDS", Bare: "0", Void: "a job waits for its turn; scancel ends the waiting."},
	{Names: "x11", Arg: "WHICH", Bare: "all", Void: "there is no X11 forwarding.", Refused: true},
}

// allocOptions are all options of salloc.
func allocOptions() []compat.Flag {
	out := slices.Clone(allocFlags)
	for _, f := range Options() {
		if slices.ContainsFunc(allocFlags, func(a compat.Flag) bool { return a.Name() == f.Name() }) || slices.Contains([]string{"parsable", "test-only", "wrap", "array", "batch", "wait"}, f.Name()) {
			continue
		}
		names := slices.DeleteFunc(strings.Fields(f.Names), func(n string) bool { return n == "K" || n == "I" })
		f.Names = strings.Join(names, " ")
		out = append(out, f)
	}
	return out
}

// Salloc is salloc: the command, or a shell, runs on the first node of the job,
// as where Slurm is told so (slurm.schedmd.com/slurm.conf.html,
// use_interactive_step). srun in it starts steps.
func Salloc() *compat.Command {
	return &compat.Command{
		Use: "salloc [OPTIONS] [COMMAND [ARGUMENTS…]]", Words: &terms.Words, Fault: fault, Short: "Hold nodes while a command runs, or a shell", Stop: 1, Loose: true, Flags: allocOptions(),
		Long: `Submits a job whose command runs on its first node, with its variables; what srun
starts there are its steps. Without a command it is a shell, for which there must
be a terminal, or a file or pipe of commands.`,
		Run: salloc,
	}
}

func salloc(c *compat.Call) error {
	if done, err := terms.Asked(c); done {
		return err
	}
	words := append(slices.Clone(c.Args), c.After...)
	pty := c.Interactive()
	fed := !pty && fed(c)
	body, name := terms.AllocatedOne, "interactive"
	if len(words) == 0 {
		if !pty && !fed {
			return cli.Wrong("salloc without a command is a shell, and there is neither a terminal nor anything to read", "salloc COMMAND, or sbatch for what runs by itself")
		}
		body = terms.AllocatedShell
	}
	doc, err := batch(c, name, []byte(body), options(c, "SALLOC_"), words)
	if err != nil {
		return err
	}
	doc.TTY, doc.Stdin = pty, pty || fed
	w, err := c.Submit(c.Context, doc, false)
	if err != nil {
		return err
	}
	warn(c, "salloc", w)
	say := func(format string) {
		if !c.Bool("quiet") {
			c.Say(format, w.Number)
		}
	}
	say("salloc: Pending job allocation %d")
	got, err := c.Until(c.Context, w, begun)
	if c.Context.Err() != nil {
		return cancel(c, w)
	}
	if err != nil {
		return err
	}
	if got.Attempt == 0 && len(got.Attempts) == 0 || compat.Last(got).StartedAt == nil {
		say("salloc: Job allocation %d has been revoked.")
		return cli.Exit(1)
	}
	say("salloc: Granted job allocation %d")
	err = follow(c, w, pty || fed)
	if c.Context.Err() != nil {
		return cancel(c, w)
	}
	say("salloc: Relinquishing job allocation %d")
	if code := cli.CodeOf(err); code >= 10 && code <= 13 { // how it ended, where no task says it
		return cli.Exit(1)
	}
	return err
}

// begun reports whether a job has its nodes, or never will.
func begun(w *api.Workload) bool {
	a := compat.Last(w)
	return cli.Ended(w) || a != nil && a.StartedAt != nil && w.Tasks.Running+w.Tasks.Stopping+w.Tasks.Succeeded+w.Tasks.Failed > 0
}
