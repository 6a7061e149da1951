package engine

import (
	"fmt"

	"github.com/musterhq/muster/internal/core"
)

// gatherWatchers finds the subscriptions that are about everyone's workloads.
func (e *Engine) gatherWatchers() {
	e.watchers = nil
	for _, user := range SortedKeys(e.subscribed) {
		for _, s := range e.subscribed[user] {
			if s.Everyone {
				e.watchers = append(e.watchers, s)
			}
		}
	}
}

// watchers are the subscriptions to everyone's workloads in the project of w,
// as they are committed.
func (tx *tx) watchers(w *core.Workload) (all []core.Subscription) {
	for _, s := range tx.e.watchers {
		if s.Watches(w, func(p core.ProjectID) bool { return tx.within(w.Project, p) }) {
			all = append(all, s)
		}
	}
	return all
}

// within reports whether a project is another, or below it.
func (tx *tx) within(id, other core.ProjectID) bool { return id == other || tx.tree().Below(id, other) }

// watchersMost bounds what one step of a workload can set off by those who
// watch its project.
const watchersMost = 50

// watchable refuses a subscription to everyone's workloads in a project that is
// not there, or that many watch already.
func (tx *tx) watchable(s *core.Subscription) error {
	if s.Project == "" {
		return &Error{Code: CodeInvalid, Field: "project", Message: "the workloads of everyone are those of a project, and none is named", Hint: "name it with --of-project; muster project list shows them"}
	}
	if _, ok := tx.project(s.Project); !ok {
		return &Error{Code: CodeNotFound, Field: "project", Message: fmt.Sprintf("project %q does not exist", s.Project), Hint: "muster project list shows them"}
	}
	n := 0
	for _, x := range tx.e.watchers {
		n += core.Bit(x.Project == s.Project)
	}
	if n >= watchersMost {
		return &Error{Code: CodeConflict, Field: "project", Message: fmt.Sprintf("%d notifications are about everyone's workloads in %s, the most there may be", n, s.Project), Hint: "let one receiver pass it on"}
	}
	return nil
}
