// Package mergepatch makes JSON merge patches (RFC 7396) of what differs.
package mergepatch

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Tree is a value as JSON has it, with numbers as they are written.
func Tree(v any) (map[string]any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&tree); err != nil {
		return nil, err
	}
	return tree, nil
}

// Between is the patch that makes one tree of another. What is nowhere in to is null in
// it, and lists are replaced as a whole.
func Between(from, to map[string]any) map[string]any {
	out := map[string]any{}
	for k := range from {
		if _, stays := to[k]; !stays {
			out[k] = nil
		}
	}
	for k, v := range to {
		was, isMap := from[k].(map[string]any)
		is, toMap := v.(map[string]any)
		switch {
		case isMap && toMap:
			if below := Between(was, is); len(below) > 0 {
				out[k] = below
			}
		case !reflect.DeepEqual(from[k], v):
			out[k] = v
		}
	}
	return out
}
