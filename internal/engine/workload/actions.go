package workload

import (
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/admission"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// actions are what a user may ask of a workload, by the event it becomes.
var actions = []struct {
	name  string
	event lifecycle.Event
}{{"stop", lifecycle.Stop}, {"restart", lifecycle.Restart}, {"delete", lifecycle.Delete}, {"preempt", lifecycle.Preempt}, {"move", lifecycle.Move}, {"scale", lifecycle.Scale}, {"revise", lifecycle.Restart}}

// Actions are what a person may ask of a workload as it is.
func Actions(w *core.Workload) []string {
	out := []string{}
	fit := lifecycle.Allowed(w.State)
	for _, a := range actions {
		if Takes(w, a.name) && slices.Contains(fit, a.event) {
			out = append(out, a.name)
		}
	}
	if w.Phase == lifecycle.Terminating { // of what comes after, or not
		switch {
		case w.Again != "" && !slices.Contains(out, "stop"):
			out = append(out, "stop")
		case w.Again == "" && Restartable(w):
			out = append(out, "restart")
		}
	}
	if Amendable(w) {
		out = append(out, "change")
		if Takes(w, "update") {
			out = append(out, "update")
		}
	}
	if slices.ContainsFunc(w.Checks, func(c core.CheckState) bool {
		return admission.Person(c.Type) && c.Verdict != core.CheckApproved && (w.Phase == lifecycle.Reviewing && c.When == "queue" || w.Phase == lifecycle.Reserved && c.When == "reservation")
	}) {
		out = append(out, "approve", "reject")
	}
	switch {
	case w.Hold != nil || len(w.HeldTasks) > 0:
		out = append(out, "release")
	case w.Phase.Unstarted():
		out = append(out, "hold")
	}
	return out
}

// Takes reports whether an action is for workloads of its sort, in whichever phase: what
// is not preemptible is not preempted, only services have replicas and are updated,
// and what others made is not revised.
func Takes(w *core.Workload, action string) bool {
	switch action {
	case "preempt":
		return *w.Spec.Preemptible
	case "scale", "update":
		return w.Kind.Replicated()
	case "revise":
		return !w.Kind.Foreign()
	}
	return true
}

// Amendable reports whether a workload is neither at its end nor on its way out,
// and ours to change.
func Amendable(w *core.Workload) bool {
	return !w.Kind.Foreign() && !w.Phase.End() && w.Phase != lifecycle.Terminating && w.Phase != lifecycle.Publishing && w.Phase != lifecycle.Deleting
}

// Restartable reports whether a workload has ended and may run again, or is
// being ended and will then.
func Restartable(w *core.Workload) bool {
	state := w.State
	if state.Phase == lifecycle.Terminating {
		if w.Kind.Foreign() { // whether its pods are made again is not decided here
			return false
		}
		state = lifecycle.State{Phase: w.Target}
	}
	return slices.Contains(lifecycle.Allowed(state), lifecycle.Restart)
}
