package submission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/planner"
)

// Revision gives a workload that has ended another document, and runs it again.
type Revision struct {
	Ref   draft.Ref
	Doc   *spec.Document // with defaults, validated
	Actor string
	// DryRun only says whether the document can be carried out, also while the
	// workload has not ended.
	DryRun bool
}

// Revise replaces the document of a workload that has ended and runs it again with
// that, as a new attempt. What it is stays: its name, project and kind.
func Revise(r Revision) draft.Command[*core.Workload] {
	return func(tx *draft.Tx) (*core.Workload, error) {
		d, err := tx.Find(r.Ref)
		if err != nil {
			return nil, err
		}
		w := d.W
		if w.Kind.Foreign() {
			return nil, changedElsewhere(w)
		}
		doc, err := anew(w, r.Doc)
		if err != nil {
			return nil, err
		}
		if doc, err = governed(tx, doc, w.Spec); err != nil {
			return nil, err
		}
		if err := followsAnew(tx, w, doc); err != nil {
			return nil, err
		}
		if err := planner.Feasible(tx, doc, w.User); err != nil || r.DryRun {
			return w, err
		}
		in := lifecycle.Input{On: lifecycle.Restart, Reason: lifecycle.ReasonRestartedByUser, Message: "with another document"}
		if _, err := lifecycle.Next(w.State, in); err != nil {
			return nil, draft.Illegal(w.Name, err)
		}
		if d, err = tx.Reopen(d); err != nil {
			return nil, err
		}
		err = tx.Change(d, func() error {
			if slices.ContainsFunc(spec.Changes(w.Spec, doc), builtFrom) {
				d.W.Image = "" // it is of what was built before
			}
			revise(d, doc)
			d.W.Bounds = draft.BoundsNow(tx, d.W)
			return consequence.Again(tx, d, in, r.Actor)
		})
		return d.W, err
	}
}

// anew is another document for w, which stays what it is: its name, project and
// kind.
func anew(w *core.Workload, doc *spec.Document) (*spec.Document, error) {
	if doc.Kind != w.Kind {
		return nil, &draft.Error{Code: draft.CodeInvalid, Field: "kind", Message: fmt.Sprintf("the new document is of kind %s, %s of kind %s", doc.Kind, w.Name, w.Kind), Hint: "submit a new workload"}
	}
	next := *doc
	next.Name, next.NamePrefix, next.Project = w.Name, "", string(w.Project)
	return &next, nil
}

// builtFrom reports whether a change is of what an image is built from.
func builtFrom(c spec.Change) bool { return c.Path == "image" || strings.HasPrefix(c.Path, "build.") }
