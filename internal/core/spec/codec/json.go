package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

const (
	// maxBytes is the size of the largest document.
	MaxBytes = 1 << 20
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

// ReadJSON reads exactly one JSON value. It fails with a FieldError.
func ReadJSON(data []byte) (Node, error) {
	if json.Valid(data) {
		s := jsonScanner{data: data}
		return s.value(0)
	}
	return readTokens(data)
}

func readTokens(data []byte) (Node, error) {
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
	src := Source{data, true}
	return n, FieldError{Problem: "not valid JSON: " + err.Error(), Line: src.Line(at)}
}

func (r *jsonReader) next(depth int) (Node, error) {
	t, err := r.dec.Token()
	if err != nil {
		return Node{}, err
	}
	return r.value(t, depth)
}

func (r *jsonReader) value(t json.Token, depth int) (Node, error) {
	n := Node{Pos: int(r.dec.InputOffset())}
	if r.nodes++; r.nodes > maxNodes {
		return n, tooMany
	}
	switch t := t.(type) {
	case string:
		n.Kind, n.Text = NodeText, t
	case json.Number:
		n.Kind, n.Text = NodeNumber, t.String()
	case bool:
		n.Kind, n.Text = NodeBool, strconv.FormatBool(t)
	case json.Delim:
		if depth >= maxDepth {
			return n, tooDeep(0)
		}
		return r.collection(n, t, depth)
	}
	return n, nil
}

func (r *jsonReader) collection(n Node, open json.Delim, depth int) (Node, error) {
	n.Kind = NodeList
	if open == '{' {
		n.Kind = NodeMap
		n.Keys, n.At, n.Items = make([]string, 0, 8), make([]int, 0, 8), make([]Node, 0, 8)
	}
	for {
		t, err := r.dec.Token()
		if err != nil {
			return n, err
		}
		if d, ok := t.(json.Delim); ok && (d == '}' || d == ']') {
			return n, nil
		}
		if n.Kind == NodeMap {
			key, _ := t.(string) // the decoder lets nothing else pass
			n.Keys, n.At = append(n.Keys, key), append(n.At, int(r.dec.InputOffset()))
			if t, err = r.dec.Token(); err != nil {
				return n, err
			}
		}
		item, err := r.value(t, depth+1)
		if err != nil {
			return n, err
		}
		n.Items = append(n.Items, item)
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

// AppendJSON writes n as JSON without spaces.
func AppendJSON(b []byte, n *Node) []byte {
	switch n.Kind {
	case NodeNull:
		return append(b, "null"...)
	case NodeText:
		return appendString(b, n.Text)
	case NodeList:
		b = append(b, '[')
		for i := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = AppendJSON(b, &n.Items[i])
		}
		return append(b, ']')
	case NodeMap:
		b = append(b, '{')
		for i := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, n.Keys[i]), ':')
			b = AppendJSON(b, &n.Items[i])
		}
		return append(b, '}')
	default:
		return append(b, n.Text...)
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
