package spec

import (
	"reflect"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Defaults fills in what the author left out. Doing it again changes nothing,
// and what was written as zero stays zero.
func (d *Document) Defaults() {
	if a := d.Autoscale; a != nil && d.Replicas == nil && d.Kind == lifecycle.Inference {
		n := max(1, a.Min) // what it would be scaled to at once
		d.Replicas = &n
	}
	d.fill(root(), reflect.ValueOf(d).Elem())
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

func (d *Document) fill(f *field, v reflect.Value) {
	for _, c := range f.filled {
		fv := v.Field(c.index)
		switch {
		case !c.isFor(d.Kind): // kind is the first field
		case c.kind == fieldObject && !c.pointer:
			d.fill(c, fv)
		case c.kind == fieldObject && !fv.IsNil():
			d.fill(c, fv.Elem())
		case !c.fallback.IsValid() || !fv.IsZero() || d.zeros&c.bit != 0 && c.bit != 0:
		case c.pointer:
			fv.Set(reflect.New(c.typ))
			fv.Elem().Set(c.fallback)
		default:
			fv.Set(c.fallback)
		}
	}
}

// priorityBit is that of the priority among those that were written as zero.
func priorityBit() uint64 { return root().byName["priority"].bit }
