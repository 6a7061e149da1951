// Package decide says what follows: from a failure, a preemption, a success, the
// end of a member, a limit. The table in package lifecycle says what may follow;
// where it leaves a choice, the choice is made here, from values alone. Whoever
// calls fills in the reason and the message, which explain it and decide nothing.
package decide

import (
	"slices"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// Failure is how a task failed.
type Failure struct {
	Class    lifecycle.FailureClass
	Lost     bool // nobody saw how it ended
	ExitCode *int // nil: it has none
}

// Counts are the failures of a workload since it was submitted or restarted.
type Counts struct {
	Failures int   // against retry.limit
	System   int   // against retry.system
	Rules    []int // how often each retry rule has tried again
}

// Outcome is what follows from the failure of a task.
type Outcome struct {
	Input   lifecycle.Input // without reason and message
	Counts  Counts
	InPlace bool // the task is started again where it is
	Pause   bool // the next attempt is of a system that refused this one: it waits
}

// starts are the events that a failure is before anything has run.
var starts = map[lifecycle.FailureClass]lifecycle.Event{
	lifecycle.FailureImage:     lifecycle.PullFail,
	lifecycle.FailureCannotRun: lifecycle.CannotRun,
	lifecycle.FailureMount:     lifecycle.MountFail,
}

// AfterFailure says what follows for a workload in phase from the failure of a
// task. In this order: a retry rule of the document that fits; the system is to
// blame; a limit of its backend ended it; nobody knows how it ended; it could not
// be started; its kind is started again in place; retry.limit.
func AfterFailure(kind lifecycle.Kind, doc *spec.Document, phase lifecycle.Phase, had Counts, f Failure) Outcome {
	out := Outcome{Counts: had}
	over := func(target lifecycle.Phase) Outcome {
		out.Input = lifecycle.Input{On: lifecycle.TaskFail, To: lifecycle.Terminating, Target: target}
		return out
	}
	if !kind.Attended() {
		switch out.Counts.apply(doc.Retry, f) {
		case ruleRetry:
			return over(lifecycle.Backoff)
		case ruleFail:
			return over(lifecycle.Failed)
		}
	}
	event, start := starts[f.Class]
	switch {
	case f.Class.Systemic():
		out.Input = lifecycle.Input{On: lifecycle.NodeLost, Target: lifecycle.Failed}
		if SystemRetries(doc.Retry, had.System) {
			out.Counts.System++
			out.Input.Target, out.Pause = lifecycle.Queued, true
		}
	case f.Class == lifecycle.FailureDuration:
		out.Input = lifecycle.Input{On: lifecycle.Deadline, Cause: lifecycle.CauseLimit}
	case f.Lost:
		out.Input = lifecycle.Input{On: lifecycle.OutcomeLost}
	case start && phase == lifecycle.Starting:
		out.Input = lifecycle.Input{On: event}
	case kind.Attended() && doc.Restart != "never":
		out.Input, out.InPlace = lifecycle.Input{On: lifecycle.TaskFail, To: lifecycle.Restarting}, true
	default:
		if out.Counts.Failures++; out.Counts.Failures > doc.Retry.Limit {
			return over(lifecycle.Failed)
		}
		return over(lifecycle.Backoff)
	}
	return out
}

// SystemRetries reports whether what the system ended n times is tried again.
func SystemRetries(r spec.Retry, n int) bool { return r.System == nil || n < *r.System }

// ruling is what a retry rule says of a failure.
type ruling int

const (
	ruleNone ruling = iota // none fits: the kind and retry.limit decide
	ruleRetry
	ruleFail
)

// apply finds the retry rule that fits a failure and counts its use.
func (c *Counts) apply(r spec.Retry, f Failure) ruling {
	i := slices.IndexFunc(r.Rules, func(rule spec.RetryRule) bool { return Fits(rule, f) })
	if i < 0 {
		return ruleNone
	}
	rule := r.Rules[i]
	if rule.Action == "fail" {
		return ruleFail
	}
	uses := make([]int, len(r.Rules))
	copy(uses, c.Rules)
	if rule.Limit > 0 && uses[i] >= rule.Limit {
		return ruleFail
	}
	if rule.Action == "retry" {
		if c.Failures++; rule.Limit == 0 && c.Failures > r.Limit {
			return ruleFail
		}
	}
	uses[i]++
	c.Rules = uses
	return ruleRetry
}

// Fits reports whether a retry rule is about such a failure.
func Fits(rule spec.RetryRule, f Failure) bool {
	return (len(rule.ExitCodes) == 0 || f.ExitCode != nil && slices.Contains(rule.ExitCodes, *f.ExitCode)) &&
		(len(rule.Reasons) == 0 || slices.Contains(rule.Reasons, string(f.Class)))
}

// AfterPreemption is where a workload goes whose resources are taken back: to its
// queue, or to its end. A workspace ends: whoever worked in it is not there any
// more when its turn comes again.
func AfterPreemption(kind lifecycle.Kind, doc *spec.Document) lifecycle.Phase {
	if kind.Interactive() || doc.TerminateAfterPreemption {
		return lifecycle.Preempted
	}
	return lifecycle.Queued
}

// AfterEviction is the event by which a whole workload leaves for others. One that
// has a place elsewhere already moves there; pods of others that are not made
// again cannot.
func AfterEviction(kind lifecycle.Kind, doc *spec.Document, moves bool) lifecycle.Input {
	if moves && (!kind.Foreign() || !doc.TerminateAfterPreemption) {
		return lifecycle.Input{On: lifecycle.Move}
	}
	return lifecycle.Input{On: lifecycle.Preempt, Target: AfterPreemption(kind, doc)}
}

// AfterSuccess is where a workload goes whose work is done.
func AfterSuccess(doc *spec.Document) lifecycle.Phase {
	if doc.Publish != nil {
		return lifecycle.Publishing
	}
	return lifecycle.Completed
}

// Succeeds reports whether the work is done: all tasks have succeeded, or the
// first has and that is enough (cleanPolicy).
func Succeeds(doc *spec.Document, succeeded, total int, first bool) bool {
	return succeeded == total || first && FirstEnough(doc)
}

// FirstEnough reports whether the success of the first task is that of the gang,
// whose other tasks are then ended.
func FirstEnough(doc *spec.Document) bool {
	return doc.Gang() && (doc.CleanPolicy == "running" || doc.CleanPolicy == "" && (doc.Framework == "mpi" || doc.Slurm != nil))
}

// Survives reports whether an array goes on without a task that failed so: its node
// is lost, its document does not say how to go on after that, and it has not
// survived as many as it may.
func Survives(doc *spec.Document, system int, f Failure) bool {
	if f.Class != lifecycle.FailureNode || slices.ContainsFunc(doc.Retry.Rules, func(r spec.RetryRule) bool { return Fits(r, f) }) {
		return false
	}
	return SystemRetries(doc.Retry, system)
}
