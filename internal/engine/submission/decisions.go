package submission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/admission"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/checking"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Decision is a person's word on a check.
type Decision struct {
	Ref     draft.Ref
	Check   string // empty: the only one that waits for a person
	Approve bool
	User    string
	Actor   string
	Message string
	Owner   bool // of the server: no rule binds them
}

// Decide approves or rejects a check.
func Decide(r Decision) draft.Command[*core.Workload] {
	return func(tx *draft.Tx) (*core.Workload, error) {
		d, err := tx.Find(r.Ref)
		if err != nil {
			return nil, err
		}
		i, err := openCheck(d.W, r)
		if err != nil {
			return nil, err
		}
		on, err := votes(tx, d.W, i, &r)
		if err != nil {
			return nil, err
		}
		err = tx.Change(d, func() error {
			if r.Approve && d.W.Checks[i].Need > 0 {
				return consequence.Vote(tx, d, i, core.Vote{By: r.User, For: on, Message: r.Message}, r.Actor)
			}
			verdict := core.CheckRejected
			if r.Approve {
				verdict = core.CheckApproved
			}
			return consequence.Decide(tx, d, i, verdict, r.Actor, r.Message)
		})
		if c := d.W.Checks[i]; err == nil && c.Type == admission.Image && c.Verdict == core.CheckApproved {
			err = consequence.SeenElsewhere(tx, &c)
		}
		return d.W, err
	}
}

// votes says for whom a person decides a check of a scope, or why they may not. A
// rejection is nobody's second word: who has approved may think better of it.
func votes(tx *draft.Tx, w *core.Workload, i int, r *Decision) (on string, err error) {
	c := w.Checks[i]
	if c.Scope == "" {
		return "", nil
	}
	if !r.Approve {
		c.Votes = nil
	}
	on, refused := admission.Voter(&c, w.User, r.User, checking.People(tx, w, r.User, r.Owner))
	if refused == nil {
		return on, nil
	}
	code := draft.CodeForbidden
	if refused.Taken {
		code = draft.CodeConflict
	}
	return "", &draft.Error{Code: code, Field: "check", Message: refused.Message, Hint: refused.Hint}
}

// openCheck finds the check that a decision is about, or says why it cannot be
// decided.
func openCheck(w *core.Workload, r Decision) (int, error) {
	if !w.Phase.Checking() {
		return 0, &draft.Error{Code: draft.CodeIllegal, Message: fmt.Sprintf("%s is %s; no check waits for a decision", w.Name, w.Phase), Hint: "muster describe " + w.Name + " shows what has become of it"}
	}
	when := workload.AtQueue
	if w.Phase == lifecycle.Reserved {
		when = workload.AtReservation
	}
	var open []string
	found := -1
	for i, c := range w.Checks {
		if r.Check != "" && c.Name == r.Check {
			if c.Verdict == core.CheckApproved || c.Verdict == core.CheckRejected {
				return 0, &draft.Error{Code: draft.CodeConflict, Field: "check", Message: fmt.Sprintf("check %s of %s has been %s by %s already", c.Name, w.Name, c.Verdict, c.By), Hint: "muster describe " + w.Name + " shows all checks"}
			}
			if c.When != when {
				return 0, &draft.Error{Code: draft.CodeIllegal, Field: "check", Message: fmt.Sprintf("check %s of %s is made at its %s, and it is %s", c.Name, w.Name, c.When, w.Phase), Hint: "wait until it is asked"}
			}
			found = i
		}
		if c.When == when && admission.Person(c.Type) && c.Verdict != core.CheckApproved {
			open = append(open, c.Name)
			if r.Check == "" {
				found = i
			}
		}
	}
	switch {
	case r.Check == "" && len(open) > 1:
		return 0, &draft.Error{Code: draft.CodeInvalid, Field: "check", Message: fmt.Sprintf("%s waits for %d approvals: %s", w.Name, len(open), strings.Join(open, ", ")), Hint: "say which with --check"}
	case found < 0 && r.Check != "":
		return 0, &draft.Error{Code: draft.CodeNotFound, Field: "check", Message: fmt.Sprintf("%s has no check %q", w.Name, r.Check), Hint: "its open approvals: " + strings.Join(open, ", ")}
	case found < 0:
		return 0, &draft.Error{Code: draft.CodeConflict, Field: "check", Message: fmt.Sprintf("no check of %s waits for a person", w.Name), Hint: "muster describe " + w.Name + " shows what it waits for"}
	}
	if !admission.Person(w.Checks[found].Type) && w.Checks[found].Scope != "" {
		return 0, &draft.Error{Code: draft.CodeForbidden, Field: "check", Message: fmt.Sprintf("check %s of %s is decided by a program, and by nobody in its place", w.Checks[found].Name, w.Name), Hint: "who may change the check can have it let through: muster check describe " + w.Checks[found].Name}
	}
	if users := w.Checks[found].Users; w.Checks[found].Scope == "" && len(users) > 0 && !slices.Contains(users, r.User) {
		return 0, &draft.Error{Code: draft.CodeForbidden, Field: "check", Message: fmt.Sprintf("%s may not decide check %s of %s", r.User, w.Checks[found].Name, w.Name), Hint: "ask one of " + strings.Join(users, ", ")}
	}
	return found, nil
}

// Answer is what a check that is asked by program has said.
type Answer struct {
	Verdict core.CheckVerdict // approved, rejected, or waiting: ask again
	Retry   bool              // waiting, and the reservation is given back meanwhile
	Message string
	After   time.Duration // waiting: ask again after that; 0: as often as others
}

// Answered reports the answer to a question; failure: there was none.
func Answered(id core.WorkloadID, attempt int, check string, a Answer, failure error) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		d, ok := tx.Open(id)
		if !ok || d.W.Attempt != attempt {
			return nil, nil
		}
		i := slices.IndexFunc(d.W.Checks, func(c core.CheckState) bool { return c.Name == check && c.Verdict == core.CheckAsked })
		if i < 0 || !d.W.Phase.Checking() {
			return nil, nil // it was withdrawn meanwhile
		}
		return nil, tx.Change(d, func() error {
			by := d.W.Checks[i].Type + ":" + check
			if failure == nil && a.Verdict != core.CheckWaiting {
				return consequence.Decide(tx, d, i, a.Verdict, by, a.Message)
			}
			return askLater(tx, d, i, a, failure)
		})
	}
}

// What a program may say of when it is asked again.
const (
	askLeast = time.Second
	askMost  = 24 * time.Hour
)

// askLater has a question that brought no decision asked again.
func askLater(tx *draft.Tx, d *draft.Draft, i int, a Answer, failure error) error {
	d.W.Checks = slices.Clone(d.W.Checks)
	c := &d.W.Checks[i]
	was, silent := c.Message, c.Silent
	c.Tries++
	c.Message = a.Message
	c.Silent = 0
	if failure != nil {
		c.Message = "no answer: " + failure.Error()
		c.Silent = silent + 1
	}
	if c.Scope != "" {
		s, there := checking.One(tx, draft.CheckID(c.Scope, draft.CheckName(c)))
		if there && failure != nil && s.Rule.LetsThrough(c.Silent) {
			return consequence.Decide(tx, d, i, core.CheckApproved, "check:"+c.Name, fmt.Sprintf("let through after %d questions without an answer; %s", c.Silent, c.Message))
		}
		if c.Message != was || c.Tries == 1 { // the same again says nothing new
			consequence.RecordAnswer(tx, d.W, c, core.AuditDone, cmp.Or(c.Message, "wait"))
		}
	}
	wait := decide.AskWait(d.W.ID, c.Tries)
	if a.After > 0 && failure == nil {
		wait = min(max(a.After, askLeast), askMost)
	}
	at := tx.Now.Add(wait).Truncate(time.Microsecond)
	c.AskAt = at
	if !a.Retry || d.W.Phase != lifecycle.Reserved {
		return nil
	}
	// Kueue's Retry: the reservation goes back, and everything is asked anew
	// with the next one.
	d.W.AskAt = at
	if err := tx.Step(d, lifecycle.Input{On: lifecycle.Release, Cause: lifecycle.CauseCheck, Reason: lifecycle.ReasonRetry, Message: c.Message}, c.Type+":"+c.Name); err != nil {
		return err
	}
	return consequence.QueuedAgain(tx, d)
}
