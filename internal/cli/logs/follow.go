package logs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// follower shows what happens to one workload until it ends: its phases, and
// the output of its tasks, attempt after attempt.
type follower struct {
	s *session.Session
	c *client.Client
	w *api.Workload // as last heard of; tasks of attempts are in pumps

	// What is wanted.
	tasks       []int            // only these; nil: all
	wish        wish             // of the attempt at hand; later ones are shown whole
	only        *int             // only this attempt
	Status      string           // workload, task, or "" for always 0
	skipped     map[taskKey]bool // runs that are not wanted
	OnInterrupt string           // detach or stop
	Quiet       bool             // no output of tasks
	phases      bool             // changes of phase are shown
	History     bool             // phases before the start are shown, too

	Screen   *session.Screen
	pumps    *pumps
	shown    map[taskKey]int64 // bytes of output that have been shown before
	seen     int64             // Seq of the last transition shown
	reported [2]string         // its reason and message
	attempt  int               // whose output is shown
	stage    string            // of the start, as it was told last
}

// NewFollower makes what follows a workload and its output.
func NewFollower(s *session.Session, c *client.Client, w *api.Workload) *follower {
	return &follower{s: s, c: c, w: w, Status: "workload", OnInterrupt: "detach", History: true, phases: true}
}

// errEnded leaves the watch.
var errEnded = errors.New("the workload has ended")

// Follow returns how the workload ended, as an exit code.
func (f *follower) Follow(ctx context.Context) error {
	f.Screen = session.NewScreen(f.s)
	defer f.Screen.Close()
	f.attempt = f.w.Attempt
	if f.only != nil {
		f.attempt = *f.only
	}
	if !f.History {
		for _, t := range f.w.Transitions {
			f.seen = max(f.seen, t.Seq)
		}
	}
	err := f.watch(ctx)
	if ctx.Err() != nil && !errors.Is(err, errEnded) {
		if f.OnInterrupt != "stop" {
			return f.detached()
		}
		if err = f.stopAndSee(); err == nil {
			return f.detached()
		}
	}
	if !errors.Is(err, errEnded) {
		return err
	}
	if err := f.Screen.Failure(); err != nil {
		return err
	}
	f.Screen.Wait("")
	if f.Status != "" {
		f.Screen.Say(f.s.Paint(f.s.IO.ErrTerminal, printers.ToneOf(f.w.Phase), printers.Result(f.w, f.s.Clock())))
	}
	if f.Status != "" && f.s.Machine() && f.Quiet {
		if err := f.s.Document(f.w); err != nil {
			return err
		}
	}
	if f.Status == "" {
		return nil
	}
	return session.ExitCode(printers.ExitOf(f.w, f.Status))
}

// stopAndSee asks the server to stop the workload and goes on following until
// another Ctrl-C. It returns nil after that.
func (f *follower) stopAndSee() error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	f.Screen.Say("stopping " + f.w.Name + "; Ctrl-C again leaves it to itself")
	if _, err := f.c.Stop(ctx, f.w.Project, f.w.ID, api.StopOptions{Message: "interrupted by the user who followed it"}); err != nil {
		return err
	}
	err := f.watch(ctx)
	if ctx.Err() != nil && !errors.Is(err, errEnded) {
		return nil
	}
	return err
}

func (f *follower) detached() error {
	f.Screen.Wait("")
	f.Screen.Say(fmt.Sprintf("Detached — still running. muster logs -f %s · muster stop %s", f.w.Name, f.w.Name))
	return session.ExitCode(session.ExitInterrupted)
}

// watch shows what happens until the end (errEnded), an error or ctx.
func (f *follower) watch(ctx context.Context) error {
	f.pumps = newPumps(ctx, f)
	defer f.pumps.close()
	if err := f.observe(ctx, f.w); err != nil {
		return err
	}
	o := client.WatchOptions{Name: f.w.ID, After: max(f.w.Revision, 1), Broken: func(err error, _ time.Duration) {
		f.Screen.Say("the server does not answer; the workload goes on, trying again: " + err.Error())
	}}
	for e, err := range f.c.Watch(ctx, o) {
		switch {
		case err != nil:
			return err
		case e.Synced: // what happened while nobody watched is in the whole
			w, err := f.c.Workload(ctx, client.AllProjects, f.w.ID)
			if err != nil {
				return err
			}
			err = f.observe(ctx, w)
			if err != nil {
				return err
			}
		case len(e.Workload.Transitions) == 0 && e.Workload.Phase != f.w.Phase:
			// Told in summary on catching up; Synced follows.
		default:
			if err := f.observe(ctx, e.Workload); err != nil {
				return err
			}
		}
		if err := f.Screen.Failure(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// observe shows what is new in w. It returns errEnded after the end, once all
// output has been shown.
func (f *follower) observe(ctx context.Context, w *api.Workload) error {
	if w.Version < f.w.Version {
		return nil // a later one has been seen
	}
	f.Screen.Wait(f.waitingFor(w)) // first, else the line that spins tells what the next lines deny
	for _, t := range w.Transitions {
		if t.Seq <= f.seen {
			continue
		}
		f.seen = t.Seq
		if t.Attempt > f.attempt && f.only == nil {
			if err := f.next(ctx, t, w); err != nil {
				return err
			}
		}
		f.show(t)
	}
	f.w = w
	if !f.Quiet {
		f.pumps.update(w, f.attempt)
	}
	if printers.Ended(w) || f.only != nil && w.Attempt > *f.only {
		return f.finish(ctx)
	}
	f.Starting(w)
	return nil
}

// reasonFor says why there is another attempt: how the one before ended.
func reasonFor(t api.Transition, w *api.Workload) string {
	if t.Event == string(lifecycle.Restart) {
		return "restarted"
	}
	if reason := attemptReason(w, t.Attempt); reason != "" {
		return reason
	}
	if t.Reason != "" {
		return t.Reason
	}
	return t.Event
}

// next goes on to the attempt that t has begun, once the output of the one before
// is shown.
func (f *follower) next(ctx context.Context, t api.Transition, w *api.Workload) error {
	// All of the attempt may have passed in one change, with tasks that were never
	// heard of; and a change need not tell how it ended.
	whole, err := f.c.Workload(ctx, client.AllProjects, f.w.ID)
	if err != nil && !session.IsNotFound(err) {
		return err
	}
	if err == nil {
		w = whole
	}
	if err == nil && !f.Quiet {
		f.pumps.update(w, f.attempt)
	}
	if err := f.pumps.drain(ctx); err != nil {
		return err
	}
	f.attempt = t.Attempt
	f.Screen.Say(f.s.Paint(f.s.IO.ErrTerminal, session.ToneTitle, attemptLine(t.Attempt, reasonFor(t, w))))
	return nil
}

// finish shows the last output and takes the final figures.
func (f *follower) finish(ctx context.Context) error {
	w, err := f.c.Workload(ctx, client.AllProjects, f.w.ID)
	if err != nil && !session.IsNotFound(err) { // it may have been deleted altogether
		return err
	}
	if err == nil {
		f.w = w
	}
	if !f.Quiet {
		f.pumps.update(f.w, f.attempt)
	}
	if err := f.pumps.drain(ctx); err != nil {
		return err
	}
	return errEnded
}

// show writes a change of phase.
func (f *follower) show(t api.Transition) {
	if !f.phases || t.From == t.To && t.Target == "" {
		return
	}
	line := t.To
	if t.Target != "" {
		line += "→" + t.Target
	}
	if about := [2]string{t.Reason, t.Message}; about != f.reported { // an end repeats why the ending began
		if f.reported = about; t.Reason != "" {
			line += " (" + t.Reason + ")"
		}
		if t.Message != "" {
			line += ": " + t.Message
		}
	}
	f.Screen.Say(f.s.Paint(f.s.IO.ErrTerminal, printers.ToneOf(t.To), strings.TrimSpace(line)))
}

// Starting tells, where no line spins, how far the start is: a line for each
// thing that it is at, and for each quarter of the image.
func (f *follower) Starting(w *api.Workload) {
	st, ok := printers.StartOf(w)
	if !ok || f.s.IO.ErrTerminal || !f.phases || st.Stage == f.stage || st.Part < 0 && !strings.HasPrefix(st.Stage, "Init:") {
		return
	}
	f.stage = st.Stage
	f.Screen.Say(st.Line(false))
}

// waitingFor is what the spinning line says; "" while output flows and at the end.
func (f *follower) waitingFor(w *api.Workload) string {
	switch {
	case printers.Ended(w):
		return ""
	case w.Phase == string(lifecycle.Running):
		if f.Quiet {
			return w.Name + " is running"
		}
		return ""
	default:
		if st, ok := printers.StartOf(w); ok {
			return w.Name + " " + w.Phase + "  " + st.Line(true)
		}
		return w.Name + " " + printers.Situation(w, f.s.Moments(session.TableFlags{}))
	}
}
