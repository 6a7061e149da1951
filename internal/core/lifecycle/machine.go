package lifecycle

import (
	"fmt"
	"slices"
	"strings"
)

// State is all of a workload that the machine looks at and changes.
type State struct {
	Phase   Phase  `json:"phase"`
	Target  Phase  `json:"target,omitempty"` // while Terminating: what comes after
	Event   Event  `json:"event,omitempty"`  // that led here; of what has ended, or queues again, the one that ended it
	Cause   Cause  `json:"cause,omitempty"`  // of that event
	Reason  Reason `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Attempt int    `json:"attempt"`           // from 0
	Started bool   `json:"started,omitempty"` // some attempt has reached Starting
}

// Input is one event offered to the machine, with what it says of itself.
type Input struct {
	On Event
	// To and Target choose where the table leaves a choice (task_failed,
	// preempt, succeeded, node_lost); elsewhere they stay empty.
	To, Target Phase
	Cause      Cause  // on whose account, where that is not the workload's own
	For        string // the workload that gets the room, by its ID
	Reason     Reason
	Message    string
}

// IllegalError says that an event does not fit the present phase.
type IllegalError struct {
	Phase   Phase
	Event   Event
	Detail  string
	Allowed []Event // events that would fit
}

func (e *IllegalError) Error() string {
	phase := string(e.Phase)
	if phase == "" {
		phase = "a workload that does not exist"
	}
	msg := fmt.Sprintf("%s is not possible in %s", e.Event, phase)
	if e.Detail != "" {
		msg += ": " + e.Detail
	}
	return msg
}

// Next returns the state after in, or an *IllegalError that leaves s as it is.
// It is the only reader of the table.
func Next(s State, in Input) (State, error) {
	refuse := func(detail string) (State, error) {
		return s, &IllegalError{Phase: s.Phase, Event: in.On, Detail: detail, Allowed: Allowed(s)}
	}
	var found *Rule
	for i := range rules {
		r := &rules[i]
		if r.On != in.On || !slices.Contains(r.From, s.Phase) || !r.holds(s) {
			continue
		}
		if !r.leadsTo(s, in.To) {
			continue
		}
		if found != nil {
			return refuse(fmt.Sprintf("it may lead to %s or %s; the event must say which", found.To, r.To))
		}
		found = r
	}
	if found == nil {
		return refuse("")
	}
	if in.Reason == ReasonNone {
		in.Reason = ownReason(in.On, s.Phase)
	}
	n := State{Phase: found.To, Event: in.On, Cause: in.Cause, Reason: in.Reason, Message: in.Message, Attempt: s.Attempt, Started: s.Started}
	switch {
	case found.To == AsTargeted:
		n.Phase = s.Target
		if s.Event != "" { // what ended it stays true, as why it was ended does
			n.Event, n.Cause = s.Event, s.Cause
		}
		if n.Reason == ReasonNone {
			n.Reason, n.Message = s.Reason, s.Message
		}
	case found.On == Stuck:
		n.Target, n.Event, n.Cause, n.Reason, n.Message = s.Target, s.Event, s.Cause, s.Reason, s.Message
	case found.To == Terminating:
		n.Target = in.Target
		if n.Target == None && len(found.Targets) == 1 {
			n.Target = found.Targets[0]
		}
		if !slices.Contains(found.Targets, n.Target) {
			return refuse(fmt.Sprintf("target %q is not one of %s", n.Target, joinPhases(found.Targets)))
		}
	}
	if n.Phase == Starting {
		n.Started = true
	}
	if found.NewAttempt && (found.To != AsTargeted || n.Phase == Queued || n.Phase == Reserved) {
		n.Attempt++
	}
	return n, nil
}

// leadsTo reports whether r may lead to the phase that an event names. The
// recorded end of Terminating counts too, so that a history can be replayed.
func (r *Rule) leadsTo(s State, to Phase) bool {
	return to == None || to == r.To || r.To == AsTargeted && to == s.Target
}

func (r *Rule) holds(s State) bool {
	switch r.When {
	case Always:
		return true
	case NeverStarted:
		return !s.Started
	case StartedOnce:
		return s.Started
	case Stronger:
		return strength(r.Targets[0]) > strength(s.Target)
	default:
		return false
	}
}

// Allowed returns the events that fit s, in the table's order.
func Allowed(s State) []Event {
	var all []Event
	for i := range rules {
		r := &rules[i]
		if slices.Contains(r.From, s.Phase) && r.holds(s) && !slices.Contains(all, r.On) {
			all = append(all, r.On)
		}
	}
	return all
}

func joinPhases(ps []Phase) string {
	words := make([]string, len(ps))
	for i, p := range ps {
		words[i] = string(p)
	}
	return strings.Join(words, ", ")
}
