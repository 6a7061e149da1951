package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

// fieldKind is how a field is read and written.
type fieldKind uint8

const (
	fieldText fieldKind = iota
	fieldInt
	fieldBool
	fieldTexts
	fieldInts
	fieldTextMap
	fieldCounts // map of text to whole number
	fieldParameters
	fieldObject
	fieldList // of objects
	fieldScalar
)

// field is one field of the schema: its struct tags, read once.
type field struct {
	name, path string
	kind       fieldKind
	index      int  // in the struct around it
	pointer    bool // nil: absent
	bit        uint64
	bits       uint64 // bit and those of the fields below
	doc        string
	example    string
	enum       []string
	form       string
	check      func(s string) (problem, hint string) // of form; nil: none
	only       []string
	short      *field // of an object: what a bare number or text stands for
	part       *field // of an object: what a bare number with a fraction stands for; nil: the same
	item       *field // of a list of objects
	element    bool   // is the item of parent
	flat       bool   // a copy of the Go value shares nothing
	parent     *field
	required   bool

	fallback     reflect.Value // of the default tag; invalid: none
	fallbackText string
	lower, upper int64 // bounds, in the Go value's own unit
	lowest       string
	highest      string
	fields       []*field // of a list: its item's
	filled       []*field // those with defaults in or below them
	names        []string
	byName       map[string]*field
	typ          reflect.Type
}

// root is the schema, built from the struct tags of Document when it is first asked
// for: most commands that somebody types need none.
var root = sync.OnceValue(func() *field {
	r := &field{typ: reflect.TypeFor[Document](), kind: fieldObject, doc: "A workload: what to run, what it needs, and what to do when it fails."}
	bit := uint64(1)
	r.children(&bit)
	return r
})

var scalarType = reflect.TypeFor[scalar]()

func (f *field) children(bit *uint64) {
	f.byName = map[string]*field{}
	for i := range f.typ.NumField() {
		sf := f.typ.Field(i)
		if !sf.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		c := &field{
			name: name, path: join(f.path, name), parent: f, index: i, typ: sf.Type,
			doc: sf.Tag.Get("doc"), example: sf.Tag.Get("example"), form: sf.Tag.Get("form"),
			required: sf.Tag.Get("required") == "true",
			enum:     words(sf.Tag.Get("enum")), only: words(sf.Tag.Get("only")),
		}
		if c.typ.Kind() == reflect.Pointer {
			c.pointer, c.typ = true, c.typ.Elem()
		}
		if c.check = forms[c.form]; c.check == nil && c.form != "" {
			panic("spec: no form " + c.form) // an error in the tags, seen by every test
		}
		c.kind = kindOf(c.typ)
		switch c.kind {
		case fieldObject:
			c.children(bit)
			short, part, _ := strings.Cut(sf.Tag.Get("short"), ",")
			c.short, c.part = c.byName[short], c.byName[part]
		case fieldList:
			c.items(sf.Tag.Get("short"))
		}
		c.lowest, c.lower = c.bound(sf.Tag.Get("min"), -maxInt64)
		c.highest, c.upper = c.bound(sf.Tag.Get("max"), maxInt64)
		c.fall(sf.Tag, bit)
		c.flat = !c.pointer && (c.kind <= fieldBool || c.kind == fieldScalar && c.typ.Kind() != reflect.Struct)
		f.fields, f.names = append(f.fields, c), append(f.names, name)
		f.byName[name] = c
		for _, below := range c.filled {
			c.bits |= below.bits
		}
		c.bits |= c.bit
		if c.fallback.IsValid() || len(c.filled) > 0 {
			f.filled = append(f.filled, c)
		}
	}
}

func words(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// fall reads the default tag.
func (f *field) fall(tag reflect.StructTag, bit *uint64) {
	text, ok := tag.Lookup("default")
	if !ok {
		return
	}
	if bit == nil {
		panic("spec: " + f.path + " has a default inside a list") // an error in the tags, seen by every test
	}
	f.fallbackText = text
	if strings.HasPrefix(text, "(") { // what Defaults works out
		f.bit, *bit = *bit, *bit<<1
		return
	}
	f.fallback = f.value(text)
	if !f.pointer && f.kind != fieldText && !f.fallback.IsZero() {
		f.bit, *bit = *bit, *bit<<1
	}
}

// items makes the schema of a list's items, whose path is the list's own.
func (f *field) items(short string) {
	f.item = &field{path: f.path, kind: fieldObject, typ: f.typ.Elem(), parent: f, element: true}
	f.item.children(nil)
	f.item.short = f.item.byName[short]
	f.fields, f.names, f.byName = f.item.fields, f.item.names, f.item.byName
}

// at is f's path in a document: indexes are those of the lists around f,
// outermost first.
func (f *field) at(indexes []int) string {
	last := len(indexes) - 1
	switch {
	case last < 0:
		return f.path
	case f.element:
		return f.parent.at(indexes[:last]) + "[" + strconv.Itoa(indexes[last]) + "]"
	default:
		return join(f.parent.at(indexes), f.name)
	}
}

// isFor reports whether the field makes sense for a kind of workload.
func (f *field) isFor(kind lifecycle.Kind) bool {
	return len(f.only) == 0 || slices.Contains(f.only, string(kind))
}

func kindOf(t reflect.Type) fieldKind {
	switch {
	case reflect.PointerTo(t).Implements(scalarType):
		return fieldScalar
	case t == reflect.TypeFor[Parameters]():
		return fieldParameters
	}
	switch t.Kind() {
	case reflect.String:
		return fieldText
	case reflect.Int:
		return fieldInt
	case reflect.Bool:
		return fieldBool
	case reflect.Slice:
		switch t.Elem().Kind() {
		case reflect.Struct:
			return fieldList
		case reflect.Int:
			return fieldInts
		}
		return fieldTexts
	case reflect.Map:
		if t.Elem().Kind() == reflect.Int {
			return fieldCounts
		}
		return fieldTextMap
	case reflect.Struct:
		return fieldObject
	default:
		panic("spec: no kind of field for " + t.String()) // an error in document.go, seen by every test
	}
}

// value reads a tag as the field's document value would be read.
func (f *field) value(text string) reflect.Value {
	n := node{kind: classify(text), text: text}
	v := reflect.New(f.typ).Elem()
	d := decoder{doc: new(Document)}
	d.value(f, &n, v)
	if len(d.errs) > 0 {
		panic(fmt.Sprintf("spec: tag of %s: %v", f.path, d.errs)) // as above
	}
	return v
}

func (f *field) bound(text string, none int64) (string, int64) {
	if text == "" {
		return "", none
	}
	if f.kind == fieldInts || f.kind == fieldCounts {
		n, _ := integer(text)
		return text, int64(n)
	}
	return text, f.value(text).Int()
}

func join(path, name string) string {
	if path == "" || strings.HasPrefix(name, "[") {
		return path + name
	}
	return path + "." + name
}

// find returns the field of a path, or nil.
func (f *field) find(path string) *field {
	for f != nil && path != "" {
		var name string
		name, path, _ = strings.Cut(path, ".")
		f = f.byName[name]
	}
	return f
}

// walk calls fn for every field below f, parents first.
func (f *field) walk(fn func(*field)) {
	for _, c := range f.fields {
		fn(c)
		c.walk(fn)
	}
}
