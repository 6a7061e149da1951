package kubernetes

import (
	"github.com/musterhq/muster/internal/convert/kubernetes/cron"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// cronJob is a schedule of what its Jobs are, and one of Volcano of what its
// (volcano.sh/en/docs/cron_volcanojob).
func (k *reader) cronJob(o *source.Map, doc *spec.Document) *spec.Document {
	return scheduled(k, o, doc, k.job)
}

// scheduled reads a schedule of what the objects of a template are.
func scheduled(k *reader, o *source.Map, doc *spec.Document, read func(*source.Map, *spec.Document) *spec.Document) *spec.Document {
	s := o.Map("spec")
	if s == nil || !s.Has("jobTemplate") {
		k.missingTemplate(o, "spec.jobTemplate")
		return nil
	}
	out, ok := cron.Read(k.Reader, s)
	if !ok {
		return nil
	}
	template := s.Map("jobTemplate")
	if template == nil {
		return nil
	}
	k.meta(template.Map("metadata"), doc, false)
	doc = read(template, doc)
	template.Finish(nil, nil, false)
	s.Finish(nil, nil, false)
	k.schedule = &out
	return doc
}
