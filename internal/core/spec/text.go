package spec

import (
	"bytes"
	"errors"
	"reflect"
	"slices"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Parse reads one document of YAML or JSON as its author wrote it, without
// defaults and without asking whether it makes sense. It fails with Errors
// that name every problem it can see.
func Parse(data []byte) (*Document, error) {
	p, err := parse(data)
	if err == nil {
		err = p.errs.InOrder()
	}
	if err != nil {
		return nil, err
	}
	return p.doc, nil
}

// Load reads one document, fills in its defaults and validates it. It fails with
// Errors.
func Load(data []byte) (*Document, error) { return LoadWith(data, Assets{}, nil) }

// LoadWith is Load of a document that may name assets, and is laid over some of
// which it may say nothing: what is done with everything that a user submits.
// takeFor finds the assets of a document. It fails with Errors, or as takeFor
// did.
func LoadWith(data []byte, beside Assets, takeFor func(*Document) Resolve) (*Document, error) {
	p, err := parse(data)
	if err != nil {
		return nil, err
	}
	var from Origins
	if p.doc.lay(beside); takeFor != nil && p.doc.NamesAssets() && len(p.errs) == 0 {
		var errs codec.Errors
		if p.doc, from, err = assemble(p.doc, takeFor(p.doc)); errors.As(err, &errs) {
			for i := range errs {
				errs[i].Line = p.src.LineOf(&p.tree, errs[i].Path)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	p.doc.Complete()
	found := from.explain(Validate(p.doc))
	if len(p.errs) > 0 {
		found = p.stillTrue(found)
	}
	for _, e := range found {
		e.Line = p.src.LineOf(&p.tree, e.Path)
		p.errs.Add(e)
	}
	if err := p.errs.InOrder(); err != nil {
		return nil, err
	}
	return p.doc, nil
}

// parsed is a document with what it was read from.
type parsed struct {
	doc  *Document
	tree codec.Node
	src  codec.Source
	errs codec.Errors
}

// stillTrue keeps what validation found in places that could be read. What
// seems to be missing may be what could not.
func (p *parsed) stillTrue(found codec.Errors) (kept codec.Errors) {
	for _, e := range found {
		unread := slices.ContainsFunc(p.errs, func(r codec.FieldError) bool { return codec.Within(r.Path, e.Path) || codec.Within(e.Path, r.Path) })
		if !unread && p.src.LineOf(&p.tree, e.Path) > 0 {
			kept = append(kept, e)
		}
	}
	return kept
}

func parse(data []byte) (*parsed, error) {
	n, src, err := codec.ReadTree(data)
	if err != nil {
		return nil, err
	}
	p := &parsed{doc: new(Document), tree: n, src: src}
	p.errs, p.doc.zeros = root().Read(&p.tree, src, false, reflect.ValueOf(p.doc).Elem())
	return p, nil
}

// YAML writes doc so that Parse reads the same document again.
func YAML(doc *Document) []byte {
	n, _ := doc.tree()
	return codec.AppendYAML(nil, &n)
}

// MarshalJSON writes d so that Parse reads the same document again.
func (d Document) MarshalJSON() ([]byte, error) {
	n, ok := d.tree()
	if !ok {
		return nil, errParameters
	}
	return codec.AppendJSON(make([]byte, 0, 512), &n), nil
}

// UnmarshalJSON reads what MarshalJSON wrote, also when a later version wrote
// fields that this one does not know. Users' documents are read by Parse,
// which refuses those.
func (d *Document) UnmarshalJSON(data []byte) error {
	n, err := codec.ReadJSON(data)
	if err != nil || n.Kind == codec.NodeNull {
		return err
	}
	var doc Document
	var errs codec.Errors
	if errs, doc.zeros = root().Read(&n, codec.SourceOfJSON(data), true, reflect.ValueOf(&doc).Elem()); len(errs) > 0 {
		return errs
	}
	*d = doc
	return nil
}

// Equal reports whether d and e say the same.
func (d *Document) Equal(e *Document) bool {
	if d == nil || e == nil {
		return d == e
	}
	a, okA := d.tree()
	b, okB := e.tree()
	return okA == okB && bytes.Equal(codec.AppendJSON(nil, &a), codec.AppendJSON(nil, &b))
}

// Clone returns a copy that shares nothing with d, but for values inside
// Parameters, which nobody changes.
func (d *Document) Clone() *Document {
	if d == nil {
		return nil
	}
	c := *d
	root().Detach(reflect.ValueOf(&c).Elem())
	return &c
}

// tree is d as nodes; ok is false when parameters hold what cannot be written.
func (d *Document) tree() (n codec.Node, ok bool) {
	return root().Write(reflect.ValueOf(d).Elem(), d.zeros)
}

// UnmarshalJSON reads a number, or a map, as a document has it.
func (g *GPU) UnmarshalJSON(data []byte) error {
	n, err := codec.ReadJSON(data)
	if err != nil || n.Kind == codec.NodeNull {
		return err
	}
	var v GPU
	if errs, _ := root().Find("resources.gpu").Read(&n, codec.SourceOfJSON(data), true, reflect.ValueOf(&v).Elem()); len(errs) > 0 {
		return errs
	}
	*g = v
	return nil
}
