package engine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/store"
)

// Unchanged is a command that is carried out only where the workload has one of
// those versions: it is looked at where the command is, so that nothing comes
// between. Tags are what was asked for; those that are no version are none of it.
func Unchanged(r Ref, tags []string, versions []int64, c Command) Command {
	return func(tx *tx) (any, error) {
		at, err := tx.version(r.ID)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(versions, at) {
			return nil, tx.stale(r, tags, len(versions) > 0, at)
		}
		return c(tx)
	}
}

// stale says that a workload is not as whoever asks has seen it.
func (tx *tx) stale(r Ref, tags []string, seen bool, at int64) error {
	name := r.String()
	if d, err := tx.find(r); err == nil {
		name = d.w.Name
	}
	if !seen {
		return &Error{
			Code: CodeStale, Message: fmt.Sprintf("%s is no tag of %s, which is at version %d", strings.Join(tags, ", "), name, at),
			Hint: fmt.Sprintf("its present tag is %q, with the quotation marks: the header ETag of an answer has it", strconv.FormatInt(at, 10)),
		}
	}
	return &Error{
		Code: CodeStale, Message: fmt.Sprintf("%s has changed: it is at version %d", name, at),
		Hint: "look at it again, and repeat the request with its present tag if it is still right",
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
	w, err := tx.e.D.Store.Workload(tx.ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return 0, notFound(Ref{ID: id}.String(), "muster get")
	}
	if err != nil {
		return 0, fromStore(err)
	}
	return w.Version, nil
}
