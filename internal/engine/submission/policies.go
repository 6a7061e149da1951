package submission

import (
	"fmt"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/policy"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/engine/asset"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/governance"
)

// governed is what policies make of a document that is about to be a workload's, or
// every reason why they do not let it: the one place that every document passes. was
// is the document that the workload has; nil: it is new.
func governed(tx *draft.Tx, doc, was *spec.Document) (*spec.Document, error) {
	e, err := governance.Effective(tx, core.ProjectID(doc.Project), doc.Kind)
	if err != nil {
		return nil, err
	}
	noted := doc.Annotations[policy.Annotation] != "" || was != nil && was.Annotations[policy.Annotation] != ""
	if e == nil && !noted || doc.Kind.Foreign() {
		return doc.Final(), nil
	}
	if e == nil {
		e = policy.Merge(doc.Kind, nil)
	}
	written := doc.Written()
	if was != nil {
		written = policy.Anew(written, was)
	}
	imposed, err := imposedOn(tx, e)
	if err != nil {
		return nil, err
	}
	return e.Apply(written, imposed...)
}

// imposedOn are the assets that policies lay beside documents. They are those of the
// policy's own scope, so that nothing of a project takes their place.
func imposedOn(tx *draft.Tx, e *policy.Effective) (out []policy.Piece, err error) {
	add := func(by policy.Source, kind string, use spec.DataUse) {
		if use.Name == "" || err != nil {
			return
		}
		p, wrong := asset.Take(by.Scope, kind, use.Name)(tx)
		if wrong != nil {
			err = &draft.Error{Code: draft.CodeConflict, Message: fmt.Sprintf("%s imposes %s %s, which is not to be had: %v", by, spec.AssetWord(kind), use.Name, wrong), Hint: "who may change the policy has to take it out, or make it again", Err: wrong}
			return
		}
		if at := policy.ReachesHost(p.Document); at != "" {
			err = &draft.Error{Code: draft.CodeConflict, Message: fmt.Sprintf("%s imposes %s, which has %s by now, and that is not imposed", by, &p, at), Hint: "who may change the policy has to take it out, or change the asset back"}
			return
		}
		out = append(out, policy.Piece{Piece: p, By: by, Use: use})
	}
	for _, i := range e.Imposed() {
		add(i.Source, spec.AssetEnvironment, spec.DataUse{Name: i.Environment})
		add(i.Source, spec.AssetCompute, spec.DataUse{Name: i.Compute})
		for _, use := range i.Data {
			add(i.Source, spec.AssetData, use)
		}
	}
	return out, err
}

// amendable refuses changes of a live workload's document that policies do not allow.
// What does not change is as it was when it was submitted.
func amendable(tx *draft.Tx, was, doc *spec.Document) error {
	e, err := governance.Effective(tx, core.ProjectID(was.Project), was.Kind)
	if err != nil || e == nil {
		return err
	}
	var errs codec.Errors
	changes := spec.Changes(was, doc)
	for _, w := range e.Violations(doc) {
		for _, c := range changes {
			if codec.Within(w.Path, c.Path) || codec.Within(c.Path, w.Path) {
				errs.Add(w)
				break
			}
		}
	}
	return errs.OrNil()
}
