package submission

import (
	"errors"
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/planner"
	"github.com/musterhq/muster/internal/engine/workload"
	"github.com/musterhq/muster/internal/store"
)

// Submission is a document that someone wants to run.
type Submission struct {
	Doc   *spec.Document // with defaults, validated
	User  string
	As    *core.OSUser // who submits, as the machine knows them; nil: tasks do not run as who submits them
	Actor string
	// Key makes repeating the submission harmless; Hash tells whether the
	// repetition is of the same document. Empty Key: none.
	Key, Hash string
	DryRun    bool
	// Before are documents that are submitted with it, and before it: it may
	// wait for them.
	Before []*spec.Document
}

// Submitted is what became of a submission.
type Submitted struct {
	Workload *core.Workload
	Repeated bool     // its key had made it before
	Warnings []string // what is allowed and perhaps not meant
	draft    *draft.Draft
}

// Transitions are the steps that the submission itself has made.
func (s *Submitted) Transitions() []core.Transition {
	if s.draft == nil {
		return nil
	}
	return s.draft.Trail
}

// Tasks are those that were placed at once.
func (s *Submitted) Tasks() []core.Task {
	if s.draft == nil {
		return nil
	}
	var out []core.Task
	for _, t := range workload.SortedTasks(s.draft.Tasks) {
		out = append(out, *t)
	}
	return out
}

// Outcome is what became of one of many submissions; Err: it was refused.
type Outcome struct {
	*Submitted
	Err error
}

// SubmitMany submits each by itself.
func SubmitMany(subs []Submission) draft.Command[[]Outcome] {
	return func(tx *draft.Tx) ([]Outcome, error) {
		out := make([]Outcome, len(subs))
		for i, s := range subs {
			out[i].Submitted, out[i].Err = Submit(s)(tx)
		}
		return out, nil
	}
}

// Submit makes a workload of a document and takes it through the gates.
func Submit(s Submission) draft.Command[*Submitted] {
	return func(tx *draft.Tx) (*Submitted, error) {
		made, err := repeated(tx, s)
		switch {
		case err != nil:
			return nil, err
		case made != nil:
			return made, nil
		}
		doc, err := acceptable(tx, s)
		if err != nil {
			return nil, err
		}
		return submit(tx, s, doc)
	}
}

// repeated is what the submission's key has made before; nil: nothing.
func repeated(tx *draft.Tx, s Submission) (*Submitted, error) {
	if s.Key == "" {
		return nil, nil
	}
	w, err := remembered(tx, s)
	if err != nil || w == nil {
		return nil, err
	}
	return &Submitted{Workload: w, Repeated: true}, nil
}

// acceptable is the submission's document with its name, or why it is refused.
// It changes nothing.
func acceptable(tx *draft.Tx, s Submission) (*spec.Document, error) {
	if err := tx.Roomy(); err != nil {
		return nil, err
	}
	if err := consequence.Takes(tx, core.ProjectID(s.Doc.Project)); err != nil {
		return nil, err
	}
	if err := mayQueue(tx, core.ProjectID(s.Doc.Project), s.User); err != nil {
		return nil, err
	}
	doc, err := governed(tx, s.Doc, nil)
	if err != nil {
		return nil, err
	}
	s.Doc = doc
	if err := planner.MayReserve(tx, core.ProjectID(s.Doc.Project), s.User, s.Doc.Reservation); err != nil {
		return nil, err
	}
	if err := follows(tx, s.Doc, s.Before); err != nil {
		return nil, err
	}
	if err := planner.Feasible(tx, s.Doc, s.User); err != nil {
		return nil, err
	}
	if _, err := metadataOf(s.Doc); err != nil {
		return nil, err
	}
	if err := nameOf(tx, doc); err != nil {
		return nil, err
	}
	queuedBehind(tx, doc, s)
	return doc, nil
}

// submit begins a workload of a document that is acceptable.
func submit(tx *draft.Tx, s Submission, doc *spec.Document) (*Submitted, error) {
	w := tx.Make(doc, s.User)
	w.As = s.As
	if s.DryRun {
		return &Submitted{Workload: w, Warnings: consequence.Short(tx, w)}, nil
	}
	warnings := consequence.Short(tx, w)
	d := tx.Enter(w, s.Actor)
	d.W.Metadata, _ = metadataOf(w.Spec) // it was looked at, or has none
	if s.Key != "" {
		tx.Keys = append(tx.Keys, store.Key{User: s.User, Key: s.Key, Hash: s.Hash, Workload: w.ID, At: tx.Now})
	}
	err := tx.Change(d, func() error {
		if err := tx.Step(d, lifecycle.Input{On: lifecycle.Submit}, s.Actor); err != nil {
			return err
		}
		return consequence.Gate(tx, d)
	})
	return &Submitted{Workload: d.W, Warnings: warnings, draft: d}, err
}

// remembered returns what an idempotency key has made before.
func remembered(tx *draft.Tx, s Submission) (*core.Workload, error) {
	id, hash, err := tx.State.D.Store.Remembered(tx.Ctx, s.User, s.Key)
	if i := slices.IndexFunc(tx.Keys, func(k store.Key) bool { return k.User == s.User && k.Key == s.Key }); i >= 0 {
		id, hash, err = tx.Keys[i].Workload, tx.Keys[i].Hash, nil
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, draft.FromStore(err)
	}
	if hash != s.Hash {
		return nil, &draft.Error{Code: draft.CodeConflict, Field: "Idempotency-Key", Message: fmt.Sprintf("%q was used for another document", s.Key), Hint: "use a new key for a new workload"}
	}
	if w, _, ok := tx.View(id); ok {
		return w, nil
	}
	w, err := tx.State.D.Store.Workload(tx.Ctx, id)
	if err != nil {
		return nil, draft.FromStore(err)
	}
	return w, nil
}

// nameOf decides the name: as given where it is free, generated otherwise.
func nameOf(tx *draft.Tx, doc *spec.Document) error {
	if doc.Name != "" {
		taken, err := tx.Taken(draft.FullName{Project: core.ProjectID(doc.Project), Name: doc.Name})
		if err != nil {
			return err
		}
		if taken {
			return &draft.Error{
				Code: draft.CodeConflict, Field: "name", Message: fmt.Sprintf("%q exists in project %q already", doc.Name, doc.Project),
				Hint: fmt.Sprintf("choose another name, use namePrefix to have one made, run it again with muster restart %s, or muster delete %s", doc.Name, doc.Name),
			}
		}
		return nil
	}
	for range 100 {
		n := tx.State.D.NewName(doc.NamePrefix)
		taken, err := tx.Taken(draft.FullName{Project: core.ProjectID(doc.Project), Name: n})
		if err != nil {
			return err
		}
		if !taken {
			doc.Name = n
			return nil
		}
	}
	return &draft.Error{Code: draft.CodeUnavailable, Message: "no free name was found", Hint: "give it a name"}
}
