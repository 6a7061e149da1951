package submission

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
)

// follows refuses a document that waits for workloads that are not there, nor
// come before it.
func follows(tx *draft.Tx, doc *spec.Document, before []*spec.Document) error {
	for i, a := range doc.After {
		if slices.ContainsFunc(before, func(b *spec.Document) bool { return b != nil && b.Project == doc.Project && b.Name == a.Workload }) {
			continue
		}
		switch _, err := consequence.Foregoer(tx, core.ProjectID(doc.Project), a.Workload); {
		case draft.IsNotFound(err):
			return &draft.Error{
				Code: draft.CodeInvalid, Field: fmt.Sprintf("after[%d].workload", i), Message: fmt.Sprintf("there is no workload %q in project %s", a.Workload, doc.Project),
				Hint: "submit that one first; muster get lists what there is",
			}
		case err != nil:
			return err
		}
	}
	return nil
}

// followsAnew is follows for another document of w: what w had waited for before
// may be gone, and it cannot wait for itself.
func followsAnew(tx *draft.Tx, w *core.Workload, doc *spec.Document) error {
	var before []*spec.Document
	for _, a := range w.Spec.After {
		before = append(before, &spec.Document{Project: doc.Project, Name: a.Workload})
	}
	for i, a := range doc.After {
		if x, err := consequence.Foregoer(tx, w.Project, a.Workload); err == nil && x.ID == w.ID {
			return &draft.Error{Code: draft.CodeInvalid, Field: fmt.Sprintf("after[%d].workload", i), Message: w.Name + " cannot wait for itself", Hint: "name another workload, or leave it out"}
		}
	}
	return follows(tx, doc, before)
}
