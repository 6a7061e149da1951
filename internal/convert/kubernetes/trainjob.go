package kubernetes

import (
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// runtimes are the frameworks of the runtimes that come with Kubeflow Trainer.
var runtimes = map[string]string{
	"torch-distributed": "pytorch", "torch-distributed-multi-node": "pytorch", "torchtune": "pytorch", "deepspeed-distributed": "mpi", "mpi-distributed": "mpi", "mlx-distributed": "mpi",
	"jax-distributed": "jax", "xgboost-distributed": "xgboost",
}

// trainJob is a gang of which a runtime in the cluster says the rest.
func (k *reader) trainJob(o *source.Map, doc *spec.Document) *spec.Document {
	s := o.Map("spec")
	t := s.Map("trainer")
	if t == nil {
		k.missingTemplate(o, "spec.trainer")
		return nil
	}
	doc.Kind, doc.Workers, doc.Framework = lifecycle.Distributed, 1, "env"
	if ref := s.Map("runtimeRef"); ref != nil {
		v := ref.Consume("name")
		if f, known := runtimes[v.Text()]; known {
			doc.Framework = f
			v.Approximated("framework", "of the runtime only the framework is known; what else it has is missing")
		} else if v != nil {
			v.Dropped("the runtime is not in the file; what it has is missing")
		}
		ref.Finish(source.Reasons{"apiGroup": "", "kind": ""}, nil, false)
	}
	k.trainer(t, doc)
	readSuspended(s.Consume("suspend"), doc)
	if v := s.Consume("activeDeadlineSeconds"); v != nil {
		doc.MaxDuration = source.Seconds(v.Integer(1))
		v.Translated("maxDuration", "")
	}
	s.Finish(source.Reasons{"managedBy": "it is Muster's", "labels": "they are of what the cluster makes", "annotations": "they are of what the cluster makes"},
		source.Reasons{"initializer": "write integrations or init", "podTemplateOverrides": "write nodeSelector, tolerations and volumes", "podSpecOverrides": "write nodeSelector, tolerations and volumes", "runtimePatches": "write nodeSelector, tolerations and volumes"}, false)
	return doc
}

func (k *reader) trainer(t *source.Map, doc *spec.Document) {
	k.environment(t, doc)
	k.gangEnv(doc)
	if v := t.Consume("image"); v != nil {
		doc.Image = v.Text()
		v.Kept("image")
	} else {
		k.Refuse(t.Tree.Line, source.FieldPath(t.Path, "image"), "", "is missing: the runtime that has it is not in the file", "write the image")
	}
	if v := t.Consume("command"); v != nil {
		doc.Command = spec.Command{Argv: k.expandedCommand(v, doc)}
		v.Kept("command")
	}
	if v := t.Consume("args"); v != nil {
		doc.Args = k.expandedCommand(v, doc)
		v.Kept("args")
	}
	if v := t.Consume("numNodes"); v != nil {
		doc.Workers = v.Integer(1)
		v.Translated("workers", "")
	}
	if r := t.Map("resourcesPerNode"); r != nil {
		readResources(r, doc)
	}
	if v := t.Consume("numProcPerNode"); v != nil {
		if doc.Framework == "mpi" {
			doc.Slots = v.Integer(1)
			v.Translated("slots", "")
		} else {
			readPerNode(v, doc)
		}
	}
	t.Finish(nil, nil, false)
}
