package printers

import (
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// ToneOf is the colour of a phase.
func ToneOf(phase string) session.Tone {
	switch lifecycle.Phase(phase) {
	case lifecycle.Completed, lifecycle.Running:
		return session.ToneGood
	case lifecycle.Failed, lifecycle.Lost, lifecycle.TimedOut, lifecycle.Inadmissible:
		return session.ToneBad
	case lifecycle.Queued, lifecycle.Backoff, lifecycle.Reviewing, lifecycle.Preempted, lifecycle.Restarting:
		return session.ToneWait
	case lifecycle.Stopped, lifecycle.Canceled, lifecycle.Deleted, lifecycle.Deleting:
		return session.ToneDim
	default:
		return session.ToneBusy
	}
}

// Ended reports whether a workload is over.
func Ended(w *api.Workload) bool { return lifecycle.Phase(w.Phase).End() }

// PhaseWord is the phase with what qualifies it.
func PhaseWord(w *api.Workload) string {
	if w.Target != "" {
		return w.Phase + "→" + w.Target
	}
	var also []string
	for _, c := range w.Conditions {
		// That it waits is said already, and the reason says for what; the word
		// alone reads as "never".
		if c.Type != string(lifecycle.Unschedulable) {
			also = append(also, c.Type)
		}
	}
	if len(also) > 0 {
		return w.Phase + "(" + strings.Join(also, ",") + ")"
	}
	return w.Phase
}

// Why is the reason of the present phase in a few words: of waiting, or of the
// end.
func Why(w *api.Workload) string {
	if w.Pending != nil && len(w.Pending.Reasons) > 0 {
		return w.Pending.Reasons[0].Token
	}
	if a := LastAttempt(w); a != nil && a.ExitCode != nil && *a.ExitCode != 0 && (Ended(w) || w.Phase == string(lifecycle.Backoff)) {
		if w.Reason == "" {
			return fmt.Sprintf("exit %d", *a.ExitCode)
		}
		return fmt.Sprintf("%s (exit %d)", w.Reason, *a.ExitCode)
	}
	return w.Reason
}

// Situation is one clause on where a workload stands, with the numbers.
func Situation(w *api.Workload, m session.Moments) string {
	p := w.Pending
	if p == nil {
		if w.Restarts {
			return PhaseWord(w) + " (starts again once it has ended)"
		}
		if w.Message != "" {
			return PhaseWord(w) + " (" + w.Message + ")"
		}
		if w.Reason != "" {
			return PhaseWord(w) + " (" + w.Reason + ")"
		}
		return PhaseWord(w)
	}
	out := w.Phase
	if p.Position > 0 {
		out += fmt.Sprintf(", #%d of %d in %s", p.Position, max(p.Waiting, p.Position), w.Project)
	}
	if len(p.Reasons) > 0 {
		out += ": " + p.Reasons[0].Message
	}
	if p.EstimatedStart != nil {
		out += "; expected start " + m.ClockTime(session.At(p.EstimatedStart))
	}
	return out
}

// LastAttempt is the latest attempt of a workload; nil: it has had none.
func LastAttempt(w *api.Workload) *api.Attempt {
	if len(w.Attempts) == 0 {
		return nil
	}
	return &w.Attempts[len(w.Attempts)-1]
}

// where is the node, the folded nodes, or the place in the queue.
func where(w *api.Workload) string {
	if w.Pending != nil && w.Pending.Position > 0 {
		return fmt.Sprintf("#%d in %s", w.Pending.Position, w.Project)
	}
	return Fold(NodesOf(LastAttempt(w)))
}

// NodesOf are the nodes of the tasks of an attempt.
func NodesOf(a *api.Attempt) []string {
	if a == nil {
		return nil
	}
	var nodes []string
	for _, t := range a.Tasks {
		if t.Node != "" {
			nodes = append(nodes, t.Node)
		}
	}
	return nodes
}

// ran is how long the present attempt has run, or ran.
func ran(a *api.Attempt, now time.Time) (time.Duration, bool) {
	if a == nil {
		return 0, false
	}
	from := a.RunningAt
	if from == nil {
		from = a.StartedAt
	}
	return session.Between(from, a.EndedAt, now)
}

// ExitOf is the exit code that stands for how a workload ended. With task it
// is the first failed task's own, where a shell can tell it from ours.
func ExitOf(w *api.Workload, status string) int {
	if a := LastAttempt(w); status == "task" && a != nil && a.ExitCode != nil && *a.ExitCode >= 1 && *a.ExitCode <= 125 && w.Phase == string(lifecycle.Failed) {
		return *a.ExitCode
	}
	switch lifecycle.Phase(w.Phase) {
	case lifecycle.Completed:
		return session.ExitOK
	case lifecycle.Failed, lifecycle.Lost:
		return session.ExitFailed
	case lifecycle.Preempted:
		return session.ExitPreempted
	case lifecycle.TimedOut:
		return session.ExitTimedOut
	default: // Stopped, Canceled, Deleted
		return session.ExitStopped
	}
}

// Result is the last line on a workload.
func Result(w *api.Workload, now time.Time) string {
	facts := []string{}
	a := LastAttempt(w)
	if a != nil && a.ExitCode != nil {
		facts = append(facts, fmt.Sprintf("exit code %d", *a.ExitCode))
	}
	if w.Reason != "" && w.Phase != string(lifecycle.Completed) {
		facts = append(facts, w.Reason)
	}
	if d, ok := ran(a, now); ok {
		facts = append(facts, "ran "+session.Length(d))
	}
	if n := len(w.Attempts); n > 1 {
		facts = append(facts, session.Plural(n, "attempt"))
	}
	facts = append(facts, fmt.Sprintf("%s GPU-seconds", Number(w.GPUSeconds)))
	line := fmt.Sprintf("%s %s: %s", w.Name, w.Phase, strings.Join(facts, ", "))
	if w.Message != "" && w.Phase != string(lifecycle.Completed) {
		line += "\n  " + w.Message
	}
	return line
}

// Number is f without zeros that say nothing.
func Number(f float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0")
}
