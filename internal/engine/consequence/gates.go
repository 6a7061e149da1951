package consequence

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/admission"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/planner"
	"github.com/musterhq/muster/internal/engine/workload"
)

// ChecksOf is what must be approved of w: the budget, the checks of the scopes that its
// project stands below, what the project's rules demand, then its own. A name is taken by
// the first: nobody puts a check of theirs in the place of one above.
func ChecksOf(tx *draft.Tx, w *core.Workload) []core.CheckState {
	var all []core.CheckState
	if len(tx.Tree().Budgets(w.Project)) > 0 {
		all = append(all, core.CheckState{Name: "budget", Type: "budget", When: workload.AtQueue, Timeout: checkTimeout, Verdict: core.CheckWaiting})
	}
	all = append(all, scopeChecks(tx, w)...)
	for _, c := range slices.Concat(tx.Tree().Rules(w.Project).Checks, w.Spec.Checks) {
		if slices.ContainsFunc(all, func(x core.CheckState) bool { return x.Name == c.Name }) {
			continue
		}
		s := core.CheckState{Name: c.Name, Type: c.Type, When: c.When, Users: c.Users, URL: c.URL, Timeout: time.Duration(c.Timeout), Verdict: core.CheckWaiting}
		if s.When == "" {
			s.When = workload.AtQueue
		}
		if s.Timeout == 0 {
			s.Timeout = checkTimeout
		}
		if c.Deadline > 0 {
			s.Deadline = tx.Now.Add(time.Duration(c.Deadline))
		}
		all = append(all, s)
	}
	return append(all, foregoing(tx, w)...)
}

// checkTimeout bounds one question to a check that sets no timeout itself.
const checkTimeout = 10 * time.Second

// Gate takes a workload through what stands before its queue: checks, the build
// of its image, and whether the queue is open. It must run inside change.
func Gate(tx *draft.Tx, d *draft.Draft) error {
	if d.W.Phase == lifecycle.Submitted {
		switch err := planner.Fits(tx, d.W.Spec); {
		case err == nil:
		case planner.Surveyed(tx):
			return tx.Step(d, lifecycle.Input{On: lifecycle.Refuse, Message: err.Error()}, draft.ActorControl)
		case d.W.Event == lifecycle.Hand:
			return nil // still nobody can tell
		default:
			return tx.Step(d, lifecycle.Input{On: lifecycle.Hand, Message: "it does not fit what is known of the nodes, and not all have reported: " + err.Error()}, draft.ActorControl)
		}
		d.W.Checks = ChecksOf(tx, d.W)
		if workload.ChecksOpen(d.W, workload.AtQueue) {
			if err := tx.Step(d, reviews(d.W, lifecycle.ReviewRequired, workload.OpenChecks(d.W, workload.AtQueue)), draft.ActorControl); err != nil {
				return err
			}
			if err := Ask(tx, d, workload.AtQueue); err != nil {
				return err
			}
			return checkDependencies(tx, d)
		}
	}
	if d.W.Phase == lifecycle.Reviewing && workload.ChecksOpen(d.W, workload.AtQueue) {
		return nil
	}
	if d.W.Phase != lifecycle.Building && d.W.Spec.Build != nil && d.W.Image == "" {
		if err := tx.Step(d, lifecycle.Input{On: lifecycle.BuildRequired, Message: "its image is being built"}, draft.ActorControl); err != nil {
			return err
		}
		tx.Operation(draft.Operation{Kind: draft.OperationBuild, Workload: d.W})
		return nil
	}
	if d.W.Phase != lifecycle.Submitted && planner.Surveyed(tx) {
		// It has waited for others, and the nodes that it fitted may be gone.
		if err := planner.Fits(tx, d.W.Spec); err != nil {
			return tx.Step(d, lifecycle.Input{On: lifecycle.Refuse, Message: err.Error()}, draft.ActorControl)
		}
	}
	return ToQueue(tx, d)
}

// reviews is an event on the way through the checks before the queue: where
// nobody is asked but the clock and other workloads, it is only deferred.
func reviews(w *core.Workload, on lifecycle.Event, message string) lifecycle.Input {
	in := lifecycle.Input{On: on, Message: message, Reason: lifecycle.ReasonDeferred}
	for _, c := range w.Checks {
		if c.When == workload.AtQueue && (c.Verdict != core.CheckApproved || on == lifecycle.Approve) && c.Type != workload.CheckTime && c.Type != workload.CheckAfter {
			in.Reason = lifecycle.ReasonNone // the event's own
		}
	}
	return in
}

// ToQueue puts a workload into its queue, or where that is closed into
// Inadmissible.
func ToQueue(tx *draft.Tx, d *draft.Draft) error {
	in := lifecycle.Input{On: lifecycle.QueueOpen}
	if why, note := ClosedTo(tx, d.W); why != QueueOpen {
		in = lifecycle.Input{On: lifecycle.QueueClosed, Reason: why.reason(), Message: note}
	}
	if err := tx.Step(d, in, draft.ActorControl); err != nil {
		return err
	}
	return StartEmpty(tx, d)
}

// StartEmpty starts an inference workload that wants no replica before the
// first request: there is nothing to place, and the scheduler passes it over.
func StartEmpty(tx *draft.Tx, d *draft.Draft) error {
	switch w := d.W; {
	case !w.Kind.Replicated() || w.Replicas > 0:
		return nil
	case w.Phase == lifecycle.Reserved && !workload.ChecksOpen(w, workload.AtReservation):
		return admitEmpty(tx, d)
	case w.Phase != lifecycle.Queued || !w.AskAt.IsZero():
		return nil
	}
	if err := tx.Step(d, lifecycle.Input{On: lifecycle.Reserve}, draft.ActorControl); err != nil {
		return err
	}
	if workload.ChecksOpen(d.W, workload.AtReservation) {
		return Ask(tx, d, workload.AtReservation)
	}
	return admitEmpty(tx, d)
}

func admitEmpty(tx *draft.Tx, d *draft.Draft) error {
	if err := tx.Step(d, lifecycle.Input{On: lifecycle.Admit}, draft.ActorControl); err != nil {
		return err
	}
	return balance(tx, d)
}

// Ask begins every check of that time that somebody answers: programs are
// asked, and people find it among what waits for them. It must run inside
// change.
func Ask(tx *draft.Tx, d *draft.Draft, when string) error {
	begun := false
	d.W.Checks = slices.Clone(d.W.Checks)
	for i := range d.W.Checks {
		c := &d.W.Checks[i]
		if c.When != when || c.Verdict != core.CheckWaiting || c.Type == workload.CheckAfter || c.Type == workload.CheckTime {
			continue
		}
		begun = true
		if admission.Person(c.Type) {
			continue
		}
		c.Verdict = core.CheckAsked
		tx.Operation(draft.Operation{Kind: draft.OperationAsk, Workload: d.W, Check: *c})
	}
	if begun && d.W.Phase == lifecycle.Reviewing && d.W.Reason != lifecycle.ReasonChecksRunning {
		return tx.Step(d, lifecycle.Input{On: lifecycle.CheckStarted, Message: workload.OpenChecks(d.W, when)}, draft.ActorControl)
	}
	return nil
}

// Decide draws what follows from the verdict on check i. It must run inside
// change.
func Decide(tx *draft.Tx, d *draft.Draft, i int, verdict core.CheckVerdict, by, message string) error {
	d.W.Checks = slices.Clone(d.W.Checks)
	c := &d.W.Checks[i]
	c.Verdict, c.By, c.Message, c.At, c.AskAt = verdict, by, message, tx.Now, time.Time{}
	answered(tx, d.W, c)
	if verdict == core.CheckApproved && c.Type == admission.Image {
		reviewed(tx, c, by)
	}
	if verdict == core.CheckRejected {
		what := fmt.Sprintf("check %s was rejected by %s", c.Name, by)
		if message != "" {
			what += ": " + message
		}
		return tx.Step(d, lifecycle.Input{On: lifecycle.Reject, Cause: lifecycle.CauseCheck, Message: what}, by)
	}
	switch {
	case workload.ChecksOpen(d.W, c.When):
		if d.W.Phase == lifecycle.Reviewing {
			return tx.Step(d, reviews(d.W, lifecycle.CheckStarted, workload.OpenChecks(d.W, c.When)), by)
		}
		return nil
	case d.W.Phase == lifecycle.Reviewing:
		if err := tx.Step(d, reviews(d.W, lifecycle.Approve, message), by); err != nil {
			return err
		}
		return Gate(tx, d)
	case d.W.Kind.Replicated() && d.W.Replicas == 0:
		return admitEmpty(tx, d)
	default: // Reserved: the scheduler takes over
		return tx.Step(d, lifecycle.Input{On: lifecycle.Approve, Message: cmp.Or(message, "approved; it starts once there is room")}, by)
	}
}

// ChecksDue asks again what is due and rejects what has passed its deadline. It
// must run inside change.
func ChecksDue(tx *draft.Tx, d *draft.Draft) error {
	for i := range d.W.Checks {
		c := d.W.Checks[i]
		if c.Verdict == core.CheckApproved {
			continue
		}
		if !c.Deadline.IsZero() && !c.Deadline.After(tx.Now) {
			if c.Again {
				if err := askAnew(tx, d, i); err != nil {
					return err
				}
				continue
			}
			return Decide(tx, d, i, core.CheckRejected, draft.ActorControl, "nobody had approved it by its deadline")
		}
		if c.Verdict == core.CheckAsked && !c.AskAt.IsZero() && !c.AskAt.After(tx.Now) {
			d.W.Checks = slices.Clone(d.W.Checks)
			d.W.Checks[i].AskAt = time.Time{}
			tx.Operation(draft.Operation{Kind: draft.OperationAsk, Workload: d.W, Check: d.W.Checks[i]})
		}
	}
	if d.W.Phase != lifecycle.Reviewing {
		return nil
	}
	return checkDependencies(tx, d)
}
