package submission

import (
	"fmt"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// ScaleRequest changes how many replicas an inference workload wants.
type ScaleRequest struct {
	Ref      draft.Ref
	Replicas int
	Actor    string
	Message  string
	// Auto says that the autoscaler asks: it stays within the document's
	// bounds and never argues.
	Auto bool
}

// service finds an inference workload whose replicas can be changed, or says
// why they cannot.
func service(tx *draft.Tx, r draft.Ref) (*draft.Draft, error) {
	d, err := tx.Find(r)
	if err != nil {
		return nil, err
	}
	w := d.W
	if !workload.Takes(w, "scale") {
		return nil, &draft.Error{Code: draft.CodeInvalid, Field: "kind", Message: fmt.Sprintf("%s is of kind %s; only inference workloads have replicas and are updated", w.Name, w.Kind), Hint: "submit a new workload"}
	}
	if d.Changed == nil || w.Phase.End() || w.Phase == lifecycle.Terminating || w.Phase == lifecycle.Deleting {
		return nil, &draft.Error{Code: draft.CodeIllegal, Message: fmt.Sprintf("%s is %s; it has no replicas to change", w.Name, w.Phase), Hint: "muster restart " + w.Name + " runs it again, another document needs a new workload"}
	}
	return d, nil
}

// Scale changes the wanted number of replicas.
func Scale(r ScaleRequest) draft.Command[*core.Workload] {
	return func(tx *draft.Tx) (*core.Workload, error) {
		d, err := service(tx, r.Ref)
		if err != nil {
			return nil, err
		}
		w := d.W
		if most := 1000; r.Replicas < 0 || r.Replicas > most {
			return nil, &draft.Error{Code: draft.CodeInvalid, Field: "replicas", Message: fmt.Sprintf("%d is outside 0 to %d", r.Replicas, most), Hint: "write a number from 0 to 1000"}
		}
		if a := w.Spec.Autoscale; a != nil && !r.Auto && (r.Replicas < a.Min || r.Replicas > a.Max) {
			return nil, &draft.Error{Code: draft.CodeInvalid, Field: "replicas", Message: fmt.Sprintf("%d is outside its autoscale bounds, %d to %d", r.Replicas, a.Min, a.Max), Hint: "change autoscale with muster update"}
		}
		if r.Replicas == w.Replicas {
			return w, nil
		}
		scaled := w.Spec.Final()
		if scaled.Replicas = &r.Replicas; !r.Auto {
			if err := amendable(tx, w.Spec, scaled); err != nil {
				return nil, err
			}
		}
		err = tx.Change(d, func() error {
			was := d.W.Replicas
			d.W.Replicas = r.Replicas
			msg := fmt.Sprintf("replicas %d → %d", was, r.Replicas)
			if r.Message != "" {
				msg += ": " + r.Message
			}
			return replaced(tx, d, lifecycle.ReasonScaled, msg, r.Actor)
		})
		return d.W, err
	}
}

// replaced records that a service is to have others, or another number of
// replicas, and draws what follows. It must run inside change.
func replaced(tx *draft.Tx, d *draft.Draft, why lifecycle.Reason, message, actor string) error {
	if d.W.Phase == lifecycle.Running {
		if err := tx.Step(d, lifecycle.Input{On: lifecycle.Scale, Reason: why, Message: message}, actor); err != nil {
			return err
		}
	}
	tx.State.Dirty = true
	if err := consequence.StartEmpty(tx, d); err != nil {
		return err
	}
	return consequence.Conclude(tx, d)
}

// Served notes where the one address of an inference workload is.
func Served(id core.WorkloadID, port int) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		d, ok := tx.Open(id)
		if !ok || d.W.ServicePort == port || d.W.Phase.End() {
			return nil, nil
		}
		return nil, tx.Change(d, func() error { d.W.ServicePort = port; return nil })
	}
}
