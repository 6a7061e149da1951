package spec

import (
	"fmt"
	"reflect"
	"strings"
)

// fieldKind is how a field is read and written.
type fieldKind uint8

const (
	fieldText fieldKind = iota
	fieldInt
	fieldBool
	fieldTexts
	fieldTextMap
	fieldParameters
	fieldObject
	fieldScalar
)

// field is one field of the schema: its struct tags, read once.
type field struct {
	name, path string
	kind       fieldKind
	index      int  // in the struct around it
	pointer    bool // nil: absent
	bit        uint64
	doc        string
	example    string
	enum       []string
	only       string
	short      *field // what a bare number stands for
	required   bool

	fallback     reflect.Value // of the default tag; invalid: none
	fallbackText string
	lower, upper int64 // bounds, in the Go value's own unit
	lowest       string
	highest      string
	fields       []*field
	names        []string
	byName       map[string]*field
	typ          reflect.Type
}

// root is the schema, built once from the struct tags of Document.
var root = buildSchema()

func buildSchema() *field {
	r := &field{typ: reflect.TypeFor[Document](), kind: fieldObject, doc: "A workload: what to run, what it needs, and what to do when it fails."}
	bit := uint64(1)
	r.children(&bit)
	return r
}

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
			name: name, path: join(f.path, name), index: i, typ: sf.Type,
			doc: sf.Tag.Get("doc"), example: sf.Tag.Get("example"), only: sf.Tag.Get("only"),
			required: sf.Tag.Get("required") == "true",
		}
		if c.typ.Kind() == reflect.Pointer {
			c.pointer, c.typ = true, c.typ.Elem()
		}
		if words := sf.Tag.Get("enum"); words != "" {
			c.enum = strings.Split(words, ",")
		}
		c.kind = kindOf(c.typ)
		if c.kind == fieldObject {
			c.children(bit)
			c.short = c.byName[sf.Tag.Get("short")]
		}
		c.lowest, c.lower = c.bound(sf.Tag.Get("min"), -maxInt64)
		c.highest, c.upper = c.bound(sf.Tag.Get("max"), maxInt64)
		if text, ok := sf.Tag.Lookup("default"); ok {
			c.fallbackText, c.fallback = text, c.value(text)
			if !c.pointer && c.kind != fieldText && !c.fallback.IsZero() {
				c.bit, *bit = *bit, *bit<<1
			}
		}
		f.fields, f.names = append(f.fields, c), append(f.names, name)
		f.byName[name] = c
	}
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
		return fieldTexts
	case reflect.Map:
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
