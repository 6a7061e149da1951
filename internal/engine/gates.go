package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// When a check is made.
const (
	atQueue       = "queue"
	atReservation = "reservation"
)

// checksOf is what must be approved of w: what its project demands, then its own.
func (tx *tx) checksOf(w *core.Workload) []core.CheckState {
	var all []core.CheckState
	if len(tx.tree().Budgets(w.Project)) > 0 {
		all = append(all, core.CheckState{Name: "budget", Type: "budget", When: atQueue, Timeout: checkTimeout, Verdict: core.CheckWaiting})
	}
	for _, c := range slices.Concat(tx.tree().Rules(w.Project).Checks, w.Spec.Checks) {
		if slices.ContainsFunc(all, func(x core.CheckState) bool { return x.Name == c.Name }) {
			continue // the project's own comes first
		}
		s := core.CheckState{Name: c.Name, Type: c.Type, When: c.When, Users: c.Users, URL: c.URL, Timeout: time.Duration(c.Timeout), Verdict: core.CheckWaiting}
		if s.When == "" {
			s.When = atQueue
		}
		if s.Timeout == 0 {
			s.Timeout = checkTimeout
		}
		if c.Deadline > 0 {
			s.Deadline = tx.now.Add(time.Duration(c.Deadline))
		}
		all = append(all, s)
	}
	return append(all, tx.foregoing(w)...)
}

// checkTimeout bounds one question to a check that sets no timeout itself.
const checkTimeout = 10 * time.Second

// checksOpen reports whether some check of that time has not been approved.
func checksOpen(w *core.Workload, when string) bool {
	return slices.ContainsFunc(w.Checks, func(c core.CheckState) bool { return c.When == when && c.Verdict != core.CheckApproved })
}

// gate takes a workload through what stands before its queue: checks, the build
// of its image, and whether the queue is open. It must run inside change.
func (tx *tx) gate(d *draft) error {
	if d.w.Phase == lifecycle.Submitted {
		switch err := tx.fits(d.w.Spec); {
		case err == nil:
		case tx.surveyed():
			return tx.step(d, lifecycle.Input{On: lifecycle.Refuse, Message: err.Error()}, actorControl)
		case d.w.Event == lifecycle.Hand:
			return nil // still nobody can tell
		default:
			return tx.step(d, lifecycle.Input{On: lifecycle.Hand, Message: "it does not fit what is known of the nodes, and not all have reported: " + err.Error()}, actorControl)
		}
		d.w.Checks = tx.checksOf(d.w)
		if checksOpen(d.w, atQueue) {
			if err := tx.step(d, reviews(d.w, lifecycle.ReviewRequired, openChecks(d.w, atQueue)), actorControl); err != nil {
				return err
			}
			if err := tx.ask(d, atQueue); err != nil {
				return err
			}
			return tx.heed(d)
		}
	}
	if d.w.Phase == lifecycle.Reviewing && checksOpen(d.w, atQueue) {
		return nil
	}
	if d.w.Phase != lifecycle.Building && d.w.Spec.Build != nil && d.w.Image == "" {
		if err := tx.step(d, lifecycle.Input{On: lifecycle.BuildRequired, Message: "its image is being built"}, actorControl); err != nil {
			return err
		}
		tx.operation(Operation{Kind: OperationBuild, Workload: d.w})
		return nil
	}
	if d.w.Phase != lifecycle.Submitted && tx.surveyed() {
		// It has waited for others, and the nodes that it fitted may be gone.
		if err := tx.fits(d.w.Spec); err != nil {
			return tx.step(d, lifecycle.Input{On: lifecycle.Refuse, Message: err.Error()}, actorControl)
		}
	}
	return tx.toQueue(d)
}

// reviews is an event on the way through the checks before the queue: where
// nobody is asked but the clock and other workloads, it is only deferred.
func reviews(w *core.Workload, on lifecycle.Event, message string) lifecycle.Input {
	in := lifecycle.Input{On: on, Message: message, Reason: lifecycle.ReasonDeferred}
	for _, c := range w.Checks {
		if c.When == atQueue && (c.Verdict != core.CheckApproved || on == lifecycle.Approve) && c.Type != checkTime && c.Type != checkAfter {
			in.Reason = lifecycle.ReasonNone // the event's own
		}
	}
	return in
}

// toQueue puts a workload into its queue, or where that is closed into
// Inadmissible.
func (tx *tx) toQueue(d *draft) error {
	in := lifecycle.Input{On: lifecycle.QueueOpen}
	if why, note := tx.closedTo(d.w); why != queueOpen {
		in = lifecycle.Input{On: lifecycle.QueueClosed, Reason: why.reason(), Message: note}
	}
	if err := tx.step(d, in, actorControl); err != nil {
		return err
	}
	return tx.startEmpty(d)
}

// startEmpty starts an inference workload that wants no replica before the
// first request: there is nothing to place, and the scheduler passes it over.
func (tx *tx) startEmpty(d *draft) error {
	switch w := d.w; {
	case w.Kind != lifecycle.Inference || w.Replicas > 0:
		return nil
	case w.Phase == lifecycle.Reserved && !checksOpen(w, atReservation):
		return tx.admitEmpty(d)
	case w.Phase != lifecycle.Queued || !w.AskAt.IsZero():
		return nil
	}
	if err := tx.step(d, lifecycle.Input{On: lifecycle.Reserve}, actorControl); err != nil {
		return err
	}
	if checksOpen(d.w, atReservation) {
		return tx.ask(d, atReservation)
	}
	return tx.admitEmpty(d)
}

func (tx *tx) admitEmpty(d *draft) error {
	if err := tx.step(d, lifecycle.Input{On: lifecycle.Admit}, actorControl); err != nil {
		return err
	}
	return tx.balance(d)
}

func openChecks(w *core.Workload, when string) string {
	var names, others []string
	for _, c := range w.Checks {
		switch {
		case c.When != when || c.Verdict == core.CheckApproved:
		case c.Type == checkTime:
			others = append(others, c.AskAt.UTC().Format(time.RFC3339))
		case c.Type == checkAfter:
			others = append(others, c.Of)
		default:
			names = append(names, c.Name)
		}
	}
	if len(names) > 0 {
		others = append(others, "the checks "+strings.Join(names, ", "))
	}
	if len(others) == 0 {
		return ""
	}
	return "waits for " + strings.Join(others, ", ")
}

// ask begins every check of that time that somebody answers: programs are
// asked, and people find it among what waits for them. It must run inside
// change.
func (tx *tx) ask(d *draft, when string) error {
	begun := false
	d.w.Checks = slices.Clone(d.w.Checks)
	for i := range d.w.Checks {
		c := &d.w.Checks[i]
		if c.When != when || c.Verdict != core.CheckWaiting || c.Type == checkAfter || c.Type == checkTime {
			continue
		}
		begun = true
		if c.Type == "approval" {
			continue
		}
		c.Verdict = core.CheckAsked
		tx.operation(Operation{Kind: OperationAsk, Workload: d.w, Check: *c})
	}
	if begun && d.w.Phase == lifecycle.Reviewing && d.w.Reason != lifecycle.ReasonChecksRunning {
		return tx.step(d, lifecycle.Input{On: lifecycle.CheckStarted, Message: openChecks(d.w, when)}, actorControl)
	}
	return nil
}

// decided draws what follows from the verdict on check i. It must run inside
// change.
func (tx *tx) decide(d *draft, i int, verdict core.CheckVerdict, by, message string) error {
	d.w.Checks = slices.Clone(d.w.Checks)
	c := &d.w.Checks[i]
	c.Verdict, c.By, c.Message, c.At, c.AskAt = verdict, by, message, tx.now, time.Time{}
	if verdict == core.CheckRejected {
		what := fmt.Sprintf("check %s was rejected by %s", c.Name, by)
		if message != "" {
			what += ": " + message
		}
		return tx.step(d, lifecycle.Input{On: lifecycle.Reject, Cause: lifecycle.CauseCheck, Message: what}, by)
	}
	switch {
	case checksOpen(d.w, c.When):
		if d.w.Phase == lifecycle.Reviewing {
			return tx.step(d, reviews(d.w, lifecycle.CheckStarted, openChecks(d.w, c.When)), by)
		}
		return nil
	case d.w.Phase == lifecycle.Reviewing:
		if err := tx.step(d, reviews(d.w, lifecycle.Approve, message), by); err != nil {
			return err
		}
		return tx.gate(d)
	case d.w.Kind == lifecycle.Inference && d.w.Replicas == 0:
		return tx.admitEmpty(d)
	default: // Reserved: the scheduler takes over
		return tx.step(d, lifecycle.Input{On: lifecycle.Approve, Message: cmp.Or(message, "approved; it starts once there is room")}, by)
	}
}

// Decision is a person's word on a check.
type Decision struct {
	Ref     Ref
	Check   string // empty: the only one that waits for a person
	Approve bool
	User    string
	Actor   string
	Message string
}

// Decide approves or rejects a check; the value is the workload.
func Decide(r Decision) Command {
	return func(tx *tx) (any, error) {
		d, err := tx.find(r.Ref)
		if err != nil {
			return nil, err
		}
		i, err := openCheck(d.w, r)
		if err != nil {
			return nil, err
		}
		verdict := core.CheckRejected
		if r.Approve {
			verdict = core.CheckApproved
		}
		err = tx.change(d, func() error { return tx.decide(d, i, verdict, r.Actor, r.Message) })
		return d.w, err
	}
}

// openCheck finds the check that a decision is about, or says why it cannot be
// decided.
func openCheck(w *core.Workload, r Decision) (int, error) {
	if w.Phase != lifecycle.Reviewing && w.Phase != lifecycle.Reserved {
		return 0, &Error{Code: CodeIllegal, Message: fmt.Sprintf("%s is %s; no check waits for a decision", w.Name, w.Phase), Hint: "muster describe " + w.Name + " shows what has become of it"}
	}
	when := atQueue
	if w.Phase == lifecycle.Reserved {
		when = atReservation
	}
	var open []string
	found := -1
	for i, c := range w.Checks {
		if r.Check != "" && c.Name == r.Check {
			if c.Verdict == core.CheckApproved || c.Verdict == core.CheckRejected {
				return 0, &Error{Code: CodeConflict, Field: "check", Message: fmt.Sprintf("check %s of %s has been %s by %s already", c.Name, w.Name, c.Verdict, c.By), Hint: "muster describe " + w.Name + " shows all checks"}
			}
			if c.When != when {
				return 0, &Error{Code: CodeIllegal, Field: "check", Message: fmt.Sprintf("check %s of %s is made at its %s, and it is %s", c.Name, w.Name, c.When, w.Phase), Hint: "wait until it is asked"}
			}
			found = i
		}
		if c.When == when && c.Type == "approval" && c.Verdict != core.CheckApproved {
			open = append(open, c.Name)
			if r.Check == "" {
				found = i
			}
		}
	}
	switch {
	case r.Check == "" && len(open) > 1:
		return 0, &Error{Code: CodeInvalid, Field: "check", Message: fmt.Sprintf("%s waits for %d approvals: %s", w.Name, len(open), strings.Join(open, ", ")), Hint: "say which with --check"}
	case found < 0 && r.Check != "":
		return 0, &Error{Code: CodeNotFound, Field: "check", Message: fmt.Sprintf("%s has no check %q", w.Name, r.Check), Hint: "its open approvals: " + strings.Join(open, ", ")}
	case found < 0:
		return 0, &Error{Code: CodeConflict, Field: "check", Message: fmt.Sprintf("no check of %s waits for a person", w.Name), Hint: "muster describe " + w.Name + " shows what it waits for"}
	}
	if users := w.Checks[found].Users; len(users) > 0 && !slices.Contains(users, r.User) {
		return 0, &Error{Code: CodeForbidden, Field: "check", Message: fmt.Sprintf("%s may not decide check %s of %s", r.User, w.Checks[found].Name, w.Name), Hint: "ask one of " + strings.Join(users, ", ")}
	}
	return found, nil
}

// Answer is what a check that is asked by program has said.
type Answer struct {
	Verdict core.CheckVerdict // approved, rejected, or waiting: ask again
	Retry   bool              // waiting, and the reservation is given back meanwhile
	Message string
}

// Answered reports the answer to a question; failure: there was none.
func Answered(id core.WorkloadID, attempt int, check string, a Answer, failure error) Command {
	return func(tx *tx) (any, error) {
		d, ok := tx.open(id)
		if !ok || d.w.Attempt != attempt {
			return nil, nil
		}
		i := slices.IndexFunc(d.w.Checks, func(c core.CheckState) bool { return c.Name == check && c.Verdict == core.CheckAsked })
		if i < 0 || d.w.Phase != lifecycle.Reviewing && d.w.Phase != lifecycle.Reserved {
			return nil, nil // it was withdrawn meanwhile
		}
		return nil, tx.change(d, func() error {
			by := d.w.Checks[i].Type + ":" + check
			if failure == nil && a.Verdict != core.CheckWaiting {
				return tx.decide(d, i, a.Verdict, by, a.Message)
			}
			return tx.askLater(d, i, a, failure)
		})
	}
}

const askBase, askMax = 2 * time.Second, 2 * time.Minute

// askLater has a question that brought no decision asked again.
func (tx *tx) askLater(d *draft, i int, a Answer, failure error) error {
	d.w.Checks = slices.Clone(d.w.Checks)
	c := &d.w.Checks[i]
	c.Tries++
	c.Message = a.Message
	if failure != nil {
		c.Message = "no answer: " + failure.Error()
	}
	at := tx.now.Add(decide.Backoff(d.w.ID, c.Tries, askBase, askMax)).Truncate(time.Microsecond)
	c.AskAt = at
	if !a.Retry || d.w.Phase != lifecycle.Reserved {
		return nil
	}
	// Kueue's Retry: the reservation goes back, and everything is asked anew
	// with the next one.
	d.w.AskAt = at
	if err := tx.step(d, lifecycle.Input{On: lifecycle.Release, Cause: lifecycle.CauseCheck, Reason: lifecycle.ReasonRetry, Message: c.Message}, c.Type+":"+c.Name); err != nil {
		return err
	}
	return tx.queuedAgain(d)
}

// checksDue asks again what is due and rejects what has passed its deadline. It
// must run inside change.
func (tx *tx) checksDue(d *draft) error {
	for i := range d.w.Checks {
		c := d.w.Checks[i]
		if c.Verdict == core.CheckApproved {
			continue
		}
		if !c.Deadline.IsZero() && !c.Deadline.After(tx.now) {
			return tx.decide(d, i, core.CheckRejected, actorControl, "nobody had approved it by its deadline")
		}
		if c.Verdict == core.CheckAsked && !c.AskAt.IsZero() && !c.AskAt.After(tx.now) {
			d.w.Checks = slices.Clone(d.w.Checks)
			d.w.Checks[i].AskAt = time.Time{}
			tx.operation(Operation{Kind: OperationAsk, Workload: d.w, Check: d.w.Checks[i]})
		}
	}
	if d.w.Phase != lifecycle.Reviewing {
		return nil
	}
	return tx.heed(d)
}

// nextCheck is when a check needs attention; zero: never.
func nextCheck(w *core.Workload) time.Time {
	var at time.Time
	for _, c := range w.Checks {
		if c.Verdict == core.CheckApproved {
			continue
		}
		at = earliest(at, c.Deadline)
		if c.Verdict == core.CheckAsked || c.Type == checkTime || c.Type == checkAfter {
			at = earliest(at, c.AskAt)
		}
	}
	return at
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func SortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
