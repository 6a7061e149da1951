// Package codec reads YAML and JSON into trees that know where everything stands, and
// writes them. What a tree means is not its business.
package codec

import (
	"strconv"
	"strings"
)

// Kind is what a document can hold at one place.
type Kind uint8

// The kinds, in the words of YAML's core schema.
const (
	NodeNull Kind = iota
	NodeBool
	NodeNumber
	NodeText
	NodeList
	NodeMap
)

// Node is a document before it has a meaning: YAML and JSON are both read into
// it, and a Document is written through it.
type Node struct {
	Kind  Kind
	Text  string   // of a scalar, as it was written
	Keys  []string // of a map, beside items
	At    []int    // positions of keys
	Items []Node
	Pos   int // line, or byte offset in JSON; see source
	size  int // nodes in it, aliases expanded

	// bare text needs no quotes in YAML whatever it looks like (an amount
	// such as 4, which is a string in JSON).
	bare bool
}

// TextNode is a text.
func TextNode(s string) Node { return Node{Kind: NodeText, Text: s} }

// BareNode is a text that needs no quotes in YAML.
func BareNode(s string) Node { return Node{Kind: NodeText, Text: s, bare: true} }

// NumberNode is a number as it is written.
func NumberNode(s string) Node { return Node{Kind: NodeNumber, Text: s} }

// Put adds an entry to a map.
func (n *Node) Put(key string, v Node) {
	n.Keys = append(n.Keys, key)
	n.Items = append(n.Items, v)
}

// Scalar reports whether n is a truth, a number or a text.
func (n *Node) Scalar() bool { return n.Kind == NodeBool || n.Kind == NodeNumber || n.Kind == NodeText }

// Found says what is there, for messages.
func (n *Node) Found() string {
	switch n.Kind {
	case NodeBool:
		return "found " + n.Text
	case NodeNumber:
		return "found the number " + Shorten(n.Text)
	case NodeText:
		return "found the text " + strconv.Quote(Shorten(n.Text))
	case NodeList:
		return "found a list"
	case NodeMap:
		return "found a map"
	default:
		return "found nothing"
	}
}

// entry is the longest key that path begins with: its value, where it stands
// and what is left of the path; nil when there is none.
func (n *Node) entry(path string) (v *Node, pos int, rest string) {
	best := -1
	for i, k := range n.Keys {
		if Within(path, k) && (best < 0 || len(k) > len(n.Keys[best])) {
			best = i
		}
	}
	if best < 0 {
		return nil, 0, path
	}
	return &n.Items[best], n.At[best], path[len(n.Keys[best]):]
}

// element is the item whose index path begins with, like entry.
func (n *Node) element(path string) (v *Node, pos int, rest string) {
	digits, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
	index, err := strconv.Atoi(digits)
	if !ok || err != nil || index < 0 || index >= len(n.Items) {
		return nil, 0, path
	}
	return &n.Items[index], n.Items[index].Pos, rest
}
