package submission

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/store"
)

// Unchanged is a command that is carried out only where the workload has one of
// those versions: it is looked at where the command is, so that nothing comes
// between. Tags are what was asked for; those that are no version are none of it.
func Unchanged[R any](r draft.Ref, tags []string, versions []int64, c draft.Command[R]) draft.Command[R] {
	return func(tx *draft.Tx) (R, error) {
		var none R
		at, err := version(tx, r.ID)
		if err != nil {
			return none, err
		}
		if !slices.Contains(versions, at) {
			return none, stale(tx, r, tags, len(versions) > 0, at)
		}
		return c(tx)
	}
}

// stale says that a workload is not as whoever asks has seen it.
func stale(tx *draft.Tx, r draft.Ref, tags []string, seen bool, at int64) error {
	name := r.String()
	if d, err := tx.Find(r); err == nil {
		name = d.W.Name
	}
	if !seen {
		return &draft.Error{
			Code: draft.CodeStale, Message: fmt.Sprintf("%s is no tag of %s, which is at version %d", strings.Join(tags, ", "), name, at),
			Hint: fmt.Sprintf("its present tag is %q, with the quotation marks: the header ETag of an answer has it", strconv.FormatInt(at, 10)),
		}
	}
	return &draft.Error{
		Code: draft.CodeStale, Message: fmt.Sprintf("%s has changed: it is at version %d", name, at),
		Hint: "look at it again, and repeat the request with its present tag if it is still right",
	}
}

// version is that of a workload as the draft has it.
func version(tx *draft.Tx, id core.WorkloadID) (int64, error) {
	if d, ok := tx.Drafts[id]; ok && (d.Touched || d.Was == nil) {
		return d.W.Version, nil
	} else if ok {
		return d.Was.Version, nil
	}
	if en, ok := tx.State.Live[id]; ok {
		return en.W.Version, nil
	}
	w, err := tx.State.D.Store.Workload(tx.Ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return 0, draft.NotFound(draft.Ref{ID: id}.String(), "muster get")
	}
	if err != nil {
		return 0, draft.FromStore(err)
	}
	return w.Version, nil
}
