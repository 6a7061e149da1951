package submission

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
)

// Built reports the image that was built for a workload, or why there is none.
func Built(id core.WorkloadID, attempt int, image string, failure error) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		d, ok := tx.Open(id)
		if !ok || d.W.Phase != lifecycle.Building || d.W.Attempt != attempt {
			return nil, nil
		}
		return nil, tx.Change(d, func() error {
			if failure != nil {
				return tx.Step(d, lifecycle.Input{On: lifecycle.BuildFail, Message: failure.Error()}, actorBuilder)
			}
			d.W.Image = image
			if err := tx.Step(d, lifecycle.Input{On: lifecycle.Built, Message: image}, actorBuilder); err != nil {
				return err
			}
			return consequence.Gate(tx, d)
		})
	}
}

const actorBuilder, actorPublisher = "builder", "publisher"

// Published reports what has become of a publication.
func Published(id core.WorkloadID, attempt int, p core.Published, serve *spec.Document, failure error) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		d, ok := tx.Open(id)
		if !ok || d.W.Phase != lifecycle.Publishing || d.W.Attempt != attempt {
			return nil, nil
		}
		var service string
		if failure == nil && serve != nil {
			w, err := deploy(tx, d.W, serve)
			if err != nil {
				return nil, tx.Change(d, func() error {
					d.W.Published = &p
					return tx.Step(d, lifecycle.Input{On: lifecycle.DeployFail, Message: "the model is published as " + p.Ref + ", and its service is not deployed: " + err.Error()}, actorPublisher)
				})
			}
			service = w.Name
		}
		return nil, tx.Change(d, func() error {
			if failure != nil {
				return tx.Step(d, lifecycle.Input{On: lifecycle.ModelFail, Message: failure.Error()}, actorPublisher)
			}
			p.Service = service
			d.W.Published = &p
			if service != "" { // it is followed until it runs
				tx.Operation(draft.Operation{Kind: draft.OperationFollow, Workload: d.W})
				return nil
			}
			return tx.Step(d, lifecycle.Input{On: lifecycle.Publish, Message: p.Ref}, actorPublisher)
		})
	}
}

// deploy submits the workload that serves what w has published. An earlier one
// of that name is updated.
func deploy(tx *draft.Tx, w *core.Workload, serve *spec.Document) (*core.Workload, error) {
	ref := draft.Ref{Project: w.Project, Name: serve.Name}
	if old, err := tx.Find(ref); err == nil && !old.W.Phase.End() {
		return Update(UpdateRequest{Ref: ref, Doc: serve, Actor: actorPublisher})(tx)
	}
	made, err := Submit(Submission{Doc: serve, User: w.User, As: w.As, Actor: actorPublisher})(tx)
	if err != nil {
		return nil, err
	}
	return made.Workload, nil
}

// Deployed reports that the service of a published model runs, or why it does not.
func Deployed(id core.WorkloadID, attempt int, failure error) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		d, ok := tx.Open(id)
		if !ok || d.W.Phase != lifecycle.Publishing || d.W.Attempt != attempt || d.W.Published == nil {
			return nil, nil
		}
		return nil, tx.Change(d, func() error {
			if failure != nil {
				return tx.Step(d, lifecycle.Input{On: lifecycle.DeployFail, Message: failure.Error()}, actorPublisher)
			}
			return tx.Step(d, lifecycle.Input{On: lifecycle.Publish, Message: d.W.Published.Ref + ", served by " + d.W.Published.Service}, actorPublisher)
		})
	}
}
