package submission

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/planner"
)

// Rewriting gives a workload that waits for its first start another document.
type Rewriting struct {
	Ref draft.Ref
	// Change returns the document as it is to be, with defaults and validated;
	// the one that it is given must stay as it is.
	Change func(*spec.Document) (*spec.Document, error)
	Actor  string
}

// Rewrite replaces the document of a workload none of whose tasks has ever been
// placed. It stays the same attempt, with its number and its age, and goes anew through
// what stands before its queue: what it waits for may be something else by now.
func Rewrite(r Rewriting) draft.Command[*core.Workload] {
	return func(tx *draft.Tx) (*core.Workload, error) {
		d, err := tx.Find(r.Ref)
		if err != nil {
			return nil, err
		}
		w := d.W
		if w.Kind.Foreign() {
			return nil, changedElsewhere(w)
		}
		in := lifecycle.Input{On: lifecycle.Rewrite}
		if _, err := lifecycle.Next(w.State, in); err != nil || d.Tasks.Len() > 0 {
			return nil, &draft.Error{
				Code: draft.CodeIllegal, Message: fmt.Sprintf("%s is %s: that changes only while it waits for its first start", w.Name, w.Phase),
				Hint: "muster update --restart ends what runs and runs it again with the change",
			}
		}
		doc, err := r.Change(w.Spec)
		if err != nil {
			return nil, err
		}
		if doc, err = anew(w, doc); err != nil {
			return nil, err
		}
		if doc, err = governed(tx, doc, w.Spec); err != nil {
			return nil, err
		}
		if doc.Reservation != w.Spec.Reservation {
			if err := planner.MayReserve(tx, w.Project, w.User, doc.Reservation); err != nil {
				return nil, err
			}
		}
		if err := followsAnew(tx, w, doc); err != nil {
			return nil, err
		}
		if err := planner.Feasible(tx, doc, w.User); err != nil {
			return nil, err
		}
		err = tx.Change(d, func() error {
			var paths []string
			for _, c := range spec.Changes(w.Spec, doc) {
				paths = append(paths, c.Path)
			}
			slices.Sort(paths)
			in.Message = fmt.Sprintf("changed before its start: %v", paths)
			revise(d, doc)
			d.W.Bounds = draft.BoundsNow(tx, d.W)
			d.Unwarn()
			tx.State.Dirty = true
			if err := tx.Step(d, in, r.Actor); err != nil {
				return err
			}
			return consequence.Gate(tx, d)
		})
		return d.W, err
	}
}
