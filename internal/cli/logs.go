package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

type logsOptions struct {
	scope      scope
	follow     bool
	task       int
	attempt    int
	tail       int
	failed     bool
	previous   bool
	all        bool
	exitStatus string
	flags      func(string) bool // whether a flag was given
}

func newLogs(s *session) *cobra.Command {
	o := &logsOptions{}
	cmd := &cobra.Command{
		Use:     "logs [WORKLOAD]",
		Aliases: []string{"log"},
		Short:   "Output of a workload's tasks",
		Long: `Prints what a task wrote. Without a task it is the first one, or where the
workload failed the task that failed first. Logs outlive their tasks.`,
		Example: `  muster logs -f                    follow the latest of yours
  muster logs sweep --task 7 --tail 50
  muster logs gang --all-tasks
  muster logs train-moons --previous  the attempt before`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = dropNoun(args)
			if err := atMostOne(cmd, args); err != nil {
				return err
			}
			o.flags = cmd.Flags().Changed
			return s.logs(cmd.Context(), o, first(args))
		},
	}
	cmd.ValidArgsFunction = s.completeNames
	o.scope.register(s, cmd)
	f := cmd.Flags()
	f.BoolVarP(&o.follow, "follow", "f", false, "go on until the workload has ended, over all its attempts")
	f.IntVar(&o.task, "task", 0, "index of the task")
	f.IntVar(&o.task, "rank", 0, "the same as --task")
	f.IntVar(&o.attempt, "attempt", -1, "number of the attempt; default: the latest that began")
	f.IntVar(&o.tail, "tail", -1, "only the last lines")
	f.BoolVar(&o.failed, "failed", false, "the task that failed first")
	f.BoolVar(&o.previous, "previous", false, "the attempt before the latest")
	f.BoolVar(&o.all, "all-tasks", false, "every task, each line with the task in front")
	f.StringVar(&o.exitStatus, "exit-status", "none", "with --follow: none, workload (exit as the workload ended) or task")
	return cmd
}

func (o *logsOptions) check() error {
	given := o.flags("task") || o.flags("rank")
	switch {
	case given && o.task < 0:
		return usage(fmt.Sprintf("--task: %d is negative", o.task), "tasks are numbered from 0")
	case o.flags("attempt") && o.attempt < 0:
		return usage(fmt.Sprintf("--attempt: %d is negative", o.attempt), "attempts are numbered from 0")
	case o.flags("tail") && o.tail < 0:
		return usage(fmt.Sprintf("--tail: %d is negative", o.tail), "leave it out to see everything")
	case o.previous && o.flags("attempt"):
		return usage("--previous contradicts --attempt", "leave one of them out")
	case o.all && (given || o.failed), given && o.failed:
		return usage("--task, --failed and --all-tasks contradict one another", "keep one of them")
	}
	return oneOf("exit-status", o.exitStatus, "none", "workload", "task")
}

func (s *session) logs(ctx context.Context, o *logsOptions, name string) error {
	if err := o.check(); err != nil {
		return err
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	w, err := s.resolve(ctx, c, o.scope, name)
	if err != nil {
		return err
	}
	attempt, err := o.attemptOf(w)
	if err != nil {
		return err
	}
	task, err := s.taskOf(w, o, attempt)
	if err != nil {
		return err
	}
	var tail *int
	if o.flags("tail") {
		tail = &o.tail
	}
	if o.follow {
		return s.followLogs(ctx, c, w, o, attempt, task, tail)
	}
	if task == nil {
		return s.allLogs(ctx, c, w, attempt, tail)
	}
	return s.copyLogs(ctx, c, w, client.LogOptions{Attempt: &attempt, Task: *task, Tail: tail}, nil)
}

// attemptOf is the attempt that is meant: by default the latest that began, as
// one that waits has written nothing yet.
func (o *logsOptions) attemptOf(w *api.Workload) (int, error) {
	n := w.Attempt
	switch {
	case o.flags("attempt"):
		n = o.attempt
	case o.previous:
		n = w.Attempt - 1
	case !o.follow:
		for n > 0 && n < len(w.Attempts) && w.Attempts[n].StartedAt == nil {
			n--
		}
	}
	if n < 0 || n > w.Attempt {
		return 0, missing(fmt.Sprintf("%s has no attempt %d; the latest is %d", w.Name, n, w.Attempt), "muster describe "+w.Name+" shows every attempt")
	}
	return n, nil
}

// taskOf is the task that is meant; nil is all of them.
func (s *session) taskOf(w *api.Workload, o *logsOptions, attempt int) (*int, error) {
	var culprit *int
	if attempt < len(w.Attempts) {
		culprit = w.Attempts[attempt].Culprit
	}
	zero := 0
	switch {
	case o.all:
		return nil, nil
	case o.flags("task") || o.flags("rank"):
		if o.task >= w.Tasks.Total {
			return nil, missing(fmt.Sprintf("%s has no task %d; it has %s, from 0", w.Name, o.task, plural(w.Tasks.Total, "task")), "muster describe "+w.Name+" shows every task")
		}
		return &o.task, nil
	case o.failed && culprit == nil:
		return nil, missing(fmt.Sprintf("no task of attempt %d of %s has failed", attempt, w.Name), "leave out --failed")
	case culprit != nil && (o.failed || w.Tasks.Total > 1 && w.Phase == string(lifecycle.Failed)):
		s.say("Showing task %d, which failed first; --task N shows another", *culprit)
		return culprit, nil
	case w.Tasks.Total > 1 && o.follow:
		return nil, nil
	case w.Tasks.Total > 1:
		s.say("Showing task 0 of %d; --task N shows another, --all-tasks all", w.Tasks.Total)
	}
	return &zero, nil
}

func (s *session) followLogs(ctx context.Context, c *client.Client, w *api.Workload, o *logsOptions, attempt int, task, tail *int) error {
	f := newFollower(s, c, w)
	f.task, f.tail, f.history, f.phases = task, tail, false, false
	if o.flags("attempt") || o.previous {
		f.only = &attempt
	}
	f.status = ""
	if o.exitStatus != "none" {
		f.status = o.exitStatus
	}
	return f.follow(ctx)
}

// allLogs prints the output of every task, one after another.
func (s *session) allLogs(ctx context.Context, c *client.Client, w *api.Workload, attempt int, tail *int) error {
	any := false
	for i := range w.Tasks.Total {
		prefix := fmt.Sprintf("[%s %d] ", roleOf(w, attempt, i), i)
		err := s.copyLogs(ctx, c, w, client.LogOptions{Attempt: &attempt, Task: i, Tail: tail}, []byte(prefix))
		var f *failure
		if errors.As(err, &f) && f.problem != nil && f.problem.Code == "no_logs" {
			continue
		}
		if err != nil {
			return err
		}
		any = true
	}
	if !any {
		return s.noLogs(w)
	}
	return nil
}

func roleOf(w *api.Workload, attempt, index int) string {
	if attempt < len(w.Attempts) {
		for _, t := range w.Attempts[attempt].Tasks {
			if t.Index == index {
				return t.Role
			}
		}
	}
	return "task"
}

func (s *session) copyLogs(ctx context.Context, c *client.Client, w *api.Workload, o client.LogOptions, prefix []byte) error {
	body, err := c.Logs(ctx, client.AllProjects, w.ID, o)
	var p *api.Problem
	if errors.As(err, &p) && p.Code == "no_logs" {
		return s.noLogs(w)
	}
	if err != nil {
		return err
	}
	defer body.Close()
	if prefix == nil {
		_, err = io.Copy(s.io.Out, body)
		return err
	}
	r := bufio.NewReader(body)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			if line[len(line)-1] != '\n' {
				line = append(line, '\n')
			}
			if _, err := s.io.Out.Write(append(prefix[:len(prefix):len(prefix)], line...)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// noLogs says why there is no output.
func (s *session) noLogs(w *api.Workload) error {
	p := &api.Problem{Title: "No logs", Status: 404, Code: "no_logs", Detail: fmt.Sprintf("%s has written nothing: it has not started", w.Name)}
	switch {
	case w.StartedAt != nil:
		p.Detail, p.Hint = fmt.Sprintf("there is no output of that task of %s", w.Name), "muster describe "+w.Name+" shows every task"
	case ended(w):
		p.Detail, p.Hint = fmt.Sprintf("%s never started: %s", w.Name, situation(w, s.moments(tableFlags{}))), "muster events "+w.Name+" shows its history"
	default:
		p.Detail += "; it is " + situation(w, s.moments(tableFlags{}))
		p.Hint = fmt.Sprintf("muster logs -f %s waits for it; muster why %s says what it waits for", w.Name, w.Name)
	}
	return &failure{code: exitNotFound, problem: p}
}
