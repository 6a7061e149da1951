package schema

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/nearest"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// decoder walks a tree along the schema and collects every problem.
type decoder struct {
	zeros   uint64 // bits of the fields that were written as zero
	src     codec.Source
	errs    codec.Errors
	indexes []int // in the lists around what is being read
	lenient bool  // unknown fields are skipped
}

func (d *decoder) fail(pos int, path string, e codec.FieldError) {
	e.Path = codec.Join(path, e.Path)
	if e.Path == path+"." {
		e.Path = path
	}
	e.Line = d.src.Line(pos)
	d.errs.Add(e)
}

func inQuotes(n *codec.Node) string {
	return "write it in quotes: " + strconv.Quote(codec.Shorten(n.Text))
}

// mismatch is the problem of a node that is not what the field takes, with what it
// may look like.
func (f *Field) mismatch(n *codec.Node, want string) codec.FieldError {
	e := codec.Mismatch(n, want)
	like := f.Example
	if like == "" && f.Short != nil {
		like = f.Short.Example
	}
	if like == "" {
		like = usual[f.Kind]
	}
	switch {
	case like != "" && f.Name == "": // an item of a list
		e.Hint = "write it like " + like
	case like != "":
		e.Hint = "write it like " + f.Name + ": " + like
	case f.Kind == Object || f.element:
		for _, c := range f.Fields {
			if c.Example != "" {
				e.Hint = "write its fields, such as " + c.Name + ": " + c.Example
				break
			}
		}
	}
	return e
}

// usual are values of fields that have no example of their own.
var usual = map[Kind]string{Int: "1", Bool: "true", Texts: "[a, b]", Ints: "[0, 1]", TextMap: "{A: b}"}

// object reads a map into a struct.
func (d *decoder) object(f *Field, n *codec.Node, v reflect.Value) {
	path := f.At(d.indexes)
	if n.Kind != codec.NodeMap {
		want := "a map"
		if f.Short != nil {
			want = f.Short.bareWords() + " or a map"
		}
		e := f.mismatch(n, want)
		if f.Short != nil && f.Short.Kind == Text && n.Scalar() {
			e.Hint = inQuotes(n)
		}
		d.fail(n.Pos, path, e)
		return
	}
	d.distinct(n, path)
	for i, key := range n.Keys {
		c := f.ByName[key]
		if c == nil {
			if !d.lenient {
				d.unknown(f, key, n.At[i])
			}
			continue
		}
		item := &n.Items[i]
		if item.Kind == codec.NodeNull { // a field whose lines are commented out
			continue
		}
		fv := v.Field(c.Index)
		if c.Pointer {
			fv.Set(reflect.New(c.Typ))
			fv = fv.Elem()
		}
		d.value(c, item, fv)
		if c.Bit != 0 && fv.IsZero() {
			d.zeros |= c.Bit
		}
	}
}

// unknown suggests the nearest field, here or elsewhere in the schema.
func (d *decoder) unknown(f *Field, key string, pos int) {
	e := codec.FieldError{Value: key, Problem: "unknown field", Allowed: f.Names}
	if near := nearest.Word(key, f.Names); near != "" {
		e.Hint = codec.DidYouMean(near)
	} else {
		f.top().Walk(func(c *Field) {
			switch {
			case c.Name != key || e.Hint != "":
			case c.Path == key: // the same word is no advice
				e.Hint = key + " is a field of the whole document; here are " + strings.Join(f.Names, ", ")
			default:
				e.Hint = codec.DidYouMean(c.Path)
			}
		})
	}
	d.fail(pos, codec.Join(f.At(d.indexes), codec.Shorten(key)), e)
}

// distinct refuses keys that stand twice.
func (d *decoder) distinct(n *codec.Node, path string) {
	if len(n.Keys) < 16 { // cheaper than a map
		for i, k := range n.Keys {
			for _, earlier := range n.Keys[:i] {
				if earlier == k {
					d.twice(n, i, path)
					break
				}
			}
		}
		return
	}
	seen := make(map[string]bool, len(n.Keys))
	for i, k := range n.Keys {
		if seen[k] {
			d.twice(n, i, path)
		}
		seen[k] = true
	}
}

func (d *decoder) twice(n *codec.Node, i int, path string) {
	d.fail(n.At[i], codec.Join(path, codec.Shorten(n.Keys[i])), codec.FieldError{Value: n.Keys[i], Problem: "stands twice", Hint: "keep one of them"})
}

// value reads n into v by the kind of f.
func (d *decoder) value(f *Field, n *codec.Node, v reflect.Value) {
	switch f.Kind {
	case Text:
		if n.Kind != codec.NodeText {
			e := codec.Mismatch(n, "a string")
			if n.Scalar() {
				e.Hint = inQuotes(n)
			}
			d.fail(n.Pos, f.At(d.indexes), e)
			return
		}
		v.SetString(n.Text)
	case Int:
		i, ok := codec.Integer(n.Text)
		if n.Kind != codec.NodeNumber || !ok {
			d.fail(n.Pos, f.At(d.indexes), f.mismatch(n, "a whole number"))
			return
		}
		v.SetInt(int64(i))
	case Bool:
		if n.Kind != codec.NodeBool {
			d.fail(n.Pos, f.At(d.indexes), f.mismatch(n, "true or false"))
			return
		}
		v.SetBool(codec.IsTrue(n.Text))
	case Texts:
		d.texts(f, n, v)
	case Ints:
		d.ints(f, n, v)
	case TextMap:
		d.textMap(f, n, v)
	case Counts:
		d.counts(f, n, v)
	case Parameters:
		d.parameters(f, n, v)
	case Scalar:
		var e codec.FieldError
		if err := v.Addr().Interface().(codec.Scalar).ReadNode(n); errors.As(err, &e) {
			d.fail(n.Pos, f.At(d.indexes), e)
		}
	case List:
		d.list(f, n, v)
	case Object:
		if c := f.bare(n); c != nil {
			d.value(c, n, v.Field(c.Index))
		} else {
			d.object(f, n, v)
		}
		if f.abbreviated {
			if i, e := v.Addr().Interface().(abbreviation).Complete(n); i >= 0 {
				d.fail(n.At[i], f.At(d.indexes)+"."+n.Keys[i], e)
			}
		}
	}
}

// textMap reads a map of strings, its values like texts.
func (d *decoder) textMap(f *Field, n *codec.Node, v reflect.Value) {
	if n.Kind != codec.NodeMap {
		d.fail(n.Pos, f.At(d.indexes), f.mismatch(n, "a map of strings"))
		return
	}
	d.distinct(n, f.At(d.indexes))
	if len(n.Keys) == 0 {
		return
	}
	m := make(map[string]string, len(n.Keys))
	for i, k := range n.Keys {
		if item := &n.Items[i]; item.Scalar() {
			m[k] = item.Text
		} else {
			e := codec.Mismatch(item, "a string")
			if item.Kind == codec.NodeNull {
				e.Hint = `write "" for an empty one`
			}
			d.fail(n.At[i], codec.Join(f.At(d.indexes), codec.Shorten(k)), e)
		}
	}
	v.Set(reflect.ValueOf(m))
}

func (d *decoder) parameters(f *Field, n *codec.Node, v reflect.Value) {
	if n.Kind != codec.NodeMap {
		d.fail(n.Pos, f.Path, f.mismatch(n, "a map"))
		return
	}
	before := len(d.errs)
	d.free(n, f.Path)
	if len(d.errs) > before || len(n.Keys) == 0 {
		return
	}
	v.Set(reflect.ValueOf(n.Any()).Convert(f.Typ))
}

// free checks values whose meaning is the program's own.
func (d *decoder) free(n *codec.Node, path string) {
	switch n.Kind {
	case codec.NodeMap:
		d.distinct(n, path)
		for i := range n.Items {
			d.free(&n.Items[i], codec.Join(path, codec.Shorten(n.Keys[i])))
		}
	case codec.NodeList:
		for i := range n.Items {
			d.free(&n.Items[i], fmt.Sprintf("%s[%d]", path, i))
		}
	case codec.NodeNumber:
		if _, ok := codec.CanonicalNumber(n.Text); !ok {
			e := codec.Mismatch(n, "a finite one")
			e.Hint = "write it in quotes to pass it on as text"
			d.fail(n.Pos, path, e)
		}
	}
}

// Read reads a tree into v, a struct that f is the schema of. zeros are the bits of
// the fields that were written as zero.
func (f *Field) Read(n *codec.Node, src codec.Source, lenient bool, v reflect.Value) (errs codec.Errors, zeros uint64) {
	d := decoder{src: src, lenient: lenient}
	if f.parent == nil {
		d.object(f, n, v)
	} else {
		d.value(f, n, v)
	}
	return d.errs, d.zeros
}
