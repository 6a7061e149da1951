package spec

import (
	"reflect"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Defaults fills in what the author left out. Doing it again changes nothing,
// and what was written as zero stays zero.
func (d *Document) Defaults() {
	d.fill(root, reflect.ValueOf(d).Elem())
	if d.Preemptible == nil {
		p := !d.Kind.Attended()
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
	for _, c := range f.fields {
		fv := v.Field(c.index)
		switch {
		case c.kind == fieldObject && !c.pointer:
			d.fill(c, fv)
		case c.kind == fieldObject && !fv.IsNil():
			d.fill(c, fv.Elem())
		case !c.fallback.IsValid() || !fv.IsZero() || d.zeros&c.bit != 0 && c.bit != 0:
		case c.only != "" && c.only != string(d.Kind): // kind is the first field
		case c.pointer:
			fv.Set(reflect.New(c.typ))
			fv.Elem().Set(c.fallback)
		default:
			fv.Set(c.fallback)
		}
	}
}

// Size is the number of tasks of one attempt, at least 1.
func (d *Document) Size() int {
	switch {
	case d.Kind == lifecycle.Distributed:
		return max(1, d.Workers)
	case d.Array != nil:
		return max(1, d.Array.Completions)
	default:
		return 1
	}
}

// Role is the part that the task of that index plays: task, master, worker or
// replica.
func (d *Document) Role(index int) string {
	switch {
	case d.Kind == lifecycle.Inference:
		return "replica"
	case d.Kind != lifecycle.Distributed:
		return "task"
	case index == 0:
		return "master"
	default:
		return "worker"
	}
}

// Gang reports whether the tasks run all together or not at all.
func (d *Document) Gang() bool { return d.Kind == lifecycle.Distributed }

// TotalGPUs is the GPUs of all tasks together.
func (d *Document) TotalGPUs() int { return d.Size() * d.Resources.GPU.Count }
