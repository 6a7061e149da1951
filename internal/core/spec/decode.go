package spec

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/core/nearest"
)

// Parse reads one document of YAML or JSON as its author wrote it, without
// defaults and without asking whether it makes sense. It fails with Errors
// that name every problem it can see.
func Parse(data []byte) (*Document, error) {
	p, err := parse(data)
	if err == nil {
		err = p.errs.inOrder()
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
func LoadWith(data []byte, beside Assets, takeFor func(*Document) Take) (*Document, error) {
	p, err := parse(data)
	if err != nil {
		return nil, err
	}
	var from Origins
	if p.doc.lay(beside); takeFor != nil && p.doc.NamesAssets() && len(p.errs) == 0 {
		var errs Errors
		if p.doc, from, err = assemble(p.doc, takeFor(p.doc)); errors.As(err, &errs) {
			for i := range errs {
				errs[i].Line = p.src.lineOf(&p.tree, errs[i].Path)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	p.doc.Defaults()
	found := from.explain(Validate(p.doc))
	if len(p.errs) > 0 {
		found = p.stillTrue(found)
	}
	for _, e := range found {
		e.Line = p.src.lineOf(&p.tree, e.Path)
		p.errs.add(e)
	}
	if err := p.errs.inOrder(); err != nil {
		return nil, err
	}
	return p.doc, nil
}

// parsed is a document with what it was read from.
type parsed struct {
	decoder
	tree node
}

// stillTrue keeps what validation found in places that could be read. What
// seems to be missing may be what could not.
func (p *parsed) stillTrue(found Errors) (kept Errors) {
	for _, e := range found {
		unread := slices.ContainsFunc(p.errs, func(r FieldError) bool { return within(r.Path, e.Path) || within(e.Path, r.Path) })
		if !unread && p.src.lineOf(&p.tree, e.Path) > 0 {
			kept = append(kept, e)
		}
	}
	return kept
}

// within reports whether path is around's own or lies below it.
func within(path, around string) bool {
	rest, ok := strings.CutPrefix(path, around)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func parse(data []byte) (*parsed, error) {
	n, src, err := readTree(data)
	if err != nil {
		return nil, err
	}
	p := &parsed{decoder{doc: new(Document), src: src, top: root()}, n}
	p.object(root(), &p.tree, reflect.ValueOf(p.doc).Elem())
	return p, nil
}

// readTree reads bytes as JSON when they look like it, else as YAML.
func readTree(data []byte) (node, source, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	refuse := func(e FieldError) (node, source, error) { return node{}, source{}, Errors{e} }
	src := source{data: data}
	if len(data) > maxBytes {
		return refuse(FieldError{Problem: fmt.Sprintf("the document has %d bytes; at most %d are taken", len(data), maxBytes), Hint: "put large data into files"})
	}
	if at := invalidUTF8(data); at >= 0 {
		src.offsets = true
		return refuse(FieldError{Line: src.line(at), Problem: fmt.Sprintf("byte 0x%02x is not UTF-8 text", data[at]), Hint: "save the file as UTF-8"})
	}
	var n node
	var err error
	if head := bytes.TrimLeft(data, " \t\r\n"); len(head) > 0 && head[0] == '{' {
		src.offsets = true
		if n, err = readJSON(data); err != nil {
			// A YAML map in braces begins like JSON, but for the quotes.
			if y, yerr := readYAML(data); yerr == nil && !quotedKey(head) {
				n, err, src.offsets = y, nil, false
			}
		}
	} else {
		n, err = readYAML(data)
	}
	var e FieldError
	switch {
	case errors.As(err, &e):
		return refuse(e)
	case n.kind == nodeNull:
		return refuse(FieldError{Problem: "the document is empty", Hint: "write at least a command, such as: command: python3 train.py"})
	case n.kind != nodeMap:
		return refuse(FieldError{Line: src.line(n.pos), Problem: n.found() + " where a document begins with fields", Hint: "write fields, such as: command: python3 train.py"})
	}
	return n, src, nil
}

func quotedKey(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(head[1:], " \t\r\n"), []byte{'"'})
}

func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return -1
}

// decoder walks a tree along the schema and collects every problem.
type decoder struct {
	doc     *Document
	top     *field // the whole schema, for suggestions
	src     source
	errs    Errors
	indexes []int // in the lists around what is being read
	lenient bool  // unknown fields are skipped
}

func (d *decoder) fail(pos int, path string, e FieldError) {
	e.Path = join(path, e.Path)
	if e.Path == path+"." {
		e.Path = path
	}
	e.Line = d.src.line(pos)
	d.errs.add(e)
}

func mismatch(n *node, want string) FieldError {
	return FieldError{Value: n.text, Problem: n.found() + ", expected " + want}
}

func inQuotes(n *node) string { return "write it in quotes: " + strconv.Quote(shorten(n.text)) }

// object reads a map into a struct.
func (d *decoder) object(f *field, n *node, v reflect.Value) {
	path := f.at(d.indexes)
	if n.kind != nodeMap {
		want := "a map"
		if f.short != nil {
			want = f.short.bareWords() + " or a map"
		}
		e := mismatch(n, want)
		if f.short != nil && f.short.kind == fieldText && n.scalar() {
			e.Hint = inQuotes(n)
		}
		d.fail(n.pos, path, e)
		return
	}
	d.distinct(n, path)
	for i, key := range n.keys {
		c := f.byName[key]
		if c == nil {
			if !d.lenient {
				d.unknown(f, key, n.at[i])
			}
			continue
		}
		item := &n.items[i]
		if item.kind == nodeNull { // a field whose lines are commented out
			continue
		}
		fv := v.Field(c.index)
		if c.pointer {
			fv.Set(reflect.New(c.typ))
			fv = fv.Elem()
		}
		d.value(c, item, fv)
		if c.bit != 0 && fv.IsZero() {
			d.doc.zeros |= c.bit
		}
	}
}

// unknown suggests the nearest field, here or elsewhere in the schema.
func (d *decoder) unknown(f *field, key string, pos int) {
	e := FieldError{Value: key, Problem: "unknown field", Allowed: f.names}
	if near := nearest.Word(key, f.names); near != "" {
		e.Hint = didYouMean(near)
	} else {
		d.top.walk(func(c *field) {
			switch {
			case c.name != key || e.Hint != "":
			case c.path == key: // the same word is no advice
				e.Hint = key + " is a field of the whole document; here are " + strings.Join(f.names, ", ")
			default:
				e.Hint = didYouMean(c.path)
			}
		})
	}
	d.fail(pos, join(f.at(d.indexes), shorten(key)), e)
}

// distinct refuses keys that stand twice.
func (d *decoder) distinct(n *node, path string) {
	if len(n.keys) < 16 { // cheaper than a map
		for i, k := range n.keys {
			for _, earlier := range n.keys[:i] {
				if earlier == k {
					d.twice(n, i, path)
					break
				}
			}
		}
		return
	}
	seen := make(map[string]bool, len(n.keys))
	for i, k := range n.keys {
		if seen[k] {
			d.twice(n, i, path)
		}
		seen[k] = true
	}
}

func (d *decoder) twice(n *node, i int, path string) {
	d.fail(n.at[i], join(path, shorten(n.keys[i])), FieldError{Value: n.keys[i], Problem: "stands twice", Hint: "keep one of them"})
}

// value reads n into v by the kind of f.
func (d *decoder) value(f *field, n *node, v reflect.Value) {
	switch f.kind {
	case fieldText:
		if n.kind != nodeText {
			e := mismatch(n, "a string")
			if n.scalar() {
				e.Hint = inQuotes(n)
			}
			d.fail(n.pos, f.at(d.indexes), e)
			return
		}
		v.SetString(n.text)
	case fieldInt:
		i, ok := integer(n.text)
		if n.kind != nodeNumber || !ok {
			d.fail(n.pos, f.at(d.indexes), mismatch(n, "a whole number"))
			return
		}
		v.SetInt(int64(i))
	case fieldBool:
		if n.kind != nodeBool {
			d.fail(n.pos, f.at(d.indexes), mismatch(n, "true or false"))
			return
		}
		v.SetBool(isTrue(n.text))
	case fieldTexts:
		d.texts(f, n, v)
	case fieldInts:
		d.ints(f, n, v)
	case fieldTextMap:
		d.textMap(f, n, v)
	case fieldCounts:
		d.counts(f, n, v)
	case fieldParameters:
		d.parameters(f, n, v)
	case fieldScalar:
		var e FieldError
		if err := v.Addr().Interface().(scalar).read(n); errors.As(err, &e) {
			d.fail(n.pos, f.at(d.indexes), e)
		}
	case fieldList:
		d.list(f, n, v)
	case fieldObject:
		if c := f.bare(n); c != nil {
			d.value(c, n, v.Field(c.index))
		} else {
			d.object(f, n, v)
		}
		if f.typ == gpuType {
			d.devices(f, n, v.Addr().Interface().(*GPU))
		}
	}
}

// textMap reads a map of strings, its values like texts.
func (d *decoder) textMap(f *field, n *node, v reflect.Value) {
	if n.kind != nodeMap {
		d.fail(n.pos, f.at(d.indexes), mismatch(n, "a map of strings"))
		return
	}
	d.distinct(n, f.at(d.indexes))
	if len(n.keys) == 0 {
		return
	}
	m := make(map[string]string, len(n.keys))
	for i, k := range n.keys {
		if item := &n.items[i]; item.scalar() {
			m[k] = item.text
		} else {
			e := mismatch(item, "a string")
			if item.kind == nodeNull {
				e.Hint = `write "" for an empty one`
			}
			d.fail(n.at[i], join(f.at(d.indexes), shorten(k)), e)
		}
	}
	v.Set(reflect.ValueOf(m))
}

func (d *decoder) parameters(f *field, n *node, v reflect.Value) {
	if n.kind != nodeMap {
		d.fail(n.pos, f.path, mismatch(n, "a map"))
		return
	}
	before := len(d.errs)
	d.free(n, f.path)
	if len(d.errs) > before || len(n.keys) == 0 {
		return
	}
	v.Set(reflect.ValueOf(Parameters(n.any().(map[string]any))))
}

// free checks values whose meaning is the program's own.
func (d *decoder) free(n *node, path string) {
	switch n.kind {
	case nodeMap:
		d.distinct(n, path)
		for i := range n.items {
			d.free(&n.items[i], join(path, shorten(n.keys[i])))
		}
	case nodeList:
		for i := range n.items {
			d.free(&n.items[i], fmt.Sprintf("%s[%d]", path, i))
		}
	case nodeNumber:
		if _, ok := canonicalNumber(n.text); !ok {
			e := mismatch(n, "a finite one")
			e.Hint = "write it in quotes to pass it on as text"
			d.fail(n.pos, path, e)
		}
	}
}
