package kubernetes

import (
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// trainJob is a gang of which a runtime in the cluster says the rest.
func (k *reader) trainJob(o *source.Map, doc *spec.Document) *spec.Document {
	s := o.Map("spec")
	if s == nil {
		k.missingTemplate(o, "spec")
		return nil
	}
	doc.Kind, doc.Workers, doc.Framework = lifecycle.Distributed, 1, "env"
	if ref := s.Map("runtimeRef"); ref != nil {
		runtimeOf(k, ref, doc)
	}
	if t := s.Map("trainer"); t != nil {
		readTrainer(k, t, doc)
	}
	if doc.Image == "" {
		k.Refuse(s.Tree.Line, source.FieldPath(s.Path, "trainer.image"), "", "is missing: the runtime that has it is not in the file", "write the image, or the runtime into the same file")
	}
	readSuspended(s.Consume("suspend"), doc)
	if v := s.Consume("activeDeadlineSeconds"); v != nil {
		doc.MaxDuration = source.Seconds(v.Integer(1))
		v.Translated("maxDuration", "")
	}
	s.Finish(source.Reasons{"managedBy": "it is Muster's", "labels": "they are of what the cluster makes", "annotations": "they are of what the cluster makes"},
		source.Reasons{"initializer": "write integrations or init", "podTemplateOverrides": "write nodeSelector, tolerations and volumes", "podSpecOverrides": "write nodeSelector, tolerations and volumes", "runtimePatches": "write nodeSelector, tolerations and volumes"}, false)
	return doc
}

func readTrainer(k *reader, t *source.Map, doc *spec.Document) {
	k.environment(t, doc)
	k.gangEnv(doc)
	if v := t.Consume("image"); v != nil {
		doc.Image = v.Text()
		v.Kept("image")
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
