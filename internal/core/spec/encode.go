package spec

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
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
	r.object(root, &n, reflect.ValueOf(r.doc).Elem())
	if err := r.errs.orNil(); err != nil {
		return err
	}
	*d = *r.doc
	return nil
}

// UnmarshalJSON reads a whole number, or a map with count and type.
func (g *GPU) UnmarshalJSON(data []byte) error {
	n, err := readJSON(data)
	if err != nil || n.kind == nodeNull {
		return err
	}
	r := decoder{doc: new(Document), src: source{data, true}, lenient: true}
	var v GPU
	r.value(root.find("resources.gpu"), &n, reflect.ValueOf(&v).Elem())
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
	c.Labels, c.Annotations, c.Env = maps.Clone(d.Labels), maps.Clone(d.Annotations), maps.Clone(d.Env)
	c.Parameters = maps.Clone(d.Parameters)
	c.Command.Argv, c.Args = slices.Clone(d.Command.Argv), slices.Clone(d.Args)
	c.Preemptible, c.Array, c.Retry.System = copyOf(d.Preemptible), copyOf(d.Array), copyOf(d.Retry.System)
	return &c
}

func copyOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// tree is d as nodes; ok is false when parameters hold what cannot be written.
func (d *Document) tree() (n node, ok bool) {
	e := encoder{zeros: d.zeros, ok: true}
	n = e.object(root, reflect.ValueOf(d).Elem())
	return n, e.ok
}

type encoder struct {
	zeros uint64
	ok    bool
}

func (e *encoder) object(f *field, v reflect.Value) node {
	n := node{kind: nodeMap}
	for _, c := range f.fields {
		fv := v.Field(c.index)
		if c.pointer {
			if fv.IsNil() {
				continue
			}
			fv = fv.Elem()
		} else if fv.IsZero() && (c.bit == 0 || e.zeros&c.bit == 0) && c.kind != fieldObject {
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
	case fieldTextMap:
		m := v.Interface().(map[string]string)
		n := node{kind: nodeMap}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			n.put(k, textNode(m[k]))
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
		if f.short != nil && len(n.keys) == 1 && n.keys[0] == f.short.name {
			return n.items[0]
		}
		return n
	}
}
