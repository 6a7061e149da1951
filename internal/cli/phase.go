package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// toneOf is the colour of a phase.
func toneOf(phase string) tone {
	switch lifecycle.Phase(phase) {
	case lifecycle.Completed, lifecycle.Running:
		return toneGood
	case lifecycle.Failed, lifecycle.Lost, lifecycle.TimedOut, lifecycle.Inadmissible:
		return toneBad
	case lifecycle.Queued, lifecycle.Backoff, lifecycle.Reviewing, lifecycle.Preempted, lifecycle.Restarting:
		return toneWait
	case lifecycle.Stopped, lifecycle.Canceled, lifecycle.Deleted, lifecycle.Deleting:
		return toneDim
	default:
		return toneBusy
	}
}

func ended(w *api.Workload) bool { return lifecycle.Phase(w.Phase).End() }

// phaseWord is the phase with what qualifies it.
func phaseWord(w *api.Workload) string {
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

// why is the reason of the present phase in a few words: of waiting, or of the
// end.
func why(w *api.Workload) string {
	if w.Pending != nil && len(w.Pending.Reasons) > 0 {
		return w.Pending.Reasons[0].Token
	}
	if a := lastAttempt(w); a != nil && a.ExitCode != nil && *a.ExitCode != 0 && (ended(w) || w.Phase == string(lifecycle.Backoff)) {
		if w.Reason == "" {
			return fmt.Sprintf("exit %d", *a.ExitCode)
		}
		return fmt.Sprintf("%s (exit %d)", w.Reason, *a.ExitCode)
	}
	return w.Reason
}

// situation is one clause on where a workload stands, with the numbers.
func situation(w *api.Workload, m moments) string {
	p := w.Pending
	if p == nil {
		if w.Restarts {
			return phaseWord(w) + " (starts again once it has ended)"
		}
		if w.Message != "" {
			return phaseWord(w) + " (" + w.Message + ")"
		}
		if w.Reason != "" {
			return phaseWord(w) + " (" + w.Reason + ")"
		}
		return phaseWord(w)
	}
	out := w.Phase
	if p.Position > 0 {
		out += fmt.Sprintf(", #%d of %d in %s", p.Position, max(p.Waiting, p.Position), w.Project)
	}
	if len(p.Reasons) > 0 {
		out += ": " + p.Reasons[0].Message
	}
	if p.EstimatedStart != nil {
		out += "; expected start " + m.clockTime(at(p.EstimatedStart))
	}
	return out
}

func lastAttempt(w *api.Workload) *api.Attempt {
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
	return fold(nodesOf(lastAttempt(w)))
}

func nodesOf(a *api.Attempt) []string {
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
	return between(from, a.EndedAt, now)
}

// exitOf is the exit code that stands for how a workload ended. With task it
// is the first failed task's own, where a shell can tell it from ours.
func exitOf(w *api.Workload, status string) int {
	if a := lastAttempt(w); status == "task" && a != nil && a.ExitCode != nil && *a.ExitCode >= 1 && *a.ExitCode <= 125 && w.Phase == string(lifecycle.Failed) {
		return *a.ExitCode
	}
	switch lifecycle.Phase(w.Phase) {
	case lifecycle.Completed:
		return exitOK
	case lifecycle.Failed, lifecycle.Lost:
		return exitFailed
	case lifecycle.Preempted:
		return exitPreempted
	case lifecycle.TimedOut:
		return exitTimedOut
	default: // Stopped, Canceled, Deleted
		return exitStopped
	}
}

// result is the last line on a workload.
func result(w *api.Workload, now time.Time) string {
	facts := []string{}
	a := lastAttempt(w)
	if a != nil && a.ExitCode != nil {
		facts = append(facts, fmt.Sprintf("exit code %d", *a.ExitCode))
	}
	if w.Reason != "" && w.Phase != string(lifecycle.Completed) {
		facts = append(facts, w.Reason)
	}
	if d, ok := ran(a, now); ok {
		facts = append(facts, "ran "+length(d))
	}
	if n := len(w.Attempts); n > 1 {
		facts = append(facts, plural(n, "attempt"))
	}
	facts = append(facts, fmt.Sprintf("%s GPU-seconds", number(w.GPUSeconds)))
	line := fmt.Sprintf("%s %s: %s", w.Name, w.Phase, strings.Join(facts, ", "))
	if w.Message != "" && w.Phase != string(lifecycle.Completed) {
		line += "\n  " + w.Message
	}
	return line
}

func number(f float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0")
}
