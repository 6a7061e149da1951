package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// SubmitTogether submits all in their order, so that later ones may wait for
// earlier ones, or none where one of them cannot be; the value is a
// []*Submitted, the error a *Refused that says which.
func SubmitTogether(subs []Submission) Command {
	return func(tx *tx) (any, error) {
		docs, err := tx.agreed(subs)
		if err != nil {
			return nil, err
		}
		out := make([]*Submitted, len(subs))
		for i, s := range subs {
			if docs[i] == nil { // it was there already
				if out[i], err = tx.repeated(s); err != nil {
					return nil, err
				}
				continue
			}
			if out[i], err = tx.submit(s, docs[i]); err != nil {
				return nil, &Refused{Edit: i, Err: err}
			}
		}
		return out, nil
	}
}

// agreed looks at all submissions before any of them is begun: what has been
// submitted cannot be taken back. The documents have their names; nil stands for
// one that its key has made before.
func (tx *tx) agreed(subs []Submission) ([]*spec.Document, error) {
	docs := make([]*spec.Document, len(subs))
	if tx.names == nil {
		tx.names = map[name]struct{}{}
	}
	var coming []name
	for i, s := range subs {
		made, err := tx.repeated(s)
		if err == nil && made == nil {
			s.Before = docs[:i]
			docs[i], err = tx.comingAfter(s, coming)
		}
		if err != nil {
			for _, n := range coming {
				delete(tx.names, n)
			}
			return nil, &Refused{Edit: i, Err: err}
		}
		if docs[i] != nil {
			n := name{core.ProjectID(docs[i].Project), docs[i].Name}
			coming, tx.names[n] = append(coming, n), struct{}{} // no other gets it
		}
	}
	return docs, nil
}

// comingAfter is acceptable beside others that have their names already.
func (tx *tx) comingAfter(s Submission, others []name) (*spec.Document, error) {
	if slices.Contains(others, name{core.ProjectID(s.Doc.Project), s.Doc.Name}) {
		return nil, &Error{
			Code: CodeConflict, Field: "name", Message: fmt.Sprintf("two of them are named %q", s.Doc.Name),
			Hint: "give each a name of its own, or use namePrefix to have them made",
		}
	}
	return tx.acceptable(s)
}

// Blame is which of those that were submitted together an error is about, and
// the error itself; -1: no certain one.
func Blame(err error) (int, error) {
	var r *Refused
	if errors.As(err, &r) {
		return r.Edit, r.Err
	}
	return -1, err
}
