package cli

import (
	"context"
	"io"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
)

// interact waits until the first task of a workload runs and connects this
// terminal to it. All of its output is shown: it comes from the log, which has
// what was written before anybody was attached.
func (s *session) interact(ctx context.Context, c *client.Client, w *api.Workload) error {
	w, err := s.until(ctx, c, w, func(w *api.Workload) bool { return ended(w) || w.Tasks.Running > 0 })
	if ctx.Err() != nil {
		return s.left(ctx, w, err)
	}
	if err != nil {
		return err
	}
	task, err := runningTask(w, -1)
	if err != nil { // it has ended already
		return s.missed(ctx, c, w)
	}
	out, stop := context.WithCancel(ctx)
	defer stop()
	shown := make(chan error, 1)
	go func() {
		body, err := c.Logs(out, w.Project, w.ID, client.LogOptions{Attempt: &w.Attempt, Task: task, Follow: true})
		if err == nil {
			_, err = io.Copy(bare(s.io.Out), body)
			_ = body.Close()
		}
		shown <- err
	}()
	switch err := s.join(ctx, c, w, task, io.Discard, false); {
	case hasEnded(err):
	case err != nil:
		stop()
		<-shown
		return s.left(ctx, w, err)
	}
	if err := <-shown; err != nil && !isNoLogs(err) {
		return s.left(ctx, w, err)
	}
	return s.taskEnd(ctx, c, w, task)
}

// hasEnded reports whether a task could not be entered because it does not run
// any more.
func hasEnded(err error) bool {
	p := problemOf(err)
	return p != nil && p.Code == "illegal_phase"
}

// missed shows what a task has written that ended before anybody could attach.
func (s *session) missed(ctx context.Context, c *client.Client, w *api.Workload) error {
	err := s.copyLogs(ctx, c, w, client.LogOptions{Attempt: &w.Attempt})
	if err != nil && !isNoLogs(err) {
		return err
	}
	if w, err = s.untilEnd(ctx, c, w); err != nil {
		return s.left(ctx, w, err)
	}
	s.say("%s", result(w, s.clock()))
	return silent(exitOf(w, "task"))
}
