// Package enter has the commands that reach into what runs: exec, attach, cp, ssh
// and port-forward.
package enter

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/inspect"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/cli/terminal"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// shells are the commands that are meant to be typed at.
var shells = []string{"sh", "bash", "zsh", "fish", "dash", "ash", "ksh"}

// AnyShell starts the best shell that a task has.
var AnyShell = []string{"sh", "-c", "if command -v bash >/dev/null 2>&1; then exec bash; fi; exec sh"}

type execOptions struct {
	scope      session.Scope
	task       int
	stdin, tty bool
}

// NewExec makes the command exec.
func NewExec(s *session.Session) *cobra.Command {
	o := &execOptions{}
	cmd := &cobra.Command{
		Use:     "exec [WORKLOAD] [flags] -- COMMAND ARGUMENTS…",
		Aliases: []string{"connect"},
		Short:   "Run a command beside a task, or a shell",
		Long: `Runs a command where a task runs: in its container, or with its environment and
directory. The exit code is the command's.

On a terminal a shell gets it, as with -it, and without a command it is a shell.`,
		Example: `  muster exec train-moons -- nvidia-smi
  muster exec gang --task 3 -it -- bash
  muster exec train-moons`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var argv []string
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				args, argv = args[:at], args[at:]
			} else if args = session.DropNoun(args); len(args) > 1 {
				args, argv = args[:1], args[1:]
			}
			if args = session.DropNoun(args); len(args) > 1 {
				return session.UsageError(fmt.Sprintf("muster exec takes one workload, not %d", len(args)), cmd.UseLine())
			}
			return exec(cmd.Context(), s, o, session.FirstName(args), argv)
		},
	}
	cmd.ValidArgsFunction = s.CompleteNames
	o.scope.Register(s, cmd)
	f := cmd.Flags()
	f.IntVar(&o.task, "task", -1, "index of the task; default: the first that runs")
	f.IntVar(&o.task, "rank", -1, "the same as --task")
	f.BoolVarP(&o.stdin, "stdin", "i", false, "give the command this standard input")
	f.BoolVarP(&o.tty, "tty", "t", false, "give the command a terminal")
	return cmd
}

func exec(ctx context.Context, s *session.Session, o *execOptions, name string, argv []string) error {
	if s.IO.InTerminal && (len(argv) == 0 || slices.Contains(shells, path.Base(argv[0])) && len(argv) == 1) {
		o.stdin, o.tty = true, true
	}
	if len(argv) == 0 {
		if !o.tty {
			return session.UsageError("there is no command", "muster exec WORKLOAD -- COMMAND; on a terminal it is a shell without one")
		}
		argv = AnyShell
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	w, err := s.Resolve(ctx, c, o.scope, name)
	if err != nil {
		return err
	}
	ctx, stop := terminal.Deadly(ctx)
	defer stop()
	e := client.EnterOptions{Task: o.task, Command: argv, TTY: o.tty, Stdout: terminal.Bare(s.IO.Out), Stderr: terminal.Bare(s.IO.Err)}
	if o.stdin {
		e.Stdin = s.IO.In
	}
	if o.tty {
		if kind := s.Env("TERM"); kind != "" {
			e.Env = []string{"TERM=" + kind}
		}
	}
	if o.tty && o.stdin {
		raw, err := s.IO.Raw()
		if err != nil {
			return err
		}
		defer raw.Restore()
		e.Stdin, e.Resize = terminal.Guarded{Reader: s.IO.In, Raw: raw}, raw.Sizes(ctx)
	}
	code, err := c.Exec(ctx, w.Project, w.ID, e)
	if err != nil {
		return err
	}
	return session.ExitCode(code)
}

type attachOptions struct {
	scope   session.Scope
	task    int
	noStdin bool
}

// NewAttach makes the command attach.
func NewAttach(s *session.Session) *cobra.Command {
	o := &attachOptions{}
	cmd := &cobra.Command{
		Use:   "attach [WORKLOAD]",
		Short: "Connect to a task's own terminal or streams",
		Long: `Shows what a task writes from now on and gives it what is typed, where its
document says tty or stdin. ctrl-p ctrl-q leaves it to itself; the exit code is
the task's when it ends.`,
		Example: `  muster attach notebook
  muster attach gang --task 2`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = session.DropNoun(args)
			if err := session.AtMostOne(cmd, args); err != nil {
				return err
			}
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			w, err := s.Resolve(cmd.Context(), c, o.scope, session.FirstName(args))
			if err != nil {
				return err
			}
			return attach(cmd.Context(), s, c, w, o)
		},
	}
	cmd.ValidArgsFunction = s.CompleteNames
	o.scope.Register(s, cmd)
	cmd.Flags().IntVar(&o.task, "task", -1, "index of the task; default: the first that runs")
	cmd.Flags().IntVar(&o.task, "rank", -1, "the same as --task")
	cmd.Flags().BoolVar(&o.noStdin, "no-stdin", false, "only watch")
	return cmd
}

// attach connects to a task until it ends or the user leaves.
func attach(ctx context.Context, s *session.Session, c *client.Client, w *api.Workload, o *attachOptions) error {
	task, err := runningTask(w, o.task)
	if err != nil {
		return err
	}
	if err := join(ctx, s, c, w, task, terminal.Bare(s.IO.Out), o.noStdin); err != nil {
		return left(ctx, s, w, err)
	}
	return taskEnd(ctx, s, c, w, task)
}

// join carries streams between this terminal and a task until either ends.
func join(ctx context.Context, s *session.Session, c *client.Client, w *api.Workload, task int, out io.Writer, noStdin bool) error {
	ctx, stop := terminal.Deadly(ctx)
	defer stop()
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	e := client.EnterOptions{Task: task, Stdout: out, Stderr: out}
	d := printers.DocOf(w)
	switch {
	case noStdin || !d.TTY && !d.Stdin:
	case d.TTY:
		raw, err := s.IO.Raw()
		if err != nil {
			return err
		}
		defer raw.Restore()
		if e.Stdin = s.IO.In; raw != nil {
			s.SayRaw("attached to %s; ctrl-p ctrl-q leaves it running", w.Name)
			e.Stdin, e.Resize = &terminal.Keys{From: s.IO.In, Raw: raw, Leave: func() { leave(terminal.ErrDetached) }}, raw.Sizes(ctx)
		}
	default:
		e.Stdin = s.IO.In
	}
	err := c.Attach(ctx, w.Project, w.ID, e)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// left is what the end of an attachment by the user comes to.
func left(ctx context.Context, s *session.Session, w *api.Workload, err error) error {
	if err != terminal.ErrDetached && ctx.Err() == nil { //nolint:errorlint // the very value is the cause
		return err
	}
	s.Say("Detached — still running. muster attach %s · muster stop %s", w.Name, w.Name)
	if ctx.Err() != nil {
		return session.ExitCode(session.ExitInterrupted)
	}
	return nil
}

// runningTask is the index of the task that is meant, which must run.
func runningTask(w *api.Workload, index int) (int, error) {
	a := printers.LastAttempt(w)
	if a != nil {
		for _, t := range a.Tasks {
			if t.State == "running" && (index < 0 || t.Index == index) {
				return t.Index, nil
			}
		}
	}
	p := &api.Problem{Title: "Conflict", Status: 409, Code: "illegal_phase", Detail: fmt.Sprintf("%s is %s; no task of it runs", w.Name, printers.PhaseWord(w)), Hint: "muster describe " + w.Name + " shows its tasks"}
	switch {
	case index >= 0 && w.Tasks.Running > 0:
		p.Detail = fmt.Sprintf("task %d of %s does not run", index, w.Name)
	case printers.Ended(w):
		p.Hint = "muster restart " + w.Name + " runs it again"
	case !lifecycle.Phase(w.Phase).Held():
		p.Hint = "muster why " + w.Name + " says what it waits for"
	}
	return 0, &session.Failure{Code: session.ExitConflict, Problem: p}
}

// taskEnd waits until the end of a task is known and exits with its code.
func taskEnd(ctx context.Context, s *session.Session, c *client.Client, w *api.Workload, index int) error {
	attempt, restarts := w.Attempt, 0
	find := func(w *api.Workload) *api.Task {
		for i := range w.Attempts {
			for j := range w.Attempts[i].Tasks {
				if t := &w.Attempts[i].Tasks[j]; w.Attempts[i].Index == attempt && t.Index == index {
					return t
				}
			}
		}
		return nil
	}
	if t := find(w); t != nil {
		restarts = t.Restarts
	}
	over := func(t *api.Task) bool { return t.State == "succeeded" || t.State == "failed" || t.State == "lost" }
	again := func(t *api.Task) bool { return t.Restarts > restarts || t.RestartAt != nil }
	w, err := inspect.Until(ctx, s, c, w, func(w *api.Workload) bool {
		t := find(w)
		return printers.Ended(w) || w.Attempt > attempt || w.Phase == string(lifecycle.Backoff) || t != nil && (again(t) || over(t) && w.Tasks.Total > 1)
	})
	if err != nil {
		return err
	}
	t := find(w)
	switch {
	case printers.Ended(w):
		s.Say("%s", printers.Result(w, s.Clock()))
	case t != nil && over(t) && !again(t):
		s.Say("task %d of %s has ended with exit code %s; %s is %s", index, w.Name, inspect.ExitText(t.ExitCode), w.Name, printers.PhaseWord(w))
	default:
		s.Say("task %d of %s has ended and is started again; muster attach %s connects to it", index, w.Name, w.Name)
		return nil
	}
	if t != nil && t.ExitCode != nil {
		return session.ExitCode(*t.ExitCode)
	}
	return session.ExitCode(printers.ExitOf(w, "workload"))
}
