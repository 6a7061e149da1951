package codec

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	// maxKeys bounds the maps of a YAML document: the parser's time grows with
	// their square.
	maxKeys = 10_000
	// maxDocuments bounds the `---` lines that are looked at.
	maxDocuments = 8
)

// ReadYAML reads exactly one YAML document. It fails with a FieldError.
func ReadYAML(data []byte) (n Node, err error) {
	text := string(data)
	defer func() {
		// The parser is not ours; whatever it trips over is bad input.
		if r := recover(); r != nil {
			err = FieldError{Problem: fmt.Sprintf("not valid YAML: %v", r)}
		}
	}()
	tokens := lexer.Tokenize(text)
	if err := boundTokens(tokens); err != nil {
		return Node{}, err
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return Node{}, yamlError(text, err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.DirectiveType {
			continue
		}
		if body != nil {
			return Node{}, severalDocuments(lineOf(doc.Body))
		}
		body = doc.Body
	}
	if body == nil {
		return Node{}, nil
	}
	r := yamlReader{anchors: map[string]Node{}}
	n, ok := r.read(body, 0)
	if !ok {
		return Node{}, r.err
	}
	return n, nil
}

func severalDocuments(line int) FieldError {
	return FieldError{Line: line, Problem: "several documents", Hint: "submit one workload at a time: one document without a `---` line between parts"}
}

// boundTokens refuses what would cost the parser much time or stack.
func boundTokens(tokens token.Tokens) error {
	if len(tokens) > 4*maxNodes {
		return tooMany
	}
	depth, keys, docs, line, onLine := 0, 0, 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, onLine = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
			onLine++
		case token.MappingValueType:
			keys++
		case token.DocumentHeaderType:
			docs++
		}
		switch {
		case depth > maxDepth || onLine > maxDepth:
			return tooDeep(line)
		case keys > maxKeys:
			return FieldError{Line: line, Problem: fmt.Sprintf("more than %d keys", maxKeys), Hint: "put large structures into a file of their own"}
		case docs > maxDocuments:
			return severalDocuments(line)
		}
	}
	return nil
}

// yamlError keeps the parser's message and its line, without its drawing.
func yamlError(text string, err error) FieldError {
	e := FieldError{Problem: "not valid YAML"}
	located, ok := err.(interface {
		GetMessage() string
		GetToken() *token.Token
	})
	if !ok {
		return e
	}
	e.Problem += ": " + located.GetMessage()
	if t := located.GetToken(); t != nil && t.Position != nil {
		e.Line = t.Position.Line
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		indent := l[:len(l)-len(strings.TrimLeft(l, " \t"))]
		if strings.Contains(indent, "\t") && (i+1 == e.Line || i == e.Line) {
			e.Line, e.Problem, e.Hint = i+1, "a tab indents this line", "indent with spaces"
			break
		}
	}
	return e
}

// yamlReader turns the parser's tree into nodes.
type yamlReader struct {
	anchors map[string]Node
	nodes   int
	err     error
}

func (r *yamlReader) fail(n ast.Node, problem, hint string) (Node, bool) {
	r.err = FieldError{Line: lineOf(n), Problem: problem, Hint: hint}
	return Node{}, false
}

func lineOf(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

func (r *yamlReader) read(n ast.Node, depth int) (Node, bool) {
	if depth > maxDepth {
		r.err = tooDeep(lineOf(n))
		return Node{}, false
	}
	if r.nodes++; r.nodes > maxNodes {
		return r.fail(n, tooMany.Problem, tooMany.Hint)
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return r.mapping(n, n.Values, depth)
	case *ast.MappingValueNode:
		return r.mapping(n, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		list := Node{Kind: NodeList, Pos: lineOf(n), size: 1}
		for _, v := range n.Values {
			item, ok := r.read(v, depth+1)
			if !ok {
				return Node{}, false
			}
			list.Items, list.size = append(list.Items, item), list.size+item.size
		}
		return list, true
	case *ast.AnchorNode:
		v, ok := r.read(n.Value, depth)
		if ok {
			r.anchors[n.Name.GetToken().Value] = v
		}
		return v, ok
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		v, ok := r.anchors[name]
		if !ok {
			return r.fail(n, "*"+Shorten(name)+" names no anchor before it", "define it with &"+Shorten(name)+" on an earlier line")
		}
		r.nodes += v.size
		v.Pos = lineOf(n)
		return v, true
	case *ast.TagNode:
		return r.fail(n, "the tag "+Shorten(n.Start.Value)+" is not supported", "write the value without it")
	}
	return r.scalar(n)
}

func (r *yamlReader) scalar(n ast.Node) (Node, bool) {
	v := Node{Pos: lineOf(n), size: 1}
	switch n := n.(type) {
	case *ast.StringNode:
		v.Kind, v.Text = NodeText, n.Value
		if t := n.Token.Type; t != token.SingleQuoteType && t != token.DoubleQuoteType {
			v.Text = uncommented(n.Value)
			v.Kind = Classify(v.Text)
		}
	case *ast.LiteralNode:
		v.Kind, v.Text = NodeText, n.Value.Value
	case *ast.NullNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		v.Text = strings.TrimSpace(n.GetToken().Value)
		v.Kind = Classify(v.Text)
	default:
		return r.fail(n, "this kind of YAML is not supported: "+n.Type().String(), "write plain maps, lists and values")
	}
	return v, true
}

// uncommented is a value without quotes, less the comment behind it. The parser keeps
// one behind the last line of a value of several, where that is the last of a list.
func uncommented(text string) string {
	for i := 1; i < len(text); i++ {
		if text[i] == '#' && (text[i-1] == ' ' || text[i-1] == '\t') {
			return strings.TrimRight(text[:i], " \t")
		}
	}
	return text
}

func (r *yamlReader) mapping(at ast.Node, pairs []*ast.MappingValueNode, depth int) (Node, bool) {
	m := Node{Kind: NodeMap, Pos: lineOf(at), size: 1}
	for _, p := range pairs {
		if p.Key.IsMergeKey() {
			return r.fail(p, "merge keys (<<) are not supported", "write the fields out, or use an alias for the whole value")
		}
		key, ok := ast.Node(p.Key), true
		if explicit, is := key.(*ast.MappingKeyNode); is && explicit.Value != nil {
			key = explicit.Value
		}
		var k Node
		if k, ok = r.read(key, depth+1); !ok {
			return Node{}, false
		}
		if !k.Scalar() {
			return r.fail(p, "a key must be a word", "write it as: name: value")
		}
		v, ok := r.read(p.Value, depth+1)
		if !ok {
			return Node{}, false
		}
		m.Keys, m.At = append(m.Keys, k.Text), append(m.At, lineOf(p.Key))
		m.Items, m.size = append(m.Items, v), m.size+v.size
	}
	return m, true
}
