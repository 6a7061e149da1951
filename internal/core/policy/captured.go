package policy

import (
	"reflect"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/core/spec/schema"
)

// Annotation of a workload says what of its document policies have filled in, by path
// with commas between. It keeps that when its document is compared with another.
const Annotation = spec.MadeOf + "policy"

// filled are the paths at which a document says what it did not say when it was
// written.
func filled(written, d *spec.Document) string {
	var out []string
	walk(field(""), reflect.ValueOf(written).Elem(), reflect.ValueOf(d).Elem(), "", &out)
	out = slices.DeleteFunc(out, func(path string) bool {
		return strings.Contains(path, ",") || path == "annotations."+Annotation
	})
	slices.Sort(out)
	return strings.Join(out, ",")
}

func walk(at *schema.Field, a, b reflect.Value, path string, out *[]string) {
	for _, f := range at.Fields {
		was, is := f.Of(a), f.Of(b)
		here := codec.Join(path, f.Name)
		switch {
		case !is.IsValid() || !f.Pointer && is.IsZero():
		case f.Kind == schema.Object:
			if !was.IsValid() {
				was = reflect.Zero(f.Typ)
			}
			walk(f, was, is, here, out)
		case f.Kind == schema.TextMap, f.Kind == schema.Counts, f.Kind == schema.List && itemKeys[f.Path] != "":
			if !was.IsValid() {
				was = reflect.Zero(f.Typ)
			}
			old := itemsOf(f, was)
			for key, item := range itemsOf(f, is) {
				if o, ok := old[key]; !ok || f.Kind == schema.List && !reflect.DeepEqual(o.Interface(), item.Interface()) {
					*out = append(*out, codec.Join(here, key))
				}
			}
		case !was.IsValid() || was.IsZero() && !is.IsZero():
			*out = append(*out, here)
		}
	}
}

// captured are the defaults that a document was given by policies, as a document.
func captured(was *spec.Document, still func(path string) bool) *spec.Document {
	base := new(spec.Document)
	from, to := reflect.ValueOf(was).Elem(), reflect.ValueOf(base).Elem()
	for path := range strings.SplitSeq(was.Annotations[Annotation], ",") {
		f, key, err := spec.FieldAt(path)
		if path == "" || err != nil || f.Kind == schema.Object || !still(path) {
			continue
		}
		v := f.In(from)
		if !v.IsValid() {
			continue
		}
		if key != "" {
			item, ok := itemsOf(f, v)[canonicalKey(f, key)]
			switch {
			case !ok:
			case f.Kind == schema.List:
				list := f.Make(to)
				list.Set(reflect.Append(list, item))
			default:
				m := f.Make(to)
				if m.IsNil() {
					m.Set(reflect.MakeMap(m.Type()))
				}
				m.SetMapIndex(reflect.ValueOf(key), item)
			}
			continue
		}
		f.Make(to).Set(v)
	}
	return base
}

// Follow gives the next document of a workload what policies have given to the one that
// it has, unless the next one says otherwise: only what somebody has changed is then a
// change.
func Follow(next, was *spec.Document) {
	note := was.Annotations[Annotation]
	if note == "" {
		return
	}
	overlay(next, captured(was, func(path string) bool { return !slices.Contains(next.Exclude, path) }), was.Kind)
	annotate(next, Annotation, note)
}

// Anew is the next document of a workload without what policies have given to the one
// that it has: present ones decide about that anew.
func Anew(next, was *spec.Document) *spec.Document {
	out := next.Clone()
	annotate(out, Annotation, "")
	given := captured(was, func(string) bool { return true })
	for path := range strings.SplitSeq(was.Annotations[Annotation], ",") {
		f, key, err := spec.FieldAt(path)
		if path == "" || err != nil {
			continue
		}
		a, b := out.Value(f), given.Value(f)
		if key == "" {
			if a.IsValid() && b.IsValid() && reflect.DeepEqual(a.Interface(), b.Interface()) {
				clear(out, f)
			}
			continue
		}
		key = canonicalKey(f, key)
		own, ok := itemsOf(f, a)[key]
		if theirs, known := itemsOf(f, b)[key]; ok && known && reflect.DeepEqual(own.Interface(), theirs.Interface()) {
			drop(f, a, key)
		}
	}
	return out
}
