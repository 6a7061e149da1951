package policy

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/core/spec/schema"
)

// field is one that there is.
func field(path string) *schema.Field {
	f, _, err := spec.FieldAt(path)
	if err != nil {
		panic("policy: " + err.Error()) // an error in this package, seen by every test
	}
	return f
}

// instead are defaults that are not for a document which says something else in their
// place.
var instead = []struct {
	by   string
	gone []string
}{
	{"resources.gpu.count", []string{"resources.gpu.share", "resources.gpu.shareLimit", "resources.gpu.memory", "resources.gpu.memoryLimit", "resources.gpu.mig"}},
	{"resources.gpu.share", []string{"resources.gpu.count", "resources.gpu.memory", "resources.gpu.memoryLimit", "resources.gpu.mig"}},
	{"resources.gpu.memory", []string{"resources.gpu.count", "resources.gpu.share", "resources.gpu.shareLimit", "resources.gpu.mig"}},
	{"resources.gpu.mig", []string{"resources.gpu.count", "resources.gpu.share", "resources.gpu.shareLimit", "resources.gpu.memory", "resources.gpu.memoryLimit"}},
	{"command", []string{"args"}},
	{"image", []string{"build"}},
}

// sources are the attributes of a volume of which there is one.
var sources = []string{"hostPath", "create", "temporary", "config", "secret", "claim"}

// overlay fills what d leaves out with defaults: maps entry by entry, lists whose items
// have keys item by item and attribute by attribute.
func overlay(d, defaults *spec.Document, kind lifecycle.Kind) {
	base := defaults.Clone()
	for _, x := range instead {
		if !d.Value(field(x.by)).IsValid() {
			continue
		}
		for _, path := range x.gone {
			if !d.Value(field(path)).IsValid() {
				clear(base, field(path))
			}
		}
	}
	root := field("")
	for _, c := range root.Fields {
		if !c.IsFor(string(kind)) {
			clear(base, c)
		}
	}
	for path := range itemKeys {
		f := field(path)
		own, given := f.In(reflect.ValueOf(d).Elem()), f.In(reflect.ValueOf(base).Elem())
		if own.Len() == 0 || given.Len() == 0 {
			continue
		}
		merged := reflect.MakeSlice(own.Type(), 0, own.Len()+given.Len())
		left := itemsOf(f, given)
		for i := range own.Len() {
			item := reflect.New(own.Type().Elem()).Elem()
			item.Set(own.Index(i))
			key := keyOf(f, item)
			if other, ok := left[key]; ok {
				completeItem(f, item, other)
				delete(left, key)
			}
			merged = reflect.Append(merged, item)
		}
		for i := range given.Len() {
			if _, still := left[keyOf(f, given.Index(i))]; still {
				merged = reflect.Append(merged, given.Index(i))
			}
		}
		own.Set(merged)
	}
	d.Under(base)
}

// completeItem gives an item the attributes of a default one that it leaves out.
func completeItem(f *schema.Field, item, other reflect.Value) {
	base := reflect.New(other.Type()).Elem()
	base.Set(other)
	if f.Path == "volumes" && slices.ContainsFunc(sources, func(name string) bool { return !item.Field(f.Item.ByName[name].Index).IsZero() }) {
		for _, name := range sources {
			if c := f.Item.ByName[name]; item.Field(c.Index).IsZero() {
				base.Field(c.Index).SetZero()
			}
		}
	}
	f.Item.Under(item, base, 0, 0)
}

// clear takes what d says at a field away.
func clear(d *spec.Document, f *schema.Field) {
	at := f.Around(reflect.ValueOf(d).Elem())
	if at.IsValid() {
		at.Field(f.Index).SetZero()
	}
}

// without takes from defaults what a document excludes.
func (e *Effective) without(d, defaults *spec.Document) (errs codec.Errors) {
	for i, path := range d.Exclude {
		at := fmt.Sprintf("exclude[%d]", i)
		f, key, err := spec.FieldAt(path)
		if err != nil {
			wrong := err.(codec.FieldError)
			wrong.Path, wrong.Value = at, path
			errs.Add(wrong)
			continue
		}
		if by, ok := e.holds(f, key); ok {
			errs.Add(codec.FieldError{Path: at, Value: path, Problem: fmt.Sprintf("is kept by %s, and cannot be left out", by), Hint: "take it out of exclude"})
			continue
		}
		if key == "" {
			clear(defaults, f)
			continue
		}
		drop(f, f.In(reflect.ValueOf(defaults).Elem()), canonicalKey(f, key))
	}
	return errs
}

// drop takes an item out of a map or list.
func drop(f *schema.Field, v reflect.Value, key string) {
	if !v.IsValid() {
		return
	}
	if f.Kind != schema.List {
		if v.Len() > 0 {
			v.SetMapIndex(reflect.ValueOf(key), reflect.Value{})
		}
		return
	}
	if itemKeys[f.Path] == "" {
		return
	}
	kept := reflect.MakeSlice(v.Type(), 0, v.Len())
	for i := range v.Len() {
		if keyOf(f, v.Index(i)) != key {
			kept = reflect.Append(kept, v.Index(i))
		}
	}
	v.Set(kept)
}

// holds is who keeps a default from being left out.
func (e *Effective) holds(f *schema.Field, key string) (Source, bool) {
	for i := range e.rules {
		b := &e.rules[i]
		switch {
		case !codec.Within(b.place.field.Path, f.Path):
		case b.place.field == f && key != "" && b.place.key == "":
			if slices.Contains(b.Checks.Locked, canonicalKey(f, key)) {
				return b.Source, true
			}
		case key != "" && b.place.key != key:
		case fixed(b.Checks.CanEdit), len(b.Checks.Locked) > 0 && key == "":
			return b.Source, true
		}
	}
	return Source{}, false
}

// derive fills in what is worked out from other fields. Those of which nothing is known
// are tried again: one may be worked out from another.
func (e *Effective) derive(d *spec.Document) {
	for range len(e.derives) {
		again := false
		for _, b := range e.derives {
			from := b.Checks.DefaultFrom
			if d.Value(b.place.field).IsValid() {
				continue
			}
			n, ok := e.derived(d, from, b.place.field)
			if !ok {
				continue
			}
			base := new(spec.Document)
			b.place.field.Make(reflect.ValueOf(base).Elem()).SetInt(n)
			d.Under(base)
			again = true
		}
		if !again {
			return
		}
	}
}

// derived is an amount that is worked out from another field, or from what that is
// where nobody says it and no policy does.
func (e *Effective) derived(d *spec.Document, from *From, to *schema.Field) (int64, bool) {
	v := d.Value(from.place.field)
	if !v.IsValid() {
		v = e.house.Value(from.place.field)
	}
	if !v.IsValid() || v.Int() == 0 {
		return 0, false
	}
	n := float64(v.Int()) / unit(v.Type()) * from.Factor * unit(to.Typ)
	if n = math.Ceil(n - 1e-6); n < 1 || n > 9e18 {
		return 0, false
	}
	return int64(n), true
}

// unit is how many of what a type counts make one of what people write.
func unit(t reflect.Type) float64 {
	switch t {
	case reflect.TypeFor[spec.Quantity](), reflect.TypeFor[spec.Share](), reflect.TypeFor[spec.ShareLimit]():
		return 1000
	case reflect.TypeFor[spec.Duration]():
		return 1e9
	default:
		return 1
	}
}

// attributeDefaults fills in what items leave out.
func (e *Effective) attributeDefaults(d *spec.Document) {
	for i := range e.rules {
		b := &e.rules[i]
		f := b.place.field
		if f.Kind != schema.List {
			continue
		}
		for _, a := range b.Checks.attributes {
			if a.checks.Default == nil {
				continue
			}
			list := f.In(reflect.ValueOf(d).Elem())
			for k := range list.Len() {
				v := list.Index(k)
				for _, below := range a.place.below {
					v = below.Of(v)
				}
				if !v.IsValid() || !v.IsZero() { // of what the item is not, or it says it
					continue
				}
				if v.CanInt() {
					v.SetInt(a.checks.Default.amount)
				} else if v.Kind() == reflect.String {
					v.SetString(a.checks.Default.Text)
				}
			}
		}
	}
}
