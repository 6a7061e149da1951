package spec

import (
	"encoding/json"
	"reflect"
	"strings"
)

// JSONSchema returns the schema of a document as JSON Schema 2020-12, which is
// what OpenAPI 3.1 embeds. The caller owns the result.
func JSONSchema() map[string]any {
	s := root().jsonSchema()
	s["title"] = "Workload"
	return s
}

func (f *field) jsonSchema() map[string]any {
	s := f.jsonType()
	if f.doc != "" {
		s["description"] = f.doc
	}
	if len(f.enum) > 0 && f.kind == fieldText {
		s["enum"] = anyOf(f.enum)
	}
	if f.fallback.IsValid() {
		s["default"] = f.literal(f.fallbackText)
	}
	if f.example != "" {
		s["examples"] = []any{f.literal(f.example)}
	}
	return s
}

func (f *field) integerSchema() map[string]any {
	s := map[string]any{"type": "integer"}
	if f.lowest != "" {
		s["minimum"] = f.lower
	}
	if f.highest != "" {
		s["maximum"] = f.upper
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
func (f *field) literal(text string) any {
	switch {
	case strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{"):
		n, _ := readYAML([]byte(text))
		return n.any()
	case f.kind == fieldInt, f.short != nil && numeric(text):
		n, _ := integer(text)
		return n
	case f.kind == fieldBool:
		return isTrue(text)
	case f.typ == shareType || f.typ == shareLimitType:
		return json.Number(text)
	default:
		return text
	}
}

var shareType, shareLimitType = reflect.TypeFor[Share](), reflect.TypeFor[ShareLimit]()

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
			map[string]any{"type": "string", "enum": anyOf(PriorityNames())},
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
			map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "integer", "minimum": 1, "maximum": maxPartitions}},
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

func (f *field) jsonType() map[string]any {
	switch f.kind {
	case fieldText:
		s := map[string]any{"type": "string"}
		if f.form == "name" {
			s["pattern"], s["maxLength"] = `^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`, MaxName
		}
		return s
	case fieldInt:
		return f.integerSchema()
	case fieldBool:
		return map[string]any{"type": "boolean"}
	case fieldTexts:
		items := plainValue()
		if len(f.enum) > 0 {
			items = map[string]any{"type": "string", "enum": anyOf(f.enum)}
		}
		return map[string]any{"type": "array", "items": items}
	case fieldInts:
		return map[string]any{"type": "array", "items": f.integerSchema()}
	case fieldList:
		return map[string]any{"type": "array", "items": f.item.jsonType()}
	case fieldTextMap:
		return map[string]any{"type": "object", "additionalProperties": plainValue()}
	case fieldCounts:
		return map[string]any{"type": "object", "additionalProperties": f.integerSchema()}
	case fieldParameters:
		return map[string]any{"type": "object", "additionalProperties": true}
	case fieldScalar:
		return scalarSchemas[f.typ.Name()]()
	}
	properties, required := map[string]any{}, []any{}
	for _, c := range f.fields {
		properties[c.name] = c.jsonSchema()
		if c.required {
			required = append(required, c.name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	switch {
	case f.part != nil:
		return map[string]any{"oneOf": []any{f.short.jsonType(), f.part.jsonType(), s}}
	case f.short != nil:
		return map[string]any{"oneOf": []any{f.short.jsonType(), s}}
	}
	return s
}
