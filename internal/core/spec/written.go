package spec

import (
	"reflect"
	"strings"

	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/core/spec/schema"
)

// Written is a copy of d as its author and its assets have it, without defaults, but
// with what of d was set after these were filled in: its name and project, labels of
// who submits it. Where it was not noted what was written it is all that d says.
func (d *Document) Written() *Document {
	if d.written == nil {
		return d.Clone()
	}
	c, filled := d.written.Clone(), d.written.Clone()
	filled.Defaults()
	was, is, out := reflect.ValueOf(filled).Elem(), reflect.ValueOf(d).Elem(), reflect.ValueOf(c).Elem()
	for i := range is.NumField() {
		if is.Type().Field(i).IsExported() && !reflect.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface()) {
			out.Field(i).Set(is.Field(i))
		}
	}
	c.Kind = d.Kind
	return c
}

// Complete fills in defaults, and notes what was written before.
func (d *Document) Complete() {
	written := d.Clone()
	d.Defaults()
	d.written = written
}

// Final is a copy of d that has forgotten what was said before its defaults.
func (d *Document) Final() *Document {
	c := *d
	c.written = nil
	return &c
}

// Under fills what d leaves out with what base says, which is then a part of d: maps
// entry by entry, lists whole. What d says as zero stays zero.
func (d *Document) Under(base *Document) {
	d.zeros = root().Under(reflect.ValueOf(d).Elem(), reflect.ValueOf(base).Elem(), d.zeros, base.zeros)
}

// Value is what d says at f, which is not below a list; invalid: nothing.
func (d *Document) Value(f *schema.Field) reflect.Value {
	v := f.In(reflect.ValueOf(d).Elem())
	if !v.IsValid() || f.Pointer || !v.IsZero() || f.Bit != 0 && d.zeros&f.Bit != 0 {
		return v
	}
	return reflect.Value{}
}

// FieldAt is the field that a path leads to, with what of the path is the key of an
// entry of that map or list; empty: it is the field itself. Where there is none it
// fails with a FieldError that suggests the nearest.
func FieldAt(path string) (f *schema.Field, key string, err error) {
	f, rest := root(), path
	for rest != "" && f.Kind == schema.Object {
		name, more, _ := strings.Cut(rest, ".")
		next := f.ByName[name]
		if next == nil {
			_, err := root().Explain(strings.TrimSuffix(codec.Join(f.Path, name), "."))
			return nil, "", orUnknown(err, path)
		}
		f, rest = next, more
	}
	switch f.Kind {
	case schema.TextMap, schema.Counts, schema.List:
		return f, rest, nil
	}
	if rest != "" {
		_, err := root().Explain(path)
		return nil, "", orUnknown(err, path)
	}
	return f, "", nil
}

// orUnknown is err, or that no field is at a path of which nothing else is wrong: one with
// an empty part explains what stands around it.
func orUnknown(err error, path string) error {
	if err != nil {
		return err
	}
	return codec.FieldError{Path: path, Problem: "unknown field", Hint: "write the names of fields with a dot between two"}
}
