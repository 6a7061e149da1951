package cli

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// shells are the commands that are meant to be typed at.
var shells = []string{"sh", "bash", "zsh", "fish", "dash", "ash", "ksh"}

// anyShell starts the best shell that a task has.
var anyShell = []string{"sh", "-c", "if command -v bash >/dev/null 2>&1; then exec bash; fi; exec sh"}

type execOptions struct {
	scope      scope
	task       int
	stdin, tty bool
}

func newExec(s *session) *cobra.Command {
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
			} else if args = dropNoun(args); len(args) > 1 {
				args, argv = args[:1], args[1:]
			}
			if args = dropNoun(args); len(args) > 1 {
				return usage(fmt.Sprintf("muster exec takes one workload, not %d", len(args)), cmd.UseLine())
			}
			return s.exec(cmd.Context(), o, first(args), argv)
		},
	}
	cmd.ValidArgsFunction = s.completeNames
	o.scope.register(s, cmd)
	f := cmd.Flags()
	f.IntVar(&o.task, "task", -1, "index of the task; default: the first that runs")
	f.IntVar(&o.task, "rank", -1, "the same as --task")
	f.BoolVarP(&o.stdin, "stdin", "i", false, "give the command this standard input")
	f.BoolVarP(&o.tty, "tty", "t", false, "give the command a terminal")
	return cmd
}

func (s *session) exec(ctx context.Context, o *execOptions, name string, argv []string) error {
	if s.io.InTerminal && (len(argv) == 0 || slices.Contains(shells, path.Base(argv[0])) && len(argv) == 1) {
		o.stdin, o.tty = true, true
	}
	if len(argv) == 0 {
		if !o.tty {
			return usage("there is no command", "muster exec WORKLOAD -- COMMAND; on a terminal it is a shell without one")
		}
		argv = anyShell
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	w, err := s.resolve(ctx, c, o.scope, name)
	if err != nil {
		return err
	}
	ctx, stop := deadly(ctx)
	defer stop()
	e := client.EnterOptions{Task: o.task, Command: argv, TTY: o.tty, Stdout: bare(s.io.Out), Stderr: bare(s.io.Err)}
	if o.stdin {
		e.Stdin = s.io.In
	}
	if o.tty {
		if kind := s.env("TERM"); kind != "" {
			e.Env = []string{"TERM=" + kind}
		}
	}
	if o.tty && o.stdin {
		raw, err := s.io.raw()
		if err != nil {
			return err
		}
		defer raw.restore()
		e.Stdin, e.Resize = guarded{s.io.In, raw}, raw.sizes(ctx)
	}
	code, err := c.Exec(ctx, w.Project, w.ID, e)
	if err != nil {
		return err
	}
	return silent(code)
}

type attachOptions struct {
	scope   scope
	task    int
	noStdin bool
}

func newAttach(s *session) *cobra.Command {
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
			args = dropNoun(args)
			if err := atMostOne(cmd, args); err != nil {
				return err
			}
			c, err := s.connect(cmd.Context())
			if err != nil {
				return err
			}
			w, err := s.resolve(cmd.Context(), c, o.scope, first(args))
			if err != nil {
				return err
			}
			return s.attach(cmd.Context(), c, w, o)
		},
	}
	cmd.ValidArgsFunction = s.completeNames
	o.scope.register(s, cmd)
	cmd.Flags().IntVar(&o.task, "task", -1, "index of the task; default: the first that runs")
	cmd.Flags().IntVar(&o.task, "rank", -1, "the same as --task")
	cmd.Flags().BoolVar(&o.noStdin, "no-stdin", false, "only watch")
	return cmd
}

// attach connects to a task until it ends or the user leaves.
func (s *session) attach(ctx context.Context, c *client.Client, w *api.Workload, o *attachOptions) error {
	task, err := runningTask(w, o.task)
	if err != nil {
		return err
	}
	if err := s.join(ctx, c, w, task, bare(s.io.Out), o.noStdin); err != nil {
		return s.left(ctx, w, err)
	}
	return s.taskEnd(ctx, c, w, task)
}

// join carries streams between this terminal and a task until either ends.
func (s *session) join(ctx context.Context, c *client.Client, w *api.Workload, task int, out io.Writer, noStdin bool) error {
	ctx, stop := deadly(ctx)
	defer stop()
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	e := client.EnterOptions{Task: task, Stdout: out, Stderr: out}
	d := docOf(w)
	switch {
	case noStdin || !d.TTY && !d.Stdin:
	case d.TTY:
		raw, err := s.io.raw()
		if err != nil {
			return err
		}
		defer raw.restore()
		if e.Stdin = s.io.In; raw != nil {
			s.sayRaw("attached to %s; ctrl-p ctrl-q leaves it running", w.Name)
			e.Stdin, e.Resize = &keys{from: s.io.In, raw: raw, leave: func() { leave(errDetached) }}, raw.sizes(ctx)
		}
	default:
		e.Stdin = s.io.In
	}
	err := c.Attach(ctx, w.Project, w.ID, e)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// left is what the end of an attachment by the user comes to.
func (s *session) left(ctx context.Context, w *api.Workload, err error) error {
	if err != errDetached && ctx.Err() == nil { //nolint:errorlint // the very value is the cause
		return err
	}
	s.say("Detached — still running. muster attach %s · muster stop %s", w.Name, w.Name)
	if ctx.Err() != nil {
		return silent(exitInterrupted)
	}
	return nil
}

// runningTask is the index of the task that is meant, which must run.
func runningTask(w *api.Workload, index int) (int, error) {
	a := lastAttempt(w)
	if a != nil {
		for _, t := range a.Tasks {
			if t.State == "running" && (index < 0 || t.Index == index) {
				return t.Index, nil
			}
		}
	}
	p := &api.Problem{Title: "Conflict", Status: 409, Code: "illegal_phase", Detail: fmt.Sprintf("%s is %s; no task of it runs", w.Name, phaseWord(w)), Hint: "muster describe " + w.Name + " shows its tasks"}
	switch {
	case index >= 0 && w.Tasks.Running > 0:
		p.Detail = fmt.Sprintf("task %d of %s does not run", index, w.Name)
	case ended(w):
		p.Hint = "muster restart " + w.Name + " runs it again"
	case !lifecycle.Phase(w.Phase).Held():
		p.Hint = "muster why " + w.Name + " says what it waits for"
	}
	return 0, &failure{code: exitConflict, problem: p}
}

// taskEnd waits until the end of a task is known and exits with its code.
func (s *session) taskEnd(ctx context.Context, c *client.Client, w *api.Workload, index int) error {
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
	w, err := s.until(ctx, c, w, func(w *api.Workload) bool {
		t := find(w)
		return ended(w) || w.Attempt > attempt || w.Phase == string(lifecycle.Backoff) || t != nil && (again(t) || over(t) && w.Tasks.Total > 1)
	})
	if err != nil {
		return err
	}
	t := find(w)
	switch {
	case ended(w):
		s.say("%s", result(w, s.clock()))
	case t != nil && over(t) && !again(t):
		s.say("task %d of %s has ended with exit code %s; %s is %s", index, w.Name, exitText(t.ExitCode), w.Name, phaseWord(w))
	default:
		s.say("task %d of %s has ended and is started again; muster attach %s connects to it", index, w.Name, w.Name)
		return nil
	}
	if t != nil && t.ExitCode != nil {
		return silent(*t.ExitCode)
	}
	return silent(exitOf(w, "workload"))
}
