package control

import (
	"errors"
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/store"
)

// Unchanged is a command that is carried out only where the workload has one of
// those versions: it is looked at where the command is, so that nothing comes
// between.
func Unchanged(r Ref, versions []int64, c Command) Command {
	return func(tx *tx) (any, error) {
		at, err := tx.version(r.ID)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(versions, at) {
			return nil, &Error{
				Code: CodeStale, Message: fmt.Sprintf("%s has changed: it is at version %d", r, at),
				Hint: "look at it again, and repeat the request with its present tag if it is still right",
			}
		}
		return c(tx)
	}
}

// version is that of a workload as the draft has it.
func (tx *tx) version(id core.WorkloadID) (int64, error) {
	if d, ok := tx.drafts[id]; ok && (d.touched || d.was == nil) {
		return d.w.Version, nil
	} else if ok {
		return d.was.Version, nil
	}
	if en, ok := tx.e.live[id]; ok {
		return en.w.Version, nil
	}
	w, err := tx.e.d.Store.Workload(tx.ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return 0, notFound(Ref{ID: id}.String())
	}
	if err != nil {
		return 0, fromStore(err)
	}
	return w.Version, nil
}
