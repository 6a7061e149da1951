// Package logs shows the output of tasks: picked, merged in the order of time and
// followed while it grows, or only the first error in it.
package logs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/cli/terminal"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

type logsOptions struct {
	scope      session.Scope
	follow     bool
	tasks      string
	attempt    string
	run        string
	tail       int
	since      string
	failed     bool
	firstError bool
	previous   bool
	all        bool
	times      bool
	build      bool
	exitStatus string
	flags      func(string) bool // whether a flag was given
}

// NewLogs makes the command logs.
func NewLogs(s *session.Session) *cobra.Command {
	o := &logsOptions{}
	cmd := &cobra.Command{
		Use:     "logs [WORKLOAD]",
		Aliases: []string{"log"},
		Short:   "Output of a workload's tasks",
		Long: `Prints what tasks wrote. Without a task it is the first one, or where the
workload failed the task that failed first. Logs outlive their tasks.

Of several tasks each line has its own in front, and lines are in the order in
which they were written, as exactly as is known: to a tenth of a second.

--first-error reads the output of all tasks and shows where it first tells of an
error: a Python traceback, CUDA out of memory, a NCCL error, a panic, a crash.`,
		Example: `  muster logs -f                    follow the latest of yours
  muster logs sweep --task 7 --tail 50
  muster logs gang --rank 0,2-3 --since 10m
  muster logs gang --first-error
  muster logs train-moons --attempt all`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = session.DropNoun(args)
			if err := session.AtMostOne(cmd, args); err != nil {
				return err
			}
			o.flags = cmd.Flags().Changed
			return logs(cmd.Context(), s, o, session.FirstName(args))
		},
	}
	cmd.ValidArgsFunction = s.CompleteNames
	o.register(s, cmd)
	return cmd
}

func (o *logsOptions) register(s *session.Session, cmd *cobra.Command) {
	o.scope.Register(s, cmd)
	f := cmd.Flags()
	f.BoolVarP(&o.follow, "follow", "f", false, "go on until the workload has ended, over all its attempts")
	f.StringVar(&o.tasks, "task", "", "index of the task, several like 0,2-3, or all")
	f.StringVar(&o.tasks, "rank", "", "the same as --task")
	f.StringVar(&o.attempt, "attempt", "", "number of the attempt, or all; default: the latest that began")
	f.StringVar(&o.run, "run", "", "of a task of an array that had to leave and runs again: number of the run, or all; default: the latest that began")
	f.IntVar(&o.tail, "tail", -1, "only the last lines, of each task")
	f.StringVar(&o.since, "since", "", "only what was written since: 10m, or an instant")
	f.BoolVar(&o.failed, "failed", false, "the task that failed first")
	f.BoolVar(&o.firstError, "first-error", false, "only the first error in the output of all tasks")
	f.BoolVar(&o.previous, "previous", false, "the attempt before the latest")
	session.FlagAlias(f, "attempt", "try")
	session.FlagAlias(f, "previous", "prev")
	f.BoolVar(&o.all, "all-tasks", false, "the same as --task all")
	f.BoolVar(&o.times, "timestamps", false, "before each line the time at which it was written")
	f.BoolVar(&o.build, "build", false, "the output of building its image instead")
	f.StringVar(&o.exitStatus, "exit-status", "none", "with --follow: none, workload (exit as the workload ended) or task")
}

func (o *logsOptions) check() error {
	given := o.flags("task") || o.flags("rank")
	switch {
	case o.flags("tail") && o.tail < 0:
		return session.UsageError(fmt.Sprintf("--tail: %d is negative", o.tail), "leave it out to see everything")
	case o.previous && o.flags("attempt"):
		return session.UsageError("--previous contradicts --attempt", "leave one of them out")
	case o.all && (given || o.failed), given && o.failed:
		return session.UsageError("--task, --failed and --all-tasks contradict one another", "keep one of them")
	case o.firstError && (o.follow || o.flags("tail") || o.times):
		return session.UsageError("--first-error contradicts --follow, --tail and --timestamps", "leave them out")
	case o.follow && o.flags("run") && o.run != allOfThem:
		return session.UsageError("--run "+o.run+" contradicts --follow, which goes on to the latest run", "--run all begins with the first")
	case o.firstError && o.flags("run"):
		return session.UsageError("--first-error contradicts --run: it reads the latest run of each task", "leave one of them out")
	case o.build && (o.flags("run") || given || o.failed || o.all || o.previous || o.flags("attempt") || o.firstError):
		return session.UsageError("--build contradicts what selects tasks and attempts: an image is built before there are any", "leave one of them out")
	}
	return session.OneOf("exit-status", o.exitStatus, "none", "workload", "task")
}

// wish is which part of each task's output is wanted, and how.
type wish struct {
	tail  *int
	since time.Time
	times bool
}

func logs(ctx context.Context, s *session.Session, o *logsOptions, name string) error {
	if err := o.check(); err != nil {
		return err
	}
	want := wish{times: o.times}
	if o.flags("tail") {
		want.tail = &o.tail
	}
	if o.since != "" {
		var err error
		if want.since, err = session.ParseWhen("since", o.since, s.Clock()); err != nil {
			return err
		}
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	w, err := s.Resolve(ctx, c, o.scope, name)
	if err != nil {
		return err
	}
	if o.build {
		return buildLogs(ctx, s, c, w, o, want)
	}
	attempts, err := o.attemptsOf(w)
	if err != nil {
		return err
	}
	if o.firstError {
		return printFirstErrors(ctx, s, c, w, o, attempts, want.since)
	}
	return attemptLogs(ctx, s, c, w, o, attempts, want)
}

// attemptLogs prints the output of attempts, the last of which may be followed.
func attemptLogs(ctx context.Context, s *session.Session, c *client.Client, w *api.Workload, o *logsOptions, attempts []int, want wish) error {
	shown := false
	for i, attempt := range attempts {
		tasks, err := pick(s, w, o, attempt)
		if err != nil {
			return err
		}
		if len(attempts) > 1 {
			s.Say("%s", s.Paint(s.IO.ErrTerminal, session.ToneTitle, attemptLine(attempt, attemptReason(w, attempt))))
		}
		if o.follow && i == len(attempts)-1 {
			return followLogs(ctx, s, c, w, o, attempt, tasks, want)
		}
		outputs, err := o.runs(w, attempt, tasks)
		if err != nil {
			return err
		}
		err = someLogs(ctx, s, c, w, attempt, outputs, want)
		if IsNoLogs(err) && len(attempts) > 1 {
			continue
		}
		if err != nil {
			return err
		}
		shown = true
	}
	if !shown {
		return noLogs(s, w)
	}
	return nil
}

// someLogs prints what runs of tasks of an attempt have written until now.
func someLogs(ctx context.Context, s *session.Session, c *client.Client, w *api.Workload, attempt int, tasks []taskRun, want wish) error {
	if one := tasks[0]; len(tasks) == 1 {
		if n := len(runsThere(w, attempt, one.index)); n > 1 {
			s.Say("Showing run %d of %d of task %d, which had to leave; --run N shows another, --run all every one", one.run, n, one.index)
		}
		return CopyLogs(ctx, s, c, w, client.LogOptions{Attempt: &attempt, Task: one.index, Run: &one.run, Tail: want.tail, Since: want.since, Times: want.times})
	}
	m := &merge{s: s, c: c, w: w, attempt: attempt, wish: want}
	if err := m.print(ctx, tasks); err != nil {
		return err
	}
	if len(m.next) == 0 {
		return noLogs(s, w)
	}
	return nil
}

func buildLogs(ctx context.Context, s *session.Session, c *client.Client, w *api.Workload, o *logsOptions, want wish) error {
	if o.exitStatus != "none" {
		return session.UsageError("--exit-status makes no sense with --build", "muster wait "+w.Name+" waits for its end")
	}
	err := CopyLogs(ctx, s, c, w, client.LogOptions{Part: "build", Follow: o.follow, Tail: want.tail, Since: want.since, Times: want.times})
	if IsNoLogs(err) {
		return &session.Failure{Code: session.ExitNotFound, Problem: &api.Problem{
			Title: "No logs", Status: 404, Code: "no_logs", Detail: w.Name + " has built no image", Hint: "muster explain build says how one is built",
		}}
	}
	return err
}

func followLogs(ctx context.Context, s *session.Session, c *client.Client, w *api.Workload, o *logsOptions, attempt int, tasks []int, want wish) error {
	f := NewFollower(s, c, w)
	f.wish, f.History, f.phases = want, false, false
	if len(tasks) < len(tasksOf(w, attempt)) {
		f.tasks = tasks
	}
	outputs, err := o.runs(w, attempt, tasks)
	if err != nil {
		return err
	}
	f.skipped = map[taskKey]bool{}
	for _, t := range outputs {
		for n := range t.run {
			if !slices.Contains(outputs, taskRun{t.index, n}) {
				f.skipped[taskKey{attempt, t.index, n}] = true
			}
		}
	}
	if o.flags("attempt") && o.attempt != allOfThem || o.previous {
		f.only = &attempt
	}
	f.Status = ""
	if o.exitStatus != "none" {
		f.Status = o.exitStatus
	}
	if len(tasks) > 1 { // what there is in the order of time, then what comes as it comes
		m := &merge{s: s, c: c, w: w, attempt: attempt, wish: want, hold: true}
		if err := m.print(ctx, outputs); err != nil {
			return err
		}
		f.shown = m.next
	}
	return f.Follow(ctx)
}

// CopyLogs prints the output of one task as it is.
func CopyLogs(ctx context.Context, s *session.Session, c *client.Client, w *api.Workload, o client.LogOptions) error {
	body, err := c.Logs(ctx, client.AllProjects, w.ID, o)
	if IsNoLogs(err) {
		return noLogs(s, w)
	}
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(terminal.Bare(s.IO.Out), body)
	return err
}

// IsNoLogs reports whether the server says that a task has no output yet.
func IsNoLogs(err error) bool {
	p := session.ProblemOf(err)
	return p != nil && p.Code == "no_logs"
}

// noLogs says why there is no output.
func noLogs(s *session.Session, w *api.Workload) error {
	p := &api.Problem{Title: "No logs", Status: 404, Code: "no_logs", Detail: fmt.Sprintf("%s has written nothing: it has not started", w.Name)}
	switch {
	case w.StartedAt != nil:
		p.Detail, p.Hint = fmt.Sprintf("there is no output of that task of %s", w.Name), "muster describe "+w.Name+" shows every task"
	case w.Reason == string(lifecycle.ReasonImageBuildFailed):
		p.Detail = fmt.Sprintf("%s never started: %s", w.Name, printers.Situation(w, s.Moments(session.TableFlags{})))
		p.Hint = "muster logs " + w.Name + " --build shows the output of its build"
	case printers.Ended(w):
		p.Detail, p.Hint = fmt.Sprintf("%s never started: %s", w.Name, printers.Situation(w, s.Moments(session.TableFlags{}))), "muster events "+w.Name+" shows its history"
	default:
		p.Detail += "; it is " + printers.Situation(w, s.Moments(session.TableFlags{}))
		p.Hint = fmt.Sprintf("muster logs -f %s waits for it; muster why %s says what it waits for", w.Name, w.Name)
	}
	return &session.Failure{Code: session.ExitNotFound, Problem: p}
}
