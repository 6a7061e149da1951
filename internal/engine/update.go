package engine

import (
	"fmt"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// UpdateRequest replaces the document of an inference workload.
type UpdateRequest struct {
	Ref   Ref
	Doc   *spec.Document // with defaults, validated
	Actor string
}

// Update gives an inference workload another document: its replicas are then
// replaced a few at a time, so that it goes on to serve. The value is the
// workload.
func Update(r UpdateRequest) Command {
	return func(tx *tx) (any, error) {
		d, err := tx.service(r.Ref)
		if err != nil {
			return nil, err
		}
		w := d.w
		doc, err := anew(w, r.Doc)
		if err != nil {
			return nil, err
		}
		if err := staysPreemptible(w, doc); err != nil {
			return nil, err
		}
		if err := tx.feasible(doc, w.User); err != nil {
			return nil, err
		}
		if err := tx.fits(doc); err != nil { // a submission could wait until it is known; what runs must not be given what never fits
			return nil, &Error{Code: CodeUnavailable, Message: "not all nodes have reported, and it does not fit those that have: " + err.Error(), Hint: "try again"}
		}
		err = tx.change(d, func() error {
			was := d.w.Spec
			d.revise(doc)
			d.w.Generation++
			d.unwarn()
			if n := firstReplicas(doc); n != firstReplicas(was) {
				d.w.Replicas = n
			}
			return tx.replaced(d, lifecycle.ReasonUpdated, fmt.Sprintf("generation %d", d.w.Generation), r.Actor)
		})
		return d.w, err
	}
}
