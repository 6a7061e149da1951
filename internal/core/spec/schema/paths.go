package schema

import (
	"encoding/json"
	"strings"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Parts are the names along a path of Fields: keys of maps may hold dots.
func (f *Field) Parts(path string) []string {
	var names []string
	for at := f; ; {
		if at.Kind != Object {
			return append(names, path)
		}
		name, rest, more := strings.Cut(path, ".")
		next := at.ByName[name]
		if !more || next == nil {
			return append(names, path)
		}
		names, path, at = append(names, name), rest, next
	}
}

// Leaves puts the values of what n holds under their paths.
func (f *Field) Leaves(n *codec.Node, path string, into map[string]json.RawMessage) {
	put := func(path string, n *codec.Node) { into[path] = codec.AppendJSON(nil, n) }
	switch {
	case f.Kind == Object && n.Kind == codec.NodeMap:
		for i, name := range n.Keys {
			if c := f.ByName[name]; c != nil {
				c.Leaves(&n.Items[i], codec.Join(path, name), into)
			}
		}
	case f.Kind == Object && n.Scalar() && f.Short != nil: // gpu: 2 stands for gpu.count
		name := f.Short.Name
		if f.Part != nil && strings.ContainsAny(n.Text, ".eE") {
			name = f.Part.Name
		}
		put(codec.Join(path, name), n)
	case (f.Kind == TextMap || f.Kind == Counts || f.Kind == Parameters) && n.Kind == codec.NodeMap:
		for i, name := range n.Keys {
			put(codec.Join(path, name), &n.Items[i])
		}
	default:
		put(path, n)
	}
}
