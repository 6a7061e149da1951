package submission

import (
	"cmp"
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
		switch x, _, err := consequence.Foregoers(tx, core.ProjectID(doc.Project), a); {
		case draft.IsNotFound(err) && x != nil:
			return &draft.Error{
				Code: draft.CodeInvalid, Field: fmt.Sprintf("after[%d].tasks", i), Message: fmt.Sprintf("%s has no task %s", x.Name, a.Tasks),
				Hint: "muster get " + x.Name + " shows its tasks",
			}
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

// queuedBehind has a job of Slurm wait for those that its array or its name say: the
// job of its array that stands so many places before it as may run at once, and with
// singleton the submitter's jobs of its name that have not ended
// (slurm.schedmd.com/sbatch.html, --dependency). Those before it have no number yet.
func queuedBehind(tx *draft.Tx, doc *spec.Document, s Submission) {
	j := doc.Slurm
	if j == nil || j.AtOnce == 0 && !j.Singleton {
		return
	}
	after := slices.Clone(doc.After)
	wait := func(workload string) {
		if a := (spec.Dependency{Workload: workload, When: spec.AfterEnded}); !slices.Contains(after, a) {
			after = append(after, a)
		}
	}
	if at := len(s.Before) - j.AtOnce; j.AtOnce > 0 && at >= 0 && j.ArrayTask != nil && *j.ArrayTask >= j.AtOnce && s.Before[at] != nil {
		wait(s.Before[at].Name)
	}
	if j.Singleton {
		for _, b := range s.Before {
			if b != nil && b.Slurm != nil && jobName(b) == jobName(doc) && b.Project == doc.Project {
				wait(b.Name)
			}
		}
		for id := range tx.Workloads() {
			w, _, _ := tx.View(id)
			if w != nil && !w.Phase.End() && w.User == s.User && w.Spec.Slurm != nil && jobName(w.Spec) == jobName(doc) {
				wait(string(w.ID))
			}
		}
	}
	doc.After = after
}

// jobName is what Slurm calls a job.
func jobName(doc *spec.Document) string { return cmp.Or(doc.Slurm.Name, doc.Name) }

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
