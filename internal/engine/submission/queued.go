package submission

import (
	"fmt"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/draft"
)

// mayQueue refuses what would be one more than may wait in a project, in a department
// above it, or of a user in one of these or in all.
func mayQueue(tx *draft.Tx, project core.ProjectID, user string) error {
	for p := range tx.Tree().Up(project) {
		what := "project"
		if p.Department {
			what = "department"
		}
		if n := tx.State.Queued.Of(tx.Tree(), p.ID, ""); p.MaxQueued > 0 && n >= p.MaxQueued {
			return crowded(fmt.Sprintf("%d workloads of %s %s have not started, and it may have at most %d (maxQueued of %s %s)", n, what, p.ID, p.MaxQueued, what, p.ID),
				fmt.Sprintf("wait until some have started, or have the bound raised: muster %s update %s --max-queued NUMBER", what, p.ID))
		}
		if n := tx.State.Queued.Of(tx.Tree(), p.ID, user); p.UserLimit.MaxQueued > 0 && n >= p.UserLimit.MaxQueued {
			return crowded(fmt.Sprintf("%d workloads of %s in %s %s have not started, and each user may have at most %d (userLimit.maxQueued of %s %s)", n, user, what, p.ID, p.UserLimit.MaxQueued, what, p.ID),
				fmt.Sprintf("wait until some have started or stop some, or have the bound raised: muster %s update %s --user-queued NUMBER", what, p.ID))
		}
	}
	if b, ok := draft.UserBound(tx, user); ok && b.MaxQueued > 0 {
		if n := tx.State.Queued.User(user); n >= b.MaxQueued {
			return crowded(fmt.Sprintf("%d workloads of %s have not started in all projects together, and %s may have at most %d (maxQueued of user-limit %s)", n, user, user, b.MaxQueued, b.User),
				fmt.Sprintf("wait until some have started or stop some, or have the bound raised: muster user-limit set %s --queued NUMBER", user))
		}
	}
	return nil
}

func crowded(message, hint string) error {
	return &draft.Error{Code: draft.CodeConflict, Field: "project", Message: message, Hint: hint}
}
