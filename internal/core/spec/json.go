package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxBytes is the size of the largest document.
	maxBytes = 1 << 20
	// maxDepth is how deep maps and lists may lie in each other.
	maxDepth = 64
	// maxNodes bounds the values of a document, aliases expanded: what it costs
	// in memory and time.
	maxNodes = 100_000
)

// jsonReader builds nodes from tokens, slower than a jsonScanner and able to
// say what is wrong.
type jsonReader struct {
	dec   *json.Decoder
	nodes int
}

// readJSON reads exactly one JSON value. It fails with a FieldError.
func readJSON(data []byte) (node, error) {
	if json.Valid(data) {
		s := jsonScanner{data: data}
		return s.value(0)
	}
	return readTokens(data)
}

func readTokens(data []byte) (node, error) {
	r := jsonReader{dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	n, err := r.next(0)
	if err == nil {
		if _, err = r.dec.Token(); err == io.EOF {
			return n, nil
		} else if err == nil {
			err = errors.New("more text follows the document")
		}
	}
	var e FieldError
	if errors.As(err, &e) {
		return n, e
	}
	at := int(r.dec.InputOffset())
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = int(syntax.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err, at = errors.New("it ends too early; a bracket or brace is not closed"), len(data)
	}
	src := source{data, true}
	return n, FieldError{Problem: "not valid JSON: " + err.Error(), Line: src.line(at)}
}

func (r *jsonReader) next(depth int) (node, error) {
	t, err := r.dec.Token()
	if err != nil {
		return node{}, err
	}
	return r.value(t, depth)
}

func (r *jsonReader) value(t json.Token, depth int) (node, error) {
	n := node{pos: int(r.dec.InputOffset())}
	if r.nodes++; r.nodes > maxNodes {
		return n, tooMany
	}
	switch t := t.(type) {
	case string:
		n.kind, n.text = nodeText, t
	case json.Number:
		n.kind, n.text = nodeNumber, t.String()
	case bool:
		n.kind, n.text = nodeBool, strconv.FormatBool(t)
	case json.Delim:
		if depth >= maxDepth {
			return n, tooDeep(0)
		}
		return r.collection(n, t, depth)
	}
	return n, nil
}

func (r *jsonReader) collection(n node, open json.Delim, depth int) (node, error) {
	n.kind = nodeList
	if open == '{' {
		n.kind = nodeMap
		n.keys, n.at, n.items = make([]string, 0, 8), make([]int, 0, 8), make([]node, 0, 8)
	}
	for {
		t, err := r.dec.Token()
		if err != nil {
			return n, err
		}
		if d, ok := t.(json.Delim); ok && (d == '}' || d == ']') {
			return n, nil
		}
		if n.kind == nodeMap {
			key, _ := t.(string) // the decoder lets nothing else pass
			n.keys, n.at = append(n.keys, key), append(n.at, int(r.dec.InputOffset()))
			if t, err = r.dec.Token(); err != nil {
				return n, err
			}
		}
		item, err := r.value(t, depth+1)
		if err != nil {
			return n, err
		}
		n.items = append(n.items, item)
	}
}

var tooMany = FieldError{
	Problem: fmt.Sprintf("more than %d values, aliases expanded", maxNodes),
	Hint:    "put large structures into a file of their own",
}

func tooDeep(line int) FieldError {
	return FieldError{
		Line: line, Problem: fmt.Sprintf("lists and maps lie more than %d deep in each other", maxDepth),
		Hint: "put deep structures into a file of their own",
	}
}

// appendJSON writes n as JSON without spaces.
func appendJSON(b []byte, n *node) []byte {
	switch n.kind {
	case nodeNull:
		return append(b, "null"...)
	case nodeText:
		return appendString(b, n.text)
	case nodeList:
		b = append(b, '[')
		for i := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, &n.items[i])
		}
		return append(b, ']')
	case nodeMap:
		b = append(b, '{')
		for i := range n.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, n.keys[i]), ':')
			b = appendJSON(b, &n.items[i])
		}
		return append(b, '}')
	default:
		return append(b, n.text...)
	}
}

// appendString writes s quoted as JSON, which YAML reads as well: everything
// that is not plainly visible is escaped.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// scalar is a value of the document with a text form of its own.
type scalar interface {
	// read takes the value from n. It fails with a FieldError whose Path is
	// relative to the value.
	read(n *node) error
}

type scalarWriter interface{ write() node }

func scalarJSON(s scalarWriter) ([]byte, error) {
	n := s.write()
	return appendJSON(nil, &n), nil
}

func readScalarJSON(data []byte, s scalar) error {
	n, err := readJSON(data)
	if err != nil || n.kind == nodeNull { // null leaves the value alone, as encoding/json does
		return err
	}
	return s.read(&n)
}

// nodeOf turns a value that encoding/json can hold into a node. What JSON has
// no word for (NaN, channels) becomes null; Validate refuses it before.
func nodeOf(v any) (node, bool) {
	switch v := v.(type) {
	case nil:
		return node{}, true
	case string:
		return textNode(strings.ToValidUTF8(v, "\uFFFD")), true
	case bool:
		return node{kind: nodeBool, text: strconv.FormatBool(v)}, true
	case json.Number:
		c, ok := canonicalNumber(v.String())
		return numNode(c), ok
	case map[string]any:
		return mapNode(v)
	case []any:
		n, all := node{kind: nodeList}, true
		for _, item := range v {
			c, ok := nodeOf(item)
			n.items, all = append(n.items, c), all && ok
		}
		return n, all
	}
	return reflectNode(reflect.ValueOf(v))
}

// reflectNode takes what importers and clients written in Go may put into
// parameters: numbers and typed maps and lists.
func reflectNode(v reflect.Value) (node, bool) {
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return numNode(strconv.FormatInt(v.Int(), 10)), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return numNode(strconv.FormatUint(v.Uint(), 10)), true
	case reflect.Float32, reflect.Float64:
		c, ok := canonicalNumber(strconv.FormatFloat(v.Float(), 'g', -1, 64))
		if !ok {
			return node{}, false
		}
		return numNode(c), true
	}
	raw, err := json.Marshal(v.Interface())
	if err != nil {
		return node{}, false
	}
	n, err := readJSON(raw)
	if err != nil {
		return node{}, false
	}
	return nodeOf(n.any())
}
