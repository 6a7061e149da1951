package codec

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// TreeKind is what a Tree holds.
type TreeKind uint8

// The kinds of trees, in the words of YAML's core schema.
const (
	TreeNull   = TreeKind(NodeNull)
	TreeBool   = TreeKind(NodeBool)
	TreeNumber = TreeKind(NodeNumber)
	TreeText   = TreeKind(NodeText)
	TreeList   = TreeKind(NodeList)
	TreeMap    = TreeKind(NodeMap)
)

// Tree is YAML or JSON before it has a meaning: what readers of other
// notations than the document's own are given. Aliases are expanded; keys may
// stand twice.
type Tree struct {
	Kind  TreeKind
	Text  string // of a scalar: what was written, without quotes
	Line  int    // from 1
	Names []string
	Lines []int  // of Names
	Items []Tree // of a list, or of a map beside Names
}

// Scalar reports whether t is a text, a number or a truth.
func (t *Tree) Scalar() bool {
	return t.Kind == TreeBool || t.Kind == TreeNumber || t.Kind == TreeText
}

// Found says what is there, for messages.
func (t *Tree) Found() string {
	n := Node{Kind: Kind(t.Kind), Text: t.Text}
	return n.Found()
}

// Value is t as encoding/json would decode it with UseNumber.
func (t *Tree) Value() any {
	n := t.node()
	return n.Any()
}

func (t *Tree) node() Node {
	n := Node{Kind: Kind(t.Kind), Text: t.Text, Keys: t.Names}
	for i := range t.Items {
		n.Items = append(n.Items, t.Items[i].node())
	}
	return n
}

// YAML writes t in block style; every reader takes the same values from it.
func (t *Tree) YAML() []byte {
	n := t.node()
	return AppendYAML(nil, &n)
}

// Map is an empty map to Put into.
func Map() Tree { return Tree{Kind: TreeMap} }

// Text is a tree of one text.
func Text(s string) Tree { return Tree{Kind: TreeText, Text: s} }

// TreeOf is a value as encoding/json decodes it with UseNumber, as a tree with
// its keys in order; false where it holds anything else.
func TreeOf(v any) (Tree, bool) {
	n, ok := NodeOf(v)
	return treeOf(&n, func(int) int { return 0 }), ok
}

// Put adds an entry to a map; an empty list, map or text is left out.
func (t *Tree) Put(name string, v Tree) {
	if v.Kind == TreeNull || v.Kind == TreeText && v.Text == "" || (v.Kind == TreeList || v.Kind == TreeMap) && len(v.Items) == 0 {
		return
	}
	t.Names, t.Items = append(t.Names, name), append(t.Items, v)
}

// Set puts an entry of a map, in place of what has its name, below others that are
// made where they are missing or are no maps; what is made stands on t's line.
func (t *Tree) Set(v Tree, path ...string) {
	at := slices.Index(t.Names, path[0])
	if at < 0 {
		t.Names, t.Items, t.Lines = append(t.Names, path[0]), append(t.Items, Map()), append(t.Lines, t.Line)
		at = len(t.Names) - 1
	}
	if len(path) == 1 {
		t.Items[at] = v
		return
	}
	if t.Items[at].Kind != TreeMap {
		t.Items[at] = Map()
	}
	t.Items[at].Set(v, path[1:]...)
}

func treeOf(n *Node, line func(pos int) int) Tree {
	t := Tree{Kind: TreeKind(n.Kind), Text: n.Text, Line: line(n.Pos), Names: n.Keys}
	if len(n.At) > 0 {
		t.Lines = make([]int, len(n.At))
		for i, pos := range n.At {
			t.Lines[i] = line(pos)
		}
	}
	if len(n.Items) > 0 {
		t.Items = make([]Tree, len(n.Items))
		for i := range n.Items {
			t.Items[i] = treeOf(&n.Items[i], line)
		}
	}
	return t
}

// maxTrees bounds the documents of one file.
const maxTrees = 100

// ReadTrees reads all documents of a file, YAML divided by lines of --- or one
// of JSON, each a map; empty ones are left out. It fails with Errors.
func ReadTrees(data []byte) ([]Tree, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if len(data) > MaxBytes {
		return nil, Errors{{Problem: fmt.Sprintf("the file has %d bytes; at most %d are taken", len(data), MaxBytes), Hint: "import it in parts"}}
	}
	parts := [][]byte{data}
	if head := bytes.TrimLeft(data, " \t\r\n"); len(head) == 0 || head[0] != '{' {
		parts = documents(data)
	}
	if len(parts) > maxTrees {
		return nil, Errors{{Problem: fmt.Sprintf("the file has more than %d documents", maxTrees), Hint: "import it in parts"}}
	}
	var trees []Tree
	before, budget := 0, maxNodes
	for _, part := range parts {
		n, src, err := ReadTree(part)
		var errs Errors
		switch {
		case err == nil:
			if budget -= n.size; budget < 0 { // what one document may hold, all may hold together
				e := tooMany
				e.Line = before + 1
				return nil, Errors{e}
			}
			line := src.lines()
			trees = append(trees, treeOf(&n, func(pos int) int { return before + line(pos) }))
		case blankDocument(part):
		case errors.As(err, &errs):
			for i := range errs {
				if errs[i].Line > 0 {
					errs[i].Line += before
				}
			}
			return nil, errs
		default:
			return nil, err
		}
		before += bytes.Count(part, []byte("\n"))
	}
	return trees, nil
}

// documents splits a file before its lines of ---, which stand for nothing
// else where a line begins. Their dashes become blanks, so that lines keep
// their numbers.
func documents(data []byte) [][]byte {
	var parts [][]byte
	from, at := 0, 0
	out := bytes.Clone(data)
	for line := range bytes.Lines(data) {
		word := bytes.TrimRight(line, " \t\r\n")
		if bytes.Equal(word, []byte("---")) || bytes.HasPrefix(line, []byte("--- ")) {
			parts, from = append(parts, out[from:at]), at
			copy(out[at:], "   ")
		}
		at += len(line)
		if len(parts) > maxTrees {
			break
		}
	}
	return append(parts, out[from:])
}

// blankDocument reports whether a document holds comments at most.
func blankDocument(part []byte) bool {
	for line := range bytes.Lines(part) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("...")) {
			return false
		}
	}
	return true
}
