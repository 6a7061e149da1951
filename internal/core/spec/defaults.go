package spec

import (
	"reflect"
)

// Defaults fills in what the author left out. Doing it again changes nothing,
// and what was written as zero stays zero.
func (d *Document) Defaults() {
	if a := d.Autoscale; a != nil && d.Replicas == nil && d.Kind.Replicated() {
		n := max(1, a.Min) // what it would be scaled to at once
		d.Replicas = &n
	}
	root().Fill(reflect.ValueOf(d).Elem(), func() string { return string(d.Kind) }, d.zeros)
	d.Resources.GPU.complete()
	if m := d.Master; m != nil && m.Resources != nil {
		m.Resources.GPU.complete()
	}
	if p := d.Publish; p != nil && p.Serve != nil && p.Serve.Resources != nil {
		p.Serve.Resources.GPU.complete()
	}
	if d.Priority == 0 && d.zeros&priorityBit() == 0 {
		d.Priority = UsualPriority(d)
	}
	if d.Preemptible == nil {
		p := d.Priority < firm
		d.Preemptible = &p
	}
}

// WithDefaults returns a copy of d with its defaults filled in.
func WithDefaults(d *Document) *Document {
	c := d.Clone()
	c.Defaults()
	return c
}

// priorityBit is that of the priority among those that were written as zero.
func priorityBit() uint64 { return root().ByName["priority"].Bit }
