package submission

import (
	"fmt"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/planner"
	"github.com/musterhq/muster/internal/engine/workload"
)

// UpdateRequest replaces the document of an inference workload.
type UpdateRequest struct {
	Ref   draft.Ref
	Doc   *spec.Document // with defaults, validated
	Actor string
}

// Update gives an inference workload another document: its replicas are then
// replaced a few at a time, so that it goes on to serve.
func Update(r UpdateRequest) draft.Command[*core.Workload] {
	return func(tx *draft.Tx) (*core.Workload, error) {
		d, err := service(tx, r.Ref)
		if err != nil {
			return nil, err
		}
		w := d.W
		doc, err := anew(w, r.Doc)
		if err != nil {
			return nil, err
		}
		if doc, err = governed(tx, doc, w.Spec); err != nil {
			return nil, err
		}
		if err := consequence.LookedAt(tx, w, doc); err != nil {
			return nil, err
		}
		if err := staysPreemptible(w, doc); err != nil {
			return nil, err
		}
		if err := planner.Feasible(tx, doc, w.User); err != nil {
			return nil, err
		}
		if err := planner.Fits(tx, doc); err != nil { // a submission could wait until it is known; what runs must not be given what never fits
			return nil, &draft.Error{Code: draft.CodeUnavailable, Message: "not all nodes have reported, and it does not fit those that have: " + err.Error(), Hint: "try again"}
		}
		err = tx.Change(d, func() error {
			was := d.W.Spec
			revise(d, doc)
			d.W.Bounds = draft.BoundsNow(tx, d.W)
			d.W.Generation++
			d.Unwarn()
			if n := workload.FirstReplicas(doc); n != workload.FirstReplicas(was) {
				d.W.Replicas = n
			}
			return replaced(tx, d, lifecycle.ReasonUpdated, fmt.Sprintf("generation %d", d.W.Generation), r.Actor)
		})
		return d.W, err
	}
}
