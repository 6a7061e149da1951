package submission

import (
	"errors"
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
)

// SubmitTogether submits all in their order, so that later ones may wait for
// earlier ones, or none where one of them cannot be; the error is then a
// *Refused that says which.
func SubmitTogether(subs []Submission) draft.Command[[]*Submitted] {
	return func(tx *draft.Tx) ([]*Submitted, error) {
		docs, err := agreed(tx, subs)
		if err != nil {
			return nil, err
		}
		out := make([]*Submitted, len(subs))
		for i, s := range subs {
			if docs[i] == nil { // it was there already
				if out[i], err = repeated(tx, s); err != nil {
					return nil, err
				}
				continue
			}
			if out[i], err = submit(tx, s, docs[i]); err != nil {
				return nil, &draft.Refused{Edit: i, Err: err}
			}
		}
		return out, nil
	}
}

// agreed looks at all submissions before any of them is begun: what has been
// submitted cannot be taken back. The documents have their names; nil stands for
// one that its key has made before.
func agreed(tx *draft.Tx, subs []Submission) ([]*spec.Document, error) {
	docs := make([]*spec.Document, len(subs))
	if tx.Names == nil {
		tx.Names = map[draft.FullName]struct{}{}
	}
	var coming []draft.FullName
	for i, s := range subs {
		made, err := repeated(tx, s)
		if err == nil && made == nil {
			s.Before = docs[:i]
			docs[i], err = comingAfter(tx, s, coming)
		}
		if err != nil {
			for _, n := range coming {
				delete(tx.Names, n)
			}
			return nil, &draft.Refused{Edit: i, Err: err}
		}
		if docs[i] != nil {
			n := draft.FullName{Project: core.ProjectID(docs[i].Project), Name: docs[i].Name}
			coming, tx.Names[n] = append(coming, n), struct{}{} // no other gets it
		}
	}
	return docs, nil
}

// comingAfter is acceptable beside others that have their names already.
func comingAfter(tx *draft.Tx, s Submission, others []draft.FullName) (*spec.Document, error) {
	if slices.Contains(others, draft.FullName{Project: core.ProjectID(s.Doc.Project), Name: s.Doc.Name}) {
		return nil, &draft.Error{
			Code: draft.CodeConflict, Field: "name", Message: fmt.Sprintf("two of them are named %q", s.Doc.Name),
			Hint: "give each a name of its own, or use namePrefix to have them made",
		}
	}
	return acceptable(tx, s)
}

// Blame is which of those that were submitted together an error is about, and
// the error itself; -1: no certain one.
func Blame(err error) (int, error) {
	var r *draft.Refused
	if errors.As(err, &r) {
		return r.Edit, r.Err
	}
	return -1, err
}
