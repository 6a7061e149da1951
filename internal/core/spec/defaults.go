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

// TaskShape is one task that a document asks for.
type TaskShape struct {
	Index int    // from 0
	Role  string // task, master, worker or replica
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

// Tasks returns the tasks of one attempt, in the order of their index.
func (d *Document) Tasks() []TaskShape {
	tasks := make([]TaskShape, d.Size())
	for i := range tasks {
		tasks[i] = TaskShape{Index: i, Role: d.Role(i)}
	}
	return tasks
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

// AtOnce is how many tasks may run at the same time.
func (d *Document) AtOnce() int {
	if d.Kind != lifecycle.Distributed && d.Array != nil && d.Array.Parallelism > 0 {
		return min(d.Size(), d.Array.Parallelism)
	}
	return d.Size()
}

// TotalGPUs is the GPUs of all tasks together.
func (d *Document) TotalGPUs() int { return d.Size() * d.Resources.GPU.Count }
