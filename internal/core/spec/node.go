package spec

import (
	"bytes"
	"strconv"
	"strings"
)

// nodeKind is what a document can hold at one place.
type nodeKind uint8

const (
	nodeNull nodeKind = iota
	nodeBool
	nodeNumber
	nodeText
	nodeList
	nodeMap
)

// node is a document before it has a meaning: YAML and JSON are both read into
// it, and a Document is written through it.
type node struct {
	kind  nodeKind
	text  string   // of a scalar, as it was written
	keys  []string // of a map, beside items
	at    []int    // positions of keys
	items []node
	pos   int // line, or byte offset in JSON; see source
	size  int // nodes in it, aliases expanded

	// bare text needs no quotes in YAML whatever it looks like (an amount
	// such as 4, which is a string in JSON).
	bare bool
}

func textNode(s string) node { return node{kind: nodeText, text: s} }
func bareNode(s string) node { return node{kind: nodeText, text: s, bare: true} }
func numNode(s string) node  { return node{kind: nodeNumber, text: s} }

func (n *node) put(key string, v node) {
	n.keys = append(n.keys, key)
	n.items = append(n.items, v)
}

func (n *node) scalar() bool { return n.kind == nodeBool || n.kind == nodeNumber || n.kind == nodeText }

// found says what is there, for messages.
func (n *node) found() string {
	switch n.kind {
	case nodeBool:
		return "found " + n.text
	case nodeNumber:
		return "found the number " + shorten(n.text)
	case nodeText:
		return "found the text " + strconv.Quote(shorten(n.text))
	case nodeList:
		return "found a list"
	case nodeMap:
		return "found a map"
	default:
		return "found nothing"
	}
}

// source turns positions of nodes into lines.
type source struct {
	data    []byte
	offsets bool // positions are byte offsets
}

func (s source) line(pos int) int {
	if !s.offsets {
		return pos
	}
	return 1 + bytes.Count(s.data[:min(max(pos, 0), len(s.data))], []byte("\n"))
}

// lineOf returns the line of a path that validation complained about, or of
// the nearest thing around it; 0 when nothing of it was written.
func (s source) lineOf(n *node, path string) int {
	line := 0
	for path != "" {
		var next *node
		var pos int
		switch n.kind {
		case nodeMap:
			next, pos, path = n.entry(path)
		case nodeList:
			next, pos, path = n.element(path)
		}
		if next == nil {
			break
		}
		line, path, n = s.line(pos), strings.TrimPrefix(path, "."), next
	}
	return line
}

// entry is the longest key that path begins with: its value, where it stands
// and what is left of the path; nil when there is none.
func (n *node) entry(path string) (v *node, pos int, rest string) {
	best := -1
	for i, k := range n.keys {
		if within(path, k) && (best < 0 || len(k) > len(n.keys[best])) {
			best = i
		}
	}
	if best < 0 {
		return nil, 0, path
	}
	return &n.items[best], n.at[best], path[len(n.keys[best]):]
}

// element is the item whose index path begins with, like entry.
func (n *node) element(path string) (v *node, pos int, rest string) {
	digits, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
	index, err := strconv.Atoi(digits)
	if !ok || err != nil || index < 0 || index >= len(n.items) {
		return nil, 0, path
	}
	return &n.items[index], n.items[index].pos, rest
}
