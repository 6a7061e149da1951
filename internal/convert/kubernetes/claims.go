package kubernetes

import (
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// claimTemplates reads the claims that each replica of a set would have of its own.
// Nothing claims here: a replica has a directory of each, which ends with it.
func (k *reader) claimTemplates(v *source.Value) {
	k.claims = map[string]*volumeSource{}
	if v == nil {
		return
	}
	for _, item := range v.List() {
		o := item.Map()
		// What is said of them is told once, of all of them.
		s := &volumeSource{at: v, mounted: true, volume: spec.Volume{Temporary: claimed(o.Map("spec"))}}
		m := o.Map("metadata")
		k.claims[m.Consume("name").Text()] = s
	}
	v.Approximated("volumes", "no claims are made: each replica has a directory of its own, which ends with it; make a claim with kubectl and name it in volumes for what is to stay")
}

// ephemeral reads a claim that lives as long as its pod, as a directory of a task does.
func ephemeral(o *source.Map, s *volumeSource) {
	t := o.Map("volumeClaimTemplate")
	t.Consume("metadata").Ignored("it is of the claim")
	s.volume.Temporary = claimed(t.Map("spec"))
	t.Finish(nil, nil, false)
	o.Finish(nil, nil, false)
}

// claimed is a directory as large as a claim asks for.
func claimed(o *source.Map) *spec.Temporary {
	t := &spec.Temporary{Disk: true}
	r := o.Map("resources")
	q := r.Map("requests")
	if size := q.Consume("storage"); size != nil {
		t.Size = size.Quantity()
		size.Translated("volumes", "")
	}
	q.Finish(nil, nil, false)
	r.Finish(source.Reasons{"limits": "the size is what it asks for"}, nil, false)
	o.Finish(source.Reasons{
		"accessModes": "one task has it", "storageClassName": "it lies on the node's disk", "volumeMode": "it is a directory", "selector": "it is made for the task", "volumeName": "it is made for the task",
	}, source.Reasons{"dataSource": "it is empty at first", "dataSourceRef": "it is empty at first"}, false)
	return t
}
