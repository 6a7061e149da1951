package engine

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// Amendment changes what may change of a live workload: its place in the order
// and its limits. What its tasks run stays.
type Amendment struct {
	Ref Ref
	// Change returns the document as it is to be, with defaults and validated;
	// the one that it is given must stay as it is.
	Change func(*spec.Document) (*spec.Document, error)
}

// revise gives a workload another document and remembers in the present attempt
// what changed. What its name was made of stays: no document of one that has its
// name says it.
func (d *draft) revise(next *spec.Document) {
	a, doc := d.attempt(), new(spec.Document)
	*doc = *next
	doc.NamePrefix = d.w.Spec.NamePrefix
	a.Revised = spec.Together(a.Revised, spec.Changes(d.w.Spec, doc))
	d.w.Spec, d.edited = doc, true
}

// Amendable reports whether a workload is neither at its end nor on its way out,
// and ours to change.
func Amendable(w *core.Workload) bool {
	return w.Kind != lifecycle.External && !w.Phase.End() && w.Phase != lifecycle.Terminating && w.Phase != lifecycle.Publishing && w.Phase != lifecycle.Deleting
}

// Amend changes the document of a workload that has not ended and is not on its
// way out. The value is the workload.
func Amend(a Amendment) Command {
	return func(tx *tx) (any, error) {
		d, err := tx.find(a.Ref)
		if err != nil {
			return nil, err
		}
		w := d.w
		switch {
		case w.Kind == lifecycle.External:
			return nil, &Error{Code: CodeUnsupported, Message: w.Name + " was made by someone else, who decides about it", Hint: "change it where it was made"}
		case !Amendable(w):
			return nil, &Error{Code: CodeIllegal, Message: fmt.Sprintf("%s is %s: there is nothing left to change", w.Name, w.Phase), Hint: "muster restart " + w.Name + " runs it again once it has ended"}
		}
		doc, err := a.Change(w.Spec)
		if err != nil {
			return nil, err
		}
		if err := staysPreemptible(w, doc); err != nil {
			return nil, err
		}
		if at := w.Attempts[len(w.Attempts)-1].RunningAt; !at.IsZero() && doc.MaxDuration > 0 && doc.MaxDuration != w.Spec.MaxDuration {
			if ran := tx.now.Sub(at); ran >= doc.MaxDuration.Std() {
				return nil, &Error{
					Code: CodeInvalid, Field: "maxDuration", Message: fmt.Sprintf("%s is over: it has run for %v", doc.MaxDuration, ran.Round(1e9)),
					Hint: "muster stop " + w.Name + " ends it now; or give more time",
				}
			}
		}
		err = tx.change(d, func() error {
			if doc.Deadline != d.w.Spec.Deadline || doc.ExpectedDuration != d.w.Spec.ExpectedDuration {
				d.w.AtRisk, d.w.Missed = time.Time{}, time.Time{} // it is looked at anew
				d.fact(lifecycle.DeadlineMissed, false, tx.now, "", "")
			}
			d.revise(doc)
			d.unwarn()
			tx.e.dirty = true
			return nil
		})
		return d.w, err
	}
}

// staysPreemptible refuses another document that makes what holds devices not
// preemptible: it may have been let in above a quota, which such must stay
// within.
func staysPreemptible(w *core.Workload, doc *spec.Document) error {
	if !w.Phase.Held() || !*w.Spec.Preemptible || *doc.Preemptible {
		return nil
	}
	return &Error{
		Code: CodeIllegal, Field: "preemptible", Message: fmt.Sprintf("%s is %s: what holds devices stays preemptible", w.Name, w.Phase),
		Hint: "muster stop " + w.Name + ", and submit it anew with preemptible: false",
	}
}
