package spec

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// YAML writes doc so that Parse reads the same document again.
func YAML(doc *Document) []byte {
	n, _ := doc.tree()
	return appendYAML(nil, &n)
}

// MarshalJSON writes d so that Parse reads the same document again.
func (d Document) MarshalJSON() ([]byte, error) {
	n, ok := d.tree()
	if !ok {
		return nil, errParameters
	}
	return appendJSON(make([]byte, 0, 512), &n), nil
}

// UnmarshalJSON reads what MarshalJSON wrote, also when a later version wrote
// fields that this one does not know. Users' documents are read by Parse,
// which refuses those.
func (d *Document) UnmarshalJSON(data []byte) error {
	n, err := readJSON(data)
	if err != nil || n.kind == nodeNull {
		return err
	}
	r := decoder{doc: new(Document), src: source{data, true}, lenient: true}
	r.object(root(), &n, reflect.ValueOf(r.doc).Elem())
	if err := r.errs.orNil(); err != nil {
		return err
	}
	*d = *r.doc
	return nil
}

// UnmarshalJSON reads a number, or a map, as a document has it.
func (g *GPU) UnmarshalJSON(data []byte) error {
	n, err := readJSON(data)
	if err != nil || n.kind == nodeNull {
		return err
	}
	r := decoder{doc: new(Document), src: source{data, true}, lenient: true}
	var v GPU
	r.value(root().find("resources.gpu"), &n, reflect.ValueOf(&v).Elem())
	if err := r.errs.orNil(); err != nil {
		return err
	}
	*g = v
	return nil
}

// Equal reports whether d and e say the same.
func (d *Document) Equal(e *Document) bool {
	if d == nil || e == nil {
		return d == e
	}
	a, okA := d.tree()
	b, okB := e.tree()
	return okA == okB && bytes.Equal(appendJSON(nil, &a), appendJSON(nil, &b))
}

// Clone returns a copy that shares nothing with d, but for values inside
// Parameters, which nobody changes.
func (d *Document) Clone() *Document {
	if d == nil {
		return nil
	}
	c := *d
	root().detach(reflect.ValueOf(&c).Elem())
	return &c
}

// detach replaces everything that v shares with the document it was copied
// from by a copy.
func (f *field) detach(v reflect.Value) {
	for _, c := range f.fields {
		if c.flat {
			continue
		}
		fv := v.Field(c.index)
		if c.pointer {
			if fv.IsNil() {
				continue
			}
			own := reflect.New(c.typ)
			own.Elem().Set(fv.Elem())
			fv.Set(own)
			fv = own.Elem()
		}
		c.own(fv)
	}
}

func (f *field) own(v reflect.Value) {
	switch f.kind {
	case fieldTexts, fieldInts, fieldTextMap, fieldCounts, fieldParameters:
		if v.IsNil() {
			return
		}
	}
	switch f.kind {
	case fieldObject:
		f.detach(v)
	case fieldTexts:
		v.Set(reflect.ValueOf(slices.Clone(v.Interface().([]string))))
	case fieldInts:
		v.Set(reflect.ValueOf(slices.Clone(v.Interface().([]int))))
	case fieldTextMap:
		v.Set(reflect.ValueOf(maps.Clone(v.Interface().(map[string]string))))
	case fieldCounts:
		v.Set(reflect.ValueOf(maps.Clone(v.Interface().(map[string]int))))
	case fieldParameters:
		v.Set(reflect.ValueOf(maps.Clone(v.Interface().(Parameters))))
	case fieldList:
		if v.Len() == 0 {
			return
		}
		own := reflect.MakeSlice(f.typ, v.Len(), v.Len())
		reflect.Copy(own, v)
		v.Set(own)
		for i := range own.Len() {
			f.item.detach(own.Index(i))
		}
	case fieldScalar: // the only one of more than a number
		if c, ok := v.Addr().Interface().(*Command); ok {
			c.Argv = slices.Clone(c.Argv)
		}
	}
}

// tree is d as nodes; ok is false when parameters hold what cannot be written.
func (d *Document) tree() (n node, ok bool) {
	e := encoder{zeros: d.zeros, ok: true}
	n = e.object(root(), reflect.ValueOf(d).Elem())
	return n, e.ok
}

type encoder struct {
	zeros uint64
	ok    bool
}

func (e *encoder) object(f *field, v reflect.Value) node {
	room := min(len(f.fields), 16) // few documents have more
	n := node{kind: nodeMap, keys: make([]string, 0, room), items: make([]node, 0, room)}
	for _, c := range f.fields {
		fv := v.Field(c.index)
		if c.pointer {
			if fv.IsNil() {
				continue
			}
			fv = fv.Elem()
		} else if fv.IsZero() && e.zeros&c.bits == 0 {
			continue
		}
		if item := e.value(c, fv); c.pointer || item.scalar() || len(item.items) > 0 {
			n.put(c.name, item)
		}
	}
	return n
}

func (e *encoder) value(f *field, v reflect.Value) node {
	switch f.kind {
	case fieldText:
		return textNode(v.String())
	case fieldInt, fieldBool:
		n, _ := nodeOf(v.Interface())
		return n
	case fieldTexts:
		n := node{kind: nodeList}
		for i := range v.Len() {
			n.items = append(n.items, textNode(v.Index(i).String()))
		}
		return n
	case fieldInts:
		n := node{kind: nodeList}
		for i := range v.Len() {
			n.items = append(n.items, numNode(strconv.FormatInt(v.Index(i).Int(), 10)))
		}
		return n
	case fieldList:
		n := node{kind: nodeList}
		for i := range v.Len() {
			n.items = append(n.items, e.value(f.item, v.Index(i)))
		}
		return n
	case fieldTextMap:
		m := v.Interface().(map[string]string)
		n := node{kind: nodeMap}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			n.put(k, textNode(m[k]))
		}
		return n
	case fieldCounts:
		m := v.Interface().(map[string]int)
		n := node{kind: nodeMap}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			n.put(k, numNode(strconv.Itoa(m[k])))
		}
		return n
	case fieldParameters:
		n, ok := mapNode(v.Interface().(Parameters))
		e.ok = e.ok && ok
		return n
	case fieldScalar:
		return v.Interface().(scalarWriter).write()
	default:
		n := e.object(f, v)
		if f.typ == gpuType {
			n = v.Addr().Interface().(*GPU).shortened(n)
		}
		if f.short != nil && len(n.keys) == 1 && (n.keys[0] == f.short.name || f.part != nil && n.keys[0] == f.part.name) {
			return n.items[0]
		}
		return n
	}
}
