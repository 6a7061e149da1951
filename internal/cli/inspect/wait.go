package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/nearest"
	"github.com/musterhq/muster/internal/core/spec"
)

type waitOptions struct {
	scope      session.Scope
	until      string
	timeout    string
	exitStatus string
}

// untilEnded is the value of --for that means any end.
const untilEnded = "end"

// NewWait makes the command wait.
func NewWait(s *session.Session) *cobra.Command {
	o := &waitOptions{}
	cmd := &cobra.Command{
		Use:   "wait [WORKLOAD]",
		Short: "Wait until a workload ends, or reaches a phase",
		Long: `Waits and exits as the workload ended (0 Completed, 10 Failed, 11 Stopped …), or
with 0 once it has reached the phase of --for in its present attempt. When the
time is over the exit code is 8.`,
		Example: `  muster wait train-moons --timeout 1h
  muster wait train-moons --for Running`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = session.DropNoun(args)
			if err := session.AtMostOne(cmd, args); err != nil {
				return err
			}
			return wait(cmd.Context(), s, o, session.FirstName(args))
		},
	}
	cmd.ValidArgsFunction = s.CompleteNames
	o.scope.Register(s, cmd)
	cmd.Flags().StringVar(&o.until, "for", untilEnded, "a phase, or end")
	cmd.Flags().StringVar(&o.timeout, "timeout", "", "give up after this long, like 10m")
	cmd.Flags().StringVar(&o.exitStatus, "exit-status", "workload", "workload, or task (the code of the first failed task)")
	return cmd
}

func wait(ctx context.Context, s *session.Session, o *waitOptions, name string) error {
	if err := session.OneOf("exit-status", o.exitStatus, "workload", "task"); err != nil {
		return err
	}
	phase := untilEnded
	if !strings.EqualFold(o.until, untilEnded) {
		p, ok := phaseNamed(o.until)
		if !ok {
			return unknownPhase("--for", o.until)
		}
		phase = p
	}
	limit := ctx
	if o.timeout != "" {
		d, err := spec.ParseDuration(o.timeout)
		if err != nil {
			return session.UsageError(fmt.Sprintf("--timeout: %q is not a length of time", o.timeout), "like 90s, 10m or 2h")
		}
		var cancel context.CancelFunc
		limit, cancel = context.WithTimeout(ctx, d.Std())
		defer cancel()
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	w, err := s.Resolve(ctx, c, o.scope, name)
	if err != nil {
		return err
	}
	// What happened before this attempt is over; what it reached counts.
	from := w.Attempt
	w, err = Until(limit, s, c, w, func(w *api.Workload) bool { return printers.Ended(w) || reached(w, phase, from) })
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return stillPending(ctx, s, c, w)
	}
	if err != nil {
		return err
	}
	if s.Machine() {
		if err := s.Document(w); err != nil {
			return err
		}
	} else {
		s.Say("%s", outcome(w, s))
	}
	if phase != untilEnded && reached(w, phase, from) {
		return nil
	}
	return session.ExitCode(printers.ExitOf(w, o.exitStatus))
}

// outcome is the last line, or where it stands when it goes on.
func outcome(w *api.Workload, s *session.Session) string {
	if printers.Ended(w) {
		return printers.Result(w, s.Clock())
	}
	return w.Name + " " + printers.Situation(w, s.Moments(session.TableFlags{}))
}

func stillPending(ctx context.Context, s *session.Session, c *client.Client, w *api.Workload) error {
	if now, err := c.Workload(ctx, w.Project, w.ID); err == nil {
		w = now
	}
	return &session.Failure{Code: session.ExitPending, Problem: &api.Problem{
		Title: "Still pending", Code: "pending", Detail: fmt.Sprintf("the time is over and %s is still %s", w.Name, printers.Situation(w, s.Moments(session.TableFlags{}))),
		Hint: "wait longer, or see muster why " + w.Name,
	}}
}

func unknownPhase(flag, word string) error {
	var all []string
	for _, p := range lifecycle.Phases() {
		all = append(all, string(p.Phase))
	}
	e := session.UsageError(fmt.Sprintf("%s: %q is not a phase", flag, word), "one of "+strings.Join(all, ", "))
	if near := nearest.Words(word, all); len(near) > 0 {
		e.Problem.Hint = "did you mean " + near[0] + "?"
	}
	return e
}

// reached reports whether w is in a phase or has been since an attempt.
func reached(w *api.Workload, phase string, attempt int) bool {
	if w.Phase == phase {
		return true
	}
	for _, t := range w.Transitions {
		if t.To == phase && t.Attempt >= attempt {
			return true
		}
	}
	return false
}

// UntilEnd waits for the end of w.
func UntilEnd(ctx context.Context, s *session.Session, c *client.Client, w *api.Workload) (*api.Workload, error) {
	return Until(ctx, s, c, w, printers.Ended)
}

// Until waits until done says so, and returns the workload as it is then. When
// it fails it returns the workload as it was last seen.
func Until(ctx context.Context, s *session.Session, c *client.Client, w *api.Workload, done func(*api.Workload) bool) (*api.Workload, error) {
	if done(w) {
		return w, nil
	}
	p := session.NewScreen(s)
	defer p.Close()
	p.Wait(w.Name + " " + printers.PhaseWord(w))
	o := client.WatchOptions{Name: w.ID, After: max(w.Revision, 1), Broken: func(err error, _ time.Duration) {
		p.Say("the server does not answer; trying again: " + err.Error())
	}}
	for e, err := range c.Watch(ctx, o) {
		if err != nil {
			return w, err
		}
		if e.Workload != nil && !done(e.Workload) {
			line := printers.PhaseWord(e.Workload)
			if st, ok := printers.StartOf(e.Workload); ok {
				line += "  " + st.Line(true)
			}
			p.Wait(w.Name + " " + line)
			continue
		}
		now, err := c.Workload(ctx, client.AllProjects, w.ID)
		if session.IsNotFound(err) && e.Workload != nil {
			return e.Workload, nil // deleted altogether
		}
		if err != nil {
			return w, err
		}
		if w = now; done(w) {
			return w, nil
		}
	}
	return w, ctx.Err()
}
