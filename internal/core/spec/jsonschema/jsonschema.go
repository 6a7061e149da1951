// Package jsonschema writes the schema of a document as JSON Schema.
package jsonschema

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/core/spec/schema"
)

// Document returns the schema of a document as JSON Schema 2020-12, which is
// what OpenAPI 3.1 embeds. The caller owns the result.
func Document() map[string]any {
	root, _, _ := spec.FieldAt("") // which there is
	s := jsonSchema(root)
	s["title"] = "Workload"
	return s
}

func jsonSchema(f *schema.Field) map[string]any {
	s := jsonType(f)
	if f.Doc != "" {
		s["description"] = f.Doc
	}
	if len(f.Enum) > 0 && f.Kind == schema.Text {
		s["enum"] = anyOf(f.Enum)
	}
	if f.Fallback.IsValid() {
		s["default"] = literal(f, f.FallbackText)
	}
	if f.Example != "" {
		s["examples"] = []any{literal(f, f.Example)}
	}
	return s
}

func integerSchema(f *schema.Field) map[string]any {
	s := map[string]any{"type": "integer"}
	if f.Lowest != "" {
		s["minimum"] = f.Lower
	}
	if f.Highest != "" {
		s["maximum"] = f.Upper
	}
	return s
}

func anyOf(words []string) []any {
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	return list
}

// literal is a tag's text as the JSON value that a document would hold.
func literal(f *schema.Field, text string) any {
	switch {
	case strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{"):
		n, _ := codec.ReadYAML([]byte(text))
		return n.Any()
	case f.Kind == schema.Int, f.Short != nil && codec.Numeric(text):
		n, _ := codec.Integer(text)
		return n
	case f.Kind == schema.Bool:
		return codec.IsTrue(text)
	case f.Typ == shareType || f.Typ == shareLimitType:
		return json.Number(text)
	default:
		return text
	}
}

var shareType, shareLimitType = reflect.TypeFor[spec.Share](), reflect.TypeFor[spec.ShareLimit]()

// scalarSchemas are the types of values with a text form of their own.
var scalarSchemas = map[string]func() map[string]any{
	"Command": func() map[string]any {
		return map[string]any{"oneOf": []any{
			map[string]any{"type": "string", "minLength": 1},
			map[string]any{"type": "array", "items": plainValue(), "minItems": 1},
		}}
	},
	"Quantity": func() map[string]any {
		return map[string]any{"oneOf": []any{
			map[string]any{"type": "string", "pattern": `^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,2})?(m|[kKMGTP]|[KMGTP]i)?$`},
			map[string]any{"type": "number", "minimum": 0},
		}}
	},
	"Priority": func() map[string]any {
		return map[string]any{"oneOf": []any{
			map[string]any{"type": "string", "enum": anyOf(spec.PriorityNames())},
			map[string]any{"type": "integer", "minimum": 0, "maximum": 1000},
		}}
	},
	"Share": func() map[string]any {
		return map[string]any{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
	},
	"ShareLimit": func() map[string]any {
		return map[string]any{"type": "number", "exclusiveMinimum": 0, "maximum": 1}
	},
	"MIG": func() map[string]any {
		return map[string]any{"oneOf": []any{
			map[string]any{"type": "string", "minLength": 1},
			map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "integer", "minimum": 1, "maximum": spec.MaxPartitions}},
		}}
	},
	"Duration": func() map[string]any {
		return map[string]any{"oneOf": []any{
			map[string]any{"type": "string", "pattern": `^\+?([0-9]+|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(d|h|m|s|ms|us|ns))+)$`},
			map[string]any{"type": "integer", "minimum": 0},
		}}
	},
}

// plainValue is a string that may be written as a number or boolean.
func plainValue() map[string]any {
	return map[string]any{"type": []any{"string", "number", "boolean"}}
}

func jsonType(f *schema.Field) map[string]any {
	switch f.Kind {
	case schema.Text:
		s := map[string]any{"type": "string"}
		if f.Form == "name" {
			s["pattern"], s["maxLength"] = `^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`, spec.MaxName
		}
		return s
	case schema.Int:
		return integerSchema(f)
	case schema.Bool:
		return map[string]any{"type": "boolean"}
	case schema.Texts:
		items := plainValue()
		if len(f.Enum) > 0 {
			items = map[string]any{"type": "string", "enum": anyOf(f.Enum)}
		}
		return map[string]any{"type": "array", "items": items}
	case schema.Ints:
		return map[string]any{"type": "array", "items": integerSchema(f)}
	case schema.List:
		return map[string]any{"type": "array", "items": jsonType(f.Item)}
	case schema.TextMap:
		return map[string]any{"type": "object", "additionalProperties": plainValue()}
	case schema.Counts:
		return map[string]any{"type": "object", "additionalProperties": integerSchema(f)}
	case schema.Parameters:
		return map[string]any{"type": "object", "additionalProperties": true}
	case schema.Scalar:
		return scalarSchemas[f.Typ.Name()]()
	}
	properties, required := map[string]any{}, []any{}
	for _, c := range f.Fields {
		properties[c.Name] = jsonSchema(c)
		if c.Required {
			required = append(required, c.Name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	switch {
	case f.Part != nil:
		return map[string]any{"oneOf": []any{jsonType(f.Short), jsonType(f.Part), s}}
	case f.Short != nil:
		return map[string]any{"oneOf": []any{jsonType(f.Short), s}}
	}
	return s
}
