package engine

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// OperationKind says what the control plane has to do for a workload outside of
// every backend.
type OperationKind int

// The kinds of operations.
const (
	OperationAsk     OperationKind = iota // a question to a check
	OperationBuild                        // its image
	OperationPublish                      // its results
	OperationFollow                       // the service of its published model, until it runs
)

// Operation is one such thing. It is begun at least once, begun again after a
// restart, and its result comes back as a command that fits only the attempt
// that asked.
type Operation struct {
	Kind     OperationKind
	Workload *core.Workload
	Check    core.CheckState // of OperationAsk
}

func (tx *tx) operation(c Operation) {
	tx.actions = append(tx.actions, Action{Kind: ActOperation, Operation: c})
}

// busyPhase reports whether operations are under way in p.
func busyPhase(p lifecycle.Phase) bool {
	return p == lifecycle.Reviewing || p == lifecycle.Building || p == lifecycle.Reserved || p == lifecycle.Publishing
}

// resumeOperations asks again for what a server before may not have finished.
func (tx *tx) resumeOperations(w *core.Workload) {
	switch w.Phase {
	case lifecycle.Deleting:
		tx.actions = append(tx.actions, Action{Kind: ActDeleteLogs, Workload: w.ID})
	case lifecycle.Building:
		tx.operation(Operation{Kind: OperationBuild, Workload: w})
	case lifecycle.Publishing:
		kind := OperationPublish
		if w.Published != nil {
			kind = OperationFollow
		}
		tx.operation(Operation{Kind: kind, Workload: w})
	case lifecycle.Reviewing, lifecycle.Reserved:
		for _, c := range w.Checks {
			if c.Verdict == core.CheckAsked && c.AskAt.IsZero() {
				tx.operation(Operation{Kind: OperationAsk, Workload: w, Check: c})
			}
		}
	}
}
