package engine

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// Built reports the image that was built for a workload, or why there is none.
func Built(id core.WorkloadID, attempt int, image string, failure error) Command {
	return func(tx *tx) (any, error) {
		d, ok := tx.open(id)
		if !ok || d.w.Phase != lifecycle.Building || d.w.Attempt != attempt {
			return nil, nil
		}
		return nil, tx.change(d, func() error {
			if failure != nil {
				return tx.step(d, lifecycle.Input{On: lifecycle.BuildFail, Message: failure.Error()}, actorBuilder)
			}
			d.w.Image = image
			if err := tx.step(d, lifecycle.Input{On: lifecycle.Built, Message: image}, actorBuilder); err != nil {
				return err
			}
			return tx.gate(d)
		})
	}
}

const actorBuilder, actorPublisher = "builder", "publisher"

// Published reports what has become of a publication.
func Published(id core.WorkloadID, attempt int, p core.Published, serve *spec.Document, failure error) Command {
	return func(tx *tx) (any, error) {
		d, ok := tx.open(id)
		if !ok || d.w.Phase != lifecycle.Publishing || d.w.Attempt != attempt {
			return nil, nil
		}
		var service string
		if failure == nil && serve != nil {
			w, err := tx.deploy(d.w, serve)
			if err != nil {
				return nil, tx.change(d, func() error {
					d.w.Published = &p
					return tx.step(d, lifecycle.Input{On: lifecycle.DeployFail, Message: "the model is published as " + p.Ref + ", and its service is not deployed: " + err.Error()}, actorPublisher)
				})
			}
			service = w.Name
		}
		return nil, tx.change(d, func() error {
			if failure != nil {
				return tx.step(d, lifecycle.Input{On: lifecycle.ModelFail, Message: failure.Error()}, actorPublisher)
			}
			p.Service = service
			d.w.Published = &p
			if service != "" { // it is followed until it runs
				tx.operation(Operation{Kind: OperationFollow, Workload: d.w})
				return nil
			}
			return tx.step(d, lifecycle.Input{On: lifecycle.Publish, Message: p.Ref}, actorPublisher)
		})
	}
}

// deploy submits the workload that serves what w has published. An earlier one
// of that name is updated.
func (tx *tx) deploy(w *core.Workload, serve *spec.Document) (*core.Workload, error) {
	ref := Ref{Project: w.Project, Name: serve.Name}
	if old, err := tx.find(ref); err == nil && !old.w.Phase.End() {
		v, err := Update(UpdateRequest{Ref: ref, Doc: serve, Actor: actorPublisher})(tx)
		if err != nil {
			return nil, err
		}
		return v.(*core.Workload), nil
	}
	v, err := Submit(Submission{Doc: serve, User: w.User, Actor: actorPublisher})(tx)
	if err != nil {
		return nil, err
	}
	return v.(*Submitted).Workload, nil
}

// Deployed reports that the service of a published model runs, or why it does not.
func Deployed(id core.WorkloadID, attempt int, failure error) Command {
	return func(tx *tx) (any, error) {
		d, ok := tx.open(id)
		if !ok || d.w.Phase != lifecycle.Publishing || d.w.Attempt != attempt || d.w.Published == nil {
			return nil, nil
		}
		return nil, tx.change(d, func() error {
			if failure != nil {
				return tx.step(d, lifecycle.Input{On: lifecycle.DeployFail, Message: failure.Error()}, actorPublisher)
			}
			return tx.step(d, lifecycle.Input{On: lifecycle.Publish, Message: d.w.Published.Ref + ", served by " + d.w.Published.Service}, actorPublisher)
		})
	}
}
