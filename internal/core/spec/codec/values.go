package codec

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// MapNode is a map with its keys in order; false: it holds what cannot be written.
func MapNode(m map[string]any) (Node, bool) {
	n, all := Node{Kind: NodeMap}, true
	for _, k := range slices.Sorted(maps.Keys(m)) {
		v, ok := NodeOf(m[k])
		n.Put(k, v)
		all = all && ok
	}
	return n, all
}

// Any is n as encoding/json would decode it with UseNumber.
func (n *Node) Any() any {
	switch n.Kind {
	case NodeBool:
		return IsTrue(n.Text)
	case NodeNumber:
		c, ok := CanonicalNumber(n.Text)
		if !ok {
			c = n.Text
		}
		return json.Number(c)
	case NodeText:
		return n.Text
	case NodeList:
		list := make([]any, len(n.Items))
		for i := range n.Items {
			list[i] = n.Items[i].Any()
		}
		return list
	case NodeMap:
		m := make(map[string]any, len(n.Keys))
		for i, k := range n.Keys {
			m[k] = n.Items[i].Any()
		}
		return m
	default:
		return nil
	}
}

// IsTrue is what the text of a truth says.
func IsTrue(text string) bool { return text != "" && (text[0] == 't' || text[0] == 'T') }

// NodeOf turns a value that encoding/json can hold into a node. What JSON has
// no word for (NaN, channels) becomes null; Validate refuses it before.
func NodeOf(v any) (Node, bool) {
	switch v := v.(type) {
	case nil:
		return Node{}, true
	case string:
		return TextNode(strings.ToValidUTF8(v, "\uFFFD")), true
	case bool:
		return Node{Kind: NodeBool, Text: strconv.FormatBool(v)}, true
	case json.Number:
		c, ok := CanonicalNumber(v.String())
		return NumberNode(c), ok
	case map[string]any:
		return MapNode(v)
	case []any:
		n, all := Node{Kind: NodeList}, true
		for _, item := range v {
			c, ok := NodeOf(item)
			n.Items, all = append(n.Items, c), all && ok
		}
		return n, all
	}
	return reflectNode(reflect.ValueOf(v))
}

// reflectNode takes what importers and clients written in Go may put into
// parameters: numbers and typed maps and lists.
func reflectNode(v reflect.Value) (Node, bool) {
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return NumberNode(strconv.FormatInt(v.Int(), 10)), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return NumberNode(strconv.FormatUint(v.Uint(), 10)), true
	case reflect.Float32, reflect.Float64:
		c, ok := CanonicalNumber(strconv.FormatFloat(v.Float(), 'g', -1, 64))
		if !ok {
			return Node{}, false
		}
		return NumberNode(c), true
	}
	raw, err := json.Marshal(v.Interface())
	if err != nil {
		return Node{}, false
	}
	n, err := ReadJSON(raw)
	if err != nil {
		return Node{}, false
	}
	return NodeOf(n.Any())
}

// Scalar is a value of the document with a text form of its own.
type Scalar interface {
	// ReadNode takes the value from n. It fails with a FieldError whose Path is
	// relative to the value.
	ReadNode(n *Node) error
}

// ScalarWriter is a value that is written as one text or number, or as a short list or map.
type ScalarWriter interface{ WriteNode() Node }

// ScalarJSON writes a value as JSON.
func ScalarJSON(s ScalarWriter) ([]byte, error) {
	n := s.WriteNode()
	return AppendJSON(nil, &n), nil
}

// ReadScalarJSON reads a value from JSON; null leaves it alone.
func ReadScalarJSON(data []byte, s Scalar) error {
	n, err := ReadJSON(data)
	if err != nil || n.Kind == NodeNull { // null leaves the value alone, as encoding/json does
		return err
	}
	return s.ReadNode(&n)
}
