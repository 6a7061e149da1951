package spec

import (
	"fmt"
	"reflect"
)

// texts reads a list of strings. Numbers and booleans are taken as they are
// written: an argument list may say 0.10 and mean it.
func (d *decoder) texts(f *field, n *node, v reflect.Value) {
	if n.kind != nodeList {
		d.fail(n.pos, f.at(d.indexes), mismatch(n, "a list of strings"))
		return
	}
	if len(n.items) == 0 {
		return
	}
	list := make([]string, len(n.items))
	for i := range n.items {
		if !n.items[i].scalar() {
			d.fail(n.items[i].pos, fmt.Sprintf("%s[%d]", f.at(d.indexes), i), mismatch(&n.items[i], "a string"))
			continue
		}
		list[i] = n.items[i].text
	}
	v.Set(reflect.ValueOf(list))
}

func (d *decoder) ints(f *field, n *node, v reflect.Value) {
	if n.kind != nodeList {
		d.fail(n.pos, f.at(d.indexes), mismatch(n, "a list of whole numbers"))
		return
	}
	if len(n.items) == 0 {
		return
	}
	list := make([]int, len(n.items))
	for i := range n.items {
		number, ok := integer(n.items[i].text)
		if n.items[i].kind != nodeNumber || !ok {
			d.fail(n.items[i].pos, fmt.Sprintf("%s[%d]", f.at(d.indexes), i), mismatch(&n.items[i], "a whole number"))
		}
		list[i] = number
	}
	v.Set(reflect.ValueOf(list))
}

// counts reads a map of names to whole numbers, in quotes or not.
func (d *decoder) counts(f *field, n *node, v reflect.Value) {
	path := f.at(d.indexes)
	if n.kind != nodeMap {
		e := mismatch(n, "a map of names to whole numbers")
		e.Hint = "write it like " + f.example
		d.fail(n.pos, path, e)
		return
	}
	d.distinct(n, path)
	if len(n.keys) == 0 {
		return
	}
	m := make(map[string]int, len(n.keys))
	for i, k := range n.keys {
		item := &n.items[i]
		number, ok := integer(item.text)
		if item.kind != nodeNumber && item.kind != nodeText || !ok {
			d.fail(n.at[i], join(path, shorten(k)), mismatch(item, "a whole number"))
		}
		m[k] = number
	}
	v.Set(reflect.ValueOf(m))
}

// list reads a list of objects. Items that cannot be read stay empty, so that
// the others keep their places.
func (d *decoder) list(f *field, n *node, v reflect.Value) {
	if n.kind != nodeList {
		e := mismatch(n, "a list")
		switch {
		case n.kind == nodeMap:
			e.Hint = "begin each of its maps with '-'"
		case f.item.short != nil && f.item.short.takesBare(n):
			e.Hint = fmt.Sprintf("write it as a list: [%s]", shorten(n.text))
		}
		d.fail(n.pos, f.at(d.indexes), e)
		return
	}
	if len(n.items) == 0 {
		return
	}
	list := reflect.MakeSlice(f.typ, len(n.items), len(n.items))
	d.indexes = append(d.indexes, 0)
	for i := range n.items {
		d.indexes[len(d.indexes)-1] = i
		d.value(f.item, &n.items[i], list.Index(i))
	}
	d.indexes = d.indexes[:len(d.indexes)-1]
	v.Set(list)
}

// bare is the field of f that n stands for; nil where n is to be read as f
// itself.
func (f *field) bare(n *node) *field {
	if f.short == nil || !f.short.takesBare(n) {
		return nil
	}
	if f.part != nil {
		if _, ok := integer(n.text); !ok {
			return f.part
		}
	}
	return f.short
}

// takesBare reports whether n can stand for the map around f.
func (f *field) takesBare(n *node) bool {
	switch f.kind {
	case fieldInt:
		return n.kind == nodeNumber
	case fieldText:
		return n.kind == nodeText
	default:
		return n.kind == nodeNumber || n.kind == nodeText
	}
}

// bareWords names what can stand for the map around f.
func (f *field) bareWords() string {
	switch f.kind {
	case fieldInt:
		return "a number"
	case fieldText:
		return "a text"
	default:
		return "a " + f.words()
	}
}
