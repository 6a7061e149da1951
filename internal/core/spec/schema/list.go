package schema

import (
	"fmt"
	"reflect"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// texts reads a list of strings. Numbers and booleans are taken as they are
// written: an argument list may say 0.10 and mean it.
func (d *decoder) texts(f *Field, n *codec.Node, v reflect.Value) {
	if n.Kind != codec.NodeList {
		d.fail(n.Pos, f.At(d.indexes), f.mismatch(n, "a list of strings"))
		return
	}
	if len(n.Items) == 0 {
		return
	}
	list := make([]string, len(n.Items))
	for i := range n.Items {
		if !n.Items[i].Scalar() {
			d.fail(n.Items[i].Pos, fmt.Sprintf("%s[%d]", f.At(d.indexes), i), codec.Mismatch(&n.Items[i], "a string"))
			continue
		}
		list[i] = n.Items[i].Text
	}
	v.Set(reflect.ValueOf(list))
}

func (d *decoder) ints(f *Field, n *codec.Node, v reflect.Value) {
	if n.Kind != codec.NodeList {
		d.fail(n.Pos, f.At(d.indexes), f.mismatch(n, "a list of whole numbers"))
		return
	}
	if len(n.Items) == 0 {
		return
	}
	list := make([]int, len(n.Items))
	for i := range n.Items {
		number, ok := codec.Integer(n.Items[i].Text)
		if n.Items[i].Kind != codec.NodeNumber || !ok {
			d.fail(n.Items[i].Pos, fmt.Sprintf("%s[%d]", f.At(d.indexes), i), codec.Mismatch(&n.Items[i], "a whole number"))
		}
		list[i] = number
	}
	v.Set(reflect.ValueOf(list))
}

// counts reads a map of names to whole numbers, in quotes or not.
func (d *decoder) counts(f *Field, n *codec.Node, v reflect.Value) {
	path := f.At(d.indexes)
	if n.Kind != codec.NodeMap {
		e := f.mismatch(n, "a map of names to whole numbers")
		e.Hint = "write it like " + f.Example
		d.fail(n.Pos, path, e)
		return
	}
	d.distinct(n, path)
	if len(n.Keys) == 0 {
		return
	}
	m := make(map[string]int, len(n.Keys))
	for i, k := range n.Keys {
		item := &n.Items[i]
		number, ok := codec.Integer(item.Text)
		if item.Kind != codec.NodeNumber && item.Kind != codec.NodeText || !ok {
			d.fail(n.At[i], codec.Join(path, codec.Shorten(k)), codec.Mismatch(item, "a whole number"))
		}
		m[k] = number
	}
	v.Set(reflect.ValueOf(m))
}

// list reads a list of objects. Items that cannot be read stay empty, so that
// the others keep their places.
func (d *decoder) list(f *Field, n *codec.Node, v reflect.Value) {
	if n.Kind != codec.NodeList {
		e := f.mismatch(n, "a list")
		switch {
		case n.Kind == codec.NodeMap:
			e.Hint = "begin each of its maps with '-'"
		case f.Item.Short != nil && f.Item.Short.takesBare(n):
			e.Hint = fmt.Sprintf("write it as a list: [%s]", codec.Shorten(n.Text))
		}
		d.fail(n.Pos, f.At(d.indexes), e)
		return
	}
	if len(n.Items) == 0 {
		return
	}
	list := reflect.MakeSlice(f.Typ, len(n.Items), len(n.Items))
	d.indexes = append(d.indexes, 0)
	for i := range n.Items {
		d.indexes[len(d.indexes)-1] = i
		d.value(f.Item, &n.Items[i], list.Index(i))
	}
	d.indexes = d.indexes[:len(d.indexes)-1]
	v.Set(list)
}

// bare is the field of f that n stands for; nil where n is to be read as f
// itself.
func (f *Field) bare(n *codec.Node) *Field {
	if f.Short == nil || !f.Short.takesBare(n) {
		return nil
	}
	if f.Part != nil {
		if _, ok := codec.Integer(n.Text); !ok {
			return f.Part
		}
	}
	return f.Short
}

// takesBare reports whether n can stand for the map around f.
func (f *Field) takesBare(n *codec.Node) bool {
	switch f.Kind {
	case Int:
		return n.Kind == codec.NodeNumber
	case Text:
		return n.Kind == codec.NodeText
	default:
		return n.Kind == codec.NodeNumber || n.Kind == codec.NodeText
	}
}

// bareWords names what can stand for the map around f.
func (f *Field) bareWords() string {
	switch f.Kind {
	case Int:
		return "a number"
	case Text:
		return "a text"
	default:
		return "a " + f.words()
	}
}
