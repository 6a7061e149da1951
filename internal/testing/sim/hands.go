package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
)

// hands does what the control plane has to do outside of every backend: slowly,
// in any order, twice, and not always well. A server that ends drops it all.
type hands struct {
	w      *World
	issued []*ticket
	// script answers instead of chance; of stories.
	script func(draft.Operation) (result draft.Work, in time.Duration, ok bool)
}

// ticket is one operation that is under way.
type ticket struct {
	operation draft.Operation
	dropped   bool
}

// operationKey tells what the engine waits for.
type operationKey struct {
	workload core.WorkloadID
	attempt  int
	kind     draft.OperationKind
	check    string
}

func keyOf(c draft.Operation) operationKey {
	return operationKey{c.Workload.ID, c.Workload.Attempt, c.Kind, c.Check.Name}
}

// begin starts an operation.
func (h *hands) begin(c draft.Operation) {
	t := &ticket{operation: c}
	h.issued = append(h.issued, t)
	result, in, ok := draft.Work(nil), time.Duration(0), false
	if h.script != nil {
		result, in, ok = h.script(c)
	}
	if !ok {
		result, in = h.result(c), 100*time.Millisecond+h.w.upTo(40*time.Second)
	}
	if result == nil {
		return // it takes for ever
	}
	h.w.soon(in, func() { h.report(t, result) })
	if h.w.happens(0.1) { // its caller did not hear that it had arrived
		h.w.soon(in+h.w.upTo(time.Minute), func() { h.w.do(result) })
	}
}

// report brings a result in. One that was dropped may have been on its way.
func (h *hands) report(t *ticket, result draft.Work) {
	if t.dropped && !h.w.happens(0.3) {
		return
	}
	failed := h.w.do(result)
	switch {
	case failed == nil:
	case failed[0] != nil: // it could not be stored
		h.w.soon(500*time.Millisecond, func() { h.report(t, result) })
	default:
		h.end(func(other *ticket) bool { return other == t })
	}
}

// drop ends the operations of a workload.
func (h *hands) drop(id core.WorkloadID) {
	h.end(func(t *ticket) bool { return t.operation.Workload.ID == id })
}

// forget ends every operation, as the end of a server does.
func (h *hands) forget() { h.end(func(*ticket) bool { return true }) }

func (h *hands) end(which func(*ticket) bool) {
	var left []*ticket
	for _, t := range h.issued {
		if which(t) {
			t.dropped = true
		} else {
			left = append(left, t)
		}
	}
	h.issued = left
}

// underWay reports whether an operation has been begun and not ended.
func (h *hands) underWay(k operationKey) bool {
	for _, t := range h.issued {
		if keyOf(t.operation) == k {
			return true
		}
	}
	return false
}

// result is what comes of an operation.
func (h *hands) result(c draft.Operation) draft.Work {
	w := c.Workload
	failure := func(p float64, what string) error {
		if h.w.chance.Float64() < p {
			return errors.New(what)
		}
		return nil
	}
	switch c.Kind {
	case draft.OperationAsk:
		a, err := h.answer()
		return submission.Answered(w.ID, w.Attempt, c.Check.Name, a, err)
	case draft.OperationBuild:
		return submission.Built(w.ID, w.Attempt, "registry.sim/"+w.Name+"@sha256:00", failure(0.15, "pip install failed"))
	case draft.OperationPublish:
		return submission.Published(w.ID, w.Attempt, core.Published{Ref: "registry.sim/models/" + w.Name + ":v1", Files: 1}, serves(w), failure(0.15, "the directory is empty"))
	case draft.OperationFollow:
		return submission.Deployed(w.ID, w.Attempt, failure(0.2, "its service does not become ready"))
	default:
		h.w.fail("nobody knows how to do an operation of kind %d", c.Kind)
		return nil
	}
}

// answer is what a webhook or a budget says.
func (h *hands) answer() (submission.Answer, error) {
	n := h.w.chance.IntN(20)
	if h.w.faultless && n >= 14 {
		n = 0 // sooner or later it decides
	}
	switch {
	case n < 11:
		return submission.Answer{Verdict: core.CheckApproved, Message: "fine"}, nil
	case n < 13:
		return submission.Answer{Verdict: core.CheckRejected, Message: "too dear"}, nil
	case n < 16:
		return submission.Answer{Verdict: core.CheckWaiting, Message: "not yet"}, nil
	case n < 18:
		return submission.Answer{Verdict: core.CheckWaiting, Retry: true, Message: "later"}, nil
	default:
		return submission.Answer{}, errors.New("connection refused")
	}
}

// serves is the document of the workload that serves what w has published; nil
// where nothing does.
func serves(w *core.Workload) *spec.Document {
	p := w.Spec.Publish
	if p == nil || p.Serve == nil {
		return nil
	}
	n := max(1, p.Serve.Replicas)
	d := &spec.Document{
		Kind: lifecycle.Inference, Name: p.Serve.Name, Project: string(w.Project), Command: p.Serve.Command, Replicas: &n,
		Ports: []spec.Port{{Port: p.Serve.Port}},
	}
	if d.Name == "" {
		d.Name = w.Name + "-serve"
	}
	d.Defaults()
	return d
}

// asked checks that whatever waits for an operation has one under way.
func (w *World) asked() {
	if w.engine == nil || !w.up || w.err != nil {
		return
	}
	for _, e := range w.live() {
		for _, k := range needsOperation(e.Workload) {
			if !w.hands.underWay(k) {
				w.fail("workload %s is %s (%s) and nobody does what it waits for: %+v", e.Workload.Name, e.Workload.Phase, e.Workload.Reason, k)
			}
		}
	}
}

// needsOperation is what w waits for, by its record alone.
func needsOperation(w *core.Workload) []operationKey {
	when := map[lifecycle.Phase]string{lifecycle.Reviewing: "queue", lifecycle.Reserved: "reservation"}[w.Phase]
	var keys []operationKey
	switch p := w.Phase; {
	case p == lifecycle.Building:
		keys = append(keys, operationKey{w.ID, w.Attempt, draft.OperationBuild, ""})
	case p == lifecycle.Publishing:
		kind := draft.OperationPublish
		if w.Published != nil {
			kind = draft.OperationFollow
		}
		keys = append(keys, operationKey{w.ID, w.Attempt, kind, ""})
	case p.Checking():
		for _, c := range w.Checks {
			if c.When == when && c.Verdict == core.CheckAsked && c.AskAt.IsZero() {
				keys = append(keys, operationKey{w.ID, w.Attempt, draft.OperationAsk, c.Name})
			}
		}
	}
	return keys
}

// stuck says why a workload must not rest as it is; empty: it may.
func stuck(w *core.Workload, now time.Time) string {
	asks := func(when string) bool { // and nobody but programs; what comes of others and of time is not asked for
		open, person := false, false
		for _, c := range w.Checks {
			if c.When == when && c.Verdict != core.CheckApproved {
				open, person = true, person || c.Type == "approval" || c.Workload != "" || c.Type == "time"
			}
		}
		return open && !person
	}
	long := now.Sub(w.PhaseAt) > 8*time.Minute
	switch p := w.Phase; {
	case p == lifecycle.Submitted, long && (p == lifecycle.Building || p == lifecycle.Publishing || p == lifecycle.Restarting ||
		p == lifecycle.Terminating || p == lifecycle.Backoff || p == lifecycle.Deleting):
		return fmt.Sprintf("it has been %s since %v", p, w.PhaseAt)
	case long && p == lifecycle.Reviewing && asks("queue"):
		return "it is under review, and no person is to approve it"
	case long && p == lifecycle.Reserved && asks("reservation"):
		return "it is reserved, and no person is to approve it"
	case long && p == lifecycle.Queued && !w.AskAt.IsZero():
		return "it waits for a check to be asked again"
	default:
		return ""
	}
}
