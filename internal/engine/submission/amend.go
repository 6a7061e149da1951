package submission

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Amendment changes what may change of a live workload: its place in the order
// and its limits. What its tasks run stays.
type Amendment struct {
	Ref draft.Ref
	// Change returns the document as it is to be, with defaults and validated;
	// the one that it is given must stay as it is.
	Change func(*spec.Document) (*spec.Document, error)
}

// revise gives a workload another document and remembers in the present attempt
// what changed. What its name was made of stays: no document of one that has its
// name says it.
func revise(d *draft.Draft, next *spec.Document) {
	a, doc := d.Attempt(), next.Final()
	doc.NamePrefix = d.W.Spec.NamePrefix
	a.Revised = spec.Together(a.Revised, spec.Changes(d.W.Spec, doc))
	d.W.Spec, d.Edited = doc, true
}

// changedElsewhere refuses to change what a foreign controller made.
func changedElsewhere(w *core.Workload) error {
	return &draft.Error{Code: draft.CodeUnsupported, Message: w.Name + " was made by someone else, who decides about it", Hint: "change it where it was made"}
}

// Amend changes the document of a workload that has not ended and is not on its way
// out.
func Amend(a Amendment) draft.Command[*core.Workload] {
	return func(tx *draft.Tx) (*core.Workload, error) {
		d, err := tx.Find(a.Ref)
		if err != nil {
			return nil, err
		}
		w := d.W
		switch {
		case w.Kind.Foreign():
			return nil, changedElsewhere(w)
		case !workload.Amendable(w):
			return nil, &draft.Error{Code: draft.CodeIllegal, Message: fmt.Sprintf("%s is %s: there is nothing left to change", w.Name, w.Phase), Hint: "muster restart " + w.Name + " runs it again once it has ended"}
		}
		doc, err := a.Change(w.Spec)
		if err != nil {
			return nil, err
		}
		if err := staysPreemptible(w, doc); err != nil {
			return nil, err
		}
		if err := amendable(tx, w.Spec, doc); err != nil {
			return nil, err
		}
		if at := w.Attempts[len(w.Attempts)-1].RunningAt; !at.IsZero() && doc.MaxDuration > 0 && doc.MaxDuration != w.Spec.MaxDuration {
			if ran := tx.Now.Sub(at); ran >= doc.MaxDuration.Std() {
				return nil, &draft.Error{
					Code: draft.CodeInvalid, Field: "maxDuration", Message: fmt.Sprintf("%s is over: it has run for %v", doc.MaxDuration, ran.Round(1e9)),
					Hint: "muster stop " + w.Name + " ends it now; or give more time",
				}
			}
		}
		err = tx.Change(d, func() error {
			if doc.Deadline != d.W.Spec.Deadline || doc.ExpectedDuration != d.W.Spec.ExpectedDuration {
				d.W.AtRisk, d.W.Missed = time.Time{}, time.Time{} // it is looked at anew
				d.Fact(lifecycle.DeadlineMissed, false, tx.Now, "", "")
			}
			revise(d, doc)
			d.Unwarn()
			tx.State.Dirty = true
			return nil
		})
		return d.W, err
	}
}

// staysPreemptible refuses another document that makes what holds devices not
// preemptible: it may have been let in above a quota, which such must stay
// within.
func staysPreemptible(w *core.Workload, doc *spec.Document) error {
	if !w.Phase.Held() || !*w.Spec.Preemptible || *doc.Preemptible {
		return nil
	}
	return &draft.Error{
		Code: draft.CodeIllegal, Field: "preemptible", Message: fmt.Sprintf("%s is %s: what holds devices stays preemptible", w.Name, w.Phase),
		Hint: "muster stop " + w.Name + ", and submit it anew with preemptible: false",
	}
}
