package workload

import (
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Checks that nobody is asked about: they follow from how far another workload
// is, or from the time. They are checks because they are what those are,
// something that has to come true before a workload competes for anything; so
// everything that knows of checks knows of them.
const (
	CheckAfter = "workload"
	CheckTime  = "time"
)

// Awaits are the workloads that w waits for.
func Awaits(w *core.Workload) map[core.WorkloadID]struct{} {
	if w.Phase.End() || w.Phase == lifecycle.Deleting {
		return nil
	}
	var out map[core.WorkloadID]struct{}
	for _, c := range w.Checks {
		waits := len(c.Left) > 0 || w.Phase == lifecycle.Reviewing && c.Verdict == core.CheckWaiting
		if c.Type == CheckAfter && waits && c.Workload != "" {
			if out == nil {
				out = map[core.WorkloadID]struct{}{}
			}
			out[c.Workload] = struct{}{}
		}
	}
	return out
}

// When a check is made.
const (
	AtQueue       = "queue"
	AtReservation = "reservation"
)

// ChecksOpen reports whether some check of that time has not been approved.
func ChecksOpen(w *core.Workload, when string) bool {
	return slices.ContainsFunc(w.Checks, func(c core.CheckState) bool { return c.When == when && c.Verdict != core.CheckApproved })
}

// OpenChecks says in a sentence which checks of that time w waits for; empty: none.
func OpenChecks(w *core.Workload, when string) string {
	var names, others []string
	for _, c := range w.Checks {
		switch {
		case c.When != when || c.Verdict == core.CheckApproved:
		case c.Type == CheckTime:
			others = append(others, c.AskAt.UTC().Format(time.RFC3339))
		case c.Type == CheckAfter:
			others = append(others, c.Of)
		default:
			names = append(names, c.Name)
		}
	}
	switch len(names) {
	case 0:
	case 1:
		others = append(others, "check "+names[0])
	default:
		others = append(others, "checks "+strings.Join(names, ", "))
	}
	if len(others) == 0 {
		return ""
	}
	return "waits for " + strings.Join(others, ", ")
}

// NextCheck is when a check needs attention; zero: never.
func NextCheck(w *core.Workload) time.Time {
	var at time.Time
	for _, c := range w.Checks {
		if c.Verdict == core.CheckApproved {
			continue
		}
		at = Earliest(at, c.Deadline)
		if c.Verdict == core.CheckAsked || c.Type == CheckTime || c.Type == CheckAfter {
			at = Earliest(at, c.AskAt)
		}
	}
	return at
}
