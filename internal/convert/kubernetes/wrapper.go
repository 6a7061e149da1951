package kubernetes

import (
	"maps"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// wrapperGroup is of objects that have others in them, which a queue lets in together
// (project-codeflare.github.io/appwrapper).
const wrapperGroup = "workload.codeflare.dev"

// wraps reports whether an object has others in it.
func wraps(o *source.Map) bool {
	return kind(o) == "AppWrapper" && strings.HasPrefix(entryText(o.Tree, "apiVersion"), wrapperGroup+"/")
}

// unwrapped are the objects in a wrapper; its queue, priority and labels are theirs.
func unwrapped(k *reader, o *source.Map) (out []*source.Map) {
	for _, name := range []string{"apiVersion", "kind"} {
		o.Consume(name).Translated("", "says what the file is")
	}
	outer := &spec.Document{}
	if m := o.Map("metadata"); m != nil {
		m.Consume("name").Ignored("what is in it has names of its own")
		k.meta(m, outer, true)
	}
	s := o.Map("spec")
	if s == nil || !s.Has("components") {
		k.missingTemplate(o, "spec.components")
		return nil
	}
	list := s.Consume("components")
	works := 0
	for _, c := range list.List() {
		m := c.Map()
		if m == nil {
			continue
		}
		if t := m.Map("template"); t != nil {
			k.wrapped[t] = outer
			out = append(out, t)
			if _, is := kinds[kind(t)]; is {
				works++
			}
		}
		m.Finish(source.Reasons{"podSets": "its pods are found by its kind", "podSetInfos": "what the cluster wrote"}, nil, false)
	}
	if works > 1 {
		list.Dropped("each is a workload of its own: they are not let in together")
	}
	s.Finish(source.Reasons{"managedBy": "it is let in by its queue"}, nil, false)
	o.Finish(source.Reasons{"status": "what the cluster wrote"}, nil, false)
	return out
}

// inWrapper has a workload take over what its wrapper says and itself does not.
func inWrapper(k *reader, o *source.Map, doc *spec.Document) {
	outer := k.wrapped[o]
	if outer == nil {
		return
	}
	if doc.Project == "" {
		doc.Project = outer.Project
	}
	if doc.Priority == 0 {
		doc.Priority = outer.Priority
	}
	if doc.MaxDuration == 0 {
		doc.MaxDuration = outer.MaxDuration
	}
	labels := maps.Clone(outer.Labels)
	if labels == nil {
		return
	}
	maps.Copy(labels, doc.Labels)
	doc.Labels = labels
}
