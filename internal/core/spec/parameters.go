package spec

import (
	"encoding/json"
	"maps"
	"slices"
)

// Parameters is free structure for the program. Numbers are json.Number, so
// that they reach the program as they were written.
type Parameters map[string]any

// YAML is the text of the file that $PARAMETERS names.
func (p Parameters) YAML() []byte {
	n, _ := mapNode(p)
	return appendYAML(nil, &n)
}

// MarshalJSON writes p with its keys in order.
func (p Parameters) MarshalJSON() ([]byte, error) {
	n, ok := mapNode(p)
	if !ok {
		return nil, errParameters
	}
	return appendJSON(nil, &n), nil
}

// UnmarshalJSON reads a map and keeps its numbers as they are written.
func (p *Parameters) UnmarshalJSON(data []byte) error {
	n, err := readJSON(data)
	if err != nil || n.kind == nodeNull {
		return err
	}
	if n.kind != nodeMap {
		return mismatch(&n, "a map")
	}
	*p = n.any().(map[string]any)
	return nil
}

var errParameters = FieldError{
	Path: "parameters", Problem: "holds a value that neither JSON nor YAML can write",
	Hint: "use text, finite numbers, true or false, lists and maps",
}

func mapNode(m map[string]any) (node, bool) {
	n, all := node{kind: nodeMap}, true
	for _, k := range slices.Sorted(maps.Keys(m)) {
		v, ok := nodeOf(m[k])
		n.put(k, v)
		all = all && ok
	}
	return n, all
}

// any is n as encoding/json would decode it with UseNumber.
func (n *node) any() any {
	switch n.kind {
	case nodeBool:
		return isTrue(n.text)
	case nodeNumber:
		c, ok := canonicalNumber(n.text)
		if !ok {
			c = n.text
		}
		return json.Number(c)
	case nodeText:
		return n.text
	case nodeList:
		list := make([]any, len(n.items))
		for i := range n.items {
			list[i] = n.items[i].any()
		}
		return list
	case nodeMap:
		m := make(map[string]any, len(n.keys))
		for i, k := range n.keys {
			m[k] = n.items[i].any()
		}
		return m
	default:
		return nil
	}
}

func isTrue(text string) bool { return text != "" && (text[0] == 't' || text[0] == 'T') }
