package enter

import (
	"context"
	"io"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/inspect"
	"github.com/musterhq/muster/internal/cli/logs"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/cli/terminal"
)

// Interact waits until the first task of a workload runs and connects this
// terminal to it. All of its output is shown: it comes from the log, which has
// what was written before anybody was attached.
func Interact(ctx context.Context, s *session.Session, c *client.Client, w *api.Workload) error {
	w, err := inspect.Until(ctx, s, c, w, func(w *api.Workload) bool { return printers.Ended(w) || w.Tasks.Running > 0 })
	if ctx.Err() != nil {
		return left(ctx, s, w, err)
	}
	if err != nil {
		return err
	}
	task, err := runningTask(w, -1)
	if err != nil { // it has ended already
		return missed(ctx, s, c, w)
	}
	out, stop := context.WithCancel(ctx)
	defer stop()
	shown := make(chan error, 1)
	go func() {
		body, err := c.Logs(out, w.Project, w.ID, client.LogOptions{Attempt: &w.Attempt, Task: task, Follow: true})
		if err == nil {
			_, err = io.Copy(terminal.Bare(s.IO.Out), body)
			_ = body.Close()
		}
		shown <- err
	}()
	switch err := join(ctx, s, c, w, task, io.Discard, false); {
	case hasEnded(err):
	case err != nil:
		stop()
		<-shown
		return left(ctx, s, w, err)
	}
	if err := <-shown; err != nil && !logs.IsNoLogs(err) {
		return left(ctx, s, w, err)
	}
	return taskEnd(ctx, s, c, w, task)
}

// hasEnded reports whether a task could not be entered because it does not run
// any more.
func hasEnded(err error) bool {
	p := session.ProblemOf(err)
	return p != nil && p.Code == "illegal_phase"
}

// missed shows what a task has written that ended before anybody could attach.
func missed(ctx context.Context, s *session.Session, c *client.Client, w *api.Workload) error {
	err := logs.CopyLogs(ctx, s, c, w, client.LogOptions{Attempt: &w.Attempt})
	if err != nil && !logs.IsNoLogs(err) {
		return err
	}
	if w, err = inspect.UntilEnd(ctx, s, c, w); err != nil {
		return left(ctx, s, w, err)
	}
	s.Say("%s", printers.Result(w, s.Clock()))
	return session.ExitCode(printers.ExitOf(w, "task"))
}
