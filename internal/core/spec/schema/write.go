package schema

import (
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Detach replaces everything that v shares with the document it was copied
// from by a copy.
func (f *Field) Detach(v reflect.Value) {
	for _, c := range f.Fields {
		if c.flat {
			continue
		}
		fv := v.Field(c.Index)
		if c.Pointer {
			if fv.IsNil() {
				continue
			}
			own := reflect.New(c.Typ)
			own.Elem().Set(fv.Elem())
			fv.Set(own)
			fv = own.Elem()
		}
		c.own(fv)
	}
}

func (f *Field) own(v reflect.Value) {
	switch f.Kind {
	case Texts, Ints, TextMap, Counts, Parameters:
		if v.IsNil() {
			return
		}
	}
	switch f.Kind {
	case Object:
		f.Detach(v)
	case Texts:
		v.Set(reflect.ValueOf(slices.Clone(v.Interface().([]string))))
	case Ints:
		v.Set(reflect.ValueOf(slices.Clone(v.Interface().([]int))))
	case TextMap:
		v.Set(reflect.ValueOf(maps.Clone(v.Interface().(map[string]string))))
	case Counts:
		v.Set(reflect.ValueOf(maps.Clone(v.Interface().(map[string]int))))
	case Parameters:
		v.Set(reflect.ValueOf(maps.Clone(mapOf(v))).Convert(f.Typ))
	case List:
		if v.Len() == 0 {
			return
		}
		own := reflect.MakeSlice(f.Typ, v.Len(), v.Len())
		reflect.Copy(own, v)
		v.Set(own)
		for i := range own.Len() {
			f.Item.Detach(own.Index(i))
		}
	case Scalar: // the only one of more than a number
		if c, ok := v.Addr().Interface().(detacher); ok {
			c.Detach()
		}
	}
}

type encoder struct {
	zeros uint64
	ok    bool
}

func (e *encoder) object(f *Field, v reflect.Value) codec.Node {
	room := min(len(f.Fields), 16) // few documents have more
	n := codec.Node{Kind: codec.NodeMap, Keys: make([]string, 0, room), Items: make([]codec.Node, 0, room)}
	for _, c := range f.Fields {
		fv := v.Field(c.Index)
		if c.Pointer {
			if fv.IsNil() {
				continue
			}
			fv = fv.Elem()
		} else if fv.IsZero() && e.zeros&c.bits == 0 {
			continue
		}
		if item := e.value(c, fv); c.Pointer || item.Scalar() || len(item.Items) > 0 {
			n.Put(c.Name, item)
		}
	}
	return n
}

func (e *encoder) value(f *Field, v reflect.Value) codec.Node {
	switch f.Kind {
	case Text:
		return codec.TextNode(v.String())
	case Int, Bool:
		n, _ := codec.NodeOf(v.Interface())
		return n
	case Texts:
		n := codec.Node{Kind: codec.NodeList}
		for i := range v.Len() {
			n.Items = append(n.Items, codec.TextNode(v.Index(i).String()))
		}
		return n
	case Ints:
		n := codec.Node{Kind: codec.NodeList}
		for i := range v.Len() {
			n.Items = append(n.Items, codec.NumberNode(strconv.FormatInt(v.Index(i).Int(), 10)))
		}
		return n
	case List:
		n := codec.Node{Kind: codec.NodeList}
		for i := range v.Len() {
			n.Items = append(n.Items, e.value(f.Item, v.Index(i)))
		}
		return n
	case TextMap:
		m := v.Interface().(map[string]string)
		n := codec.Node{Kind: codec.NodeMap}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			n.Put(k, codec.TextNode(m[k]))
		}
		return n
	case Counts:
		m := v.Interface().(map[string]int)
		n := codec.Node{Kind: codec.NodeMap}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			n.Put(k, codec.NumberNode(strconv.Itoa(m[k])))
		}
		return n
	case Parameters:
		n, ok := codec.MapNode(mapOf(v))
		e.ok = e.ok && ok
		return n
	case Scalar:
		return v.Interface().(codec.ScalarWriter).WriteNode()
	default:
		n := e.object(f, v)
		if f.abbreviated {
			n = v.Addr().Interface().(abbreviation).Shorten(n)
		}
		if f.Short != nil && len(n.Keys) == 1 && (n.Keys[0] == f.Short.Name || f.Part != nil && n.Keys[0] == f.Part.Name) {
			return n.Items[0]
		}
		return n
	}
}

var mapType = reflect.TypeFor[map[string]any]()

func mapOf(v reflect.Value) map[string]any { return v.Convert(mapType).Interface().(map[string]any) }

// Write is v, a struct that f is the schema of, as a tree; false: it holds what cannot
// be written. zeros are the bits of the fields that were written as zero.
func (f *Field) Write(v reflect.Value, zeros uint64) (codec.Node, bool) {
	e := encoder{zeros: zeros, ok: true}
	n := e.object(f, v)
	return n, e.ok
}
