// Package schema reads trees into Go structs, and writes structs as trees, as the tags of
// their fields say; it finds what is wrong with its place, suggests the field that was
// meant, and explains every field.
package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Kind is how a field is read and written.
type Kind uint8

// The kinds of fields.
const (
	Text Kind = iota
	Int
	Bool
	Texts
	Ints
	TextMap
	Counts // map of text to whole number
	Parameters
	Object
	List // of objects
	Scalar
)

// Field is one field of the schema: its struct tags, read once.
type Field struct {
	Name, Path  string
	Kind        Kind
	Index       int  // in the struct around it
	Pointer     bool // nil: absent
	Bit         uint64
	bits        uint64 // bit and those of the fields below
	Doc         string
	Example     string
	Enum        []string
	Form        string
	Check       func(s string) (problem, hint string) // of form; nil: none
	Only        []string
	Short       *Field // of an object: what a bare number or text stands for
	Part        *Field // of an object: what a bare number with a fraction stands for; nil: the same
	Item        *Field // of a list of objects
	element     bool   // is the item of parent
	word        string // what its type is called, of one with a text form of its own
	abbreviated bool   // its type is an abbreviation
	flat        bool   // a copy of the Go value shares nothing
	parent      *Field
	Required    bool

	Fallback     reflect.Value // of the default tag; invalid: none
	FallbackText string
	Lower, Upper int64 // bounds, in the Go value's own unit
	Lowest       string
	Highest      string
	Fields       []*Field // of a list: its item's
	filled       []*Field // those with defaults in or below them
	Names        []string
	ByName       map[string]*Field
	Typ          reflect.Type
}

// Vocabulary is what the tags of a schema name.
type Vocabulary struct {
	Forms map[string]func(s string) (problem, hint string) // of texts: what is wrong, and what would be right
	Types map[string]string                                // what a type with a text form of its own is called
}

// abbreviation is an object that is completed when it has been read, and written
// shorter than it is.
type abbreviation interface {
	// Complete fills in what n leaves out; refused is the entry of n that cannot be, -1
	// none, and e what is wrong with it.
	Complete(n *codec.Node) (refused int, e codec.FieldError)
	// Shorten is n, which it was written to, without what Complete fills in.
	Shorten(n codec.Node) codec.Node
}

// detacher is a value that is more than a number or a text.
type detacher interface{ Detach() }

// New is the schema of a struct, built from its tags.
func New(of reflect.Type, doc string, words Vocabulary) *Field {
	r := &Field{Typ: of, Kind: Object, Doc: doc}
	bit := uint64(1)
	r.children(&builder{bit: &bit, Vocabulary: words})
	return r
}

// builder is a schema that is being built.
type builder struct {
	Vocabulary
	bit *uint64 // of the next field whose zero is kept; nil: inside a list
}

var scalarType, abbreviationType = reflect.TypeFor[codec.Scalar](), reflect.TypeFor[abbreviation]()

func (f *Field) children(b *builder) {
	f.ByName = map[string]*Field{}
	for i := range f.Typ.NumField() {
		sf := f.Typ.Field(i)
		if !sf.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		c := &Field{
			Name: name, Path: codec.Join(f.Path, name), parent: f, Index: i, Typ: sf.Type,
			Doc: sf.Tag.Get("doc"), Example: sf.Tag.Get("example"), Form: sf.Tag.Get("form"),
			Required: sf.Tag.Get("required") == "true",
			Enum:     words(sf.Tag.Get("enum")), Only: words(sf.Tag.Get("only")),
		}
		if c.Typ.Kind() == reflect.Pointer {
			c.Pointer, c.Typ = true, c.Typ.Elem()
		}
		if c.Check = b.Forms[c.Form]; c.Check == nil && c.Form != "" {
			panic("spec: no form " + c.Form) // an error in the tags, seen by every test
		}
		c.Kind, c.word = kindOf(c.Typ), b.Types[c.Typ.Name()]
		c.abbreviated = c.Kind == Object && reflect.PointerTo(c.Typ).Implements(abbreviationType)
		switch c.Kind {
		case Object:
			c.children(b)
			short, part, _ := strings.Cut(sf.Tag.Get("short"), ",")
			c.Short, c.Part = c.ByName[short], c.ByName[part]
		case List:
			c.items(b, sf.Tag.Get("short"))
		}
		c.Lowest, c.Lower = c.bound(sf.Tag.Get("min"), -codec.MaxInt64)
		c.Highest, c.Upper = c.bound(sf.Tag.Get("max"), codec.MaxInt64)
		c.fall(sf.Tag, b.bit)
		c.flat = !c.Pointer && (c.Kind <= Bool || c.Kind == Scalar && c.Typ.Kind() != reflect.Struct)
		f.Fields, f.Names = append(f.Fields, c), append(f.Names, name)
		f.ByName[name] = c
		for _, below := range c.filled {
			c.bits |= below.bits
		}
		c.bits |= c.Bit
		if c.Fallback.IsValid() || len(c.filled) > 0 {
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
func (f *Field) fall(tag reflect.StructTag, bit *uint64) {
	text, ok := tag.Lookup("default")
	if !ok {
		return
	}
	if bit == nil {
		panic("spec: " + f.Path + " has a default inside a list") // an error in the tags, seen by every test
	}
	f.FallbackText = text
	if strings.HasPrefix(text, "(") { // what Defaults works out
		f.Bit, *bit = *bit, *bit<<1
		return
	}
	f.Fallback = f.value(text)
	if !f.Pointer && f.Kind != Text && !f.Fallback.IsZero() {
		f.Bit, *bit = *bit, *bit<<1
	}
}

// items makes the schema of a list's items, whose path is the list's own.
func (f *Field) items(b *builder, short string) {
	f.Item = &Field{Path: f.Path, Kind: Object, Typ: f.Typ.Elem(), parent: f, element: true}
	f.Item.children(&builder{Vocabulary: b.Vocabulary})
	f.Item.Short = f.Item.ByName[short]
	f.Fields, f.Names, f.ByName = f.Item.Fields, f.Item.Names, f.Item.ByName
}

// At is f's path in a document: indexes are those of the lists around f,
// outermost first.
func (f *Field) At(indexes []int) string {
	last := len(indexes) - 1
	switch {
	case last < 0:
		return f.Path
	case f.element:
		return f.parent.At(indexes[:last]) + "[" + strconv.Itoa(indexes[last]) + "]"
	default:
		return codec.Join(f.parent.At(indexes), f.Name)
	}
}

// IsFor reports whether the field makes sense for a kind of what is described.
func (f *Field) IsFor(kind string) bool {
	return len(f.Only) == 0 || slices.Contains(f.Only, kind)
}

func kindOf(t reflect.Type) Kind {
	switch {
	case reflect.PointerTo(t).Implements(scalarType):
		return Scalar
	case t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Interface:
		return Parameters
	}
	switch t.Kind() {
	case reflect.String:
		return Text
	case reflect.Int:
		return Int
	case reflect.Bool:
		return Bool
	case reflect.Slice:
		switch t.Elem().Kind() {
		case reflect.Struct:
			return List
		case reflect.Int:
			return Ints
		}
		return Texts
	case reflect.Map:
		if t.Elem().Kind() == reflect.Int {
			return Counts
		}
		return TextMap
	case reflect.Struct:
		return Object
	default:
		panic("spec: no kind of field for " + t.String()) // an error in document.go, seen by every test
	}
}

// value reads a tag as the field's document value would be read.
func (f *Field) value(text string) reflect.Value {
	n := codec.Node{Kind: codec.Classify(text), Text: text}
	v := reflect.New(f.Typ).Elem()
	var d decoder
	d.value(f, &n, v)
	if len(d.errs) > 0 {
		panic(fmt.Sprintf("spec: tag of %s: %v", f.Path, d.errs)) // as above
	}
	return v
}

func (f *Field) bound(text string, none int64) (string, int64) {
	if text == "" {
		return "", none
	}
	if f.Kind == Ints || f.Kind == Counts {
		n, _ := codec.Integer(text)
		return text, int64(n)
	}
	return text, f.value(text).Int()
}

// Find returns the field of a path, or nil.
func (f *Field) Find(path string) *Field {
	for f != nil && path != "" {
		var name string
		name, path, _ = strings.Cut(path, ".")
		f = f.ByName[name]
	}
	return f
}

// top is the whole schema.
func (f *Field) top() *Field {
	for f.parent != nil {
		f = f.parent
	}
	return f
}

// Walk calls fn for every field below f, parents first.
func (f *Field) Walk(fn func(*Field)) {
	for _, c := range f.Fields {
		fn(c)
		c.Walk(fn)
	}
}
